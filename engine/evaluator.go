package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/cel"
	"github.com/lintel-bot/lintel/engine/jmespath"
	"github.com/lintel-bot/lintel/engine/match"
	"github.com/lintel-bot/lintel/engine/variable"
)

// Evaluator is a set of policies bound to the exceptions that count and to what the repository declares. It
// is immutable and safe for concurrent use.
type Evaluator struct {
	policies *Policies
	cluster  admission.Cluster
	programs []bound
	validate index
	mutate   index
	celEnv   cel.Env
	celOf    map[*cel.Exception]*Exception
	values   Values
}

// bound is a program with the exceptions of its rules.
type bound struct {
	*program
	exceptions [][]*Exception // by rule
}

// slot names a rule of a program; rule -1 is a policy that is CEL as a whole.
type slot struct{ program, rule int }

// index finds the rules that can be about a kind, in order.
type index struct {
	kinds map[string][]slot
	other []slot // for kinds that no rule names
}

func newIndex(slots []slot, kinds func(slot) []string) index {
	x := index{kinds: map[string][]slot{}}
	for _, s := range slots {
		for _, k := range kinds(s) {
			x.kinds[k] = nil
		}
	}
	for _, s := range slots {
		of := kinds(s)
		if of == nil {
			x.other = append(x.other, s)
			for k := range x.kinds {
				x.kinds[k] = append(x.kinds[k], s)
			}
			continue
		}
		for i, k := range of {
			if !slices.Contains(of[:i], k) {
				x.kinds[k] = append(x.kinds[k], s)
			}
		}
	}
	return x
}

func (x *index) of(kind string) []slot {
	if s, ok := x.kinds[kind]; ok {
		return s
	}
	return x.other
}

// Values are variables that stand in for what only a cluster could answer, by the names of policy and rule;
// keys may be dotted. The values files of policy tests have them.
type Values func(policy, rule string) map[string]any

// Bind makes an evaluator. Exceptions are taken as they are: whether one is approved or has expired is
// for the caller to decide. cluster may be nil: nothing is then declared.
func (p *Policies) Bind(exceptions []*Exception, cluster admission.Cluster) *Evaluator {
	e := &Evaluator{policies: p, cluster: cluster, celOf: map[*cel.Exception]*Exception{}}
	e.celEnv = cel.Env{Cluster: cluster, Now: p.options.Now}
	for _, x := range exceptions {
		if x.cel != nil {
			e.celEnv.Exceptions = append(e.celEnv.Exceptions, x.cel)
			e.celOf[x.cel] = x
		}
	}
	var validate, mutate []slot
	for i, g := range p.programs {
		b := bound{program: g, exceptions: make([][]*Exception, len(g.rules))}
		switch {
		case g.cel != nil:
			validate = append(validate, slot{i, -1})
		case g.mutating != nil:
			mutate = append(mutate, slot{i, -1})
		}
		for j, r := range g.rules {
			for _, x := range exceptions {
				if x.names(g, r.name) {
					b.exceptions[j] = append(b.exceptions[j], x)
				}
			}
			if r.mutation != nil {
				mutate = append(mutate, slot{i, j})
			} else {
				validate = append(validate, slot{i, j})
			}
		}
		e.programs = append(e.programs, b)
	}
	// The API server runs its own policies before it asks others.
	slices.SortStableFunc(mutate, func(a, b slot) int { return p.programs[a.program].turn() - p.programs[b.program].turn() })
	kinds := func(s slot) []string {
		switch g := p.programs[s.program]; {
		case s.rule >= 0:
		case g.cel != nil:
			return g.cel.Kinds()
		default:
			return g.mutating.Kinds()
		}
		return p.programs[s.program].rules[s.rule].kinds
	}
	e.validate, e.mutate = newIndex(validate, kinds), newIndex(mutate, kinds)
	return e
}

// turn orders the programs that change objects.
func (g *program) turn() int {
	if g.ref.Kind == "MutatingAdmissionPolicy" {
		return 0
	}
	return 1
}

// WithValues is the evaluator with variables that stand in for what a cluster would answer.
func (e *Evaluator) WithValues(v Values) *Evaluator {
	out := *e
	out.values = v
	return &out
}

// Evaluate answers what the policies say about a request: mutate rules first, on whose outcome the others
// look, as in a cluster. Results are in the order of policies and their rules; rules that are not about the
// request give none. When ctx ends, what is left gives error results.
func (e *Evaluator) Evaluate(ctx context.Context, r *admission.Request) []Result {
	id := admission.IdentityOf(r.Subject())
	v := e.newReview(ctx, r)
	mutating := e.mutate.of(id.Kind)
	var first []placed
	if len(mutating) > 0 && r.Object != nil {
		first = v.run(mutating)
		if v.patched != nil {
			next := *r
			next.Object = v.patched
			v = e.newReview(ctx, &next)
		}
	}
	all := v.run(e.validate.of(id.Kind))
	if len(first) > 0 {
		all = append(first, all...)
		slices.SortStableFunc(all, func(a, b placed) int { return a.program - b.program })
	}
	out := make([]Result, len(all))
	for i := range all {
		out[i] = all[i].Result
	}
	return out
}

type placed struct {
	Result
	program int
}

// review is the evaluation of one request. It is not safe for concurrent use.
type review struct {
	*Evaluator
	ctx     context.Context
	request *admission.Request
	target  *match.Target
	env     jmespath.Env
	vars    map[string]any  // built at first use
	scope   *variable.Scope // likewise
	patched admission.Object
	places  map[uintptr]string // where the maps of the object are, built at first use
	prior   bool               // the old object is looked at, as if it were created
	visited int                // elements of foreach so far
}

func (e *Evaluator) newReview(ctx context.Context, r *admission.Request) *review {
	v := &review{Evaluator: e, ctx: ctx, request: r, target: match.NewTarget(r)}
	v.env = jmespath.Env{Now: e.policies.options.Now, Seed: seedOf(v.target.Identity)}
	return v
}

func (v *review) run(slots []slot) []placed {
	var out []placed
	done := -1 // the program of which no more rules are evaluated
	conditions := -1
	met := true
	for _, s := range slots {
		b := &v.programs[s.program]
		if s.program == done || !b.applies(v.request) {
			continue
		}
		if b.conditions != nil && conditions != s.program {
			conditions = s.program
			met = v.conditions(b, &out, s.program)
		}
		if b.conditions != nil && !met {
			continue
		}
		if b.mutating != nil {
			for _, r := range v.mutate(b) {
				out = append(out, placed{r, s.program})
				if r.Patched != nil && !same(r.Patched, v.request.Object) {
					v = v.after(r.Patched)
				}
			}
			continue
		}
		if s.rule < 0 {
			for _, r := range v.cel(b) {
				out = append(out, placed{r, s.program})
			}
			continue
		}
		r, more, ok := v.rule(b, s.rule)
		if !ok {
			continue
		}
		out = append(out, placed{r, s.program})
		for _, d := range more {
			next := r
			next.Message, next.Fields = d.message, d.fields
			out = append(out, placed{next, s.program})
		}
		if r.Patched != nil {
			v = v.after(r.Patched)
		}
		if b.applyOne && r.Outcome != Skip {
			done = s.program
		}
	}
	return out
}

// after is the review of the object a mutation left. The receiver's patched object is kept up to date, too.
func (v *review) after(patched admission.Object) *review {
	request := *v.request
	request.Object = patched
	v.request = &request
	v.target = match.TargetOf(v.request, patched)
	v.vars, v.scope, v.places = nil, nil, nil
	v.patched = patched
	return v
}

// applies reports whether a namespaced policy is about a request; the others are about all.
func (g *program) applies(r *admission.Request) bool {
	if g.namespace == "" {
		return true
	}
	for _, o := range []admission.Object{r.Object, r.OldObject} {
		if o != nil && admission.IdentityOf(o).Namespace != g.namespace {
			return false
		}
	}
	return true
}

// conditions reports whether the match conditions of a policy's webhook are met. One that cannot be evaluated
// gives an error result.
func (v *review) conditions(b *bound, out *[]placed, program int) (met bool) {
	defer func() {
		if x := recover(); x != nil {
			*out = append(*out, placed{Result{Policy: b.ref, Line: b.ref.Line, Outcome: Error, Enforce: true, Message: panicked(x), Fields: []string{""}}, program})
			met = false
		}
	}()
	res := b.program.conditions.Evaluate(v.ctx, v.request, v.celEnv)
	switch res.Outcome {
	case cel.Pass:
		return true
	case cel.Skip:
		return false
	}
	r := Result{Policy: b.ref, Line: b.ref.Line, Outcome: Outcome(res.Outcome), Message: res.Message, Fields: []string{""}, Old: v.request.Object == nil}
	for i := range b.rules {
		r.Enforce = r.Enforce || b.rules[i].action.enforced(v.target)
	}
	*out = append(*out, placed{r, program})
	return false
}

// panicked is the message of a rule that failed in a way nobody foresaw.
func panicked(x any) string {
	message, _, _ := strings.Cut(fmt.Sprint(x), "\n")
	return "the rule could not be evaluated: internal error: " + message
}

type reviewKey struct{}

// root is the variables that all rules have, and scope a scope over them.
func (v *review) root() map[string]any {
	if v.vars == nil {
		v.vars = rootOf(v.request)
	}
	return v.vars
}

func (v *review) newScope() *variable.Scope {
	if v.scope == nil {
		ctx := context.WithValue(v.ctx, reviewKey{}, v)
		v.scope = variable.NewScope(ctx, v.root(), v.env)
		v.scope.Lazy("images", func(*variable.Scope) (any, error) { return images(v.request.Subject()) })
	}
	return v.scope.Child()
}

func clusterOf(s *variable.Scope) admission.Cluster {
	if v, ok := s.Context().Value(reviewKey{}).(*review); ok {
		return v.cluster
	}
	return nil
}

func envOf(s *variable.Scope) jmespath.Env {
	if v, ok := s.Context().Value(reviewKey{}).(*review); ok {
		return v.env
	}
	return jmespath.Env{}
}
