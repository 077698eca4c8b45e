package checks

import (
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/checks/exceptions"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/origin"
)

// findings turns the results of one review into findings, one for each failing field.
func (r *run) findings(v *reviewed) {
	stats := &r.report.Stats
	r.reportMutations(v)
	for _, res := range v.results {
		switch res.Outcome {
		case engine.Pass:
			stats.Passed++
		case engine.Skip:
			stats.Skipped++
		case engine.Error:
			stats.Errored++
		case engine.Unknown:
			stats.Unknown++
		case engine.Fail:
			if res.Enforce {
				stats.Failed++
			} else {
				stats.Warned++
			}
		}
		if res.Combined {
			r.report.Warnings = append(r.report.Warnings, report.Problem{Path: res.Policy.Path, Line: res.Policy.Line, Message: fmt.Sprintf(
				"%s / %s passes for %s only because %s stand together: none of them alone allows it",
				report.Name(res.Policy.Namespace, res.Policy.Name), res.Rule, resourceOf(v.pair.resource()).String(), strings.Join(exceptions.Names(res.Exceptions), " and "))})
		}
		if quiet(res) {
			continue
		}
		fields := res.Fields
		if len(fields) == 0 {
			fields = []string{""}
		}
		for _, field := range fields {
			f := r.finding(v, res, field)
			f.Expected = r.expected(res, field)
			if r.change.Drafts && f.Blocks && (f.Exemption == nil || f.Exemption.State != report.Pending) {
				r.block(v.pair, res)
			}
			r.report.Findings = append(r.report.Findings, f)
		}
	}
}

// quiet says whether a result is only counted: it passed or does not apply, and no exception had a part in it.
func quiet(res engine.Result) bool {
	passed := res.Outcome == engine.Pass || res.Outcome == engine.Skip
	return passed && (res.Mutation || len(res.Exceptions) == 0)
}

func (r *run) finding(v *reviewed, res engine.Result, field string) report.Finding {
	side, old := v.pair.resource(), v.pair.new == nil
	if res.Old && v.pair.old != nil {
		side, old = v.pair.old, true
	}
	f := report.Finding{
		Policy: report.Name(res.Policy.Namespace, res.Policy.Name), Rule: res.Rule, Severity: res.Policy.Severity,
		Resource: resourceOf(v.pair.resource()), Operation: string(v.pair.operation),
		Result: resultOf(res), Action: actionOf(res), Field: field, Message: res.Message,
		Roots: []string{v.pair.root.Path}, New: true,
		PolicyPath: res.Policy.Path, PolicyLine: res.Policy.Line,
	}
	if res.Line > 0 {
		f.PolicyLine = res.Line
	}
	f.Origin = r.place(v, side, field, old)
	switch {
	case len(res.Exceptions) > 0:
		f.Exemption = r.exemption(res.Exceptions)
	case violated(res):
		f.New = !before(v, res, side, field)
		f.Exemption = r.idleExemption(v, res)
	}
	blocking := (res.Outcome == engine.Fail || res.Outcome == engine.Error) && res.Enforce
	f.Blocks = blocking && (f.New || r.settings.Block == "all" || intolerant(res))
	return f
}

// intolerant says whether a rule denies an update also of what violated it before: it sets
// allowExistingViolations to false (https://kyverno.io/docs/policy-types/cluster-policy/validate/).
func intolerant(res engine.Result) bool {
	return res.PreExisting && !res.Tolerated && !res.Mutation && strings.HasPrefix(res.Policy.APIVersion, "kyverno.io/")
}

// before says whether the base violated the same rule at the same field. Kyverno lets an update pass that still
// violates what the object violated before; a violation at another field is a new one.
func before(v *reviewed, res engine.Result, side *render.Resource, field string) bool {
	if v.pair.operation != admission.Update {
		return false
	}
	object := side.Object
	if v.mutations != nil {
		object = v.mutations.object
	}
	want := stableField(object, field)
	for _, old := range v.old {
		if !violated(old) || old.Outcome != res.Outcome || old.Rule != res.Rule || old.Policy != res.Policy {
			continue
		}
		if len(old.Fields) == 0 && field == "" {
			return true
		}
		for _, f := range old.Fields {
			if stableField(v.pair.old.Object, f) == want {
				return true
			}
		}
	}
	return false
}

func (r *run) exemption(list []*engine.Exception) *report.Exemption {
	e := list[0]
	for _, other := range list {
		// The one that counts least says most: approved rather than merged.
		if r.decision.State(other) != report.Merged {
			e = other
		}
	}
	return &report.Exemption{Exception: exceptions.Name(e), Path: e.Path, State: r.decision.State(e), By: strings.Join(r.decision.By(e), ", ")}
}

// idleExemption answers the exception that would cover a violation if it counted.
func (r *run) idleExemption(v *reviewed, res engine.Result) *report.Exemption {
	for _, other := range v.idle {
		if !sameRule(other, res) || violated(other) {
			continue
		}
		for _, e := range other.Exceptions {
			if state := r.decision.State(e); state == report.Pending || state == report.Refused || state == report.Expired {
				return &report.Exemption{Exception: exceptions.Name(e), Path: e.Path, State: state, By: strings.Join(r.decision.By(e), ", ")}
			}
		}
	}
	return nil
}

// place answers where a finding's field is written: in the sources, or in the mutate rule that wrote it.
func (r *run) place(v *reviewed, side *render.Resource, field string, old bool) *report.Origin {
	if v.mutations == nil || old {
		return r.origin(side.Origin(field), old)
	}
	source := r.origin(side.Origin(v.mutations.rendered(field)), old)
	w, ok := v.mutations.writer(field)
	if !ok {
		return source
	}
	return &report.Origin{Path: w.policy.Path, StartLine: max(1, w.line), EndLine: max(1, w.line), How: string(origin.Writer), Changed: r.changed[w.policy.Path],
		Chain: append([]report.Place{{Path: source.Path, StartLine: source.StartLine, EndLine: source.EndLine, Role: "rendered"}}, source.Chain...)}
}

func (r *run) origin(p origin.Place, old bool) *report.Origin {
	o := &report.Origin{Path: p.Path, StartLine: p.StartLine, EndLine: p.EndLine, StartColumn: p.StartColumn, EndColumn: p.EndColumn,
		How: string(p.How), Missing: p.Missing, Changed: r.changed[p.Path]}
	if old {
		o.Side = report.Base
	}
	for _, l := range p.Chain {
		o.Chain = append(o.Chain, report.Place{Path: l.Path, StartLine: l.StartLine, EndLine: l.EndLine, Role: l.Role})
	}
	return o
}

func resourceOf(r *render.Resource) report.Resource {
	id := admission.IdentityOf(r.Object)
	return report.Resource{APIVersion: id.APIVersion(), Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}

func resultOf(res engine.Result) report.Result {
	switch res.Outcome {
	case engine.Skip, engine.Pass: // by an exception, else it is no finding
		return report.Skip
	case engine.Unknown:
		return report.Unknown
	case engine.Error:
		return report.Error
	}
	if res.Enforce {
		return report.Fail
	}
	return report.Warn
}

func actionOf(res engine.Result) report.Action {
	if res.Enforce {
		return report.Enforce
	}
	return report.Audit
}
