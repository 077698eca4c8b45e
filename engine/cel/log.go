package cel

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types/ref"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/explain"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/engine/policy"
)

// ExplainMatch logs why the policy does not apply to a request, if logging is on.
func (p *Policy) ExplainMatch(ctx context.Context, r *admission.Request, env Env) {
	if !env.Log.On() {
		return
	}
	if id := admission.IdentityOf(r.CurrentObject()); p.namespace != "" && id.Namespace != p.namespace && !r.Unplaced(id) {
		env.Log.Add(explain.Step{Part: explain.Namespace,
			Words: fmt.Sprintf("the policy applies to namespace %s, not %q", p.namespace, id.Namespace)})
		return
	}
	if len(p.targets) > 0 { // the others are those of pod controllers
		p.targets[0].match.explain(ctx, r, env)
	}
}

// explain logs which lines of the block match a request.
func (m *matcher) explain(ctx context.Context, r *admission.Request, env Env) {
	id := r.Identity()
	custom := func(plural string) bool { return kinds.Defined(ctx, env.Cluster, id.Group, id.Kind, plural) }
	what := fmt.Sprintf("%s of %s/%s", r.Operation, id.APIVersion(), kinds.PluralOf(id.Group, id.Kind))
	matched := false
	for _, list := range []struct {
		part  explain.Part
		name  string
		rules []policy.ResourceRule
	}{{explain.Match, "/resourceRules/", m.rules}, {explain.Exclude, "/excludeResourceRules/", m.exclude}} {
		for i, rule := range list.rules {
			step := explain.Step{Part: list.part, At: list.name + itoa(i), Holds: inRule(rule, r, id, custom)}
			step.Words = what + " is one of " + ruleWords(rule)
			if !step.Holds {
				step.Words = what + " is none of " + ruleWords(rule)
			}
			matched = matched || step.Holds && list.part == explain.Match
			env.Log.Add(step)
		}
	}
	if !matched {
		return
	}
	if m.object != nil {
		env.Log.Add(explain.Step{Part: explain.Match, At: "/objectSelector", Holds: m.selects(r.Object) || m.selects(r.OldObject),
			Words: "labels " + m.object.String()})
	}
	if m.namespaces != nil {
		in, err := m.inNamespace(r, id)
		env.Log.Add(explain.Step{Part: explain.Match, At: "/namespaceSelector", Holds: in && err == nil, Err: err,
			Words: "namespace with labels " + m.namespaces.String()})
	}
}

// ruleWords describes a line of resourceRules.
func ruleWords(rule policy.ResourceRule) string {
	all := func(list []string) string {
		if len(list) == 0 {
			return "*"
		}
		return strings.Join(list, "|")
	}
	groups := all(rule.APIGroups)
	if groups != "" {
		groups += "/"
	}
	out := fmt.Sprintf("%s of %s%s/%s", all(rule.Operations), groups, all(rule.APIVersions), all(rule.Resources))
	if len(rule.ResourceNames) > 0 {
		out += " named " + all(rule.ResourceNames)
	}
	if rule.Scope != "" && rule.Scope != "*" {
		out += ", " + rule.Scope
	}
	return out
}

// logConditions logs the results of match conditions.
func (a *activation) logConditions(conditions []*expression) {
	for i, x := range conditions {
		holds, err := x.truth(a)
		a.state.env.Log.Add(explain.Step{Part: explain.Conditions, At: "/" + itoa(i), Holds: holds, Err: err,
			Words: strings.TrimSpace(x.source), Values: a.variablesOf(x)})
	}
}

// logValidation logs the result of an expression with the variables it uses, and, if it does not hold, the fields that
// it read.
func (a *activation) logValidation(i int, val validation, holds bool, err error) {
	step := explain.Step{Part: explain.Validation, At: "/" + itoa(i), Line: val.line, Holds: holds, Err: err,
		Words: strings.TrimSpace(val.expr.source), Values: a.variablesOf(val.expr)}
	if !holds {
		fields, old := fieldsOf(a, val.expr)
		object := a.state.request.Object
		if old {
			object = a.state.request.OldObject
		}
		for _, field := range fields {
			if field != "" {
				value, _ := jsonpointer.Lookup(object, field)
				step.Values = append(step.Values, explain.Value{Name: field, Value: value})
			}
		}
	}
	a.state.env.Log.Add(step)
}

// logMutation notes that a patch was made.
func (a *activation) logMutation(mu mutation, err error) {
	a.state.env.Log.Add(explain.Step{Part: explain.Mutate, Line: mu.line, Holds: err == nil, Err: err,
		Words: strings.TrimSpace(mu.expr.source), Values: a.variablesOf(mu.expr)})
}

// logException logs whether an exception applies to the request.
func (e Env) logException(x *Exception, applies bool, err error) {
	if e.Log.On() {
		words := "exception " + x.name + " matches the request"
		if !applies {
			words = "exception " + x.name + " does not match the request"
		}
		e.Log.Add(explain.Step{Part: explain.Exception, Holds: applies, Words: words, Err: err})
	}
}

// variablesOf returns the values of the variables that an expression uses, directly or through others, as far as they
// were computed.
func (a *activation) variablesOf(x *expression) (out []explain.Value) {
	var names []string
	var visit func(x *expression)
	visit = func(x *expression) {
		ast.PreOrderVisit(x.checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
			name, ok := variableName(e)
			if !ok || slices.Contains(names, name) {
				return
			}
			names = append(names, name)
			for _, v := range a.state.variables {
				if v.name == name {
					visit(v.expr)
				}
			}
		}))
	}
	visit(x)
	for _, name := range names {
		if v, ok := a.state.results[name]; ok {
			out = append(out, explain.Value{Name: "variables." + name, Value: jsonOf(v)})
		}
	}
	return out
}

// maxLogged is how many values a variable may hold to be logged.
const maxLogged = 10_000

// jsonOf returns a value as JSON, or a description if it has no JSON form.
func jsonOf(v ref.Val) any {
	x := exporter{left: maxLogged}
	out, err := x.export(v, "", 0)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return out
}
