package exceptions

import (
	"context"
	"fmt"
	"slices"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render/deploy"
)

const (
	// beyondRoots and beyondObjects limit what is evaluated besides the roots that the change affects.
	beyondRoots   = 50
	beyondObjects = 5000
	// beyondNames limits how many resources are named.
	beyondNames = 10
)

// Beyond finds what the proposed exceptions cover besides the findings of the change. It evaluates the objects of the
// affected roots, and of as many other roots as the limits allow, with and without the exceptions. It fails only if the
// context ends.
func Beyond(ctx context.Context, in Context, findings []report.Finding) (map[*engine.Exception]*report.Beyond, error) {
	if len(in.Decision.Proposed) == 0 {
		return nil, nil
	}
	merged := in.Decision.merged(in.Decision.Effective)
	without := in.Policies.Bind(merged, in.Declared)
	with := in.Policies.Bind(slices.Concat(merged, in.Decision.Proposed), in.Declared)
	resources, roots, all := in.Declared.Sample(ctx, beyondRoots, beyondObjects)
	coverages := map[*engine.Exception]*coverage{}
	for _, e := range in.Decision.Proposed {
		c := &coverage{known: map[report.Resource]bool{}, fails: map[report.Resource]bool{}}
		for _, f := range findings {
			c.known[f.Resource] = c.known[f.Resource] || covers(e, f)
		}
		coverages[e] = c
	}
	type answer struct{ with, without []engine.Result }
	answers := make([]answer, len(resources))
	deploy.Each(len(resources), func(i int) {
		created := &diff.Pair{Operation: admission.Create, New: resources[i]}
		results := in.Reviewer.Ask(ctx, with, created)
		if slices.ContainsFunc(results,
			func(res engine.Result) bool { return slices.ContainsFunc(res.Exceptions, in.Decision.IsProposed) }) {
			answers[i] = answer{results, in.Reviewer.Ask(ctx, without, created)}
		}
	})
	if ctx.Err() != nil {
		return nil, fmt.Errorf("the check was stopped while it evaluated exceptions: %w", context.Cause(ctx))
	}
	for i, a := range answers {
		resource := review.Named(resources[i].Object)
		for _, res := range a.with {
			fails := slices.ContainsFunc(a.without, func(other engine.Result) bool {
				return res.ID() == other.ID() && review.Violated(other)
			})
			for _, e := range res.Exceptions {
				if c := coverages[e]; c != nil {
					c.add(resource, fails)
				}
			}
		}
	}
	beyond := map[*engine.Exception]*report.Beyond{}
	for e, c := range coverages {
		beyond[e] = &report.Beyond{Resources: len(resources), Roots: roots, OfRoots: all}
		c.into(beyond[e])
	}
	return beyond, nil
}

// coverage counts the resources that one exception covers.
type coverage struct {
	known map[report.Resource]bool // true: a finding of the change is about it
	fails map[report.Resource]bool // by resource that is not known; false: it complies without the exception
	order []report.Resource
}

func (t *coverage) add(resource report.Resource, fails bool) {
	if t.known[resource] {
		return
	}
	before, seen := t.fails[resource]
	if !seen {
		t.order = append(t.order, resource)
	}
	t.fails[resource] = before || fails
}

func (t *coverage) into(b *report.Beyond) {
	for _, resource := range t.order {
		switch {
		case !t.fails[resource]:
			b.Complying++
		case b.Fails < beyondNames:
			b.Failing = append(b.Failing, resource)
			fallthrough
		default:
			b.Fails++
		}
	}
}
