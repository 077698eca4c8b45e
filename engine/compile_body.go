package engine

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/engine/assert"
	"github.com/lintel-bot/lintel/engine/cel"
	"github.com/lintel-bot/lintel/engine/condition"
	"github.com/lintel-bot/lintel/engine/jmespath"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/mutate"
	"github.com/lintel-bot/lintel/engine/pattern"
	"github.com/lintel-bot/lintel/engine/podsecurity"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/engine/variable"
)

// maxForEach limits how deep foreach may nest.
const maxForEach = 10

// body is the part of a rule, or of an entry of its foreach, that is evaluated.
type body struct {
	context       []*entry
	preconditions *condition.Set
	patterns      *patterns
	denies        bool // what meets the conditions of deny: everything where these are nil
	deny          *condition.Set
	forEach       []*forEach
	assert        *assert.Tree
}

// patterns are a pattern or an anyPattern. If they have no variables, they are compiled once.
type patterns struct {
	one   bool // a pattern, else a list of alternatives
	fixed []*pattern.Pattern
	tree  *variable.Tree // nil where they are fixed
}

// list returns the patterns in a value of the tree.
func (p *patterns) list(value any) []any {
	if p.one {
		return []any{value}
	}
	list, _ := value.([]any)
	return list
}

type forEach struct {
	list  *jmespath.Expression
	scope *bool
	body  body
}

func (c *ruleCompiler) validate(out *rule, r *policy.Rule) *rule {
	v := r.Validate
	bodies := map[string]bool{
		"pattern": v.Pattern != nil, "anyPattern": v.AnyPattern != nil, "deny": v.Deny != nil, "foreach": len(v.ForEach) > 0,
		"podSecurity": v.PodSecurity != nil, "cel": v.CEL != nil, "assert": v.Assert != nil, "manifests": v.Manifests != nil,
	}
	have := present(bodies)
	if len(have) > 1 {
		c.bad("/validate/"+have[1], "validate has several bodies (%s): keep one, and move the others to rules of "+
			"their own",
			strings.Join(have, ", "))
		return nil
	}
	if len(have) == 0 {
		c.bad("/validate", "validate has no body: add pattern, anyPattern, deny, foreach, podSecurity or cel")
		return nil
	}
	out.message = c.text("/validate/message", v.Message)
	// The API server's code decides about a cel rule, which knows nothing of this (pkg/engine/handlers/validation of Kyverno).
	out.strict = v.AllowExistingViolations != nil && !*v.AllowExistingViolations
	out.action = c.action(v)
	// Kyverno looks at the old object only where the action enforces without an override (validate_resource.go there).
	out.tolerant = v.CEL == nil && !out.strict && out.action.plain()
	switch have[0] {
	case "manifests":
		c.clusterOnly("/validate/manifests", "validate.manifests")
		return nil
	case "assert":
		out.body.assert = c.assertion(v.Assert)
		c.problems = append(c.problems, c.doc.Warning(c.at("/validate/assert"), "%s %s: rule %s: validate.assert has no "+
			"effect since Kyverno 1.19: here it is evaluated, as earlier versions do", c.doc.Kind, c.doc.Name, out.name).As(
			"validate.assert has no effect since Kyverno 1.19"))
	case "podSecurity":
		out.security = c.security(v.PodSecurity)
	case "cel":
		out.cel = c.cel(r)
	default:
		c.parts(&out.body, "/validate", v.Pattern, v.AnyPattern, v.Deny, v.ForEach, 0)
	}
	return out
}

// action compiles the failure action of a rule. Fields that it does not set are taken from the policy.
func (c *ruleCompiler) action(v *policy.Validation) action {
	now, bad := compileAction(c.doc, v.FailureAction, c.at("/validate/failureActionOverrides"), v.FailureActionOverrides)
	old, more := compileAction(c.doc, v.ValidationFailureAction, c.at("/validate/validationFailureActionOverrides"),
		v.ValidationFailureActionOverrides)
	if !c.generated {
		c.problems = append(append(c.problems, bad...), more...)
	}
	return now.or(old).or(c.standard)
}

// parts compiles the fields that a validate block and an entry of its foreach have in common.
func (c *ruleCompiler) parts(b *body, at string, one, some any, d *policy.Deny, list []policy.ForEach, depth int) {
	if one != nil {
		b.patterns = c.pattern(at+"/pattern", one)
	}
	if some != nil {
		b.patterns = c.anyPattern(at+"/anyPattern", some)
	}
	if d != nil {
		b.denies, b.deny = true, c.conditions(at+"/deny/conditions", d.Conditions)
	}
	if depth > maxForEach {
		c.bad(at, "foreach nests more than %d levels deep: flatten it", maxForEach)
		return
	}
	for i, f := range list {
		b.forEach = append(b.forEach, c.forEach(fmt.Sprintf("%s/foreach/%d", at, i), f, depth))
	}
}

func (c *ruleCompiler) forEach(at string, f policy.ForEach, depth int) *forEach {
	out := &forEach{scope: f.ElementScope}
	switch {
	case f.List == "":
		c.bad(at, "the foreach has no list: add the JMESPath expression to iterate over")
	case strings.Contains(f.List, "{{"):
		c.bad(at+"/list", "list is a JMESPath expression and takes no {{ }}: remove the braces")
	default:
		out.list = c.expression(at+"/list", f.List)
	}
	bodies := map[string]bool{"pattern": f.Pattern != nil, "anyPattern": f.AnyPattern != nil, "deny": f.Deny != nil,
		"foreach": len(f.ForEach) > 0}
	if have := present(bodies); len(have) != 1 {
		c.bad(at, "the foreach has %d bodies and must have one of pattern, anyPattern, deny and foreach", len(have))
	}
	out.body.context = c.context(at+"/context", f.Context)
	out.body.preconditions = c.conditions(at+"/preconditions", f.Preconditions)
	c.parts(&out.body, at, f.Pattern, f.AnyPattern, f.Deny, f.ForEach, depth+1)
	return out
}

func (c *ruleCompiler) conditions(at string, raw any) *condition.Set {
	if raw == nil {
		return nil
	}
	s, err := condition.Compile(c.tree, at)
	if err != nil {
		c.failed(at, err)
		return nil
	}
	if !c.generated {
		walkStrings(raw, at, func(pointer, operator string) {
			if !strings.HasSuffix(pointer, "/operator") {
				return
			}
			if instead, old := condition.IsDeprecated(operator); old {
				c.problems = append(c.problems, c.doc.Deprecation(c.at(pointer), "the operator %s is deprecated: use %s",
					operator, instead))
			}
		})
	}
	return s
}

func (c *ruleCompiler) expression(at, source string) *jmespath.Expression {
	e, err := jmespath.Compile(source)
	if err != nil {
		c.bad(at, "not a JMESPath expression: %s", err)
		return nil
	}
	return e
}

func (c *ruleCompiler) pattern(at string, raw any) *patterns {
	if _, ok := raw.(string); ok {
		c.bad(at, "a pattern is a mapping (or a list), not a string")
		return nil
	}
	return c.patterns(at, raw, &patterns{one: true})
}

func (c *ruleCompiler) anyPattern(at string, raw any) *patterns {
	list, ok := raw.([]any)
	if !ok {
		c.bad(at, "anyPattern is a list of patterns: put a dash before each")
		return nil
	}
	if len(list) == 0 {
		c.bad(at, "anyPattern is an empty list, which Kyverno cannot evaluate: add the patterns of which one has to match")
		return nil
	}
	return c.patterns(at, raw, &patterns{})
}

func (c *ruleCompiler) patterns(at string, raw any, out *patterns) *patterns {
	tree, err := variable.Parse(raw, "")
	if err != nil {
		c.failedBelow(at, err)
		return nil
	}
	value, fixed := tree.Constant()
	if !fixed {
		value, out.tree = raw, tree
	}
	for i, p := range out.list(value) {
		here := at
		if !out.one {
			here = fmt.Sprintf("%s/%d", at, i)
		}
		if !fixed {
			c.tryPattern(here, p)
			continue
		}
		compiled, err := pattern.Compile(p)
		if err != nil {
			c.failedBelow(here, err)
		}
		out.fixed = append(out.fixed, compiled)
	}
	return out
}

// tryPattern finds mistakes in a pattern whose variables have no values yet. The values of variables cannot be checked.
func (c *ruleCompiler) tryPattern(at string, raw any) {
	_, err := pattern.Compile(raw)
	e, ok := errors.AsType[*jsonpointer.Error](err)
	if !ok || strings.Contains(e.Pointer, "{{") {
		return
	}
	if s, ok := jsonpointer.At(raw, e.Pointer).(string); !ok || !strings.Contains(s, "{{") {
		c.failedBelow(at, err)
	}
}

// failed reports an error of a compiler whose document was the rule.
func (c *ruleCompiler) failed(at string, err error) {
	pointer, message := located(err)
	pointer = cmp.Or(pointer, at)
	c.bad(pointer, "%s", message)
}

// failedBelow is like failed for a compiler whose document was the part of the rule at a pointer.
func (c *ruleCompiler) failedBelow(at string, err error) {
	pointer, message := located(err)
	c.bad(at+pointer, "%s", message)
}

func located(err error) (pointer, message string) {
	if e, ok := errors.AsType[*jsonpointer.Error](err); ok {
		return e.Pointer, e.Message
	}
	return "", err.Error()
}

func (c *ruleCompiler) security(p *policy.PodSecurity) *podsecurity.Check {
	check, err := podsecurity.Compile(p.Level, p.Version, p.Exclude)
	if err != nil {
		pointer, message := located(err)
		c.bad("/validate/podSecurity"+pointer, "%s: %s", jsonpointer.Dotted(pointer), message)
		return nil
	}
	return check
}

func (c *ruleCompiler) cel(r *policy.Rule) *cel.Rule {
	out, bad := cel.CompileRule(c.doc,
		cel.RuleSpec{Rule: r, Pointer: c.at("/validate/cel"), PreconditionsAt: c.at("/celPreconditions")})
	c.problems = append(c.problems, bad...)
	return out
}

func (c *ruleCompiler) mutate(out *rule, r *policy.Rule) *rule {
	if r.Mutate.Targets != nil {
		c.clusterOnly("/mutate/targets", "mutation of existing objects")
		return nil
	}
	if c.policy.report {
		c.clusterOnly("/mutate", "mutation outside of admission")
		return nil
	}
	m, err := mutate.Compile(c.tree, "/mutate", c.loader)
	if err != nil {
		c.failed("/mutate", err)
		return nil
	}
	out.mutation = m
	return out
}

// loader compiles the context of a foreach in a mutate rule.
func (c *ruleCompiler) loader(document any, pointer string) (mutate.Loader, error) {
	list, bad := policy.FromTree[[]policy.ContextEntry](c.doc, jsonpointer.At(document, pointer))
	if policy.HasErrors(bad) {
		return nil, jsonpointer.Errorf(pointer, "%s", bad[0].Message)
	}
	entries := c.context(pointer, list)
	return func(s *variable.Scope) { define(s, entries, nil) }, nil
}
