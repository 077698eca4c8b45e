package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/engine/cel"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/engine/match"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/engine/variable"
)

// compileRules compiles a ClusterPolicy or Policy. The second result names its rules that are evaluated only in a
// cluster.
func compileRules(d policy.Document, _ *bindings) (compiled, []policy.Problem, []policy.Problem) {
	var p policy.ClusterPolicy
	problems := policy.Decode(d, &p)
	g := &rulePolicy{ref: referenceTo(d)}
	if d.Kind == "Policy" {
		g.namespace = cmp.Or(d.Namespace, "default")
	}
	g.applyOne = p.Spec.ApplyRules == "One"
	g.report = p.Spec.Admission != nil && !*p.Spec.Admission
	g.warn = p.Spec.EmitWarning != nil && *p.Spec.EmitWarning
	g.ignore = p.Spec.FailurePolicy == "Ignore"
	if w := p.Spec.WebhookConfiguration; w != nil && w.FailurePolicy != "" {
		g.ignore = w.FailurePolicy == "Ignore"
	}
	if len(p.Spec.Rules) == 0 {
		problems = append(problems, d.Problem("/spec/rules", "the policy has no rules: add spec.rules"))
	}
	standard, bad := compileAction(d, p.Spec.ValidationFailureAction, "/spec/validationFailureActionOverrides",
		p.Spec.ValidationFailureActionOverrides)
	problems = append(problems, bad...)
	tree := d.Value()
	trees, _ := jsonpointer.At(tree, "/spec/rules").([]any)
	problems = append(problems, check(d, &p, tree)...)
	if w := p.Spec.WebhookConfiguration; w != nil && len(w.MatchConditions) > 0 {
		c, bad := cel.CompileRule(d, cel.RuleSpec{
			Rule: &policy.Rule{Name: d.Name, CELPreconditions: w.MatchConditions,
				Validate: &policy.Validation{CEL: &policy.CEL{Expressions: []policy.CELValidation{{Expression: "true"}}}}},
			PreconditionsAt: "/spec/webhookConfiguration/matchConditions", Pointer: "/spec/webhookConfiguration", Webhook: true,
		})
		g.conditions = c
		problems = append(problems, bad...)
	}

	if len(trees) != len(p.Spec.Rules) {
		return nil, nil, problems // a wrong type that is reported already
	}
	var unsupported []policy.Problem
	names := map[string]bool{}
	generated := match.AutogenRules(&p, trees)
	for i := range p.Spec.Rules {
		r := &p.Spec.Rules[i]
		base := fmt.Sprintf("/spec/rules/%d", i)
		switch {
		case r.Name == "":
			problems = append(problems, d.Problem(base, "the rule has no name: add one, results and exceptions refer to it"))
		case names[r.Name]:
			problems = append(problems, d.Problem(base+"/name", "the rule name %q is used twice in this policy: rename one",
				r.Name))
		}
		names[r.Name] = true
		c := &ruleCompiler{doc: d, base: base, tree: trees[i], policy: g, standard: standard}
		compiled := c.rule(r)
		problems = append(problems, c.problems...)
		unsupported = append(unsupported, c.unsupported...)
		if compiled != nil && !(len(generated) > 0 && match.IsGenerated(r.Name)) {
			g.rules = append(g.rules, compiled)
		}
	}
	if policy.HasErrors(problems) {
		return nil, nil, problems
	}
	for _, gen := range generated {
		r, bad := policy.FromTree[policy.Rule](d, gen.Tree)
		problems = append(problems, bad...)
		c := &ruleCompiler{doc: d, base: fmt.Sprintf("/spec/rules/%d", gen.Index), tree: gen.Tree, policy: g,
			standard: standard, generated: true}
		if compiled := c.rule(&r); compiled != nil {
			g.rules = append(g.rules, compiled)
		}
		problems = append(problems, slices.DeleteFunc(c.problems,
			func(p policy.Problem) bool { return p.Warning })...) // they are those of the rule
	}
	if len(g.rules) == 0 {
		return nil, unsupported, problems
	}
	return g, unsupported, problems
}

// ruleCompiler compiles one rule and collects all of its problems.
type ruleCompiler struct {
	doc         policy.Document
	base        string // pointer of the rule in the document
	tree        any    // the rule as JSON
	policy      *rulePolicy
	standard    action
	generated   bool // the tree is not what is written: problems are reported at the rule
	problems    []policy.Problem
	unsupported []policy.Problem
}

// at returns the pointer in the document for a pointer in the rule.
func (c *ruleCompiler) at(pointer string) string {
	if c.generated {
		return c.base
	}
	return c.base + pointer
}

func (c *ruleCompiler) bad(pointer, format string, args ...any) {
	c.problems = append(c.problems, c.doc.Problem(c.at(pointer), format, args...))
}

func (c *ruleCompiler) rule(r *policy.Rule) *rule {
	out := &rule{policy: c.policy, name: r.Name, tolerant: true}
	out.line, _ = c.doc.Position(c.base)
	if r.Name == "" {
		out.name = "rule"
	}
	out.match, out.asks = c.block("/match", r.Match), asksForUser(c.tree)
	out.selects = slices.ContainsFunc(r.Match.Filters(), policy.ResourceFilter.SelectsUsers)
	if out.match.Empty() {
		c.bad("/match", "match names nothing: add any or all with resources")
	}
	exists := func(k match.Kind) bool {
		return !kinds.MisspelledPlural(kinds.Plural(k.Kind)) && !kinds.NoVersion([]string{k.Group}, k.Version)
	}
	named := out.match.Kinds()
	for _, k := range named {
		out.plurals = append(out.plurals, kinds.Plural(k.Kind))
	}
	out.nothing = len(named) > 0 && !slices.ContainsFunc(named, exists)
	if r.Exclude != nil {
		out.exclude = c.block("/exclude", *r.Exclude)
	}
	c.noVariables("/match")
	c.noVariables("/exclude")
	for _, part := range []string{"/context", "/preconditions", "/validate", "/mutate"} {
		out.namespace = out.namespace || !(part == "/validate" && r.Validate != nil && r.Validate.CEL != nil) &&
			readsNamespace(jsonpointer.At(c.tree, part))
	}
	out.body.context = c.context("/context", r.Context)
	out.body.preconditions = c.conditions("/preconditions", r.Preconditions)
	bodies := map[string]bool{"validate": r.Validate != nil, "mutate": r.Mutate != nil, "generate": r.Generate != nil,
		"verifyImages": r.VerifyImages != nil}
	switch have := present(bodies); {
	case len(have) == 0:
		c.bad("", "the rule has no body: add validate or mutate")
	case len(have) > 1:
		c.bad("/"+have[1], "the rule has several bodies (%s): split it, one body a rule", strings.Join(have, ", "))
	case r.Validate != nil:
		return c.validate(out, r)
	case r.Mutate != nil:
		return c.mutate(out, r)
	default:
		c.clusterOnly("/"+have[0], have[0])
	}
	return nil
}

func (c *ruleCompiler) clusterOnly(pointer, what string) {
	if !c.generated {
		name, _ := jsonpointer.At(c.tree, "/name").(string)
		c.unsupported = append(c.unsupported, c.doc.Warning(c.at(pointer),
			"%s %s: rule %s (%s) is not evaluated before merge", c.doc.Kind, c.doc.Name, name, what).As(
			policy.NotEvaluated))
	}
}

func present(m map[string]bool) []string {
	var out []string
	for k, v := range m {
		if v {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

func (c *ruleCompiler) block(pointer string, m policy.Match) *match.Block {
	b, bad := match.Compile(m)
	for _, e := range bad {
		c.bad(pointer+"/"+e.Field, "%s", e.Message)
		c.problems[len(c.problems)-1].Warning = e.Warning && pointer == "/exclude"
	}
	return b
}

// noVariables refuses variables in match and exclude, where Kyverno does not resolve them
// (https://kyverno.io/docs/policy-types/cluster-policy/variables/).
func (c *ruleCompiler) noVariables(pointer string) {
	walkStrings(jsonpointer.At(c.tree, pointer), pointer, func(at, s string) {
		if strings.Contains(s, "{{") {
			c.bad(at, "variables are not resolved in match and exclude: move the condition to preconditions")
		}
	})
}

// walkStrings visits the strings in a value, including the keys of maps.
func walkStrings(v any, pointer string, visit func(pointer, s string)) {
	jsonpointer.Walk(v, pointer, func(at string, v any) {
		switch v := v.(type) {
		case string:
			visit(at, v)
		case map[string]any:
			for k := range v {
				visit(at+"/"+jsonpointer.Escape(k), k)
			}
		}
	})
}

// text is a message with variables.
type text struct {
	source string
	tree   *variable.Tree
}

func (c *ruleCompiler) text(pointer, source string) *text {
	if source == "" {
		return nil
	}
	t := &text{source: source}
	tree, err := variable.Parse(c.tree, pointer)
	if err != nil {
		c.failed(pointer, err)
		return t
	}
	if s, ok := tree.Constant(); ok {
		t.source, _ = s.(string)
		return t
	}
	t.tree = tree
	return t
}
