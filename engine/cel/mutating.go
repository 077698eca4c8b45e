package cel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/mutate"
	"github.com/lintel-bot/lintel/engine/policy"
)

// patchType describes what the expression of a mutation gives.
type patchType int

const (
	applyConfiguration patchType = iota
	jsonPatch
)

// mutation is one patch of a policy.
type mutation struct {
	kind patchType
	expr *expression
	line int
}

// mutations compiles the patches of a policy.
func (c *compiler) mutations(at string, list []policy.CELMutation) []mutation {
	c.mutates = true
	var out []mutation
	for i, m := range list {
		pointer := at + "/" + itoa(i)
		line, _ := c.doc.Position(pointer)
		switch apply, patch := m.ApplyConfiguration != nil, m.JSONPatch != nil; {
		case m.PatchType == "ApplyConfiguration" && apply && !patch:
			if x := c.compile(pointer+"/applyConfiguration/expression", m.ApplyConfiguration.Expression,
				types.NewObjectType(objectTypeName)); x != nil {
				out = append(out, mutation{applyConfiguration, x, line})
			}
		case m.PatchType == "JSONPatch" && patch && !apply:
			if x := c.compile(pointer+"/jsonPatch/expression", m.JSONPatch.Expression,
				cel.ListType(types.NewObjectType(patchTypeName)), cel.ListType(cel.DynType)); x != nil {
				out = append(out, mutation{jsonPatch, x, line})
			}
		case m.PatchType == "ApplyConfiguration":
			c.problem(pointer, "a mutation of the patch type ApplyConfiguration has applyConfiguration and not jsonPatch")
		case m.PatchType == "JSONPatch":
			c.problem(pointer, "a mutation of the patch type JSONPatch has jsonPatch and not applyConfiguration")
		default:
			c.problem(pointer+"/patchType", "unknown patch type %q: use ApplyConfiguration or JSONPatch", m.PatchType)
		}
	}
	if len(list) == 0 {
		c.problem(at, "the policy has no mutations")
	}
	return out
}

// ChangesOthers reports whether a MutatingPolicy changes existing objects and not those of a request. That happens only
// in a cluster.
func ChangesOthers(p policy.MutatingPolicy) bool {
	existing := p.Spec.Evaluation.MutateExisting.Enabled
	return p.Spec.TargetMatchConstraints != nil || existing != nil && *existing
}

// CompileMutatingPolicy compiles a MutatingPolicy or NamespacedMutatingPolicy
// (https://kyverno.io/docs/policy-types/mutating-policy/), with the rules for pod controllers that Kyverno
// generates for a policy on Pods. It is nil where a problem is more than a warning, and where the policy is not
// evaluated at admission.
func CompileMutatingPolicy(doc policy.Document, p policy.MutatingPolicy) (*Policy, []policy.Problem) {
	return compileDocument(doc, func(c *compiler) *Policy {
		spec := p.Spec
		out := &Policy{kind: doc.Kind, name: doc.Name, enforce: true, mutates: true}
		if doc.Kind == "NamespacedMutatingPolicy" {
			out.namespace = doc.Namespace
		}
		compile := func(spec policy.MutatingPolicySpec) target {
			p := c.body("/spec", spec.FailurePolicy, spec.Variables, nil, nil, spec.AuditAnnotations)
			p.conditions = c.conditions("/spec/matchConditions/", spec.MatchConditions) // which may use the variables here
			p.namespace = out.namespace
			return target{program: func() *program { return p }, mutations: c.mutations("/spec/mutations", spec.Mutations)}
		}
		pods := compile(spec)
		out.program = pods.program()
		pods.match = c.constraints(spec.MatchConstraints)
		out.targets = append([]target{pods}, c.controllers(spec.MatchConstraints, spec.Autogen, pods.match,
			func(template string) target { return compile(mutatingTemplates(spec, template)) })...)
		out.finish()
		out.replace = spec.Evaluation.UseServerSideApply
		if admitted := spec.Evaluation.Admission.Enabled; admitted == nil || *admitted {
			return out
		}
		if !ChangesOthers(p) {
			c.problem("/spec/evaluation/admission", "the policy is never evaluated: enable admission or mutateExisting")
		}
		return nil
	})
}

// CompileMutatingAdmissionPolicy compiles a MutatingAdmissionPolicy with the bindings that name it
// (https://kubernetes.io/docs/reference/access-authn-authz/mutating-admission-policy/). A policy without a
// binding changes all that it matches, as Kyverno evaluates it. It is nil where a problem is more than a warning.
func CompileMutatingAdmissionPolicy(doc policy.Document, p policy.MutatingAdmissionPolicy,
	bindings []policy.MutatingAdmissionPolicyBinding) (*Policy, []policy.Problem) {
	return compileDocument(doc, func(c *compiler) *Policy {
		spec := p.Spec
		out := &Policy{
			kind: doc.Kind, name: doc.Name, rule: doc.Name, enforce: true, paramKind: spec.ParamKind, mutates: true, again: true,
		}
		out.program = c.body("/spec", spec.FailurePolicy, spec.Variables, spec.MatchConditions, nil, nil)
		out.targets = []target{{program: func() *program { return out.program }, mutations: c.mutations("/spec/mutations", spec.Mutations)}}
		out.targets[0].match = c.constraints(spec.MatchConstraints)
		for _, b := range bindings {
			if b.Spec.PolicyName == doc.Name {
				out.bindings = append(out.bindings, binding{match: c.matching("", b.Spec.MatchResources), enforce: true,
					params: b.Spec.ParamRef})
			}
		}
		out.finish()
		return out
	})
}

// mutated evaluates a MutatingPolicy with the images and values that the exceptions for the request allow. Where one exempts it
// from the whole policy, or that is unknown, the policy is not evaluated.
func (p *Policy) mutated(ctx context.Context, r *admission.Request, env Env, t *target) Result {
	var matched []*Exception
	for _, e := range env.Exceptions {
		switch ok, err := e.excepts(ctx, p, r, env); {
		case errors.As(err, new(*admission.NeedsClusterError)):
			return Result{Decision: Decision{Outcome: admission.Unknown, Enforce: true,
				Message: "whether exception " + e.name + " applies is not known: " + err.Error()}}
		case err != nil:
			return p.judge(verdict{err: fmt.Errorf("a condition of exception %s: %w", e.name, err), index: -1}, true)
		case ok && e.Whole():
			return e.result(true)
		case ok:
			matched = append(matched, e)
		}
	}
	return p.apply(ctx, r, env, t, nil, matched)
}

// apply runs the mutations one after the other.
func (p *Policy) apply(ctx context.Context, r *admission.Request, env Env, t *target, params any,
	exceptions []*Exception) Result {
	program := t.program()
	a := &activation{ctx: ctx, state: program.state(r, env, params, exceptions)}
	if out, done := program.conditionsHold(a); done {
		if out.skipped && p.rule != "" {
			return Result{Decision: Decision{Rule: p.rule, Outcome: admission.Skip, Message: "match conditions aren't met"}}
		}
		return p.judge(out, true)
	}
	a.state.empty = program.kyverno
	object := r.Object
	for _, mu := range t.mutations {
		next, err := p.patch(a, mu, object)
		if env.Log.On() {
			a.logMutation(mu, err)
		}
		if err != nil {
			err = fmt.Errorf("mutation '%s' resulted in error: %w", firstLine(strings.TrimSpace(mu.expr.source)), err)
			return p.judge(verdict{err: err, index: -1, line: mu.line}, true)
		}
		object = next
		a.state.replaceObject(seen(a.state.request, object), p.again)
	}
	out := Result{Decision: Decision{Rule: p.rule, Enforce: true, Outcome: admission.Pass, Message: "success"}}
	if p.rule != "" {
		out.Message = "mutation is successfully applied"
	}
	out.Patched = object
	if reflect.DeepEqual(r.Object, object) {
		out.Patched = r.Object
	}
	return out
}

func (p *Policy) patch(a *activation, mu mutation, object admission.Object) (admission.Object, error) {
	v, err := mu.expr.eval(a)
	if err != nil {
		return nil, err
	}
	if mu.kind == jsonPatch {
		ops, err := exportPatch(v)
		if err != nil {
			return nil, err
		}
		return mutate.JSONPatch(object, ops)
	}
	configuration, err := exportObject(v)
	if err != nil {
		return nil, err
	}
	for _, k := range []string{"apiVersion", "kind"} {
		delete(configuration, k) // the API server sets them to those of the object
	}
	return mutate.Configuration(object, configuration, p.replace)
}

// replaceObject makes expressions use another object from now on. Values computed from the old one are kept, unless
// again is set.
func (s *evaluation) replaceObject(object any, again bool) {
	s.object = object
	keep := s.known
	s.known = map[string]any{}
	if !again {
		maps.Copy(s.known, keep)
		delete(s.known, identRequest)
		delete(s.known, identImages)
		return
	}
	s.results = nil
}
