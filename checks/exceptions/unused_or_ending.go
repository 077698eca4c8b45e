package exceptions

import (
	"slices"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/match"
	"github.com/lintel-bot/lintel/engine/policy"
)

// soon is how long before its end an exception is announced.
const soon = 14 * 24 * time.Hour

// Usage is what a whole check finds out about merged exceptions.
type Usage struct {
	needed    map[*engine.Exception]bool
	covers    map[*engine.Exception]map[report.Resource]bool
	undecided map[string]bool // policies of which a result is not known
}

// NewUsage returns one of which nothing is known yet.
func NewUsage() *Usage {
	return &Usage{needed: map[*engine.Exception]bool{}, covers: map[*engine.Exception]map[report.Resource]bool{},
		undecided: map[string]bool{}}
}

// Note counts one resource: an exception is needed when the rule it takes away would not pass without it.
func (u *Usage) Note(a *review.Answer) {
	resource := review.Named(a.Pair.Resource().Object)
	for _, res := range a.Results {
		if res.Outcome == engine.Unknown || res.Outcome == engine.Error {
			u.undecided[res.Policy.FullName()] = true
		}
		for _, e := range res.Exceptions {
			if u.covers[e] == nil {
				u.covers[e] = map[report.Resource]bool{}
			}
			u.covers[e][resource] = true
			kept := slices.ContainsFunc(a.WithoutExceptions, func(b engine.Result) bool {
				return res.ID() == b.ID() && (b.Outcome == engine.Pass || b.Outcome == engine.Skip)
			})
			u.needed[e] = u.needed[e] || res.Mutation || !kept
		}
	}
}

// Cleanup lists the merged exceptions that a whole check finds unused, ended or about to end. That one is unused is
// claimed only where whole is set: everything was rendered, and everything it could be about was evaluated.
func (u *Usage) Cleanup(d *Decision, policies *engine.Policies, whole bool, now time.Time) (list []report.Cleanup) {
	for _, e := range byPlace(d.merged(d.Effective, d.Inactive)) {
		x := report.Cleanup{Name: e.FullName(), Path: e.Path, Line: e.Line, Expires: d.Ends(e), Covers: len(u.covers[e])}
		x.Expired = d.State(e) == report.Expired
		x.Soon = !x.Expired && !x.Expires.IsZero() && x.Expires.Sub(now) <= soon
		x.Unused = !x.Expired && whole && !u.needed[e] && u.judged(e, policies)
		if x.Expired || x.Soon || x.Unused {
			list = append(list, x)
		}
	}
	return list
}

// Needed reports whether something would fail without a merged exception.
func (u *Usage) Needed(e *engine.Exception) bool { return u.needed[e] }

// judged reports whether a whole check tells all about an exception: every policy it names was evaluated, and it is not
// about who makes a request or which operation, of which a check of what is there sees only creations.
func (u *Usage) judged(e *engine.Exception, policies *engine.Policies) bool {
	if e.ReadsRequest() {
		return false
	}
	list, rules := policies.List(), ruleNames(e)
	for _, name := range e.Policies() {
		i := slices.IndexFunc(list, func(p engine.PolicyInfo) bool { return p.FullName() == name })
		if i < 0 || u.undecided[name] {
			return false
		}
		file := list[i].Path
		if slices.ContainsFunc(policies.Unsupported(), func(p policy.Problem) bool { return p.Path == file }) {
			return false
		}
		for _, rule := range rules[name] {
			if !slices.ContainsFunc(list[i].Rules, func(s string) bool { return match.AnyWildcard([]string{rule}, s) }) {
				return false
			}
		}
	}
	return true
}

// ruleNames are the rule names that an exception gives for each policy; none for one of policies.kyverno.io.
func ruleNames(e *engine.Exception) map[string][]string {
	names := map[string][]string{}
	if spec, _ := e.Spec(); spec != nil {
		for _, ref := range spec.Exceptions {
			names[ref.PolicyName] = append(names[ref.PolicyName], ref.RuleNames...)
		}
	}
	return names
}
