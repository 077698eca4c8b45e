package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/cel"
	"github.com/lintel-bot/lintel/engine/explain"
	"github.com/lintel-bot/lintel/engine/jmespath"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/engine/match"
	"github.com/lintel-bot/lintel/engine/variable"
)

// Evaluator is a set of policies together with the exceptions that count and the objects that the repository declares.
// It is immutable and safe for concurrent use.
type Evaluator struct {
	policies   *Policies
	exceptions []*Exception
	cluster    admission.Cluster
	steps      []boundStep
	layers     []layer
	celEnv     cel.Env
	celOf      map[*cel.Exception]*Exception
	values     Values
	tried      *tried
	beside     *sync.Map // results of Beside, by kinds
}

// layer is a group of steps that see each other's mutations: the steps of inherited policies, or all others, which also
// see the mutations of the inherited ones.
type layer struct {
	inherited        bool
	mutate, validate index
}

// boundStep is a step with the index of its policy in the set.
type boundStep struct {
	step
	policy int
}

// Values are variables to use where only a cluster could give a value, by the names of policy and rule; keys may be
// dotted. They come from the values files of policy tests.
type Values func(policy, rule string) map[string]any

// Without returns an evaluator without the exceptions and the mutate rules of some files: what excuses and mends. It is e
// itself if there are none.
func (e *Evaluator) Without(is func(file string, of *Exception) bool) *Evaluator {
	excepts := func(x *Exception) bool { return is(x.Path, x) }
	mutates := func(s boundStep) bool {
		return s.phase() != validates && is(e.policies.list[s.policy].reference().Path, nil)
	}
	if !slices.ContainsFunc(e.exceptions, excepts) && !slices.ContainsFunc(e.steps, mutates) {
		return e
	}
	return e.policies.bind(slices.DeleteFunc(slices.Clone(e.exceptions), excepts), e.cluster, mutates)
}

// Asked returns an evaluator with only some policies.
func (e *Evaluator) Asked(is func(PolicyRef) bool) *Evaluator {
	return e.policies.bind(e.exceptions, e.cluster, func(s boundStep) bool { return !is(e.policies.list[s.policy].reference()) })
}

// Beside returns an evaluator of the policies, of one kind of policies, that are about objects of a kind and not of another one, with
// all mutate rules; nil where there is no such policy.
func (e *Evaluator) Beside(kind, other, of string) *Evaluator {
	found, _ := e.beside.LoadOrStore([3]string{kind, other, of}, sync.OnceValue(func() *Evaluator {
		names := func(s boundStep, kind string) bool { return slices.Contains(s.plurals(), kinds.Plural(kind)) }
		has := map[int]bool{} // whether a policy has rules for the other kind
		for _, s := range e.steps {
			has[s.policy] = has[s.policy] || s.plurals() == nil || names(s, other)
		}
		is := func(s boundStep) bool {
			return s.phase() == validates && names(s, kind) && !has[s.policy] && e.policies.list[s.policy].reference().Kind == of
		}
		if !slices.ContainsFunc(e.steps, is) {
			return nil
		}
		return e.policies.bind(e.exceptions, e.cluster, func(s boundStep) bool { return s.phase() == validates && !is(s) })
	}))
	return found.(func() *Evaluator)()
}

// Creations returns an evaluator of the rules for the Pods of pod controllers that are about what is created and not about what is
// updated, with all mutate rules; nil where there are none.
func (e *Evaluator) Creations() *Evaluator {
	found, _ := e.beside.LoadOrStore([3]string{}, sync.OnceValue(func() *Evaluator {
		is := func(s boundStep) bool {
			r, ok := s.step.(*ruleStep)
			return ok && s.phase() == validates && match.IsGenerated(r.name) && r.match.IsForCreations()
		}
		if !slices.ContainsFunc(e.steps, is) {
			return nil
		}
		return e.policies.bind(e.exceptions, e.cluster, func(s boundStep) bool { return s.phase() == validates && !is(s) })
	}))
	return found.(func() *Evaluator)()
}

// Bind creates an evaluator. The caller decides which exceptions count, such as only approved ones that have not
// expired. cluster may be nil: then no objects are declared.
func (p *Policies) Bind(exceptions []*Exception, cluster admission.Cluster) *Evaluator {
	return p.bind(exceptions, cluster, func(boundStep) bool { return false })
}

func (p *Policies) bind(exceptions []*Exception, cluster admission.Cluster, without func(boundStep) bool) *Evaluator {
	e := &Evaluator{policies: p, exceptions: exceptions, cluster: cluster, celOf: map[*cel.Exception]*Exception{},
		tried: &tried{}, beside: &sync.Map{}}
	e.celEnv = cel.Env{Cluster: cluster, Now: p.options.Now}
	for _, x := range exceptions {
		if x.cel != nil {
			e.celEnv.Exceptions = append(e.celEnv.Exceptions, x.cel)
			e.celOf[x.cel] = x
		}
	}
	var inherited, own []int
	for i, g := range p.list {
		of := &own
		if g.reference().Inherited {
			of = &inherited
		}
		for _, part := range g.bind(exceptions) {
			if next := (boundStep{part, i}); !without(next) {
				*of = append(*of, len(e.steps))
				e.steps = append(e.steps, next)
			}
		}
	}
	for i, steps := range [][]int{inherited, own} {
		if len(steps) > 0 {
			e.layers = append(e.layers, e.layer(i == 0, steps))
		}
	}
	return e
}

// Inherits reports whether any of the policies is inherited.
func (e *Evaluator) Inherits() bool { return len(e.layers) > 0 && e.layers[0].inherited }

func (e *Evaluator) layer(inherited bool, steps []int) layer {
	var validate, mutate []int
	for _, i := range steps {
		if e.steps[i].phase() == validates {
			validate = append(validate, i)
		} else {
			mutate = append(mutate, i)
		}
	}
	slices.SortStableFunc(mutate, func(a, b int) int { return int(e.steps[a].phase() - e.steps[b].phase()) })
	return layer{inherited, newIndex(e.steps, mutate), newIndex(e.steps, validate)}
}

// WithValues returns the evaluator with variables to use where only a cluster could give a value.
func (e *Evaluator) WithValues(v Values) *Evaluator {
	out := *e
	out.values, out.tried = v, &tried{}
	return &out
}

// Evaluate returns the results of the policies for a request. As in a cluster, mutate rules are evaluated first, and
// the others see the mutated object. Inherited policies come first and see only mutations of inherited policies.
// Results are in the order of policies and their rules, after those of MutatingAdmissionPolicies, which run first. Rules
// that do not apply to the request give none. If ctx ends,
// the remaining rules give error results.
func (e *Evaluator) Evaluate(ctx context.Context, r *admission.Request) []Result {
	return e.evaluate(e.newReview(ctx, r))
}

// Mutate returns the object of a request after the mutate rules; the request must have one.
func (e *Evaluator) Mutate(ctx context.Context, r *admission.Request) admission.Object {
	v, kind := e.newReview(ctx, r), r.Identity().Kind
	for _, l := range e.layers {
		v.see(l.inherited)
		v.run(l.mutate.of(kind))
	}
	return v.request.Object
}

func (e *Evaluator) evaluate(v *review) []Result {
	r := v.request
	id := r.Identity()
	var all []placed
	for i, l := range e.layers {
		v.see(l.inherited)
		var first []placed
		start := v.request
		if mutating := l.mutate.of(id.Kind); len(mutating) > 0 && r.Object != nil {
			first = v.run(mutating)
		}
		then := v.run(l.validate.of(id.Kind))
		if len(first) > 0 {
			v.doubt(l, start, first, then)
			then = append(first, then...)
			slices.SortStableFunc(then, func(a, b placed) int { return a.policy - b.policy })
		}
		if i == 0 {
			all = then
		} else {
			all = append(all, then...)
		}
	}
	if v.log.On() {
		v.leftOut()
	}
	out := make([]Result, len(all))
	for i := range all {
		out[i] = all[i].Result
	}
	return out
}

// doubt makes failures unknown that would not be there if the mutate rules of which it is not known whether they apply did.
// start is the request before the mutations of a layer, first are their results, then those of its other rules.
func (v *review) doubt(l layer, start *admission.Request, first, then []placed) {
	is := func(outcomes ...Outcome) func(placed) bool {
		return func(p placed) bool { return slices.Contains(outcomes, p.Outcome) }
	}
	if v.assume || !slices.ContainsFunc(first, is(Unknown)) || !slices.ContainsFunc(then, is(Fail, Error)) {
		return
	}
	other, kind := v.newReview(v.ctx, start), start.Identity().Kind
	other.assume, other.inherited = true, v.inherited
	other.run(l.mutate.of(kind))
	assumed := other.run(l.validate.of(kind))
	for i := range then {
		if p := &then[i]; is(Fail, Error)(*p) && !slices.ContainsFunc(assumed, func(o placed) bool {
			return o.ID() == p.ID() && is(Fail, Error)(o)
		}) {
			p.Outcome, p.Message = Unknown, "whether a mutate rule applies that would mend this is not known; if none does: "+p.Message
		}
	}
}

type placed struct {
	Result
	policy int
}

// review is the evaluation of one request. It is not safe for concurrent use.
type review struct {
	*Evaluator
	ctx     context.Context
	request *admission.Request
	target  *match.Target
	env     jmespath.Env
	vars    map[string]any     // built at first use
	scope   *variable.Scope    // likewise
	places  map[uintptr]string // where the maps of the object are, built at first use
	prior   bool               // the old object is looked at, as if it were created
	visited int                // elements of foreach so far
	sheet   *explain.Sheet     // takes what is asked of the fields that fail, see Advise; nil mostly
	log     *explain.Log       // takes what is looked at, see Trace; nil mostly
	traced  *traced            // where there is a log

	inherited bool            // the cluster is looked at as inherited policies may
	own       context.Context // while it is: the context of the others
	ownPlace  admission.Place // likewise

	results []placed // so far
	policy  int      // whose turn it is
	gate    gate

	assume bool // mutate rules apply of which it is not known whether they do
}

func (e *Evaluator) newReview(ctx context.Context, r *admission.Request) *review {
	v := &review{Evaluator: e, ctx: ctx, request: r, target: match.NewTarget(r)}
	id := v.target.Identity
	v.ctx = kinds.Reviewing(ctx, kinds.Reviewed{Group: id.Group, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name,
		Created: r.Operation == admission.Create})
	v.env = jmespath.Env{Now: e.policies.options.Now, Seed: seedOf(id),
		Absent: func(of map[string]any, field string) error { return v.request.Absent(of, field) }} // of the request as mutated
	return v
}

// run evaluates some of the steps, in order.
func (v *review) run(steps []int) []placed {
	v.results, v.gate = nil, gate{}
	for _, i := range steps {
		if v.policy = v.steps[i].policy; v.steps[i].phase() == mutatesFirst {
			v.policy = -1
		}
		n := len(v.results)
		v.steps[i].evaluate(v)
		if v.log.On() {
			v.record(i, v.results[n:])
		}
	}
	return v.results
}

// add adds the result of a step. After a mutation, the following steps see the mutated object.
func (v *review) add(r Result) {
	v.results = append(v.results, placed{r, v.policy})
	if r.Patched != nil && !admission.IsSame(r.Patched, v.request.Object) {
		request := *v.request
		request.Object = r.Patched
		v.use(&request)
	}
}

// see sets the view of the cluster for the following steps: that of inherited policies, or that of all others.
func (v *review) see(inherited bool) {
	if inherited == v.inherited {
		return
	}
	v.inherited = inherited
	request := *v.request
	if inherited {
		v.own, v.ownPlace = v.ctx, request.Place
		v.ctx = admission.InheritedView(v.ctx)
		if request.Inherited != nil {
			request.Place = *request.Inherited
		}
	} else {
		v.ctx, request.Place = v.own, v.ownPlace
	}
	v.use(&request)
}

// use continues the review with another request.
func (v *review) use(r *admission.Request) {
	v.request, v.target = r, match.NewTarget(r)
	v.vars, v.scope, v.places = nil, nil, nil
}

// panicked returns the message for a rule that panicked.
func panicked(x any) string {
	message, _, _ := strings.Cut(fmt.Sprint(x), "\n")
	return "the rule could not be evaluated: internal error: " + message
}

// crashed returns the decision of a policy that panicked.
func crashed(p PolicyRef, x any) Decision {
	return Decision{Line: p.Line, Outcome: Error, Enforce: true, Message: panicked(x), Fields: []string{""}}
}

// root returns the variables that all rules have.
func (v *review) root() map[string]any {
	if v.vars == nil {
		v.vars = rootOf(v.request)
	}
	return v.vars
}

func (v *review) newScope() *variable.Scope {
	if v.scope == nil {
		v.scope = variable.NewScope(v.ctx, v.root(), v.env, v.cluster)
		v.scope.Lazy("images", func(*variable.Scope) (any, error) {
			return images(v.request.CurrentObject())
		})
	}
	return v.scope.Child()
}
