package review

import (
	"context"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/builtin"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/explain"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render/doc"
)

// advise stores, for each violated rule and check, the value that it expects and a suggested fix.
func (v *Reviewer) advise(ctx, was context.Context, a *Answer, request admission.Request) {
	if a.Pair.New == nil {
		return
	}
	request.Object = a.Object()
	rules := v.Effective
	a.advice = rules.SuggestFixes(ctx, &request, policies(a.Results))
	for i, of := range builtin.Fixes(ctx, v.Checks, mutated(ctx, rules, builtin.DeployedOf(a.Pair), &request), a.Results) {
		if of != nil {
			a.advice[i] = of
		}
	}
	a.before = rules.SuggestFixes(was, &request, policies(a.Before))
}

// policies returns the results of policies; those of built-in checks are empty, so that the indexes stay the same.
func policies(results []engine.Result) []engine.Result {
	out := slices.Clone(results)
	for i := range out {
		if out[i].Policy.Kind == builtin.Kind {
			out[i] = engine.Result{}
		}
	}
	return out
}

// wrong returns the part of a field's text that a result is about.
func (a *Answer) wrong(res engine.Result, field string) explain.Span {
	for i, other := range a.Results {
		if i < len(a.advice) && a.advice[i] != nil && other.ID() == res.ID() && other.Line == res.Line {
			return a.advice[i][field].Part
		}
	}
	return explain.Span{}
}

func (a *Answer) suggest(f *report.Finding, advice engine.SuggestedFix) {
	f.Expected = advice.Requirement
	e := advice.Change
	if e == nil {
		return
	}
	s := &report.Suggestion{Field: e.Field, Remove: e.Remove, Example: e.Example}
	if !e.Remove {
		text, ok := doc.Block(e.Value)
		if !ok {
			return
		}
		s.YAML = strings.TrimSuffix(text, "\n")
	}
	switch was := jsonpointer.At(a.Object(), e.Field).(type) {
	case nil, map[string]any, []any:
	default:
		text, _ := doc.Block(was)
		s.Was = strings.TrimSuffix(text, "\n")
	}
	f.Suggestion = s
}
