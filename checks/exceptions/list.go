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

// Known is what List needs besides the decision. Nil fields are unknown.
type Known struct {
	Policies *engine.Policies
	Reviews  []report.Review
	Findings []report.Finding
	Beyond   map[*engine.Exception]*report.Beyond
	Blob     func(path string) string // git object id of a file at the head
	With     func(e *engine.Exception) []report.File
	Terms    func(e *engine.Exception) []string
	// Approvers returns who decides about an exception in place of the repository's approvers; nil: nobody.
	Approvers func(e *engine.Exception) *report.Approvers
}

// Active lists the merged exceptions in effect, sorted by place, with the number of findings that each covers.
func Active(d *Decision, findings []report.Finding) (list []report.Active) {
	for _, e := range byPlace(d.merged(d.Effective)) {
		x := report.Active{Name: e.FullName(), Path: e.Path, Line: e.Line, Expires: d.Ends(e)}
		for _, f := range findings {
			if covers(e, f) {
				x.Covers += 1 + len(f.Resources)
			}
		}
		list = append(list, x)
	}
	return list
}

// List describes the exceptions that a change proposes, sorted by place.
func List(d *Decision, known Known) (list []report.Exception) {
	for _, e := range byPlace(d.Proposed) {
		x := report.Exception{
			Name: e.FullName(), Path: e.Path, Line: e.Line, Blob: known.Blob(e.Path), With: known.With(e), Terms: known.Terms(e),
			State: d.State(e), By: d.By(e), Expires: d.Ends(e), Beyond: known.Beyond[e],
		}
		if known.Policies != nil {
			x.Broad = Breadth(e, known.Policies)
		}
		if known.Approvers != nil {
			x.Approvers = known.Approvers(e)
		}
		i := slices.IndexFunc(known.Reviews, func(r report.Review) bool { return r.Of(x.Path, x.Blob, x.Terms) })
		if i >= 0 {
			x.Review = &known.Reviews[i]
		}
		for _, f := range known.Findings {
			if covers(e, f) {
				x.Lets++
			}
		}
		list = append(list, x)
	}
	return list
}

// soon is how long before its expiry an exception is reported.
const soon = 14 * 24 * time.Hour

// Usage is what a check of the whole repository finds out about merged exceptions.
type Usage struct {
	needed    map[*engine.Exception]bool
	covers    map[*engine.Exception]map[report.Resource]bool
	undecided map[string]bool // policies with an unknown result
}

// NewUsage returns an empty Usage.
func NewUsage() *Usage {
	return &Usage{needed: map[*engine.Exception]bool{}, covers: map[*engine.Exception]map[report.Resource]bool{},
		undecided: map[string]bool{}}
}

// Note records one answer. An exception is needed if the rule that it disables would not pass without it.
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

// Cleanup lists the merged exceptions that are unused, expired or about to expire. It lists unused ones only with
// whole, which says that everything was rendered and evaluated.
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

// Needed reports whether a rule would fail without a merged exception.
func (u *Usage) Needed(e *engine.Exception) bool { return u.needed[e] }

// judged reports whether a check of the whole repository can tell whether an exception is used. Every policy that it
// names must have been evaluated. It must not depend on the requester or the operation, since such a check has
// creations only.
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

// ruleNames returns the rule names of an exception for each policy; none for an exception of policies.kyverno.io.
func ruleNames(e *engine.Exception) map[string][]string {
	names := map[string][]string{}
	if spec, _ := e.Spec(); spec != nil {
		for _, ref := range spec.Exceptions {
			names[ref.PolicyName] = append(names[ref.PolicyName], ref.RuleNames...)
		}
	}
	return names
}
