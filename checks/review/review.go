// Package review evaluates the policies for each difference of a change, and puts their findings on the line a person
// must edit.
//
// It is pure: compiled rules, pairs and declared objects go in, answers and findings come out.
package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/checks/builtin"
	"github.com/lintel-bot/lintel/checks/declared"
	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/explain"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/progress"
	"github.com/lintel-bot/lintel/render/roots"
)

// Reviewer evaluates the policies for one pair at a time. It is safe for concurrent use.
type Reviewer struct {
	User      settings.Requester
	Cluster   admission.Cluster
	Effective *engine.Evaluator // with the exceptions in effect
	Inactive  *engine.Evaluator // with all exceptions, also those without effect; nil if all are in effect
	// WithoutExceptions is nil if there are no exceptions, or if their use is not needed.
	WithoutExceptions *engine.Evaluator
	Checks            []builtin.Check // built-in checks, which run besides the policies

	Clusters func(roots.Root) []gitops.Cluster // see declared.Objects.Clusters
	// Has lists the clusters that have a file of rules, or the exception of it that is not nil; none: all may have it. It is
	// called if Clusters is set.
	Has     func(file string, of *engine.Exception) []gitops.Cluster
	limited sync.Map // by clusters: *Reviewer
}

// By returns a reviewer with one version of the rules, built-in checks, and the exceptions in effect. user is the
// requester of the admission requests.
func By(set *rules.Ruleset, checks []builtin.Check, user report.User, cluster admission.Cluster,
	counting []*engine.Exception) *Reviewer {
	return &Reviewer{User: set.Settings.Requester(user), Cluster: cluster, Checks: checks,
		Effective: set.Policies.Bind(counting, cluster)}
}

// Answer is the results of the policies for one pair.
type Answer struct {
	Pair      *diff.Pair
	Cluster   string     // the cluster that it is for; empty: the rules look up the same in all clusters
	Again     bool       // an answer for another cluster of the pair comes before
	Mutations *Mutations // nil if no mutate rule changed the object
	Results   []engine.Result
	Old       []engine.Result // results for the object before the change; only evaluated if something fails
	Inactive  []engine.Result // results if all exceptions counted, also those that do not count yet or any more
	// WithoutExceptions is the results without any exception; only evaluated if an exception applies.
	WithoutExceptions []engine.Result

	Altered []report.Resource // objects that the policies looked up and the change alters
	Before  []engine.Result   // results with these objects as they were before; only evaluated if there are any

	// ofLast are the rules that are violated only because of a last known rendering, which is of the day last.
	ofLast map[engine.RuleID]bool
	last   time.Time

	lookups        *declared.Lookups
	advice, before []map[string]engine.SuggestedFix // suggested fixes of Results, and of Before
	above          *Mutations                       // mutations by inherited rules only; nil if there are none
	versions       *diff.Versions                   // of the mutated object; nil if it did not exist before
}

// All reviews all pairs, on all processors. The answers are in the order of the pairs. A pair has several where clusters
// declare different objects that its rules look up. It fails only if the context ends.
func (v *Reviewer) All(ctx context.Context, pairs []*diff.Pair) ([]Answer, error) {
	answers := make([][]Answer, len(pairs))
	count := progress.From(ctx).Count("asking the policies", len(pairs))
	deploy.Each(len(pairs), func(i int) {
		defer count.Begin(pairs[i].Root.Name())()
		answers[i] = v.inClusters(ctx, pairs[i])
	})
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("the check was stopped: %w", errors.Join(err, context.Cause(ctx)))
	}
	return slices.Concat(answers...), nil
}

// inClusters reviews a pair, and again for each of its clusters if these declare different objects that its rules look
// up. The answer with the most violations, or else undecided results, is first.
func (v *Reviewer) inClusters(ctx context.Context, p *diff.Pair) []Answer {
	p = builtin.Received(ctx, v.Checks, p)
	if v.Clusters == nil {
		return []Answer{v.Review(ctx, p)}
	}
	clusters := v.Clusters(p.Root)
	one := v.in(clusters).Review(ctx, p)
	lenient := one.Mutations != nil || slices.ContainsFunc(slices.Concat(one.Results, one.Inactive), isExcepted)
	if len(clusters) < 2 || !one.lookups.Differ() && !(lenient && v.Has != nil) {
		return []Answer{one}
	}
	var list []Answer
	for _, c := range clusters {
		a := v.in([]gitops.Cluster{c}).Review(declared.Within(ctx, c), p)
		a.Cluster = c.Word()
		list = append(list, a)
	}
	count := func(a Answer, is func(engine.Result) bool) int { return len(report.Kept(a.Results, is)) }
	slices.SortStableFunc(list, func(a, b Answer) int {
		return cmp.Or(count(b, Violated)-count(a, Violated), count(b, Undecided)-count(a, Undecided))
	})
	for i := range list {
		list[i].Again = i > 0
	}
	return list
}

// WithoutPolicies returns a reviewer that runs only the given checks. counting are the exceptions in effect, idle those
// without effect.
func (v *Reviewer) WithoutPolicies(checks []builtin.Check, counting, idle []*engine.Exception) *Reviewer {
	none, _ := engine.CompilePolicies(nil, engine.Options{})
	out := &Reviewer{User: v.User, Cluster: v.Cluster, Effective: none.Bind(counting, v.Cluster), Checks: checks}
	if len(idle) > 0 {
		out.Inactive = none.Bind(slices.Concat(counting, idle), v.Cluster)
	}
	return out
}

// Review evaluates the policies for one pair.
func (v *Reviewer) Review(ctx context.Context, p *diff.Pair) Answer {
	request := v.Request(p)
	ctx, lookups := declared.For(ctx, p.Root)
	was := ctx
	out := Answer{Pair: p, Results: v.ask(ctx, v.Effective, p, request), lookups: lookups}
	if out.Altered = lookups.Altered(); len(out.Altered) > 0 {
		was = lookups.Before(ctx)
		out.Before = v.ask(was, v.Effective, p, v.Request(p))
	}
	if v.WithoutExceptions != nil && slices.ContainsFunc(out.Results, isExcepted) {
		out.WithoutExceptions = v.ask(ctx, v.WithoutExceptions, p, request)
	}
	if out.Mutations = mutationsOf(p, out.Results); out.Mutations != nil {
		out.above = mutationsOf(p, report.Kept(out.Results, func(r engine.Result) bool { return r.Policy.Inherited }))
	}
	if !slices.ContainsFunc(out.Results, compared) && !slices.ContainsFunc(out.Before, compared) {
		return out
	}
	v.advise(ctx, was, &out, *request)
	if old := p.Earlier(); old != nil {
		// Did the base violate the rule, too? The old object takes the place of the new one.
		before := v.User.Request(admission.Update)
		before.Object, before.OldObject = old.Object, old.Object
		if p.Again() {
			before = v.User.Request(admission.Create)
			before.Object = old.Object
		}
		if len(out.Altered) == 0 {
			before.Place, before.Inherited = request.Place, request.Inherited
		}
		subject := builtin.Deployed{Resource: old, Old: old, Root: p.Root}
		out.Old = append(v.Evaluate(was, v.Effective, before), v.look(lookups.Before(ctx), v.Effective, subject, before)...)
		out.versions = diff.NewVersions(patched(old.Object, out.Old), out.Object())
		if as := served(old, p.New); !sameVersion(as, old.Object) {
			before.Object = as
			if before.OldObject != nil {
				before.OldObject = as
			}
			out.Old = append(out.Old, contents(v.Evaluate(was, v.Effective, before))...)
		}
		out.Old = append(out.Old, v.vanished(ctx, &out, request)...)
		if p.Operation == admission.Update && slices.ContainsFunc(out.Results, mayRefuseChange) {
			as := v.User.Request(admission.Create)
			as.Object, as.Place, as.Inherited = old.Object, before.Place, before.Inherited
			out.Old = slices.DeleteFunc(out.Old, refusesChange(out.Results, v.Evaluate(was, v.Effective, as)))
		}
	}
	if out.last = lookups.Last(); !out.last.IsZero() {
		out.ofLast = violatedOnlyIn(out.Results, v.Evaluate(lookups.Current(ctx), v.Effective, v.Request(p)))
	}
	if v.Inactive != nil {
		out.Inactive = v.ask(ctx, v.Inactive, p, request)
	}
	return out
}

// violatedOnlyIn returns the rules that are violated in list and not in others.
func violatedOnlyIn(list, others []engine.Result) map[engine.RuleID]bool {
	rules := map[engine.RuleID]bool{}
	for _, r := range list {
		if Violated(r) {
			rules[r.ID()] = r.Policy.Kind != builtin.Kind
		}
	}
	for _, r := range others {
		if Violated(r) {
			delete(rules, r.ID())
		}
	}
	return rules
}

// compared reports whether a result is compared with that of the base: one that can block, and an undecided one of a
// built-in check, which the base mostly had, too.
func compared(r engine.Result) bool {
	return Violated(r) || Undecided(r) && r.Policy.Kind == builtin.Kind
}

// mayRefuseChange reports whether a rule may deny an update because it is an update: it would let the object be created as
// it was.
func mayRefuseChange(r engine.Result) bool {
	return r.Outcome == engine.Fail && !r.PreExisting && !r.Mutation && r.Policy.Kind != builtin.Kind
}

// refusesChange returns a function that selects the results of rules that may refuse a change, and that find nothing where
// the old object is created, or are about who asks. These deny the operation, compare with the old object, or refuse its
// author: every update violates them, and no violation is older than the change.
func refusesChange(results, created []engine.Result) func(engine.Result) bool {
	return func(old engine.Result) bool {
		of := func(r engine.Result) bool { return r.ID() == old.ID() }
		found := slices.ContainsFunc(created, func(r engine.Result) bool { return of(r) && (Violated(r) || Undecided(r)) })
		return slices.ContainsFunc(results, func(r engine.Result) bool { return of(r) && mayRefuseChange(r) && (r.Personal || !found) })
	}
}

// look runs the built-in checks.
func (v *Reviewer) look(ctx context.Context, rules *engine.Evaluator, s builtin.Deployed,
	request *admission.Request) []engine.Result {
	if s.Resource == nil && s.Old == nil || len(v.Checks) == 0 {
		return nil
	}
	if s.Resource != nil {
		s = mutated(ctx, asked(rules, request), s, request)
	}
	return builtin.Results(ctx, v.Checks, s, rules, request)
}

// mutated returns a deployed object as the rules mutate it for a request.
func mutated(ctx context.Context, rules *engine.Evaluator, s builtin.Deployed, r *admission.Request) builtin.Deployed {
	return s.Mutated(func(object admission.Object) admission.Object {
		request := *r
		request.Object = object
		return rules.Mutate(ctx, &request)
	})
}

// Ask returns the results of one set of rules for a pair.
func (v *Reviewer) Ask(ctx context.Context, rules *engine.Evaluator, p *diff.Pair) []engine.Result {
	ctx, _ = declared.For(ctx, p.Root)
	return v.ask(ctx, rules, p, v.Request(p))
}

func (v *Reviewer) ask(ctx context.Context, rules *engine.Evaluator, p *diff.Pair, r *admission.Request) []engine.Result {
	results := v.unsettled(ctx, rules, p.New, r, v.Evaluate(ctx, rules, r))
	v.unfilled(ctx, rules, p, r, results)
	results = append(results, v.look(ctx, rules, builtin.DeployedOf(p), r)...)
	for i := range results {
		if p.Doubt != "" && Violated(results[i]) {
			results[i].Outcome, results[i].Message = engine.Unknown, p.Doubt+": "+results[i].Message
		}
	}
	return results
}

func isExcepted(r engine.Result) bool { return len(r.Exceptions) > 0 }

// in returns the reviewer with the exceptions and mutate rules that at least one of some clusters may have.
func (v *Reviewer) in(clusters []gitops.Cluster) *Reviewer {
	if v.Has == nil || len(clusters) == 0 {
		return v
	}
	key := fmt.Sprint(clusters)
	if known, ok := v.limited.Load(key); ok {
		return known.(*Reviewer)
	}
	lacks := func(file string, of *engine.Exception) bool {
		has := v.Has(file, of)
		return len(has) > 0 && !slices.ContainsFunc(clusters, func(c gitops.Cluster) bool {
			return slices.ContainsFunc(has, func(other gitops.Cluster) bool { return !c.Apart(other) })
		})
	}
	out := &Reviewer{User: v.User, Cluster: v.Cluster, Checks: v.Checks, Effective: v.Effective.Without(lacks)}
	if v.Inactive != nil {
		out.Inactive = v.Inactive.Without(lacks)
	}
	if v.WithoutExceptions != nil {
		out.WithoutExceptions = v.WithoutExceptions.Without(lacks)
	}
	v.limited.Store(key, out)
	return out
}

// Request returns the admission request of a pair.
func (v *Reviewer) Request(p *diff.Pair) *admission.Request {
	request := v.User.Request(p.Operation)
	if p.New != nil {
		request.Object = p.New.Object
	}
	if p.Old != nil {
		request.OldObject = served(p.Old, p.New)
	}
	return request
}

// Evaluate evaluates one set of rules. It looks up the request's Namespace only if a rule, or whether it blocks, cannot be
// decided without it, since that searches the repository, and adds it to the request.
func (v *Reviewer) Evaluate(ctx context.Context, rules *engine.Evaluator, r *admission.Request) []engine.Result {
	rules = asked(rules, r)
	results := rules.Evaluate(ctx, r)
	open := func(r engine.Result) bool { return Undecided(r) || r.Unsure && Violated(r) }
	if r.Namespace != nil || r.Inherited != nil || !slices.ContainsFunc(results, open) {
		return results
	}
	place := v.place(ctx, r)
	inherited := place
	if rules.Inherits() {
		inherited = v.place(admission.InheritedView(ctx), r)
	}
	if !place.Known() && !inherited.Known() {
		return results
	}
	r.Place, r.Inherited = place, &inherited
	return rules.Evaluate(ctx, r)
}

// asked returns the policies that an API server asks about an object: those of Kubernetes are not asked about policies of
// Kubernetes and their bindings, and webhooks, as Kyverno's, not about these and the configurations of webhooks
// (k8s.io/apiserver/pkg/admission/plugin/policy/generic and plugin/webhook/predicates/rules).
func asked(rules *engine.Evaluator, r *admission.Request) *engine.Evaluator {
	const group = "admissionregistration.k8s.io"
	id := r.Identity()
	policies := strings.Contains(id.Kind, "AdmissionPolicy")
	if id.Group != group || !policies && !strings.HasSuffix(id.Kind, "WebhookConfiguration") {
		return rules
	}
	return rules.Asked(func(p engine.PolicyRef) bool { return !policies && strings.HasPrefix(p.APIVersion, group+"/") })
}

// place looks up the declared Namespace of a request's object, and whether its kind is namespaced.
func (v *Reviewer) place(ctx context.Context, r *admission.Request) (p admission.Place) {
	id := admission.IdentityOf(r.CurrentObject())
	if id.Namespace == "" {
		p.ClusterScoped = r.Unplaced(id) && kinds.DefinedClusterScoped(ctx, v.Cluster, id.Group, id.Kind)
		return p
	}
	if namespace, ok := v.Cluster.Get(ctx, "", "Namespace", "", id.Namespace); ok {
		p.Namespace = namespace
	}
	return p
}

// Undecided reports whether a result depends on data that only the cluster has.
func Undecided(r engine.Result) bool { return r.Outcome == engine.Unknown }

// Violated reports whether a result becomes a finding that can block.
func Violated(r engine.Result) bool { return r.Outcome == engine.Fail || r.Outcome == engine.Error }

// Count adds the results of an answer to the numbers of a report.
func (a *Answer) Count(s *report.Stats) {
	if a.Mutations != nil {
		s.Mutated++
	}
	counts := map[report.Result]*int{report.Pass: &s.Passed, report.Skip: &s.Skipped, report.Error: &s.Errored,
		report.Unknown: &s.Unknown, report.Fail: &s.Failed, report.Warn: &s.Warned}
	for _, res := range a.Results {
		if n := counts[report.ResultOf(res.Outcome, res.Enforce)]; n != nil {
			*n++
		}
	}
}

// Combined lists the passes that needed more than one exception. Together, exceptions may permit what none of them
// permits alone.
func (a *Answer) Combined() (list []report.Problem) {
	for _, res := range a.Results {
		if !res.Combined {
			continue
		}
		list = append(list, report.Problem{Path: res.Policy.Path, Line: res.Policy.Line, Message: fmt.Sprintf(
			"%s / %s passes for %s only because %s are combined: none of them alone allows it",
			res.Policy.FullName(), res.Rule, Named(a.Pair.Resource().Object),
			strings.Join(engine.ExceptionNames(res.Exceptions), " and "))})
	}
	return list
}

// advise stores, for each violated rule and check, the value that it expects and a suggested fix.
func (v *Reviewer) advise(ctx, was context.Context, a *Answer, request admission.Request) {
	if a.Pair.New == nil {
		return
	}
	request.Object = a.Object()
	rules := asked(v.Effective, &request)
	deployed := mutated(ctx, rules, builtin.DeployedOf(a.Pair), &request)
	takes := builtin.Takes(ctx, v.Checks, deployed)
	a.advice = rules.SuggestFixes(ctx, &request, policies(a.Results), takes)
	for i, of := range builtin.Fixes(ctx, v.Checks, deployed, a.Results) {
		if of != nil {
			a.advice[i] = of
		}
	}
	a.before = rules.SuggestFixes(was, &request, policies(a.Before), takes)
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

// filledIn returns the scalar that the API server gives a field which nobody wrote, such as a default; nil if there is none.
func filledIn(r *render.Resource, field string) any {
	_, written := jsonpointer.Lookup(r.Made(), field)
	value := jsonpointer.At(r.Object, field)
	switch value.(type) {
	case map[string]any, []any:
		return nil
	}
	if written {
		return nil
	}
	return value
}

func (a *Answer) suggest(f *report.Finding, advice engine.SuggestedFix) {
	f.Expected = advice.Requirement
	if value := filledIn(a.Pair.New, f.Field); f.Expected != "" && value != nil {
		f.Expected += fmt.Sprintf("; where it is missing, the cluster fills in %v", value)
	}
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
