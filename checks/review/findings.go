package review

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/checks/builtin"
	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/checks/view"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/explain"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/origin"
)

// Exceptions returns the state of approval of an exception, and who decided.
type Exceptions interface {
	State(e *engine.Exception) report.State
	By(e *engine.Exception) []string
}

// View turns answers into findings.
type View struct {
	Exceptions Exceptions
	Block      settings.Block
	Changed    func(path string) bool // whether the change touches a file
	// Stopped returns where the change stops deploying a deleted object. old says that only the base has the place; ok
	// is false if there is no such place. Stopped is nil where the place is not needed.
	Stopped func(*diff.Pair) (at origin.Place, old, ok bool)
	// Altered returns the approval of looked-up objects that the change alters, as if each were an exception. It is nil
	// where there is only one version of these objects.
	Altered func(a *Answer) *report.Exemption
}

// ViewOf returns the view of a change with one version of the rules.
func ViewOf(set *rules.Ruleset, exceptions Exceptions, change *diff.Trees) View {
	return View{Exceptions: exceptions, Changed: change.Changed, Stopped: change.Stopped, Block: set.Settings.Block}
}

// Finding is a report.Finding with the pair and the result that it is made of.
type Finding struct {
	report.Finding
	Pair    *diff.Pair
	Result  engine.Result
	Because []report.Cause // the possible causes of an undecided result
}

// Repeats reports whether another finding says the same of the same pair.
func (f Finding) Repeats(other Finding) bool {
	return f.Pair == other.Pair && f.Policy == other.Policy && f.Rule == other.Rule && f.Field == other.Field &&
		f.Finding.Result == other.Finding.Result && f.Message == other.Message
}

// Same reports whether another finding is of the same rule at the same place, whatever the names of the two objects
// are.
func (f Finding) Same(other Finding) bool {
	at, there := f.Origin, other.Origin
	return f.Policy == other.Policy && f.Rule == other.Rule && f.Resource.Kind == other.Resource.Kind &&
		at.Path == there.Path && at.StartLine == there.StartLine && at.Side == there.Side
}

// Findings returns the findings of one answer, one for each failing field.
func (v View) Findings(a *Answer) (list []Finding) {
	for i, res := range a.Results {
		if Quiet(res) || a.uncovered(&res) {
			continue
		}
		for _, field := range FieldsOf(res) {
			f := v.Finding(a, res, field)
			if i < len(a.advice) {
				a.suggest(&f, a.advice[i][field])
			}
			list = append(list, Finding{f, a.Pair, res, a.because(res)})
		}
	}
	for i, res := range a.Before {
		if !res.Mutation && (Violated(res) || Undecided(res)) && !a.answered(res) {
			list = append(list, v.loosened(a, i)...)
		}
	}
	if slices.ContainsFunc(list, func(f Finding) bool {
		return f.Blocks && f.Rule == builtin.Refused && f.Result.Policy.Kind == builtin.Kind
	}) {
		// The API server refuses the object before it asks the policies: one that cannot read the object adds nothing.
		list = slices.DeleteFunc(list, func(f Finding) bool {
			return f.Result.Outcome == engine.Error && f.Result.Policy.Kind != builtin.Kind
		})
	}
	return list
}

// uncovered reports whether a rule passes also without the exceptions that apply to it. If it does not, res gets the
// fields that the exceptions cover.
func (a *Answer) uncovered(res *engine.Result) bool {
	if len(res.Exceptions) == 0 || Violated(*res) || Undecided(*res) || res.Policy.Kind == builtin.Kind {
		return false // a check has looked, and has one result for each of its fields
	}
	if slices.ContainsFunc(a.Results, func(r engine.Result) bool { return r.Mutation && len(r.Exceptions) > 0 }) {
		return false // without exceptions, a mutate rule makes another object
	}
	for _, bare := range a.WithoutExceptions {
		if bare.ID() == res.ID() {
			res.Fields, res.Old = bare.Fields, bare.Old
			return bare.Outcome == engine.Pass || bare.Outcome == engine.Skip
		}
	}
	return false
}

// answered reports whether the results have a finding of the same rule that is at least as severe as before.
func (a *Answer) answered(before engine.Result) bool {
	return slices.ContainsFunc(a.Results, func(r engine.Result) bool {
		return r.ID() == before.ID() && (r.Enforce || !before.Enforce) && (Violated(r) || Undecided(r) && Undecided(before))
	})
}

// loosened returns the findings of a rule from before the change altered what the rule looks up. A violation then waits
// for approval, as with an exception. An undecided result stays undecided.
func (v View) loosened(a *Answer, i int) (list []Finding) {
	res := a.Before[i]
	names := strings.Join(view.ResourceNames(a.Altered), ", ")
	for _, field := range FieldsOf(res) {
		f := v.Finding(a, res, field)
		f.Message = view.Reason(f.Rule, f.Message) + " (relies on " + names + ", which this change adds, edits or removes)"
		if Violated(res) && f.Exemption == nil && v.Altered != nil {
			f.Exemption = v.Altered(a)
		}
		if x := f.Exemption; x != nil && x.State == report.Approved {
			f.Result, f.Blocks = report.Skip, false
		}
		if i < len(a.before) {
			a.suggest(&f, a.before[i][field])
		}
		list = append(list, Finding{f, a.Pair, res, a.because(res)})
	}
	return list
}

// because returns the causes of an undecided result: objects of the cluster that the rule needs and why they are
// unknown, or a value that only the cluster has.
func (a *Answer) because(res engine.Result) []report.Cause {
	if !Undecided(res) {
		return nil
	}
	what := admission.Needed(res.Message)
	if what == "" {
		if new := a.Pair.New; new != nil {
			for _, issue := range unknownOf(new) {
				if strings.HasSuffix(res.Message, issue.Message) {
					return []report.Cause{{Kind: report.CauseCluster, Reason: issue.Message}}
				}
			}
		}
		return nil
	}
	if id := admission.IdentityOf(a.Pair.Resource().Object); what == admission.NeedsNamespace(id).What {
		return []report.Cause{{Kind: report.CauseCluster, What: what, Reason: "nothing names it", Changed: true,
			ToDo: "name the namespace in the object or in its kustomization"}}
	}
	if strings.HasSuffix(what, admission.NeedsLive("").What) {
		return []report.Cause{{Kind: report.CauseCluster, What: what, ToDo: "look at the object in the cluster"}}
	}
	altered := slices.ContainsFunc(a.Altered, func(r report.Resource) bool {
		return r.String() == what || what == r.Kind+" for the parameters of the policy"
	})
	list := slices.Clone(a.lookups.Why(what))
	if list == nil {
		list = []report.Cause{{}}
	}
	for i := range list {
		c := &list[i]
		c.Kind, c.Changed = cmp.Or(c.Kind, report.CauseCluster), altered
		if c.Kind == report.CauseCluster {
			c.What = what
		}
	}
	return list
}

// FieldsOf returns the failing fields of a result: "", the whole object, if it names none.
func FieldsOf(res engine.Result) []string {
	if len(res.Fields) == 0 {
		return []string{""}
	}
	return res.Fields
}

// Quiet reports whether a result is no finding: it passed or does not apply, and no exception applied to it.
func Quiet(res engine.Result) bool {
	passed := res.Outcome == engine.Pass || res.Outcome == engine.Skip
	return passed && (res.Mutation || len(res.Exceptions) == 0)
}

// Finding returns the finding of an answer at one field of a result.
func (v View) Finding(a *Answer, res engine.Result, field string) report.Finding {
	side, old := a.Pair.Resource(), a.Pair.New == nil
	if res.Old && a.Pair.Old != nil {
		side, old = a.Pair.Old, true
	}
	f := report.Finding{
		Policy: res.Policy.FullName(), Rule: res.Rule, Severity: res.Policy.Severity,
		Resource: Named(a.Pair.Resource().Object), Operation: string(a.Pair.Operation),
		Result: ResultOf(res), Action: report.ActionOf(res.Enforce), Field: field, Message: res.Message,
		Roots: []string{a.Pair.Root.Name()}, New: true,
		PolicyPath: res.Policy.Path, PolicyLine: res.Policy.Line,
	}
	if res.Line > 0 {
		f.PolicyLine = res.Line
	}
	if a.ofLast[res.ID()] {
		f.Message += " (based on objects as of " + a.last.Format(time.DateOnly) + ")"
	}
	part := a.wrong(res, field)
	if part == (explain.Span{}) && a.versions != nil && !old { // all of the text is wrong: what the change made of it comes first
		was, _ := a.versions.Earlier(field)
		part.From, part.To = Differs(a.Object(), field, a.versions.Was(), was)
	}
	f.Origin = v.place(a, side, field, part, res.Policy.Inherited, old)
	if a.Pair.New == nil && v.Stopped != nil && !f.Origin.Changed {
		if at, old, ok := v.Stopped(a.Pair); ok {
			f.Origin = v.origin(at, old)
		}
	}
	switch {
	case len(res.Exceptions) > 0:
		f.Exemption = v.exemption(res.Exceptions)
	case compared(res):
		f.New = !before(a, res, side, field) && !v.stood(a, f.Origin, field)
		f.Exemption = v.idle(a, res)
	}
	denied := Violated(res) && res.Enforce
	blocking := denied || Violated(res) && v.Block.Audit && res.Policy.Kind != builtin.Kind
	f.Blocks = blocking && (f.New || v.Block.Existing || res.Refused)
	f.Denied = denied && !f.New && !res.Tolerated && res.Policy.Kind != builtin.Kind
	return f
}

// before reports whether the base violated the same rule at the same field. Kyverno lets an update pass that still
// violates what the object violated before; a violation at another field is a new one.
func before(a *Answer, res engine.Result, side *render.Resource, field string) bool {
	if a.versions == nil {
		return false
	}
	object, was := side.Object, a.versions.Was()
	if side == a.Pair.New {
		object = a.Object()
	}
	want, ok := field, true
	if side != a.Pair.Old {
		want, ok = a.versions.Earlier(field)
		if lacked(a, res, object, field) {
			return true
		}
	}
	if !ok {
		return false
	}
	return slices.ContainsFunc(a.Old, func(old engine.Result) bool {
		return compared(old) && repeats(old, res) && (len(old.Fields) == 0 && field == "" ||
			slices.Contains(old.Fields, want) && sameBelow(res, was, want, object, field))
	})
}

// had reports whether the base has a result of a rule at a field of the object before the change.
func (a *Answer) had(res engine.Result, field string) bool {
	return slices.ContainsFunc(a.Old, func(old engine.Result) bool {
		return repeats(old, res) && slices.Contains(old.Fields, field)
	})
}

// repeats reports whether two results are the same outcome of a rule.
func repeats(a, b engine.Result) bool {
	return a.Policy == b.Policy && a.Rule == b.Rule && a.Outcome == b.Outcome
}

// lacked reports whether the base violated the same rule because it had nothing at a parent of the field, and the
// object still lacks the field. Adding the parent does not make the violation a new one.
func lacked(a *Answer, res engine.Result, object admission.Object, field string) bool {
	if _, written := jsonpointer.Lookup(map[string]any(object), field); written || res.Policy.Kind == builtin.Kind {
		return false
	}
	for at := field; strings.LastIndexByte(at, '/') > 0; {
		at = at[:strings.LastIndexByte(at, '/')]
		if _, list := jsonpointer.At(map[string]any(object), at).([]any); list {
			return false // its elements are new
		}
		was, ok := a.versions.Earlier(at)
		if !ok {
			continue
		}
		if _, present := jsonpointer.Lookup(map[string]any(a.versions.Was()), was); present {
			return false
		}
		if a.had(res, was) {
			return true
		}
	}
	return false
}

// stood reports whether a violation is in an unchanged file from which the base could not be rendered. The change fixes
// the rendering and did not write the violation, unless the file has the field and the build removes it.
func (v View) stood(a *Answer, at *report.Origin, field string) bool {
	_, has := jsonpointer.Lookup(map[string]any(a.Pair.Resource().Object), field)
	return a.Pair.Operation == admission.Create && at != nil && !at.Changed && a.Pair.Read(at.Path) &&
		(has || !a.Pair.Writes(at.Path, field))
}

// sameBelow reports whether a built-in check complains about the same value as at the base. It compares whole values,
// since a built-in check names a field and judges everything below it. Other policies always return true.
func sameBelow(res engine.Result, was admission.Object, old string, object admission.Object, field string) bool {
	return res.Policy.Kind != builtin.Kind || field == "" ||
		reflect.DeepEqual(jsonpointer.At(was, old), jsonpointer.At(object, field))
}

func (v View) exemption(list []*engine.Exception) *report.Exemption {
	e := list[0]
	for _, other := range list {
		// An approved exception says more than a merged one.
		if v.Exceptions.State(other) != report.Merged {
			e = other
		}
	}
	return &report.Exemption{
		Exception: e.FullName(), Path: e.Path,
		State: v.Exceptions.State(e), By: strings.Join(v.Exceptions.By(e), ", "),
	}
}

// idle returns the exception that would cover a violation if the exception counted: one of its rule, or of a mutate rule that
// makes the object violate it. One that waits for approval comes first, since that approval is enough.
func (v View) idle(a *Answer, res engine.Result) *report.Exemption {
	idle := func(list []*engine.Exception) *report.Exemption {
		for _, state := range []report.State{report.Pending, report.Refused, report.Expired, report.Dropped} {
			i := slices.IndexFunc(list, func(e *engine.Exception) bool { return v.Exceptions.State(e) == state })
			if i >= 0 {
				return v.exemption(list[i : i+1])
			}
		}
		return nil
	}
	passes := func(other engine.Result) bool { return other.ID() == res.ID() && !Violated(other) }
	mutates := func(other engine.Result) bool { return other.Mutation && slices.ContainsFunc(a.Inactive, passes) }
	for _, covers := range []func(engine.Result) bool{passes, mutates} {
		for _, other := range a.Inactive {
			if x := idle(other.Exceptions); x != nil && covers(other) {
				return x
			}
		}
	}
	return nil
}

// Differs returns the range of bytes in which a string differs from a field of another object.
func Differs(object admission.Object, field string, other admission.Object, earlier string) (from, to int) {
	now, _ := jsonpointer.At(map[string]any(object), field).(string)
	was, ok := jsonpointer.At(map[string]any(other), earlier).(string)
	if !ok {
		return 0, 0
	}
	from = view.SameHead([]byte(now), []byte(was))
	return from, len(now) - view.SameTail([]byte(now[from:]), []byte(was[from:]))
}

// place returns where a finding's field is written, or the wrong part of its text: in the sources, or in the mutate
// rule that wrote it.
func (v View) place(a *Answer, side *render.Resource, field string, wrong explain.Span, inherited, old bool) *report.Origin {
	m := a.Mutations
	if inherited {
		m = a.above
	}
	if m == nil || old {
		return v.origin(side.Origin(field).Within(wrong.From, wrong.To), old)
	}
	at := side.Origin(m.rendered(field))
	w, ok := m.writer(field)
	if !ok || rules.IsExternal(w.policy.Path) { // nobody can edit a rule of another repository here
		return v.origin(at.Within(wrong.From, wrong.To), old)
	}
	source := v.origin(at, old)
	line := max(1, w.line)
	rendered := report.Place{Path: source.Path, StartLine: source.StartLine, EndLine: source.EndLine, Role: "rendered"}
	return &report.Origin{Path: w.policy.Path, StartLine: line, EndLine: line, How: string(origin.Writer),
		Changed: v.Changed(w.policy.Path), Chain: append([]report.Place{rendered}, source.Chain...)}
}

func (v View) origin(p origin.Place, old bool) *report.Origin {
	return OriginOf(Substituted(p, v.Changed), old, v.Changed)
}

// Substituted returns the place of a value into which Flux substitutes variables: where the variable gets its value if the
// change edits only that, where the variable stands if the change edits only that. Otherwise it is p.
func Substituted(p origin.Place, changed func(path string) bool) origin.Place {
	whole := p.Role == gitops.Substitute
	for _, l := range p.Chain {
		if (whole || l.Role == gitops.Substitute) && !changed(p.Path) && changed(l.Path) {
			from := origin.Link{Path: p.Path, StartLine: p.StartLine, EndLine: p.EndLine, Role: p.Role}
			return origin.Place{Path: l.Path, StartLine: l.StartLine, EndLine: l.EndLine, How: p.How, Role: l.Role,
				Chain: []origin.Link{from}}
		}
	}
	return p
}

// OriginOf converts a place to one of a report, of the base if old. changed reports whether the change touches a file.
func OriginOf(p origin.Place, old bool, changed func(path string) bool) *report.Origin {
	o := &report.Origin{Path: p.Path, StartLine: p.StartLine, EndLine: p.EndLine, StartColumn: p.StartColumn,
		EndColumn: p.EndColumn, How: string(p.How), Missing: p.Missing, Set: p.Set, Switch: p.Switch,
		Advice: p.SuggestedFix, Changed: changed(p.Path), Chain: report.Mapped(p.Chain, func(l origin.Link) report.Place {
			return report.Place{Path: l.Path, StartLine: l.StartLine, EndLine: l.EndLine, Role: l.Role}
		})}
	if old {
		o.Side = report.Base
	}
	return o
}

// Named returns the identity of an object.
func Named(o admission.Object) report.Resource {
	id := admission.IdentityOf(o)
	return report.Resource{APIVersion: id.APIVersion(), Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}

// ResultOf converts a result to one of a report. A rule that passes is a finding only if an exception let it pass.
func ResultOf(res engine.Result) report.Result {
	if res.Outcome == engine.Pass {
		return report.Skip
	}
	return report.ResultOf(res.Outcome, res.Enforce)
}
