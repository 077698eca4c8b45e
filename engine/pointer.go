package engine

import (
	"strconv"
	"strings"
)

// escape writes a key as a token of an RFC 6901 pointer.
func escape(key string) string {
	if !strings.ContainsAny(key, "~/") {
		return key
	}
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

func unescape(token string) string {
	if !strings.Contains(token, "~") {
		return token
	}
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}

// lookup is the value behind a pointer, nil when there is none.
func lookup(v any, pointer string) any {
	if pointer == "" {
		return v
	}
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch t := v.(type) {
		case map[string]any:
			v = t[unescape(token)]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(t) {
				return nil
			}
			v = t[i]
		default:
			return nil
		}
	}
	return v
}

// below reports the rest of a pointer behind a prefix of whole tokens.
func below(pointer, prefix string) (rest string, ok bool) {
	if !strings.HasPrefix(pointer, prefix) {
		return "", false
	}
	rest = pointer[len(prefix):]
	return rest, rest == "" || rest[0] == '/'
}
