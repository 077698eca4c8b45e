package match

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/policy"
)

// Selector is a compiled label selector.
type Selector struct {
	labels       []pair
	requirements []policy.SelectorRequirement
}

type pair struct{ key, value string }

// InvalidError describes which part of a block is invalid. Field is its path below the block, with slashes. Warning is
// set for a part that is valid but matches nothing: in an exclude block this makes the rule no weaker.
type InvalidError struct {
	Field   string
	Message string
	Warning bool
}

func (e *InvalidError) Error() string { return e.Message }

// CompileSelector compiles a label selector; nil selects everything
// (https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/). The error is an *InvalidError.
func CompileSelector(s *policy.Selector) (*Selector, error) {
	out := &Selector{}
	if s == nil {
		return out, nil
	}
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		at := "matchLabels/" + jsonpointer.Escape(key)
		if value := s.MatchLabels[key]; !isLabelKey(key) {
			return nil, &InvalidError{Field: at,
				Message: fmt.Sprintf("%q is not a valid label key: write a name, or domain/name", key)}
		} else if !isLabelValue(value) {
			return nil, &InvalidError{Field: at,
				Message: fmt.Sprintf("%q is not a valid label value: up to 63 letters, digits, -, _ and .", value)}
		}
		out.labels = append(out.labels, pair{key, s.MatchLabels[key]})
	}
	for i, r := range s.MatchExpressions {
		at := fmt.Sprintf("matchExpressions/%d/", i)
		switch r.Operator {
		case "In", "NotIn":
			if len(r.Values) == 0 {
				return nil, &InvalidError{Field: at + "operator", Message: fmt.Sprintf("the operator %s needs values", r.Operator)}
			}
		case "Exists", "DoesNotExist":
			if len(r.Values) > 0 {
				return nil, &InvalidError{Field: at + "values",
					Message: fmt.Sprintf("the operator %s takes no values: remove them", r.Operator)}
			}
		default:
			message := fmt.Sprintf("unknown operator %q: use In, NotIn, Exists or DoesNotExist", r.Operator)
			return nil, &InvalidError{Field: at + "operator", Message: message}
		}
		if r.Key == "" {
			return nil, &InvalidError{Field: at + "key", Message: "the expression has no key: add the key of the label"}
		}
		if !isLabelKey(r.Key) {
			return nil, &InvalidError{Field: at + "key", Message: fmt.Sprintf("%q is not a valid label key", r.Key)}
		}
		for j, v := range r.Values {
			if !isLabelValue(v) {
				return nil, &InvalidError{Field: fmt.Sprintf("%svalues/%d", at, j),
					Message: fmt.Sprintf("%q is not a valid label value: up to 63 letters, digits, -, _ and .", v)}
			}
		}
	}
	out.requirements = s.MatchExpressions
	return out, nil
}

// isLabelKey and isLabelValue also allow wildcards, and variables, which are reported elsewhere.
func isLabelKey(s string) bool {
	return strings.Contains(s, "{{") || len(validation.IsQualifiedName(withoutWildcards(s))) == 0
}

func isLabelValue(s string) bool {
	return strings.Contains(s, "{{") || len(validation.IsValidLabelValue(withoutWildcards(s))) == 0
}

func withoutWildcards(s string) string { return strings.NewReplacer("*", "x", "?", "x").Replace(s) }

// Matches reports whether the selector matches labels. Keys and values of matchLabels may have wildcards: then one
// label must match both.
func (s *Selector) Matches(labels map[string]string) bool {
	for _, p := range s.labels {
		if v, ok := labels[p.key]; ok && v == p.value {
			continue
		}
		if !strings.ContainsAny(p.key, "*?") && !strings.ContainsAny(p.value, "*?") || !anyPair(p, labels) {
			return false
		}
	}
	for _, r := range s.requirements {
		v, has := labels[r.Key]
		ok := false
		switch r.Operator {
		case "In":
			ok = has && slices.Contains(r.Values, v)
		case "NotIn":
			ok = !has || !slices.Contains(r.Values, v)
		case "Exists":
			ok = has
		case "DoesNotExist":
			ok = !has
		}
		if !ok {
			return false
		}
	}
	return true
}

func anyPair(p pair, in map[string]string) bool {
	for k, v := range in {
		if wild(p.key, k) && wild(p.value, v) {
			return true
		}
	}
	return false
}

// everything reports whether the selector has no conditions.
func (s *Selector) everything() bool { return len(s.labels)+len(s.requirements) == 0 }

// only reports whether the selector reads no other label than this one.
func (s *Selector) only(key string) bool {
	return !slices.ContainsFunc(s.labels, func(p pair) bool { return p.key != key }) &&
		!slices.ContainsFunc(s.requirements, func(r policy.SelectorRequirement) bool { return r.Key != key })
}
