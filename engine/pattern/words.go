package pattern

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Expects returns in words what the pattern asks of the value that the tokens of a pointer lead to: "at most
// 1Gi", "any value that is not empty". It returns "" where the pattern has no leaf there, where its list names
// several elements, and for a leaf that still holds a variable.
func (p *Pattern) Expects(tokens ...string) string { return p.root.expects(tokens) }

func (n *node) expects(tokens []string) string {
	switch n.shape {
	case shapeMap:
		if len(tokens) == 0 {
			return ""
		}
		// Plain keys come first: an anchor for the same field only says when they count.
		for _, e := range slices.Concat(n.fields, n.anchors) {
			// What a negation asks for is that the key is absent, which its value does not tell.
			if e.name == tokens[0] && e.value != nil && e.anchor != anchorNegation {
				return e.value.expects(tokens[1:])
			}
		}
	case shapeListOfMaps, shapeListOfLists:
		if len(tokens) > 0 && len(n.elements) == 1 && isIndex(tokens[0]) {
			return n.elements[0].expects(tokens[1:])
		}
	case shapeScalar:
		if n.list && (n.more || len(tokens) == 0 || !isIndex(tokens[0])) {
			return ""
		} else if n.list {
			tokens = tokens[1:]
		}
		if len(tokens) == 0 {
			return n.scalar.words()
		}
	}
	return ""
}

func isIndex(token string) bool {
	_, err := strconv.ParseUint(token, 10, 31)
	return err == nil
}

// words says what a leaf asks for.
func (s *Scalar) words() string {
	text, isText := s.raw.(string)
	switch {
	case s.raw == nil:
		return "nothing, or an empty value"
	case !isText:
		return fmt.Sprint(s.raw)
	case strings.Contains(text, "{{") || strings.Contains(text, "$("):
		return ""
	}
	either := make([]string, len(s.alternatives))
	for i, terms := range s.alternatives {
		all := make([]string, len(terms))
		for j := range terms {
			all[j] = terms[j].words()
		}
		either[i] = strings.Join(all, " and ")
	}
	return strings.Join(either, ", or ")
}

func (t *term) words() string {
	switch {
	case t.op == equal && t.operand == "*":
		return "any value"
	case t.op == equal && t.operand == "?*":
		return "any value that is not empty"
	case t.op == equal && t.operand == "":
		return "nothing, or an empty value"
	case t.op == equal && t.wild:
		return "a value like " + t.operand
	case t.op == notEqual && (t.operand == "*" || t.operand == "?*"):
		return "nothing: no value is allowed"
	}
	return map[operator]string{
		notEqual: "anything but ", more: "more than ", less: "less than ", moreEqual: "at least ", lessEqual: "at most ",
	}[t.op] + t.operand
}
