package pattern

import (
	"fmt"
	"strings"
)

// words describes what a leaf requires.
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
		return "an empty text"
	case t.op == equal && t.wild:
		return "a value like " + t.operand
	case t.op == notEqual && (t.operand == "*" || t.operand == "?*"):
		return "nothing: no value is allowed"
	}
	return map[operator]string{
		notEqual: "anything but ", more: "more than ", less: "less than ", moreEqual: "at least ", lessEqual: "at most ",
	}[t.op] + t.operand
}
