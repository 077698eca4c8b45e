package engine

import (
	"cmp"
	"reflect"
	"slices"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/cel"
)

// cel evaluates a policy that is CEL as a whole.
func (v *review) cel(b *bound) (out []Result) {
	defer func() {
		if x := recover(); x != nil {
			out = []Result{{Policy: b.ref, Line: b.ref.Line, Outcome: Error, Enforce: true, Message: panicked(x), Fields: []string{""}}}
		}
	}()
	for _, r := range b.program.cel.Evaluate(v.ctx, v.request, v.celEnv) {
		out = append(out, v.fromCEL(b.ref, r))
	}
	if v.request.Operation == admission.Update && v.request.OldObject != nil && slices.ContainsFunc(out, failing) {
		old := *v.request
		old.Operation, old.Object, old.OldObject = admission.Create, v.request.OldObject, nil
		before := b.program.cel.Evaluate(v.ctx, &old, v.celEnv)
		for i := range out {
			out[i].PreExisting = failing(out[i]) && slices.ContainsFunc(before, func(r cel.Result) bool { return r.Outcome == cel.Fail && r.Rule == out[i].Rule })
		}
	}
	return out
}

// same reports whether two objects are one.
func same(a, b admission.Object) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// mutate evaluates a policy that changes the object.
func (v *review) mutate(b *bound) (out []Result) {
	defer func() {
		if x := recover(); x != nil {
			out = []Result{{Policy: b.ref, Line: b.ref.Line, Outcome: Error, Enforce: true, Message: panicked(x), Fields: []string{""}, Mutation: true}}
		}
	}()
	for _, m := range b.program.mutating.Evaluate(v.ctx, v.request, v.celEnv) {
		r := v.fromCEL(b.ref, m.Result)
		r.Mutation, r.Patched = true, m.Patched
		if (r.Outcome == Error || r.Outcome == Unknown) && len(r.Fields) == 0 {
			r.Fields = []string{""}
		}
		out = append(out, r)
	}
	return out
}

func failing(r Result) bool { return r.Outcome == Fail }

func (v *review) fromCEL(ref PolicyRef, r cel.Result) Result {
	out := Result{
		Policy: ref, Rule: r.Rule, Outcome: Outcome(r.Outcome), Enforce: r.Enforce, Message: r.Message,
		Fields: r.Fields, Old: r.Old, Combined: r.Combined, Line: cmp.Or(r.Line, ref.Line),
	}
	for _, x := range r.Exceptions {
		if known := v.celOf[x]; known != nil {
			out.Exceptions = append(out.Exceptions, known)
		}
	}
	return out
}
