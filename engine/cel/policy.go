package cel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/explain"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/engine/policy"
)

// validation is one expression that has to hold.
type validation struct {
	expr              *expression
	line              int
	message           string
	messageExpression *expression
}

// program is what a policy evaluates once it matches: immutable.
type program struct {
	lang        *language
	conditions  []*expression
	variables   []variable
	validations []validation
	annotations []variable // of the audit, whose values nobody sees here: an error of one refuses the request
	ignore      bool       // the failure policy is Ignore
	verbatim    bool       // a message expression decides the message, even where it fails
	namespace   string     // where the policy lives, for look-ups that leave the namespace out
	kyverno     bool       // Kyverno evaluates it, and not the API server
	broken      error      // why its text for pod controllers does not compile: the error of each evaluation
}

// target is a set of requests that a policy applies to, with the policy as it is compiled for them.
type target struct {
	match     *matcher
	program   func() *program
	mutations []mutation
}

// binding is a ValidatingAdmissionPolicyBinding, which activates a policy.
type binding struct {
	match   *matcher
	enforce bool
	params  *policy.ParamRef
}

// Policy is a compiled policy of one of the kinds that validate or mutate: immutable and safe for concurrent use.
type Policy struct {
	kind, name, namespace, rule string
	program                     *program
	targets                     []target
	enforce                     bool
	bindings                    []binding
	paramKind                   *policy.ParamKind
	defaultMessage              func(index int, source string) string
	errorsFail                  bool // an error of a validation is a violation
	plurals                     []string

	mutates bool
	replace bool // apply configurations may replace what is atomic
	again   bool // each mutation computes the variables again, from the object that the mutation before it left
}

// Plurals returns the plural names of the kinds that the policy can apply to, nil if it can be any.
func (p *Policy) Plurals() []string { return p.plurals }

// MatchesNothing reports whether the policy names only versions that certainly do not exist.
func (p *Policy) MatchesNothing() bool {
	exists := func(r policy.ResourceRule) bool {
		return len(r.APIVersions) == 0 ||
			slices.ContainsFunc(r.APIVersions, func(version string) bool { return !kinds.NoVersion(r.APIGroups, version) })
	}
	return len(p.targets) > 0 && !slices.ContainsFunc(p.targets, func(t target) bool {
		return len(t.match.rules) == 0 || slices.ContainsFunc(t.match.rules, exists)
	})
}

// finish collects the plurals.
func (p *Policy) finish() {
	var plurals []string
	for _, t := range p.targets {
		for _, r := range t.match.rules {
			for _, resource := range r.Resources {
				plural, _, _ := strings.Cut(resource, "/")
				if !kinds.Known(r.APIGroups, plural) {
					return // all, or a custom resource, whose definition says which kind it is
				}
				plurals = append(plurals, plural)
			}
		}
	}
	p.plurals = plurals
}

// body compiles the fields that all kinds have. Pointers are relative to spec.
func (c *compiler) body(at, failurePolicy string, vars []policy.CELVariable, conditions []policy.MatchCondition,
	validations []policy.CELValidation, audit []policy.CELAuditAnnotation) *program {
	p := &program{lang: c.lang, kyverno: c.doc.Group() == kyvernoGroup}
	c.declared, c.untyped, c.additions, c.mutates = map[string]*cel.Type{}, map[string]bool{}, 0, false
	p.ignore = failurePolicy == "Ignore"
	p.conditions = c.conditions(at+"/matchConditions/", conditions)
	for i, v := range vars {
		pointer := at + "/variables/" + itoa(i)
		if v.Name == "" || c.declared[v.Name] != nil {
			c.problem(pointer+"/name", "a variable needs a unique name that is an identifier, which %q is not", v.Name)
		}
		gives := cel.DynType
		if x := c.compile(pointer+"/expression", v.Expression); x != nil {
			p.variables = append(p.variables, variable{v.Name, x})
			c.additions += additions(x.checked.Expr())
			gives, c.untyped[v.Name] = x.gives, isDynamic(x.gives) && c.isData(x.checked.Expr())
		}
		c.declared[v.Name] = gives
	}
	c.validations(p, at+"/validations/", validations)
	for i, a := range audit {
		if x := c.compile(at+"/auditAnnotations/"+itoa(i)+"/valueExpression", a.ValueExpression, cel.StringType,
			cel.NullType); x != nil {
			p.annotations = append(p.annotations, variable{a.Key, x})
		}
	}
	return p
}

func (c *compiler) conditions(at string, conditions []policy.MatchCondition) (list []*expression) {
	for i, m := range conditions {
		if x := c.compile(at+itoa(i)+"/expression", m.Expression, cel.BoolType); x != nil {
			list = append(list, x)
		}
	}
	return list
}

func (c *compiler) validations(p *program, at string, validations []policy.CELValidation) {
	for i, v := range validations {
		pointer := at + itoa(i)
		out := validation{message: v.Message}
		out.line, _ = c.doc.Position(pointer)
		out.expr = c.compile(pointer+"/expression", v.Expression, cel.BoolType)
		if v.MessageExpression != "" {
			out.messageExpression = c.compile(pointer+"/messageExpression", v.MessageExpression, cel.StringType)
		}
		if out.expr != nil {
			p.validations = append(p.validations, out)
		}
	}
}

// CompileValidatingPolicy compiles a ValidatingPolicy or NamespacedValidatingPolicy, with the rules for pod
// controllers that Kyverno generates for a policy on Pods. It is nil where a problem is more than a warning,
// and for evaluation modes other than Kubernetes, which are warned of.
func CompileValidatingPolicy(doc policy.Document, p policy.ValidatingPolicy) (*Policy, []policy.Problem) {
	return compileDocument(doc, func(c *compiler) *Policy {
		spec := p.Spec
		if mode := spec.Evaluation.Mode; mode != "" && mode != "Kubernetes" {
			c.problems = append(c.problems, doc.Warning("/spec/evaluation/mode",
				"policies of the evaluation mode %q are not evaluated before merge", mode))
			return nil
		}
		out := &Policy{
			kind: doc.Kind, name: doc.Name,
			enforce: len(spec.ValidationActions) == 0 || slices.Contains(spec.ValidationActions, "Deny"),
			defaultMessage: func(i int, _ string) string {
				return fmt.Sprintf("CEL expression validation failed at index %d", i)
			},
		}
		if doc.Kind == "NamespacedValidatingPolicy" {
			out.namespace = doc.Namespace
		}
		if admitted := spec.Evaluation.Admission.Enabled; admitted != nil && !*admitted {
			out.enforce = false
		}
		compile := func(c *compiler, spec policy.ValidatingPolicySpec) *program {
			p := c.body("/spec", spec.FailurePolicy, spec.Variables, spec.MatchConditions, spec.Validations, spec.AuditAnnotations)
			p.namespace, p.verbatim = out.namespace, true
			return p
		}
		out.program = compile(c, spec)
		if len(spec.Validations) == 0 {
			c.problem("/spec/validations", "the policy validates nothing")
		}
		pods := target{match: c.constraints(spec.MatchConstraints), program: func() *program { return out.program }}
		out.targets = append([]target{pods}, c.controllers(spec.MatchConstraints, spec.Autogen, pods.match,
			func(template string) target {
				// Most policies never see each kind of controllers, so they are compiled for the first of a kind.
				return target{program: sync.OnceValue(func() *program {
					generated, err := validatingTemplates(spec, template)
					later := &compiler{lang: c.lang, doc: c.doc, generated: true}
					if p := compile(later, generated); err == nil && !policy.HasErrors(later.problems) {
						return p
					}
					for _, p := range later.problems {
						err = cmp.Or(err, errors.New(p.Message))
					}
					return &program{lang: c.lang, broken: err}
				})}
			})...)
		out.finish()
		return out
	})
}

// CompileAdmissionPolicy compiles a ValidatingAdmissionPolicy with the bindings that name it. A policy without a
// binding is evaluated for everything that it matches, and enforces nothing. It returns nil if one of the problems is
// an error.
func CompileAdmissionPolicy(doc policy.Document, p policy.ValidatingAdmissionPolicy,
	bindings []policy.ValidatingAdmissionPolicyBinding) (*Policy, []policy.Problem) {
	return compileDocument(doc, func(c *compiler) *Policy {
		spec := p.Spec
		out := &Policy{
			kind: doc.Kind, name: doc.Name, rule: doc.Name, paramKind: spec.ParamKind, errorsFail: true,
			defaultMessage: func(_ int, source string) string { return "failed expression: " + strings.TrimSpace(source) },
		}
		out.program = c.body("/spec", spec.FailurePolicy, spec.Variables, spec.MatchConditions, spec.Validations,
			spec.AuditAnnotations)
		out.targets = []target{{match: c.constraints(spec.MatchConstraints).converting(spec.MatchConstraints)}}
		for _, b := range bindings {
			if b.Spec.PolicyName != doc.Name {
				continue
			}
			out.bindings = append(out.bindings, binding{
				match:   c.matching("", b.Spec.MatchResources).converting(b.Spec.MatchResources),
				enforce: slices.Contains(b.Spec.ValidationActions, "Deny"),
				params:  b.Spec.ParamRef,
			})
		}
		out.finish()
		return out
	})
}

// Evaluate returns the results of the policy for the request: nothing where it does not match, else one result, or
// one for each binding of a policy of Kubernetes that matches. The request is not changed.
func (p *Policy) Evaluate(ctx context.Context, r *admission.Request, env Env) []Result {
	if p.mutates && r.Object == nil {
		return nil
	}
	t, applies, err := p.about(ctx, r, env)
	switch {
	case t == nil:
		p.ExplainMatch(ctx, r, env)
		return nil
	case err != nil && (!applies || p.mutates):
		return []Result{{Decision: Decision{Rule: p.rule, Outcome: admission.Unknown, Enforce: p.enforce, Message: err.Error()}}}
	case p.rule != "":
		return p.bound(ctx, r, env, t, err)
	case p.mutates:
		return []Result{p.mutated(ctx, r, env, t)}
	}
	return []Result{p.one(ctx, r, env, t.program()).unless(err)}
}

// unless returns the result for a request that the policy may not apply to, which err says: that only matters if the
// request would violate it.
func (out Result) unless(err error) Result {
	if err != nil && out.Outcome != admission.Pass && out.Outcome != admission.Skip {
		out.Outcome = admission.Unknown
		out.Message = "whether the policy applies is not known: " + err.Error() + "; if it does: " + out.Message
	}
	return out
}

// about returns the target that the request belongs to, nil if there is none. The error is a
// *admission.NeedsClusterError if that is unknown. applies is false if the request as it is cannot be evaluated either.
func (p *Policy) about(ctx context.Context, r *admission.Request, env Env) (_ *target, applies bool, _ error) {
	var elsewhere error // the policy may be one of another namespace
	if id := admission.IdentityOf(r.CurrentObject()); p.namespace != "" && id.Namespace != p.namespace {
		if !r.Unplaced(id) {
			return nil, false, nil
		}
		elsewhere = admission.NeedsNamespace(id)
	}
	for i := range p.targets {
		if ok, err := p.targets[i].match.matches(ctx, r, env.Cluster); ok || err != nil {
			return &p.targets[i], ok, cmp.Or(err, elsewhere)
		}
	}
	return nil, false, nil
}

// bound evaluates a policy of Kubernetes once for each binding that matches, and for each object that the binding's
// paramRef selects. A mutation starts from what the one before it left. unsure says why the policy may not apply; nil: it does.
func (p *Policy) bound(ctx context.Context, r *admission.Request, env Env, t *target, unsure error) []Result {
	run := func(r *admission.Request, param any, enforce bool) Result {
		if p.mutates {
			return p.apply(ctx, r, env, t, param, nil)
		}
		return p.judge(p.program.evaluate(ctx, r, env, param, nil), enforce)
	}
	if len(p.bindings) == 0 {
		return []Result{run(r, nil, false).unless(unsure)}
	}
	var out []Result
	request := *r
	p.eachBinding(ctx, &request, env, func(b binding, param any, applies bool, err error) {
		next := p.judge(verdict{err: err, index: -1, denies: true}, b.enforce)
		if applies && (err == nil || !p.mutates) {
			next = run(&request, param, b.enforce).unless(cmp.Or(unsure, err))
		}
		out = append(out, next)
		if next.Patched != nil {
			request.Object = next.Patched
		}
	})
	return out
}

// eachBinding calls do for each binding that matches or may match, and each object that its paramRef selects; or once
// without one, and with the error, if these are unknown. The error of a binding that applies says why it may not match.
func (p *Policy) eachBinding(ctx context.Context, r *admission.Request, env Env,
	do func(b binding, param any, applies bool, err error),
) {
	for _, b := range p.bindings {
		ok, err := b.match.matches(ctx, r, env.Cluster)
		if err == nil && !ok {
			env.Log.Add(explain.Step{Part: explain.Match, At: "/binding", Words: "a binding of the policy does not match"})
			continue
		}
		var params []any
		if ok {
			var unknown error
			if params, unknown = p.program.params(ctx, r, env, p.paramKind, b.params); unknown != nil {
				ok, err = false, cmp.Or(err, unknown)
			}
		}
		if !ok {
			do(b, nil, false, err)
			continue
		}
		for _, param := range params {
			do(b, param, true, err)
		}
	}
}

// one evaluates a ValidatingPolicy with the exceptions that apply to the request.
func (p *Policy) one(ctx context.Context, r *admission.Request, env Env, as *program) Result {
	var matched []*Exception
	var undecided, broken error
	for _, e := range env.Exceptions {
		switch ok, err := e.excepts(ctx, p, r, env); {
		case errors.As(err, new(*admission.NeedsClusterError)):
			undecided = err
		case err != nil:
			broken = fmt.Errorf("a condition of exception %s: %w", e.name, err)
		case ok && e.Whole():
			return e.result(p.enforce)
		case ok:
			matched = append(matched, e)
		}
	}
	run := func(exceptions []*Exception) Result {
		return p.judge(as.evaluate(ctx, r, env, nil, exceptions), p.enforce)
	}
	result := run(nil)
	env.Log = nil // what exceptions change is tried out
	if len(matched) > 0 && result.Outcome != admission.Pass && result.Outcome != admission.Skip {
		result = p.exempt(matched, result, run)
	}
	if undecided != nil && result.Outcome == admission.Fail {
		result.Outcome, result.Fields, result.Message = admission.Unknown, nil, undecided.Error()
	}
	if broken != nil && result.Outcome == admission.Pass && !p.program.ignore {
		// Kyverno evaluates exceptions first, and refuses a request for which one of them cannot be decided.
		return p.judge(verdict{err: broken, index: -1}, p.enforce)
	}
	return result
}

// exempt finds the fewest exceptions that make the policy pass: a single one, or as few as possible of all of them
// together. Together they may allow what no single one allows.
func (p *Policy) exempt(matched []*Exception, failed Result, run func([]*Exception) Result) Result {
	for _, e := range matched {
		if out := run([]*Exception{e}); out.Outcome == admission.Pass {
			out.Exceptions = []*Exception{e}
			return out
		}
	}
	all := run(matched)
	if all.Outcome != admission.Pass || len(matched) == 1 {
		if all.Outcome == admission.Fail {
			return all // what the exceptions cover is no longer among the fields
		}
		return failed
	}
	needed := slices.Clone(matched)
	for i := len(needed) - 1; i >= 0 && len(needed) > 1; i-- {
		fewer := slices.Delete(slices.Clone(needed), i, i+1)
		if run(fewer).Outcome == admission.Pass {
			needed = fewer
		}
	}
	all.Exceptions, all.Combined = needed, true
	return all
}

// judge turns a verdict into a result, with Kyverno's messages.
func (p *Policy) judge(v verdict, enforce bool) Result {
	out := Result{Decision: Decision{Rule: p.rule, Enforce: enforce, Line: v.line}}
	needs := (*admission.NeedsClusterError)(nil)
	switch {
	case errors.As(v.err, &needs):
		out.Outcome, out.Message = admission.Unknown, needs.Error()
	case v.err != nil && p.program.ignore && v.inCondition:
		out.Outcome, out.Enforce, out.Message = admission.Skip, false, v.err.Error()
	case v.err != nil && p.program.ignore && !p.program.verbatim:
		out.Outcome, out.Enforce, out.Message = admission.Error, false, v.err.Error()
	case v.err != nil:
		out.Outcome, out.Message, out.Fields, out.Old = admission.Error, v.err.Error(), v.fields, v.old
		out.Enforce = out.Enforce || v.denies
		if p.errorsFail && v.index >= 0 && !v.inCondition && !v.canceled() {
			out.Outcome = admission.Fail
		}
	case v.skipped:
		out.Outcome, out.Message = admission.Skip, "skip"
	case v.failed:
		out.Outcome, out.Fields, out.Old = admission.Fail, v.fields, v.old
		if out.Message = v.message; p.rule != "" {
			out.Message = strings.TrimSpace(v.message)
		}
		if out.Message == "" {
			out.Message = p.defaultMessage(v.index, p.program.validations[v.index].expr.source)
		}
	default:
		out.Outcome, out.Message = admission.Pass, "success"
	}
	return out
}
