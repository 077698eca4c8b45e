package checks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/engine"
)

// expected says what the pattern of a rule asks of a field, in words; "" where it has none, where a variable decides,
// or where more than one alternative does.
func (r *run) expected(res engine.Result, field string) string {
	if !strings.HasPrefix(res.Policy.APIVersion, "kyverno.io/") || res.Outcome != engine.Fail || res.Old {
		return ""
	}
	d, p := r.clusterPolicy(res.Policy.Path, res.Policy.Line)
	for i, rule := range p.Spec.Rules {
		line, _ := d.Position(fmt.Sprintf("/spec/rules/%d", i))
		if line != res.Line || rule.Validate == nil {
			continue
		}
		for _, prefix := range []string{"/spec/template", "/spec/jobTemplate/spec/template"} {
			if rule.Name != res.Rule && strings.HasPrefix(field, prefix+"/") { // a rule that was generated for controllers
				field = strings.TrimPrefix(field, prefix)
				break
			}
		}
		return patternAt(rule.Validate.Pattern, strings.Split(strings.TrimPrefix(field, "/"), "/"))
	}
	return ""
}

// patternAt follows a pointer through a pattern, whose keys may be anchors
// (https://kyverno.io/docs/policy-types/cluster-policy/validate/#anchors), to a leaf.
func patternAt(pattern any, tokens []string) string {
	if len(tokens) == 0 {
		return leafWords(pattern)
	}
	switch p := pattern.(type) {
	case map[string]any:
		token := unescapeToken(tokens[0])
		for key, value := range p {
			if bareKey(key) == token {
				return patternAt(value, tokens[1:])
			}
		}
	case []any:
		if len(p) == 1 && index(tokens[0]) >= 0 {
			return patternAt(p[0], tokens[1:])
		}
	}
	return ""
}

// bareKey takes the anchor from a key of a pattern: "=(image)" is "image". A negation asks for the key to be absent,
// which its value does not tell.
func bareKey(key string) string {
	open := strings.IndexByte(key, '(')
	if open < 0 || !strings.HasSuffix(key, ")") || !slices.Contains([]string{"", "=", "^", "<", "+"}, key[:open]) {
		return key
	}
	return key[open+1 : len(key)-1]
}

// leafWords says what a leaf of a pattern asks for
// (https://kyverno.io/docs/policy-types/cluster-policy/validate/#operators).
func leafWords(leaf any) string {
	text, isText := leaf.(string)
	switch {
	case leaf == nil:
		return "nothing, or an empty value"
	case !isText:
		switch leaf.(type) {
		case bool, int, int64, float64:
			return fmt.Sprint(leaf)
		}
		return ""
	case strings.Contains(text, "{{") || strings.Contains(text, "$("):
		return ""
	}
	var either []string
	for alternative := range strings.SplitSeq(text, "|") {
		var all []string
		for term := range strings.SplitSeq(alternative, "&") {
			all = append(all, termWords(strings.TrimSpace(term)))
		}
		either = append(either, strings.Join(all, " and "))
	}
	return strings.Join(either, ", or ")
}

func termWords(term string) string {
	switch {
	case term == "*":
		return "any value"
	case term == "?*":
		return "any value that is not empty"
	}
	for _, op := range []struct{ sign, words string }{{">=", "at least "}, {"<=", "at most "}, {">", "more than "}, {"<", "less than "}, {"!", "anything but "}} {
		if rest, ok := strings.CutPrefix(term, op.sign); ok {
			return op.words + strings.TrimSpace(rest)
		}
	}
	return term
}

// valueAt follows a pointer into an object, nil where it leads nowhere.
func valueAt(object any, pointer string) any {
	if pointer == "" {
		return object
	}
	for _, token := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		switch at := object.(type) {
		case map[string]any:
			object = at[unescapeToken(token)]
		case []any:
			k := index(token)
			if k < 0 || k >= len(at) {
				return nil
			}
			object = at[k]
		default:
			return nil
		}
	}
	return object
}

// unescapeToken reads a token of an RFC 6901 pointer.
func unescapeToken(token string) string {
	return strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
}
