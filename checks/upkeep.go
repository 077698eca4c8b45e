package checks

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/checks/exceptions"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/match"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// soon is how long before its end an exception is announced.
const soon = 14 * 24 * time.Hour

// usage is what a whole check finds out about merged exceptions.
type usage struct {
	needed    map[*engine.Exception]bool
	covers    map[*engine.Exception]map[report.Resource]bool
	undecided map[string]bool // policies of which a result is not known
}

func newUsage() *usage {
	return &usage{needed: map[*engine.Exception]bool{}, covers: map[*engine.Exception]map[report.Resource]bool{}, undecided: map[string]bool{}}
}

// note counts one resource: an exception is needed when the rule it takes away would not pass without it.
func (u *usage) note(v *reviewed) {
	resource := resourceOf(v.pair.resource())
	for _, res := range v.results {
		if res.Outcome == engine.Unknown || res.Outcome == engine.Error {
			u.undecided[report.Name(res.Policy.Namespace, res.Policy.Name)] = true
		}
		for _, e := range res.Exceptions {
			if u.covers[e] == nil {
				u.covers[e] = map[report.Resource]bool{}
			}
			u.covers[e][resource] = true
			kept := slices.ContainsFunc(v.bare, func(b engine.Result) bool {
				return sameRule(res, b) && (b.Outcome == engine.Pass || b.Outcome == engine.Skip)
			})
			u.needed[e] = u.needed[e] || res.Mutation || !kept
		}
	}
}

// upkeep lists the merged exceptions that a whole check finds unused, ended or about to end. That one is unused is
// claimed only where everything was rendered and everything it could be about was evaluated.
func (r *run) upkeep() {
	if !r.change.All {
		return
	}
	whole := len(r.report.Errors) == 0 && !slices.ContainsFunc(r.differences, func(d tree.Difference) bool { return path.Base(d.Path) == "Chart.yaml" })
	for _, e := range slices.Concat(r.decision.Counting, r.decision.Idle) {
		if r.isProposed(e) {
			continue
		}
		x := report.Upkeep{Name: exceptions.Name(e), Path: e.Path, Line: e.Line, Expires: r.decision.Ends(e), Covers: len(r.usage.covers[e])}
		x.Expired = r.decision.State(e) == report.Expired
		x.Soon = !x.Expired && !x.Expires.IsZero() && x.Expires.Sub(r.change.Now) <= soon
		x.Unused = !x.Expired && whole && !r.usage.needed[e] && r.judged(e)
		if x.Expired || x.Soon || x.Unused {
			r.report.Upkeep = append(r.report.Upkeep, x)
		}
	}
	slices.SortFunc(r.report.Upkeep, func(a, b report.Upkeep) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
}

// judged says whether a whole check tells all about an exception: every policy it names was evaluated, and it is
// not about who makes a request or which operation, of which a check of what is there sees only creations.
func (r *run) judged(e *engine.Exception) bool {
	b, ok := r.body(e)
	if !ok || b.special() {
		return false
	}
	policies := r.policies.List()
	for _, name := range b.policies() {
		i := slices.IndexFunc(policies, func(p engine.PolicyInfo) bool {
			return report.Name(p.Namespace, p.Name) == name
		})
		if i < 0 || r.usage.undecided[name] {
			return false
		}
		file := policies[i].Path
		if slices.ContainsFunc(r.policies.Unsupported(), func(p policy.Problem) bool { return p.Path == file }) {
			return false
		}
		if b.kyverno != nil && !b.namesRules(name, policies[i].Rules) {
			return false
		}
	}
	return true
}

// namesRules says whether each rule name that an exception gives for a policy is one of its rules.
func (b exceptionBody) namesRules(name string, rules []string) bool {
	for _, ref := range b.kyverno.Spec.Exceptions {
		for _, rule := range ref.RuleNames {
			if ref.PolicyName == name && !slices.ContainsFunc(rules, func(s string) bool { return match.AnyWildcard([]string{rule}, s) }) {
				return false
			}
		}
	}
	return true
}

// special says whether an exception depends on more of a request than the object that is created.
func (b exceptionBody) special() bool {
	if b.cel != nil {
		for _, c := range b.cel.Spec.MatchConditions {
			if speaksOfRequest(c.Expression) {
				return true
			}
		}
		return false
	}
	for _, f := range filters(b.kyverno.Spec.Match) {
		if len(f.Subjects)+len(f.Roles)+len(f.ClusterRoles) > 0 || len(f.Resources.Operations) > 0 && !slices.Contains(f.Resources.Operations, "CREATE") {
			return true
		}
	}
	return b.kyverno.Spec.Conditions != nil && speaksOfRequest(strings.Join(texts(b.kyverno.Spec.Conditions), "\n"))
}

func speaksOfRequest(expression string) bool {
	return slices.ContainsFunc([]string{"oldObject", "userInfo", "operation", "serviceAccount", "request.roles", "request.clusterRoles"}, func(word string) bool {
		return strings.Contains(expression, word)
	})
}

// texts are all strings in a value of JSON.
func texts(v any) (out []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, item := range v {
			out = append(out, texts(item)...)
		}
	case map[string]any:
		for _, item := range v {
			out = append(out, texts(item)...)
		}
	}
	return out
}

// folders are those of the findings' roots that have no kustomization.
func (r *run) folders() (out []string) {
	for _, f := range r.report.Findings {
		for _, root := range f.Roots {
			if !slices.Contains(out, root) && len(r.headGraph.Files(roots.Root{Path: root, Kind: roots.Folder})) > 0 {
				out = append(out, root)
			}
		}
	}
	slices.Sort(out)
	return out
}
