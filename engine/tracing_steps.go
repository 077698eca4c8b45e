package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/assert"
	"github.com/lintel-bot/lintel/engine/explain"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/pattern"
)

// What stands here notes steps of an evaluation where somebody wants to know, and does nothing else.

// logPattern notes what a pattern said, with the values of the fields that fail.
func (f *frame) logPattern(part explain.Part, at string, out pattern.Outcome) {
	if !f.log.On() {
		return
	}
	step := explain.Step{Part: part, At: at, Holds: out.Verdict == pattern.Pass, Words: "the object matches"}
	switch {
	case out.Verdict == pattern.Skip:
		step.Words = "it does not apply: a conditional or global anchor does not hold"
	case !step.Holds && out.Path != "":
		step.Words = "it fails at " + out.Path
		step.Values = f.valuesAt(f.place(out.Fields))
	case !step.Holds:
		step.Words = "it cannot be compared"
	}
	f.log.Add(step)
}

// logDeletion notes that a part says how objects must be, and not whether they may go.
func (v *review) logDeletion(part explain.Part) {
	v.log.Add(explain.Step{Part: part, Words: "it does not apply to deletions"})
}

// logList notes how long the list of a foreach is.
func (f *frame) logList(i int, found any, err error) {
	if !f.log.On() {
		return
	}
	n := 1
	if list, ok := found.([]any); ok {
		n = len(list)
	}
	f.log.Add(explain.Step{Part: explain.ForEach, At: fmt.Sprint("/", i), Holds: err == nil && n > 0, Err: err,
		Words: fmt.Sprintf("the list has %d elements", n)})
}

// logMutation notes what a mutation writes.
func (f *frame) logMutation(patched admission.Object, written []string, err error) {
	if !f.log.On() {
		return
	}
	step := explain.Step{Part: explain.Mutate, Holds: err == nil && len(written) > 0, Words: "writes nothing", Err: err}
	if step.Holds {
		step.Words = "writes"
		for _, field := range written {
			value, _ := jsonpointer.Lookup(patched, field)
			step.Values = append(step.Values, explain.Value{Name: field, Value: value})
		}
	}
	f.log.Add(step)
}

// logAssertion notes which assertions do not hold.
func (f *frame) logAssertion(failures []assert.Failure) {
	switch {
	case !f.log.On():
		return
	case len(failures) == 0:
		f.log.Add(explain.Step{Part: explain.Assert, Holds: true, Words: "all assertions hold"})
	}
	for _, x := range failures {
		f.log.Add(explain.Step{Part: explain.Assert, Words: "it does not hold", Values: f.valuesOf(x.Fields)})
	}
}

// valuesOf are the values of fields of what an assertion starts from.
func (f *frame) valuesOf(pointers []string) (out []explain.Value) {
	payload := f.payload()
	for _, p := range pointers {
		value, _ := jsonpointer.Lookup(payload, p)
		out = append(out, explain.Value{Name: p, Value: value})
	}
	return out
}

// logException notes which parts of an exception cover the request.
func (v *review) logException(f *frame, x *Exception) {
	if !v.log.On() {
		return
	}
	steps := x.match.Explain(v.target)
	if x.conditions != nil {
		steps = append(steps, x.conditions.Explain(f.scope, explain.Exception)...)
	}
	for i := range steps {
		steps[i].Words = strings.TrimSpace(x.FullName() + ": " + steps[i].Words)
	}
	v.log.Add(steps...)
}

// valuesAt are the values of fields of the object that the request is about.
func (v *review) valuesAt(fields []string) (out []explain.Value) {
	for _, field := range slices.Compact(slices.Sorted(slices.Values(fields))) {
		value, found := any(v.request.CurrentObject()), true
		if field != "" {
			value, found = jsonpointer.Lookup(value, field)
		}
		if found && field != "" {
			out = append(out, explain.Value{Name: field, Value: value})
		} else {
			out = append(out, explain.Value{Name: cmp.Or(field, "/")})
		}
	}
	return out
}
