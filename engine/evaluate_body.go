package engine

import (
	"fmt"
	"maps"
	"strings"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/condition"
	"github.com/lintel-bot/lintel/engine/explain"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/pattern"
)

// body evaluates a validate block or an entry of its foreach, except the preconditions.
func (f *frame) body(b *body) verdict {
	switch {
	case b.denies:
		return f.deny(b)
	case b.patterns != nil:
		var subject any
		switch {
		case f.scoped != nil:
			subject = f.scoped
		case f.request.Operation == admission.Delete:
			f.logDeletion(explain.Pattern)
			return verdict{} // patterns say how objects must be, not whether they may go
		default:
			subject = f.request.Object
		}
		patterns, failed := f.patterns(b.patterns)
		switch {
		case failed.outcome != "":
			return failed
		case b.patterns.one:
			return f.pattern(patterns[0], subject)
		}
		return f.anyPattern(patterns, subject)
	case len(b.forEach) > 0:
		return f.forEach(b.forEach)
	case b.assert != nil:
		return f.assertion(b.assert)
	}
	return verdict{}
}

// patterns returns patterns with their variables resolved, or a verdict that they cannot be.
func (f *frame) patterns(p *patterns) (out []*pattern.Pattern, failed verdict) {
	if p.tree == nil {
		return p.fixed, verdict{}
	}
	raw, err := p.tree.Resolve(f.scope)
	if err != nil {
		return nil, broken("variable substitution failed", err)
	}
	for _, e := range p.list(raw) {
		compiled, err := pattern.Compile(e)
		if err != nil {
			return nil, broken("the pattern cannot be used", err)
		}
		out = append(out, compiled)
	}
	return out, verdict{}
}

func (f *frame) pattern(p *pattern.Pattern, subject any) verdict {
	out := p.Match(subject)
	f.logPattern(explain.Pattern, "", out)
	err := f.onlyLive(p, subject, out)
	switch {
	case err != nil:
		return broken("the pattern cannot be decided", err)
	case out.Verdict == pattern.Pass:
		return verdict{outcome: Pass, message: fmt.Sprintf("validation rule '%s' passed.", f.rule.name)}
	case out.Verdict == pattern.Skip:
		return verdict{outcome: Skip, message: out.Message}
	case out.Path == "":
		return verdict{outcome: Error, message: f.patternMessage("execution error: " + out.Message)}
	}
	f.explain(p, subject)
	return failed(f.patternMessage("failed at path "+out.Path), f.place(out.Fields))
}

// onlyLive returns the error for a pattern that asks with an anchor for fields which only the existing object has, if their
// values decide about the outcome.
func (f *frame) onlyLive(p *pattern.Pattern, subject any, out pattern.Outcome) (unknown error) {
	object, ok := subject.(map[string]any)
	if !ok || f.scoped != nil || !f.request.Exists(object) {
		return nil
	}
	matching, mismatched := object, object
	for parent, field := range admission.OnlyLive(object, f.request.OldObject) {
		if p.AsksWithAnchor(parent, field) {
			unknown = admission.NeedsLive(field)
			matching, mismatched = having(matching, parent, field, pattern.Matching), having(mismatched, parent, field, pattern.Mismatched)
		}
	}
	if unknown == nil || p.Match(matching).Verdict == out.Verdict && p.Match(mismatched).Verdict == out.Verdict {
		return nil
	}
	return unknown
}

// having returns an object with the value of a field, or of a field of a map in it.
func having(object map[string]any, parent, field string, value any) map[string]any {
	object = maps.Clone(object)
	in := object
	if parent != "" {
		of, _ := object[parent].(map[string]any)
		in = map[string]any{}
		maps.Copy(in, of)
		object[parent] = in
	}
	in[field] = value
	return object
}

// patternMessage returns the message for a pattern that did not match, in Kyverno's form.
func (f *frame) patternMessage(what string) string {
	what = "rule " + f.rule.name + " " + what
	message, ok := f.resolve(f.rule.message)
	switch {
	case !ok:
		return "validation error: variables substitution error in " + what
	case message == "":
		return "validation error: " + what
	}
	return "validation error: " + sentence(message) + " " + what
}

func sentence(s string) string {
	if strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

func (f *frame) anyPattern(patterns []*pattern.Pattern, subject any) verdict {
	var failures, skips []string
	var fields []string
	nearest := 0
	var live error
	for i, p := range patterns {
		out := p.Match(subject)
		if f.log.On() {
			f.logPattern(explain.AnyPattern, fmt.Sprint("/", i), out)
		}
		if err := f.onlyLive(p, subject, out); err != nil {
			live = err
			continue
		}
		switch {
		case out.Verdict == pattern.Pass:
			return verdict{outcome: Pass, message: fmt.Sprintf("validation rule '%s' anyPattern[%d] passed.", f.rule.name, i)}
		case out.Verdict == pattern.Skip:
			skips = append(skips, fmt.Sprintf("rule %s[%d] skipped: %s", f.rule.name, i, out.Message))
			continue
		case out.Path == "":
			failures = append(failures, fmt.Sprintf("rule %s[%d] failed: %s", f.rule.name, i, out.Message))
		default:
			failures = append(failures, fmt.Sprintf("rule %s[%d] failed at path %s", f.rule.name, i, out.Path))
		}
		// The alternative with the fewest failing fields is most likely the intended one.
		if len(out.Fields) > 0 && (fields == nil || len(out.Fields) < len(fields)) {
			fields, nearest = out.Fields, i
		}
	}
	switch {
	case live != nil:
		return broken("the pattern cannot be decided", live)
	case len(failures) > 0:
		f.explain(patterns[nearest], subject, patterns...)
	case len(skips) > 0:
		return verdict{outcome: Skip, message: strings.Join(skips, " ")}
	default:
		message, _ := f.resolve(f.rule.message)
		return verdict{outcome: Pass, message: message}
	}
	what := strings.Join(failures, " ")
	message, ok := f.resolve(f.rule.message)
	switch {
	case !ok:
		what = "variables substitution error in rule " + f.rule.name + " execution error: " + what
	case message != "":
		what = sentence(message) + " " + what
	}
	return failed("validation error: "+what, f.place(fields))
}

func (f *frame) deny(b *body) verdict {
	var message string
	var reads []string
	if b.deny != nil {
		met, words, err := b.deny.Holds(f.scope)
		if f.log.On() {
			f.log.Add(b.deny.Explain(f.scope, explain.Deny)...)
		}
		if err != nil {
			return broken("failed to check deny conditions", err)
		}
		if !met {
			return verdict{outcome: Pass, message: fmt.Sprintf("validation rule '%s' passed.", f.rule.name)}
		}
		if f.sheet != nil {
			f.wish(b.deny.Remedies(f.scope))
		}
		// Most objects have no violation, so the failing fields are determined only for those that do.
		message, reads = words, b.deny.Reads(f.scope)
	}
	fields := f.trace(reads)
	if b.deny == nil {
		f.log.Add(explain.Step{Part: explain.Deny, Holds: true, Words: "there are no conditions, so everything is denied"})
		f.denied(b, fields)
	}
	if b.preconditions != nil && len(fields) == 1 && fields[0] == "" {
		// If the deny conditions read nothing of the object, the preconditions are what causes the denial.
		fields = f.trace(b.preconditions.Reads(f.scope))
	}
	own, ok := f.resolve(f.rule.message)
	switch {
	case f.rule.message == nil && message == "":
		return failed("validation error: rule "+f.rule.name+" failed", fields)
	case !ok:
		return failed(message, fields)
	case own != "" && message != "":
		own += "; " + message
	case own == "":
		own = message
	}
	return failed(own, fields)
}

// forEach evaluates the entries of a foreach. The message is that of the first failing element; the fields are those of
// all failing ones.
func (f *frame) forEach(entries []*forEach) verdict {
	applied := 0
	var listError error
	var first verdict
	for i, e := range entries {
		found, err := f.scope.Query(e.list)
		f.logList(i, found, err)
		switch {
		case condition.IsNotFound(err):
			continue
		case needsCluster(err):
			if first.outcome == "" {
				first = broken("failed to evaluate list", err)
			}
			continue
		case unreadable(err):
			first = first.and(broken("failed to evaluate list", err))
			continue
		case err != nil:
			listError = err
			continue
		}
		list, ok := found.([]any)
		if !ok {
			list = []any{found}
		}
		d, n := f.each(e, list)
		applied += n
		first = first.and(d)
	}
	switch {
	case first.outcome != "":
		return first
	case applied > 0:
		return verdict{outcome: Pass, message: "rule passed"}
	case listError != nil:
		return broken("failed to evaluate list", listError)
	}
	return verdict{}
}

// and keeps the first verdict that is not a pass, and the fields of all failures. A known failure replaces an unknown
// result, since it is a failure whatever the cluster has.
func (d verdict) and(next verdict) verdict {
	if d.outcome == "" || d.outcome == Unknown && (next.outcome == Fail || next.outcome == Error) {
		return next
	}
	if d.outcome == Fail && next.outcome == Fail {
		d.fields = append(d.fields, next.fields...)
	}
	return d
}

// maxElements limits the elements of all foreach over one object, far above what the lists of a real object have.
const maxElements = 100_000

// each evaluates one entry for all elements of its list. The verdict is none if no element fails. The number is how
// many elements passed.
func (f *frame) each(e *forEach, list []any) (verdict, int) {
	var first verdict
	applied := 0
	for i, value := range list {
		if value == nil {
			continue
		}
		end := f.log.Within("/element/", i)
		d := f.element(e, list, i)
		end()
		switch {
		case d.outcome == Pass:
			applied++
		case d.outcome == "" || d.outcome == Skip || d.outcome == Error && d.unmet:
		default:
			d.message = "validation failure: " + d.message
			first = first.and(d)
			if first.outcome == Error {
				return first, applied
			}
		}
	}
	if first.outcome == Fail {
		first.fields = jsonpointer.Distinct(first.fields)
	}
	return first, applied
}

// element evaluates one entry for one element.
func (f *frame) element(e *forEach, list []any, i int) verdict {
	if f.review.visited++; f.review.visited > maxElements {
		return verdict{outcome: Error, message: fmt.Sprintf("the policies iterate over more than %d elements of this "+
			"object",
			maxElements)}
	}
	if err := f.ctx.Err(); err != nil {
		return verdict{outcome: Error, message: "the evaluation was stopped: " + err.Error()}
	}
	value := list[i]
	in := *f
	in.scope = f.scope.Child()
	depth := len(f.elements)
	in.elements = append(f.elements[:depth:depth], element{e, list, i, f})
	in.scope.Set("element", value)
	in.scope.Set(fmt.Sprintf("element%d", depth), value)
	in.scope.Set("elementIndex", int64(i))
	in.scope.Set(fmt.Sprintf("elementIndex%d", depth), int64(i))
	object, isMap := value.(map[string]any)
	scoped := isMap
	if e.scope != nil {
		if *e.scope && !isMap {
			err := fmt.Errorf("cannot use elementScope=true foreach rules for elements that are not maps, expected type=map "+
				"got type=%T", value)
			return broken("failed to process foreach", err)
		}
		scoped = *e.scope
	}
	if scoped {
		in.scoped, in.scopedBy = object, depth
	}
	define(in.scope, e.body.context, f.values)
	in.entries = append(f.entries[:len(f.entries):len(f.entries)], e.body.context...)
	if d, ok := in.preconditions(&e.body); !ok {
		return d
	}
	return in.body(&e.body)
}
