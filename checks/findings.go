package checks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/exempt"
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
			r.report.Warnings = append(r.report.Warnings, Problem{Path: res.Policy.Path, Line: res.Policy.Line, Message: fmt.Sprintf(
				"%s / %s passes for %s only because %s stand together: none of them alone allows it",
				policyName(res.Policy), res.Rule, resourceName(resourceOf(v.pair.resource())), strings.Join(exempt.Names(res.Exceptions), " and "))})
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
			if r.change.Drafts && f.Blocks && (f.Exemption == nil || f.Exemption.State != string(exempt.Pending)) {
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

func (r *run) finding(v *reviewed, res engine.Result, field string) Finding {
	side, old := v.pair.resource(), v.pair.new == nil
	if res.Old && v.pair.old != nil {
		side, old = v.pair.old, true
	}
	f := Finding{
		Policy: policyName(res.Policy), Rule: res.Rule, Severity: res.Policy.Severity,
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

func (r *run) exemption(list []*engine.Exception) *Exemption {
	e := list[0]
	for _, other := range list {
		// The one that counts least says most: approved rather than merged.
		if r.decision.State(other) != exempt.Merged {
			e = other
		}
	}
	return &Exemption{Exception: exempt.Name(e), Path: e.Path, State: string(r.decision.State(e)), By: strings.Join(r.decision.By(e), ", ")}
}

// idleExemption answers the exception that would cover a violation if it counted.
func (r *run) idleExemption(v *reviewed, res engine.Result) *Exemption {
	for _, other := range v.idle {
		if !sameRule(other, res) || violated(other) {
			continue
		}
		for _, e := range other.Exceptions {
			if state := r.decision.State(e); state == exempt.Pending || state == exempt.Refused || state == exempt.Expired {
				return &Exemption{Exception: exempt.Name(e), Path: e.Path, State: string(state), By: strings.Join(r.decision.By(e), ", ")}
			}
		}
	}
	return nil
}

// place answers where a finding's field is written: in the sources, or in the mutate rule that wrote it.
func (r *run) place(v *reviewed, side *render.Resource, field string, old bool) *Origin {
	if v.mutations == nil || old {
		return r.origin(side.Origin(field), old)
	}
	source := r.origin(side.Origin(v.mutations.rendered(field)), old)
	w, ok := v.mutations.writer(field)
	if !ok {
		return source
	}
	return &Origin{Path: w.policy.Path, StartLine: max(1, w.line), EndLine: max(1, w.line), How: string(origin.Writer), Changed: r.changed[w.policy.Path],
		Chain: append([]Place{{Path: source.Path, StartLine: source.StartLine, EndLine: source.EndLine, Role: "rendered"}}, source.Chain...)}
}

func (r *run) origin(p origin.Place, old bool) *Origin {
	o := &Origin{Path: p.Path, StartLine: p.StartLine, EndLine: p.EndLine, StartColumn: p.StartColumn, EndColumn: p.EndColumn,
		How: string(p.How), Missing: p.Missing, Changed: r.changed[p.Path]}
	if old {
		o.Side = "base"
	}
	for _, l := range p.Chain {
		o.Chain = append(o.Chain, Place{Path: l.Path, StartLine: l.StartLine, EndLine: l.EndLine, Role: l.Role})
	}
	return o
}

func policyName(p engine.PolicyRef) string {
	if p.Namespace == "" {
		return p.Name
	}
	return p.Namespace + "/" + p.Name
}

func resourceOf(r *render.Resource) Resource {
	id := admission.IdentityOf(r.Object)
	return Resource{APIVersion: id.APIVersion(), Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}

func resourceName(r Resource) string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

func resultOf(res engine.Result) Result {
	switch res.Outcome {
	case engine.Skip, engine.Pass: // by an exception, else it is no finding
		return Skip
	case engine.Unknown:
		return Unknown
	case engine.Error:
		return Error
	}
	if res.Enforce {
		return Fail
	}
	return Warn
}

func actionOf(res engine.Result) string {
	if res.Enforce {
		return "enforce"
	}
	return "audit"
}

// merge puts findings at the same place for the same reason together: what fails in a base fails in every
// overlay, and one edit mends it.
func merge(list []Finding) []Finding {
	type reason struct {
		policy, policyPath, rule, action, operation, message, exemption string
		result                                                          Result
		path, side                                                      string
		line, column                                                    int
		missing                                                         string
		isNew                                                           bool
	}
	at := map[reason]int{}
	var out []Finding
	for _, f := range list {
		k := reason{policy: f.Policy, policyPath: f.PolicyPath, rule: f.Rule, action: f.Action, operation: f.Operation,
			message: f.Message, result: f.Result, path: f.Origin.Path, side: f.Origin.Side, line: f.Origin.StartLine,
			column: f.Origin.StartColumn, missing: f.Origin.Missing, isNew: f.New}
		if f.Exemption != nil {
			k.exemption = f.Exemption.Path + f.Exemption.Exception + f.Exemption.State
		}
		i, ok := at[k]
		if !ok {
			at[k] = len(out)
			out = append(out, f)
			continue
		}
		into := &out[i]
		if !slices.Contains(into.Roots, f.Roots[0]) {
			into.Roots = append(into.Roots, f.Roots[0])
		}
		if f.Resource != into.Resource && !slices.Contains(into.Resources, f.Resource) {
			into.Resources = append(into.Resources, f.Resource)
		}
		into.Blocks = into.Blocks || f.Blocks
	}
	return out
}

func compareFindings(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(a.Origin.Path, b.Origin.Path), cmp.Compare(a.Origin.StartLine, b.Origin.StartLine),
		cmp.Compare(a.Origin.StartColumn, b.Origin.StartColumn), cmp.Compare(a.Policy, b.Policy), cmp.Compare(a.Rule, b.Rule),
		cmp.Compare(a.Resource.Kind, b.Resource.Kind), cmp.Compare(a.Resource.Namespace, b.Resource.Namespace),
		cmp.Compare(a.Resource.Name, b.Resource.Name), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Operation, b.Operation),
		cmp.Compare(a.Message, b.Message), slices.Compare(a.Roots, b.Roots))
}
