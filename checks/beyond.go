package checks

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/lintel-bot/lintel/checks/exceptions"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/defaults"
	"github.com/lintel-bot/lintel/render/roots"
)

const (
	// beyondRoots and beyondObjects bound what is looked at, besides the roots that the change reaches.
	beyondRoots   = 50
	beyondObjects = 5000
	beyondBatch   = 8 // roots that are rendered before the bounds are looked at again
	// beyondNames is how many resources are named.
	beyondNames = 10
)

// lookBeyond finds out what the proposed exceptions cover besides the findings of the change: it evaluates the
// objects of the roots that the change reaches, and of as many others as the bounds allow, with and without them.
func (r *run) lookBeyond(ctx context.Context, v *reviewer, cluster *declared) error {
	if len(r.proposed) == 0 {
		return nil
	}
	merged := slices.DeleteFunc(slices.Clone(r.decision.Counting), func(e *engine.Exception) bool { return slices.Contains(r.proposed, e) })
	without := r.policies.Bind(merged, cluster)
	with := r.policies.Bind(append(slices.Clone(merged), r.proposed...), cluster)
	objects, roots, all := cluster.sample(ctx, beyondRoots, beyondObjects)
	r.beyond = map[*engine.Exception]*report.Beyond{}
	coverages := map[*engine.Exception]*coverage{}
	for _, e := range r.proposed {
		r.beyond[e] = &report.Beyond{Resources: len(objects), Roots: roots, OfRoots: all}
		coverages[e] = &coverage{known: r.covered(e), fails: map[report.Resource]bool{}}
	}
	type answer struct{ with, without []engine.Result }
	answers := make([]answer, len(objects))
	each(len(objects), func(i int) {
		request := v.user.request(admission.Create)
		request.Object = objects[i]
		results := with.Evaluate(ctx, request)
		if slices.ContainsFunc(results, undecided) && v.addNamespace(ctx, request) {
			results = with.Evaluate(ctx, request)
		}
		if slices.ContainsFunc(results, func(res engine.Result) bool { return slices.ContainsFunc(res.Exceptions, r.isProposed) }) {
			answers[i] = answer{results, without.Evaluate(ctx, request)}
		}
	})
	if ctx.Err() != nil {
		return fmt.Errorf("the check was stopped while exceptions were looked at: %w", context.Cause(ctx))
	}
	for i, a := range answers {
		id := admission.IdentityOf(objects[i])
		resource := report.Resource{APIVersion: id.APIVersion(), Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
		for _, res := range a.with {
			fails := slices.ContainsFunc(a.without, func(other engine.Result) bool { return sameRule(res, other) && violated(other) })
			for _, e := range res.Exceptions {
				if t := coverages[e]; t != nil {
					t.add(resource, fails)
				}
			}
		}
	}
	for e, t := range coverages {
		t.into(r.beyond[e])
	}
	return nil
}

func (r *run) isProposed(e *engine.Exception) bool { return slices.Contains(r.proposed, e) }

// covered are the resources of the findings of the change that an exception covers.
func (r *run) covered(e *engine.Exception) map[report.Resource]bool {
	out := map[report.Resource]bool{}
	for _, f := range r.report.Findings {
		if x := f.Exemption; x != nil && x.Path == e.Path && x.Exception == exceptions.Name(e) {
			out[f.Resource] = true
		}
	}
	return out
}

// coverage sorts the resources that one exception covers.
type coverage struct {
	known map[report.Resource]bool
	fails map[report.Resource]bool // false: it keeps the rules
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

// sample answers objects of the head: those of the roots that are rendered already, and of others in their order
// as long as neither bound is met; and how many roots that were, of how many.
func (d *declared) sample(ctx context.Context, maxRoots, maxObjects int) (objects []admission.Object, looked, all int) {
	every := d.graph.All()
	d.mu.Lock()
	defer d.mu.Unlock()
	chosen := slices.SortedFunc(maps.Keys(d.roots), roots.Compare)
	others := slices.DeleteFunc(slices.Clone(every), func(root roots.Root) bool { return slices.Contains(chosen, root) })
	all = len(chosen) + len(others)
	chosen = append(chosen, others[:min(len(others), maxRoots)]...)
	seen := map[admission.Identity]bool{}
	for len(chosen) > 0 && len(objects) < maxObjects && ctx.Err() == nil {
		batch := chosen[:min(len(chosen), beyondBatch)]
		chosen = chosen[len(batch):]
		d.render(ctx, batch)
		for _, root := range batch {
			if len(objects) >= maxObjects {
				break
			}
			looked++
			for _, o := range d.roots[root] {
				if id := admission.IdentityOf(o); !seen[id] && len(objects) < maxObjects {
					seen[id] = true
					objects = append(objects, defaults.Apply(o))
				}
			}
		}
	}
	return objects, looked, all
}
