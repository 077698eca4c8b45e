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

func invalid(field, format string, args ...any) *InvalidError {
	return &InvalidError{Field: field, Message: fmt.Sprintf(format, args...)}
}

// CompileSelector compiles a label selector
// (https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/), or says what is wrong with it.
func CompileSelector(s *policy.Selector) (*Selector, *InvalidError) {
	wildcards := false // in a label, with which Kyverno does not validate the selector
	for key, value := range s.MatchLabels {
		wildcards = wildcards || strings.ContainsAny(key+value, "*?")
	}
	const badValue = "%q is not a valid label value: up to 63 letters, digits, -, _ and ."
	out := &Selector{requirements: s.MatchExpressions}
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		at, value := "matchLabels/"+jsonpointer.Escape(key), s.MatchLabels[key]
		switch {
		case !isLabelKey(key):
			return nil, invalid(at, "%q is not a valid label key: write a name, or domain/name", key)
		case !isLabelValue(value):
			return nil, invalid(at, badValue, value)
		}
		out.labels = append(out.labels, pair{key, value})
	}
	for i, r := range s.MatchExpressions {
		at := fmt.Sprintf("matchExpressions/%d/", i)
		switch r.Operator {
		case "In", "NotIn":
			if len(r.Values) == 0 {
				return nil, invalid(at+"operator", "the operator %s needs values", r.Operator)
			}
		case "Exists", "DoesNotExist":
			if len(r.Values) > 0 {
				return nil, invalid(at+"values", "the operator %s takes no values: remove them", r.Operator)
			}
		default:
			return nil, invalid(at+"operator", "unknown operator %q: use In, NotIn, Exists or DoesNotExist", r.Operator)
		}
		if r.Key == "" {
			return nil, invalid(at+"key", "the expression has no key: add the key of the label")
		}
		if !isLabelKey(r.Key) {
			return nil, invalid(at+"key", "%q is not a valid label key", r.Key)
		}
		for j, v := range r.Values {
			if !isLabelValue(v) || !wildcards && strings.ContainsAny(v, "*?") {
				return nil, invalid(fmt.Sprintf("%svalues/%d", at, j), badValue, v)
			}
		}
	}
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
