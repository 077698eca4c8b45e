package report

import (
	"slices"
	"strconv"
	"strings"
)

// ChartValue returns what a suggestion is in the values of a chart, where one decides the field that nobody sets yet:
// the keys that lead to it, and its YAML. It reports false where the value does not follow from the field.
func (f *Finding) ChartValue() (keys []string, yaml string, ok bool) {
	s, o := f.Suggestion, f.Origin
	if s == nil || o == nil || len(o.Set) == 0 || s.Remove {
		return nil, "", false
	}
	if o.Switch {
		return slices.Clone(o.Set), "true", true
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	var tokens []string
	for token := range strings.SplitSeq(strings.TrimPrefix(s.Field, "/"), "/") {
		tokens = append(tokens, unescape.Replace(token))
	}
	// The value is about the field, or about one above it of the same name, as args is for the first of args.
	last := o.Set[len(o.Set)-1]
	var rest []string
	if slices.Contains(tokens, last) {
		rest = tokens
		for slices.Contains(rest, last) {
			rest = rest[slices.Index(rest, last)+1:]
		}
	} else {
		below, inside := strings.CutPrefix(s.Field, f.Field)
		if !inside || below != "" && below[0] != '/' {
			return nil, "", false
		}
		for token := range strings.SplitSeq(below, "/") {
			if token != "" {
				rest = append(rest, unescape.Replace(token))
			}
		}
	}
	for _, token := range rest {
		if _, err := strconv.ParseUint(token, 10, 31); err == nil && token != "0" {
			return nil, "", false // a list is set as a whole
		}
	}
	return slices.Concat(o.Set, rest), s.YAML, true
}
