package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/condition"
	"github.com/lintel-bot/lintel/engine/explain"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/pattern"
)

// SuggestedFix is what a rule asks of a field that fails it.
type SuggestedFix struct {
	Requirement string  // in words, "" where nothing is known
	Change      *Change // nil where no value is known to help
	// Part is what of the text of the field is wrong.
	Part explain.Span
}

// Change is a change of an object after which a field does not fail any more. It was tried out.
type Change struct {
	Field   string // RFC 6901 pointer to what is written or removed; what is missing above it has to be made
	Value   any    // nil where Remove is set
	Remove  bool
	Example bool // the rule takes other values as well, or the value holds a placeholder (see package explain)
}

// maxSuggested bounds for how many fields of one result fixes are tried.
const maxSuggested = 50

// SuggestFixes returns what rules ask of the fields of results, by field, for each result. request is the one that the
// results are of, with the object as mutate rules left it. Only failures get them, and not for fields of
// an old object. takes reports whether a change of the object is one to suggest, whatever the rules say; nil: each is.
func (e *Evaluator) SuggestFixes(ctx context.Context, request *admission.Request, results []Result,
	takes func(Change) bool) []map[string]SuggestedFix {
	out := make([]map[string]SuggestedFix, len(results))
	asked := map[ruleAt]*suggester{}
	for i, r := range results {
		if r.Outcome != Fail || r.Old || r.Mutation || request.Object == nil {
			continue
		}
		at := ruleAt{r.Policy, r.Rule, r.Line}
		if asked[at] == nil {
			asked[at] = e.suggester(ctx, request, r)
			asked[at].takes = takes
		}
		out[i] = asked[at].suggest(r)
	}
	return out
}

// ruleAt is a rule, or a part of one that is distinguished by its line.
type ruleAt struct {
	policy PolicyRef
	rule   string
	line   int
}

// suggester returns a suggester for the rule of a failed result.
func (e *Evaluator) suggester(ctx context.Context, request *admission.Request, r Result) *suggester {
	a := &suggester{Evaluator: e, ctx: ctx, request: request, at: ruleAt{r.Policy, r.Rule, r.Line}, sheet: &explain.Sheet{}}
	for i, s := range e.steps {
		if e.policies.list[s.policy].reference() == r.Policy && about(s.step, r) {
			a.steps = append(a.steps, i)
		}
	}
	_, a.failing = a.ask(request.Object, a.sheet)
	return a
}

func (a *suggester) suggest(r Result) map[string]SuggestedFix {
	if !a.failing {
		return nil
	}
	a.fields = r.Fields
	out := make(map[string]SuggestedFix, len(r.Fields))
	for i, field := range r.Fields {
		requirements := requirementsOf(a.sheet, field)
		slices.SortStableFunc(requirements, func(a, b explain.Requirement) int { return removes(a) - removes(b) })
		suggested := SuggestedFix{Requirement: join(requirements)}
		if text, ok := jsonpointer.At(a.request.Object, field).(string); ok && len(requirements) > 0 {
			suggested.Part = requirements[0].In(text)
		}
		if i < maxSuggested {
			suggested.Change = a.remembered(field, requirements)
		}
		out[field] = suggested
	}
	return out
}

// about reports whether a step is what gave a result.
func about(s step, r Result) bool {
	rule, ok := s.(*ruleStep)
	return !ok || rule.name == r.Rule && (rule.line == r.Line || rule.cel != nil)
}

// requirementsOf are the requirements about a field, or else about what is below it, or else about the object as a whole.
func requirementsOf(sheet *explain.Sheet, field string) []explain.Requirement {
	if requirements := slices.Clone(sheet.At(field)); len(requirements) > 0 && (field != "" || len(sheet.Fields()) == 1) {
		return requirements
	}
	var out []explain.Requirement
	for _, other := range sheet.Fields() {
		rest, ok := jsonpointer.Below(other, field)
		if !ok || rest == "" {
			continue
		}
		for _, h := range sheet.At(other) {
			below := explain.Requirement{Words: jsonpointer.Dotted(rest) + ": " + h.Words}
			for _, e := range h.Changes {
				e.Below = rest + e.Below
				below.Changes = append(below.Changes, e)
			}
			out = append(out, below)
		}
	}
	if len(out) == 0 {
		return slices.Clone(sheet.At(""))
	}
	return out
}

// maxRequirements is how many requirements about one field are given.
const maxRequirements = 3

// removes is 1 for a requirement that can only take the field away, which is the last that people want to do.
func removes(h explain.Requirement) int {
	if len(h.Changes) > 0 && h.Changes[0].Remove && !h.Changes[0].Element {
		return 1
	}
	return 0
}

func join(requirements []explain.Requirement) string {
	if len(requirements) > 1 && removes(requirements[0]) == 0 {
		requirements = slices.DeleteFunc(slices.Clone(requirements), func(h explain.Requirement) bool { return removes(h) == 1 })
	}
	var words []string
	for _, h := range requirements[:min(len(requirements), maxRequirements)] {
		if !slices.Contains(words, h.Words) {
			words = append(words, h.Words)
		}
	}
	return strings.Join(words, "; ")
}

// suggester collects the requirements of one rule on one object and tries the changes that may fulfil them.
type suggester struct {
	*Evaluator
	ctx     context.Context
	request *admission.Request
	at      ruleAt
	steps   []int
	sheet   *explain.Sheet // what it asks for
	failing bool
	fields  []string // of the result that is looked at
	takes   func(Change) bool
}

// ask returns the fields that fail with an object in place of the one of the request; failing is false where the rule
// has nothing against it.
func (a *suggester) ask(object admission.Object, sheet *explain.Sheet) (fields []string, failing bool) {
	request := *a.request
	request.Object = object
	with := *a.Evaluator
	with.celEnv.Sheet = sheet
	v := with.newReview(a.ctx, &request)
	v.see(a.at.policy.Inherited)
	v.sheet, v.prior = sheet, true // whether the old object violates it, too, is known
	for _, p := range v.run(a.steps) {
		if p.Outcome == Pass || p.Outcome == Skip || p.Mutation {
			continue
		}
		fields, failing = append(fields, p.Fields...), true
		if p.Outcome != Fail {
			fields = append(fields, "")
		}
	}
	return fields, failing
}

// question is the key of tried: objects with equal questions have the same answer.
type question struct {
	ruleAt
	kind, field, fields, requirements string
}

// maxTried bounds how many answers an evaluator keeps.
const maxTried = 10_000

// tried caches which changes helped: in a large repository many objects fail in the same way. It is safe for
// concurrent use.
type tried struct {
	helped sync.Map // question -> [2]int: requirement and change, or -1
	kept   atomic.Int32
}

// remembered returns the cached result of try for objects of one kind that fail in the same way.
func (a *suggester) remembered(field string, requirements []explain.Requirement) *Change {
	var asks strings.Builder
	for _, h := range requirements { // not the text of the field, which is written over
		fmt.Fprintf(&asks, "%q %#v\n", h.Words, h.Changes)
	}
	q := question{a.at, admission.IdentityOf(a.request.Object).Kind, field, strings.Join(a.fields, "\n"), asks.String()}
	if found, ok := a.tried.helped.Load(q); ok {
		at, _ := found.([2]int)
		if at[0] < 0 {
			return nil
		}
		change := a.changeOf(field, requirements[at[0]].Changes[at[1]])
		return &change
	}
	at, change := a.try(field, requirements)
	if a.tried.kept.Add(1) <= maxTried {
		a.tried.helped.Store(q, at)
	}
	return change
}

func (a *suggester) changeOf(field string, e explain.Change) Change {
	out := Change{Field: field + e.Below, Remove: e.Remove, Example: e.Example}
	out.Value = writable(admission.IdentityOf(a.request.Object).Kind, slices.Collect(jsonpointer.Tokens(out.Field)), e.Value)
	return out
}

// textMaps are the fields whose maps hold texts only. Rules that compare with true mean the text there.
var textMaps = []string{"labels", "annotations", "matchLabels", "nodeSelector", "stringData"}

// writable returns a value as the API server takes it at a path of an object of a kind.
func writable(kind string, path []string, value any) any {
	below := func(key string, v any) any { return writable(kind, append(slices.Clone(path), key), v) }
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = below(k, e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = below(strconv.Itoa(i), e)
		}
		return out
	case bool, int64, float64:
		i := len(path) - 2
		if i >= 0 && (slices.Contains(textMaps, path[i]) || i == 0 && path[0] == "data" && (kind == "ConfigMap" || kind == "Secret")) {
			return fmt.Sprint(v)
		}
	}
	return value
}

// try returns the first edit after which the field does not fail any more, and nothing else fails that did not before,
// and of which requirement it is; -1 where there is none.
func (a *suggester) try(field string, requirements []explain.Requirement) (at [2]int, found *Change) {
	for i, h := range requirements {
		for j, e := range h.Changes {
			change := a.changeOf(field, e)
			if e.Element && !isElement(change.Field) || slices.Contains(identity(), change.Field) {
				continue
			}
			object, ok := change.Apply(a.request.Object)
			if !ok {
				continue
			}
			if a.helps(field, change, object) && (a.takes == nil || a.takes(change)) {
				return [2]int{i, j}, &change
			}
		}
	}
	return [2]int{-1, -1}, nil
}

// identity are the fields that say which object it is: with others it is another one, which proves nothing.
func identity() []string {
	return []string{"/apiVersion", "/kind", "/metadata/name", "/metadata/namespace"}
}

func (a *suggester) helps(field string, change Change, object admission.Object) bool {
	now, failing := a.ask(object, nil)
	if !failing {
		return true
	}
	if change.Remove && isElement(change.Field) {
		return len(now) < len(a.fields) // what follows moves up
	}
	return !slices.ContainsFunc(now, func(f string) bool {
		_, below := jsonpointer.Below(f, field)
		return f == "" || f == field || below || !slices.Contains(a.fields, f)
	})
}

// isElement reports whether a pointer is one to an element of a list.
func isElement(pointer string) bool {
	_, ok := jsonpointer.Index(pointer[strings.LastIndexByte(pointer, '/')+1:], 1<<30)
	return ok
}

// Apply returns an object with the edit made; the object stays as it is. It is not ok where the edit cannot be made
// because something else than a mapping or a list stands above it, or nothing is there to remove.
func (e Change) Apply(object admission.Object) (admission.Object, bool) {
	if e.Field == "" {
		return nil, false
	}
	out, ok := e.apply(map[string]any(object), slices.Collect(jsonpointer.Tokens(e.Field)))
	if !ok {
		return nil, false
	}
	m, ok := out.(map[string]any)
	return m, ok
}

func (e Change) apply(at any, tokens []string) (any, bool) {
	if len(tokens) == 0 {
		return e.Value, true
	}
	last := len(tokens) == 1
	switch v := at.(type) {
	case nil:
		if e.Remove {
			return nil, false
		}
		if tokens[0] == "0" {
			child, ok := e.apply(nil, tokens[1:])
			return []any{child}, ok
		}
		child, ok := e.apply(nil, tokens[1:])
		return map[string]any{tokens[0]: child}, ok
	case map[string]any:
		out := maps.Clone(v)
		if last && e.Remove {
			_, had := out[tokens[0]]
			delete(out, tokens[0])
			return out, had
		}
		child, ok := e.apply(v[tokens[0]], tokens[1:])
		out[tokens[0]] = child
		return out, ok
	case []any:
		i, ok := jsonpointer.Index(tokens[0], len(v)+1)
		if !ok || e.Remove && i == len(v) {
			return nil, false
		}
		out := slices.Clone(v)
		if last && e.Remove {
			return slices.Delete(out, i, i+1), true
		}
		if i == len(v) {
			out = append(out, nil)
		}
		out[i], ok = e.apply(out[i], tokens[1:])
		return out, ok
	}
	return nil, false
}

// explain writes down what a pattern asks of what it was compared with; what the others that would do as well ask is
// added in words.
func (f *frame) explain(p *pattern.Pattern, subject any, others ...*pattern.Pattern) {
	if f.sheet == nil {
		return
	}
	found := &explain.Sheet{}
	p.Explain(subject, found)
	or := ""
	for _, other := range others {
		if other != p {
			or += ", or instead " + summary(other, subject)
		}
	}
	for _, field := range found.Fields() {
		for _, h := range found.At(field) {
			if or != "" {
				h.Words += or
				for i := range h.Changes {
					h.Changes[i].Example = true
				}
			}
			for _, at := range f.place([]string{field}) {
				f.sheet.Add(at, h)
			}
		}
	}
}

// summary is what a pattern asks of all that fails it.
func summary(p *pattern.Pattern, subject any) string {
	found := &explain.Sheet{}
	p.Explain(subject, found)
	var parts []string
	for _, field := range found.Fields() {
		parts = append(parts, jsonpointer.Dotted(field)+": "+join(found.At(field)))
	}
	const few = 3
	if more := len(parts) - few; more > 0 {
		parts = append(parts[:few], fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}

// wish writes down what the conditions of a deny ask for.
func (f *frame) wish(list []condition.Remedy) {
	for _, w := range list {
		for i, read := range w.Reads {
			for _, at := range f.trace([]string{read}) {
				h := w.Requirement
				if have, ok := w.Have[i].(string); ok {
					h.Of, h.Part = have, w.Wrong(have)
				}
				if at == "" && !strings.HasPrefix(h.Words, w.Key) {
					h = explain.Requirement{Words: w.Key + " to be " + h.Words}
				}
				f.sheet.Add(at, h)
			}
		}
		for _, at := range f.trace(w.Value) {
			if len(w.Value) > 0 || len(w.Reads) == 0 {
				h := w.AtValue
				if h.Words == "" || len(w.Value) > 1 {
					h = explain.Requirement{Words: w.Requirement.Words}
				}
				f.sheet.Add(at, h)
			}
		}
	}
}

// denied writes down what a deny without conditions asks for: that what leads to it is not so.
func (f *frame) denied(b *body, fields []string) {
	if f.sheet == nil {
		return
	}
	if b.preconditions != nil {
		f.wish(b.preconditions.Remedies(f.scope))
	}
	for _, at := range fields {
		f.sheet.Add(at, explain.Requirement{Words: "no such object: the rule denies every " + f.target.Identity.Kind + " " +
			"that it matches"})
	}
}
