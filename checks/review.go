package checks

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
)

// reviewed is what the policies said about one pair.
type reviewed struct {
	pair      *pair
	mutations *mutations // nil where no mutate rule changed anything
	results   []engine.Result
	old       []engine.Result // what they say about the old object of an update; asked for only when something fails
	idle      []engine.Result // what they would say with the exceptions that do not count (yet, or any more)
	bare      []engine.Result // what they would say with no exception; asked for by a whole check only, where one has a part
}

// review evaluates all pairs, on all processors, and turns the answers into findings in a fixed order.
func (r *run) review(ctx context.Context, list []*pair, cluster *declared) error {
	v := &reviewer{user: r.settings.user(r.change.User), cluster: cluster, counting: r.policies.Bind(r.decision.Counting, cluster)}
	if len(r.decision.Idle) > 0 {
		v.idle = r.policies.Bind(append(slices.Clone(r.decision.Counting), r.decision.Idle...), cluster)
	}
	if r.change.All {
		v.bare, r.usage = r.policies.Bind(nil, cluster), newUsage()
	}
	out := make([]reviewed, len(list))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), max(1, len(list))) {
		workers.Go(func() {
			for i := range next {
				out[i] = v.review(ctx, list[i])
			}
		})
	}
	for i := range list {
		next <- i
	}
	close(next)
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("the check was stopped: %w", errors.Join(err, context.Cause(ctx)))
	}
	for i := range out {
		r.findings(&out[i])
		if r.usage != nil {
			r.usage.note(&out[i])
		}
	}
	if err := r.lookBeyond(ctx, v, cluster); err != nil {
		return err
	}
	return r.draft(ctx, v, cluster)
}

// reviewer asks the policies about one pair at a time. It is safe for concurrent use.
type reviewer struct {
	user     requester
	cluster  admission.Cluster
	counting *engine.Evaluator
	idle     *engine.Evaluator // with the exceptions that do not count, nil where there are none
	bare     *engine.Evaluator // with no exceptions, nil unless the check is a whole one
}

func (v *reviewer) review(ctx context.Context, p *pair) reviewed {
	request := v.user.request(p.operation)
	if p.new != nil {
		request.Object = p.new.Object
	}
	if p.old != nil {
		request.OldObject = p.old.Object
	}
	out := reviewed{pair: p, results: v.counting.Evaluate(ctx, request)}
	if slices.ContainsFunc(out.results, undecided) && v.addNamespace(ctx, request) {
		out.results = v.counting.Evaluate(ctx, request)
	}
	if v.bare != nil && slices.ContainsFunc(out.results, func(res engine.Result) bool { return len(res.Exceptions) > 0 }) {
		out.bare = v.bare.Evaluate(ctx, request)
	}
	out.mutations = mutationsOf(p, out.results)
	if !slices.ContainsFunc(out.results, violated) {
		return out
	}
	if p.operation == admission.Update {
		// Did the base violate it, too? The old object takes the place of the new one.
		before := v.user.request(admission.Update)
		before.Object, before.OldObject, before.Namespace = p.old.Object, p.old.Object, request.Namespace
		out.old = v.counting.Evaluate(ctx, before)
	}
	if v.idle != nil {
		out.idle = v.idle.Evaluate(ctx, request)
	}
	return out
}

// addNamespace looks up the Namespace of a request, which costs a look through the repository: only requests that
// cannot be decided without ask for it.
func (v *reviewer) addNamespace(ctx context.Context, request *admission.Request) bool {
	id := admission.IdentityOf(request.Subject())
	if id.Namespace == "" {
		return false
	}
	namespace, ok := v.cluster.Get(ctx, "", "Namespace", "", id.Namespace)
	request.Namespace = namespace
	return ok
}

func undecided(r engine.Result) bool { return r.Outcome == engine.Unknown }

// violated says whether a result becomes a finding that can block.
func violated(r engine.Result) bool {
	return r.Outcome == engine.Fail || r.Outcome == engine.Error
}
