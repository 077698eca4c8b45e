package schema

import (
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// resolve splits a path of the API server ("spec.a[0].b", "spec.map[key]") into keys and indexes. Keys may contain
// dots: it takes the longest key that the object has. The rest of the path, if the object does not have it, is one key.
// The result has at least one token, empty for the object itself.
func resolve(object map[string]any, path string) (tokens []string) {
	if path == "<nil>" { // the text of an empty path
		path = ""
	}
	var at any = object
	for ; path != ""; path = strings.TrimPrefix(path, ".") { // keys may begin with a dot
		switch v := at.(type) {
		case map[string]any:
			key, rest := keyOf(v, path)
			tokens, at, path = append(tokens, key), v[key], rest
			continue
		case []any:
			index, rest, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
			if i, err := strconv.Atoi(index); ok && err == nil && i >= 0 && i < len(v) {
				tokens, at, path = append(tokens, index), v[i], rest
				continue
			}
		}
		break // the object ends here, so the place is its last field
	}
	if len(tokens) == 0 {
		return []string{""}
	}
	return tokens
}

// keyOf returns the first key of a path, and the rest of the path.
func keyOf(o map[string]any, path string) (key, rest string) {
	if inner, ok := strings.CutPrefix(path, "["); ok {
		for k := range o {
			if len(k) >= len(key) && strings.HasPrefix(inner, k+"]") {
				key, rest = k, inner[len(k)+1:]
			}
		}
		if key == "" {
			key, rest, _ = strings.Cut(inner, "]")
		}
		return key, rest
	}
	found := false
	for k := range o {
		if after, ok := strings.CutPrefix(path, k); ok && (!found || len(k) > len(key)) &&
			(after == "" || after[0] == '.' || after[0] == '[') {
			key, rest, found = k, after, true
		}
	}
	if found {
		return key, rest
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		return path, ""
	}
	return path[:end], path[end:]
}

// PointerTo returns the JSON Pointer of a path of the API server in an object, up to the first field that the object
// does not have.
func PointerTo(object map[string]any, path string) string { return pointer(resolve(object, path)) }

func pointer(tokens []string) string {
	if len(tokens) == 1 && tokens[0] == "" {
		return ""
	}
	return jsonpointer.Join(tokens...)
}
