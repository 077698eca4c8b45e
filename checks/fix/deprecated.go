package fix

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render/doc"
)

// planner finds what to change in one document.
type planner struct {
	*text
	document int
	changes  []*change
}

// plan lists the changes that the documents of a file need.
func plan(t *text, docs []policy.Document) []*change {
	var out []*change
	for i, d := range docs {
		if d.Group() != "kyverno.io" {
			continue
		}
		p := &planner{text: t, document: i}
		switch d.Kind {
		case "ClusterPolicy", "Policy":
			p.policy(d.Node)
		case "PolicyException":
			p.version(d)
			p.conditions("/spec/conditions", valueOf(d.Node, "spec"), "conditions")
		}
		out = append(out, p.changes...)
	}
	return out
}

// change begins a change of the field with a key.
func (p *planner) change(pointer string, n *yaml.Node, format string, args ...any) *change {
	c := &change{document: p.document, pointer: pointer, line: n.Line, col: n.Column,
		message: fmt.Sprintf(format, args...)}
	p.changes = append(p.changes, c)
	return c
}

func (c *change) mean(f func(any)) { c.meaning = append(c.meaning, f) }

// write makes a scalar another text.
func (p *planner) write(c *change, n *yaml.Node, value string) {
	s, ok := p.scalarSpan(n, value)
	if !ok {
		c.unsafe = unclear
		return
	}
	c.spans = append(c.spans, s)
}

const (
	unclear = "where it ends in the text is not certain"
	twice   = "the rule has overrides of its own that come first"
)

// version replaces a version of exceptions that is about to be removed; the fields are the same.
func (p *planner) version(d policy.Document) {
	if _, v := entry(d.Node, "apiVersion"); d.Version() == "v2alpha1" && v != nil {
		c := p.change("/apiVersion", v, "kyverno.io/v2alpha1 is deprecated and now kyverno.io/v2")
		p.write(c, v, "kyverno.io/v2")
		c.mean(set("", "apiVersion", "kyverno.io/v2"))
	}
}

// rule is one rule with its pointer.
type rule struct {
	pointer string
	node    *yaml.Node
}

func (p *planner) policy(root *yaml.Node) {
	spec := valueOf(root, "spec")
	if !isMapping(spec) {
		return
	}
	var rules []rule
	for i, n := range items(valueOf(spec, "rules")) {
		if n = doc.Deref(n); isMapping(n) {
			rules = append(rules, rule{fmt.Sprintf("/spec/rules/%d", i), n})
		}
	}
	for _, r := range rules {
		p.rule(r)
	}
	p.failureAction(spec, rules)
	p.moveFlag(spec, rules, "mutateExistingOnPolicyUpdate", "mutate", "mutateExistingOnPolicyUpdate")
	p.moveFlag(spec, rules, "generateExisting", "generate", "generateExisting")
	p.moveFlag(spec, rules, "generateExistingOnPolicyUpdate", "generate", "generateExisting")
	if has(spec, "generateExisting") && has(spec, "generateExistingOnPolicyUpdate") {
		for _, c := range p.changes[len(p.changes)-2:] {
			c.unsafe = "generateExisting and generateExistingOnPolicyUpdate are both written"
		}
	}
}

// rule changes what is deprecated within a rule.
func (p *planner) rule(r rule) {
	for _, block := range []string{"match", "exclude"} {
		p.filter(r.pointer, r.node, block)
	}
	p.conditions(r.pointer+"/preconditions", r.node, "preconditions")
	v := valueOf(r.node, "validate")
	if !isMapping(v) {
		return
	}
	at := r.pointer + "/validate"
	p.rename(at, v, "validationFailureAction", "failureAction")
	p.rename(at, v, "validationFailureActionOverrides", "failureActionOverrides")
	p.spelling(at, v, "failureAction")
	for i, o := range items(valueOf(v, "failureActionOverrides")) {
		p.spelling(fmt.Sprintf("%s/failureActionOverrides/%d", at, i), doc.Deref(o), "action")
	}
	p.conditions(at+"/deny/conditions", valueOf(v, "deny"), "conditions")
	p.forEach(at, v, 0)
}

// maxForEach bounds the nesting of foreach that is looked at: an alias may lead in circles.
const maxForEach = 100

func (p *planner) forEach(at string, n *yaml.Node, depth int) {
	for i, f := range items(valueOf(n, "foreach")) {
		here := fmt.Sprintf("%s/foreach/%d", at, i)
		f = doc.Deref(f)
		p.conditions(here+"/preconditions", f, "preconditions")
		p.conditions(here+"/deny/conditions", valueOf(f, "deny"), "conditions")
		if depth < maxForEach {
			p.forEach(here, f, depth+1)
		}
	}
}

// spelled is the present spelling of a failure action.
func spelled(n *yaml.Node) (value string, wrong bool) {
	if n == nil || n.Kind != yaml.ScalarNode {
		return "", false
	}
	value = cmp.Or(presentAction(n.Value), n.Value)
	return value, value != n.Value
}

// presentAction is the present spelling of a failure action, empty for any other text.
func presentAction(s string) string {
	for _, now := range []string{"Enforce", "Audit"} {
		if strings.EqualFold(s, now) {
			return now
		}
	}
	return ""
}

func (p *planner) spelling(at string, n *yaml.Node, field string) {
	_, v := entry(n, field)
	if value, wrong := spelled(v); wrong {
		c := p.change(at+"/"+field, v, "%s is deprecated and now %s", v.Value, value)
		p.write(c, v, value)
		c.mean(set(at, field, value))
	}
}

// rename gives a field of validate its present name; where that is there already, it alone counts.
func (p *planner) rename(at string, n *yaml.Node, old, now string) {
	key, v := entry(n, old)
	if key == nil {
		return
	}
	c := p.change(at+"/"+old, key, "%s is deprecated and now %s", old, now)
	if has(n, now) {
		c.message = fmt.Sprintf("%s is deprecated and has no effect beside %s", old, now)
		p.remove(c, n, key, v)
		c.mean(remove(at, old))
		return
	}
	p.write(c, key, now)
	c.mean(within(at, func(m map[string]any) {
		m[now] = m[old]
		delete(m, old)
	}))
	if value, wrong := spelled(v); wrong {
		p.write(c, v, value)
		c.mean(set(at, now, value))
	}
	for i, o := range items(v) {
		_, a := entry(o, "action")
		if value, wrong := spelled(a); wrong {
			p.write(c, a, value)
			c.mean(set(fmt.Sprintf("%s/%s/%d", at, now, i), "action", value))
		}
	}
}

// operators are the deprecated ones and what has the same meaning today, as Kyverno's own fix has it.
var operators = map[string]string{"Equal": "Equals", "NotEqual": "NotEquals", "In": "AllIn", "NotIn": "AnyNotIn"}

// conditions changes deprecated operators, and the list of conditions into one under all.
func (p *planner) conditions(at string, parent *yaml.Node, field string) {
	key, raw := entry(parent, field)
	n := doc.Deref(raw)
	if n == nil {
		return
	}
	each := func(at string, list *yaml.Node) {
		for i, c := range items(list) {
			_, v := entry(c, "operator")
			if v == nil || operators[v.Value] == "" {
				continue
			}
			now := operators[v.Value]
			here := fmt.Sprintf("%s/%d", at, i)
			c := p.change(here+"/operator", v, "the operator %s is deprecated and now %s", v.Value, now)
			p.write(c, v, now)
			c.mean(set(here, "operator", now))
		}
	}
	block := func(at string, n *yaml.Node) {
		for _, part := range []string{"any", "all"} {
			each(at+"/"+part, valueOf(n, part))
		}
	}
	if n.Kind == yaml.MappingNode {
		block(at, n)
		return
	}
	list := items(n)
	if len(list) == 0 {
		return
	}
	if !has(list[0], "operator") {
		for i, b := range list {
			block(fmt.Sprintf("%s/%d", at, i), b)
		}
		return
	}
	each(at, n)
	c := p.change(at, key, "a list of conditions is deprecated and now stands under %s.all", field)
	p.under(c, key, raw, "all")
	c.mean(within(strings.TrimSuffix(at, "/"+field), func(m map[string]any) {
		m[field] = map[string]any{"all": m[field]}
	}))
}

// filter puts a filter that is written directly under match or exclude into a list.
func (p *planner) filter(at string, rule *yaml.Node, block string) {
	key, raw := entry(rule, block)
	n := doc.Deref(raw)
	if !isMapping(n) || has(n, "any", "all") {
		return
	}
	c := p.change(at+"/"+block, key, "a filter directly under %s is deprecated and now stands in %s.any", block, block)
	p.listed(c, raw, "any")
	c.mean(within(at, func(m map[string]any) { m[block] = map[string]any{"any": []any{m[block]}} }))
}

// failureAction moves the failure action and its overrides from the spec to the rules that have none.
func (p *planner) failureAction(spec *yaml.Node, rules []rule) {
	action, value := entry(spec, "validationFailureAction")
	overrides, list := entry(spec, "validationFailureActionOverrides")
	if action == nil && overrides == nil {
		return
	}
	var toAction, toOverrides []target
	shadowed := false // a rule has overrides and no action, which the policy's overrides follow
	for _, r := range rules {
		key, raw := entry(r.node, "validate")
		if v := doc.Deref(raw); isMapping(v) {
			own := has(v, "failureAction", "validationFailureAction")
			ownOverrides := has(v, "failureActionOverrides", "validationFailureActionOverrides")
			if !own {
				toAction = append(toAction, target{r.pointer + "/validate", key, v})
				shadowed = shadowed || ownOverrides
				toOverrides = append(toOverrides, target{r.pointer + "/validate", key, v})
			}
		}
		for i, image := range items(valueOf(r.node, "verifyImages")) {
			if image = doc.Deref(image); isMapping(image) && !has(image, "failureAction", "validationFailureAction") {
				toAction = append(toAction, target{fmt.Sprintf("%s/verifyImages/%d", r.pointer, i), nil, image})
			}
		}
	}
	images := slices.ContainsFunc(toAction, func(t target) bool { return t.key == nil })
	var o *change
	if overrides != nil {
		o = p.change("/spec/validationFailureActionOverrides", overrides,
			"spec.validationFailureActionOverrides is deprecated and now failureActionOverrides under validate of each rule")
		p.move(o, spec, overrides, list, toOverrides, "failureActionOverrides")
		switch {
		case shadowed:
			o.unsafe = twice
		case images:
			o.unsafe = "verifyImages knows no overrides"
		}
	}
	if action != nil {
		c := p.change("/spec/validationFailureAction", action,
			"spec.validationFailureAction is deprecated and now failureAction under validate of each rule")
		p.move(c, spec, action, value, toAction, "failureAction")
		if o != nil && o.unsafe != "" {
			// A rule that says its action no longer looks at the overrides of the policy.
			c.unsafe = "the overrides beside it stay: " + o.unsafe
		}
		if o != nil && o.unsafe == "" && c.unsafe != "" {
			o.unsafe = c.unsafe
		}
	}
}

func has(n *yaml.Node, fields ...string) bool {
	return slices.ContainsFunc(fields, func(f string) bool { k, _ := entry(n, f); return k != nil })
}

// moveFlag moves a switch of the spec to the bodies of the rules that have one of this kind.
func (p *planner) moveFlag(spec *yaml.Node, rules []rule, old, body, now string) {
	key, value := entry(spec, old)
	if key == nil {
		return
	}
	var to []target
	for _, r := range rules {
		k, raw := entry(r.node, body)
		n := doc.Deref(raw)
		if isMapping(n) && !has(n, now) && (body != "mutate" || has(n, "targets")) {
			to = append(to, target{r.pointer + "/" + body, k, n})
		}
	}
	c := p.change("/spec/"+old, key, "spec.%s is deprecated and now %s under %s of each rule", old, now, body)
	p.move(c, spec, key, value, to, now)
}
