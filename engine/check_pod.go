package engine

import (
	"fmt"
	"iter"
	"strings"

	"github.com/lintel-bot/lintel/engine/match"
	"github.com/lintel-bot/lintel/engine/policy"
)

// besidePod warns if a rule matches Pod together with other kinds that are no pod controllers: Kyverno then generates
// no rules for pod controllers (https://kyverno.io/docs/policy-types/cluster-policy/autogen/), so that Deployments are
// not checked, which is rarely intended.
func (c *checker) besidePod(at string, m policy.Match) {
	if c.annotated {
		return // somebody thought about it
	}
	var mixed string
	var beside []string
	for where, f := range filters(at, m) {
		for _, selector := range f.Resources.Kinds {
			switch k, ok := match.ParseKind(selector); {
			case !ok || k.Kind == "*" || match.IsController(k.Kind):
				return
			case k.IsPod() && len(f.Resources.Kinds) > 1:
				mixed = where
			case !k.IsPod():
				beside = append(beside, k.Kind)
			}
		}
	}
	if mixed != "" {
		c.warn(mixed+"/resources/kinds", "the kinds are Pod and %s: Kyverno then generates no rules for pod "+
			"controllers. Deployments and others are not checked: write a rule for Pod alone", strings.Join(beside, ", "))
	}
}

// filters yields the filters of a block and their pointers.
func filters(at string, m policy.Match) iter.Seq2[string, policy.ResourceFilter] {
	return func(yield func(string, policy.ResourceFilter) bool) {
		if !yield(at, m.ResourceFilter) {
			return
		}
		for _, list := range []struct {
			name    string
			filters []policy.ResourceFilter
		}{{"any", m.Any}, {"all", m.All}} {
			for i, f := range list.filters {
				if !yield(fmt.Sprintf("%s/%s/%d", at, list.name, i), f) {
					return
				}
			}
		}
	}
}
