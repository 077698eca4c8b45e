package variable

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// maxReferences limits how often a reference may lead to a string with further references.
const maxReferences = 8

// referencePattern matches $(path), with the backslash that may be before it. A text with a space is no reference:
// shell scripts in a policy contain $(command argument).
var referencePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\?\$\([^\s()]+\)`) })

// operators that may be before the path of a reference
// (https://kyverno.io/docs/policy-types/cluster-policy/validate/#operators), longer ones first.
var operators = []string{">=", "<=", ">", "<", "!"}

// references resolves the references in a string at a place of the document. A string that consists of one reference
// becomes the value itself, with its type.
func (p *parser) references(s string, at []string, depth int) (any, error) {
	if depth > maxReferences {
		return nil, fmt.Errorf("references are nested more than %d levels deep", maxReferences)
	}
	found := referencePattern().FindAllStringIndex(s, -1)
	if len(found) == 1 && found[0][0] == 0 && found[0][1] == len(s) && s[0] == '$' {
		return p.reference(s, at, depth)
	}
	var b strings.Builder
	rest := 0
	for _, m := range found {
		b.WriteString(s[rest:m[0]])
		rest = m[1]
		if s[m[0]] == '\\' {
			b.WriteString(s[m[0]+1 : m[1]])
			continue
		}
		v, err := p.reference(s[m[0]:m[1]], at, depth)
		if err != nil {
			return nil, err
		}
		text, err := textOf(v)
		if err != nil {
			return nil, err
		}
		b.WriteString(text)
		if b.Len() > maxText {
			return nil, fmt.Errorf("the text with references replaced has more than %d bytes", maxText)
		}
	}
	b.WriteString(s[rest:])
	return b.String(), nil
}

// reference resolves one $(path).
func (p *parser) reference(s string, at []string, depth int) (any, error) {
	path := s[2 : len(s)-1]
	operator := ""
	for _, o := range operators {
		if strings.HasPrefix(path, o) {
			operator, path = o, path[len(o):]
			break
		}
	}
	if path == "" {
		return nil, errors.New("expected path, found empty reference")
	}
	v, place, ok := p.follow(path, at)
	if !ok {
		return nil, fmt.Errorf("reference %s not resolved", s)
	}
	switch v.(type) {
	case map[string]any, []any, nil:
		return nil, fmt.Errorf("reference %s does not point to a single value", s)
	}
	if text, ok := v.(string); ok && strings.Contains(text, "$(") {
		var err error
		if v, err = p.references(text, place, depth+1); err != nil {
			return nil, err
		}
	}
	if operator == "" {
		return v, nil
	}
	text, err := textOf(v)
	return operator + text, err
}

// follow finds the value at a path. Relative paths start at the string, absolute ones at the document, or otherwise at
// the part that is compiled.
func (p *parser) follow(path string, at []string) (any, []string, bool) {
	if strings.HasPrefix(path, "/") {
		if v, place, ok := descend(p.document, walk(nil, path)); ok {
			return v, place, true
		}
		return descend(p.document, walk(p.base, path))
	}
	return descend(p.document, walk(at, path))
}

// walk applies the steps of a path to a place.
func walk(from []string, path string) []string {
	out := slices.Clone(from)
	for _, step := range strings.Split(path, "/") {
		switch step {
		case "", ".":
		case "..":
			if len(out) > 0 {
				out = out[:len(out)-1]
			}
		default:
			out = append(out, step)
		}
	}
	return out
}

// descend follows steps through the document and returns the place, with the keys as written.
func descend(v any, steps []string) (any, []string, bool) {
	place := make([]string, 0, len(steps))
	for _, step := range steps {
		next, ok := jsonpointer.Child(v, step)
		if !ok {
			if step, ok = anchoredKey(v, step); !ok {
				return nil, nil, false
			}
			next, _ = jsonpointer.Child(v, step)
		}
		v, place = next, append(place, step)
	}
	return v, place, true
}

// anchoredKey finds a key that equals the step except for its anchor: "^(containers)" for "containers".
func anchoredKey(v any, step string) (string, bool) {
	object, _ := v.(map[string]any)
	best := ""
	for k := range object {
		if withoutAnchor(k) == withoutAnchor(step) && (best == "" || k < best) {
			best = k
		}
	}
	return best, best != ""
}

// withoutAnchor returns the key inside an anchor: (key), =(key), X(key), +(key), ^(key) or <(key).
func withoutAnchor(key string) string {
	inner, ok := strings.CutSuffix(key, ")")
	if !ok {
		return key
	}
	for _, prefix := range []string{"(", "=(", "X(", "+(", "^(", "<("} {
		if name, ok := strings.CutPrefix(inner, prefix); ok {
			return name
		}
	}
	return key
}
