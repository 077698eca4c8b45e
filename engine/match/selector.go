package match

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/engine/policy"
)

// Selector is a compiled label selector.
type Selector struct {
	labels       []pair
	requirements []requirement
}

type pair struct{ key, value string }

type requirement struct {
	key      string
	operator string
	values   []string
}

// InvalidError says which part of a block cannot be used. Field is its path below the block, in slashes.
type InvalidError struct {
	Field   string
	Message string
}

func (e *InvalidError) Error() string { return e.Message }

// CompileSelector compiles a label selector; nil selects everything
// (https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/). The error is an
// *InvalidError.
func CompileSelector(s *policy.Selector) (*Selector, error) {
	out := &Selector{}
	if s == nil {
		return out, nil
	}
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		out.labels = append(out.labels, pair{key, s.MatchLabels[key]})
	}
	for i, r := range s.MatchExpressions {
		at := fmt.Sprintf("matchExpressions/%d/", i)
		switch r.Operator {
		case "In", "NotIn":
			if len(r.Values) == 0 {
				return nil, &InvalidError{at + "operator", fmt.Sprintf("the operator %s needs values", r.Operator)}
			}
		case "Exists", "DoesNotExist":
			if len(r.Values) > 0 {
				return nil, &InvalidError{at + "values", fmt.Sprintf("the operator %s takes no values: remove them", r.Operator)}
			}
		default:
			message := fmt.Sprintf("unknown operator %q: use In, NotIn, Exists or DoesNotExist", r.Operator)
			return nil, &InvalidError{at + "operator", message}
		}
		if r.Key == "" {
			return nil, &InvalidError{at + "key", "the expression has no key: say which label it is about"}
		}
		out.requirements = append(out.requirements, requirement{r.Key, r.Operator, r.Values})
	}
	return out, nil
}

// Matches reports whether labels are selected. Keys and values of matchLabels may hold wildcards: then one
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
		v, has := labels[r.key]
		ok := false
		switch r.operator {
		case "In":
			ok = has && slices.Contains(r.values, v)
		case "NotIn":
			ok = !has || !slices.Contains(r.values, v)
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

// only reports whether the selector reads no label but this one.
func (s *Selector) only(key string) bool {
	for _, p := range s.labels {
		if p.key != key {
			return false
		}
	}
	for _, r := range s.requirements {
		if r.key != key {
			return false
		}
	}
	return true
}
