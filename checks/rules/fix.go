package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render/doc"
)

// maxRounds is how often a file is fixed again, since one fix can make another one possible.
const maxRounds = 4

// Fixed is a file after its fixes. Without edits, Data is the original content.
type Fixed struct {
	Path  string
	Data  []byte
	Edits []report.FixEdit
	// Left are the deprecated places that could not be rewritten and other errors of the file, each with what to do by
	// hand.
	Left []policy.Problem
}

// Fix moves the deprecated fields of policies and exceptions to their present place in the text of their file.
// Comments, order, quotes and formatting stay as they are.
//
// Each fix is verified: except for the moved fields, the new file must have the same content as the old one. A fix that
// fails this, for example because an anchor copies the field elsewhere, is undone and listed in Left. The fixes follow
// the migration that Kyverno 1.13 began (https://kyverno.io/docs/policy-types/cluster-policy/validate/#failure-action)
// and Kyverno's own fix command.
func Fix(src File) Fixed {
	docs, problems := src.Documents()
	r := Fixed{Path: src.Path, Data: src.Data, Left: problems}
	editor := doc.NewEditor(src.Data)
	if !editor.Editable() {
		if len(plan(editor, docs)) > 0 {
			r.Left = append(r.Left, policy.Problem{Path: src.Path, Line: 1,
				Message: "the file has line breaks other than LF and CRLF, so nothing in it is rewritten: convert them"})
		}
		return r
	}
	skipped := map[string]bool{}
	for range maxRounds {
		changes := slices.DeleteFunc(plan(editor, docs), func(c *change) bool { return skipped[c.key()] })
		if len(changes) == 0 {
			break
		}
		kept, data := apply(editor, changes)
		for _, c := range changes {
			switch {
			case slices.Contains(kept, c):
				r.Edits = append(r.Edits, c.edit(src.Path))
			default:
				skipped[c.key()] = true
				e := c.edit(src.Path)
				why := cmp.Or(c.Unsafe, doc.ErrUncertain.Error())
				r.Left = append(r.Left, policy.Problem{Path: src.Path, Line: e.Line, Column: e.Column, Warning: true,
					Message: e.Message + ": not rewritten, " + why + "; do it by hand"})
			}
		}
		if len(kept) == 0 {
			break
		}
		r.Data = data
		editor = doc.NewEditor(data)
		docs, _ = File{Path: src.Path, Data: data}.Documents()
	}
	slices.SortStableFunc(r.Left, func(a, b policy.Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	slices.SortStableFunc(r.Edits, func(a, b report.FixEdit) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return r
}

// apply makes all changes together if the result is verified; otherwise each change that is verified by itself.
func apply(editor *doc.Editor, changes []*change) (kept []*change, data []byte) {
	try := func(changes []*change) ([]byte, error) {
		return editor.Apply(report.Mapped(changes, func(c *change) *doc.Edit { return c.Edit })...)
	}
	possible := slices.DeleteFunc(slices.Clone(changes), func(c *change) bool { return c.Unsafe != "" })
	if data, err := try(possible); err == nil {
		return possible, data
	}
	for _, c := range possible {
		if next, err := try(append(slices.Clone(kept), c)); err == nil {
			kept, data = append(kept, c), next
		}
	}
	return kept, data
}

// change is one thing to rewrite.
type change struct {
	*doc.Edit
	document  int
	pointer   string
	line, col int
	message   string
}

func (c *change) key() string { return fmt.Sprint(c.document, " ", c.pointer, " ", c.message) }

func (c *change) edit(path string) report.FixEdit {
	return report.FixEdit{Path: path, Line: c.line, Column: c.col, Field: c.pointer, Message: c.message}
}

// planner finds what to change in one object.
type planner struct {
	editor   *doc.Editor
	at       doc.Spot // the object as the text has it, with aliases and merge keys
	document int
	changes  []*change
}

// plan lists the changes that the objects of a file need.
func plan(e *doc.Editor, docs []policy.Document) []*change {
	var out []*change
	for i, d := range docs {
		spots := e.At(d.Node.Line, d.Node.Column)
		at := slices.IndexFunc(spots, func(s doc.Spot) bool {
			return s.Node.Kind == yaml.MappingNode && s.Node.Line == d.Node.Line && s.Node.Column == d.Node.Column
		})
		if d.Group() != "kyverno.io" || at < 0 {
			continue
		}
		p := &planner{editor: e, at: spots[at], document: i}
		switch d.Kind {
		case "ClusterPolicy", "Policy":
			p.policy(p.at.Node)
		case "PolicyException":
			p.version(d)
			p.conditions("/spec/conditions", valueOf(p.at.Node, "spec"), "conditions")
		}
		out = append(out, p.changes...)
	}
	return out
}

// change begins a change of the field with a key.
func (p *planner) change(pointer string, n *yaml.Node, format string, args ...any) *change {
	c := &change{Edit: p.editor.Edit(p.at), document: p.document, pointer: pointer, line: n.Line, col: n.Column,
		message: fmt.Sprintf(format, args...)}
	p.changes = append(p.changes, c)
	return c
}

// version replaces a version of exceptions that is about to be removed; the fields are the same.
func (p *planner) version(d policy.Document) {
	if _, v := entry(p.at.Node, "apiVersion"); d.Version() == "v2alpha1" && v != nil {
		c := p.change("/apiVersion", v, "kyverno.io/v2alpha1 is deprecated and now kyverno.io/v2")
		c.Set("/apiVersion", "kyverno.io/v2")
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
			c.Unsafe = "generateExisting and generateExistingOnPolicyUpdate are both set"
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

// spelled is the present spelling of a failure action; any other text stays as it is.
func spelled(n *yaml.Node) (value string, wrong bool) {
	if n == nil || n.Kind != yaml.ScalarNode {
		return "", false
	}
	for _, now := range []string{"Enforce", "Audit"} {
		if strings.EqualFold(n.Value, now) {
			return now, now != n.Value
		}
	}
	return n.Value, false
}

func (p *planner) spelling(at string, n *yaml.Node, field string) {
	_, v := entry(n, field)
	if value, wrong := spelled(v); wrong {
		c := p.change(at+"/"+field, v, "%s is deprecated and now %s", v.Value, value)
		c.Set(at+"/"+field, value)
	}
}

// respell writes failure actions in their present spelling: a value, or those of a list of overrides.
func respell(c *doc.Edit, at string, v *yaml.Node) {
	if value, wrong := spelled(v); wrong {
		c.Set(at, value)
	}
	for i, o := range items(v) {
		_, a := entry(o, "action")
		if value, wrong := spelled(a); wrong {
			c.Set(fmt.Sprintf("%s/%d/action", at, i), value)
		}
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
		c.message = fmt.Sprintf("%s is deprecated and has no effect next to %s", old, now)
		c.Remove(at+"/"+old, true)
		return
	}
	respell(c.Edit, at+"/"+old, v)
	c.Rename(at+"/"+old, now)
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
			c.Set(here+"/operator", now)
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
	c := p.change(at, key, "a list of conditions is deprecated and now belongs under %s.all", field)
	c.Wrap(at, "all")
}

// filter puts a filter that is written directly under match or exclude into a list.
func (p *planner) filter(at string, rule *yaml.Node, block string) {
	key, raw := entry(rule, block)
	n := doc.Deref(raw)
	if !isMapping(n) || has(n, "any", "all") {
		return
	}
	c := p.change(at+"/"+block, key, "a filter directly under %s is deprecated and now belongs under %s.any", block, block)
	c.Wrap(at+"/"+block, "any")
}

// failureAction moves the failure action and its overrides from the spec to the rules that have none.
func (p *planner) failureAction(spec *yaml.Node, rules []rule) {
	action, value := entry(spec, "validationFailureAction")
	overrides, list := entry(spec, "validationFailureActionOverrides")
	if action == nil && overrides == nil {
		return
	}
	var toAction, toOverrides []string
	images := false
	shadowed := false // a rule has overrides and no action, which the policy's overrides follow
	for _, r := range rules {
		if v := valueOf(r.node, "validate"); isMapping(v) {
			if !has(v, "failureAction", "validationFailureAction") {
				toAction, toOverrides = append(toAction, r.pointer+"/validate"), append(toOverrides, r.pointer+"/validate")
				shadowed = shadowed || has(v, "failureActionOverrides", "validationFailureActionOverrides")
			}
		}
		for i, image := range items(valueOf(r.node, "verifyImages")) {
			if image = doc.Deref(image); isMapping(image) && !has(image, "failureAction", "validationFailureAction") {
				toAction = append(toAction, fmt.Sprintf("%s/verifyImages/%d", r.pointer, i))
				images = true
			}
		}
	}
	var o *change
	if overrides != nil {
		o = p.change("/spec/validationFailureActionOverrides", overrides,
			"spec.validationFailureActionOverrides is deprecated and now failureActionOverrides under validate of each rule")
		p.move(o, list, "failureActionOverrides", toOverrides)
		switch {
		case shadowed:
			o.Unsafe = "the rule has its own overrides, which take precedence"
		case images:
			o.Unsafe = "verifyImages does not support overrides"
		}
	}
	if action != nil {
		c := p.change("/spec/validationFailureAction", action,
			"spec.validationFailureAction is deprecated and now failureAction under validate of each rule")
		p.move(c, value, "failureAction", toAction)
		if o != nil && o.Unsafe != "" {
			// A rule that says its action no longer looks at the overrides of the policy.
			c.Unsafe = "the overrides next to it stay: " + o.Unsafe
		}
		if o != nil && o.Unsafe == "" && c.Unsafe != "" {
			o.Unsafe = c.Unsafe
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
	var to []string
	for _, r := range rules {
		n := valueOf(r.node, body)
		if isMapping(n) && !has(n, now) && (body != "mutate" || has(n, "targets")) {
			to = append(to, r.pointer+"/"+body)
		}
	}
	c := p.change("/spec/"+old, key, "spec.%s is deprecated and now %s under %s of each rule", old, now, body)
	p.move(c, value, now, to)
}

// move takes the field of a change out of the spec and writes it into maps, its failure actions spelled as they are today.
func (p *planner) move(c *change, value *yaml.Node, name string, to []string) {
	within := p.editor.Edit(p.at)
	respell(within, c.pointer, value)
	c.Move(c.pointer, within, name, to...)
}

// entry finds a key that is written in a mapping itself; those of merge keys belong elsewhere.
func entry(n *yaml.Node, name string) (key, value *yaml.Node) { return doc.Written(doc.Deref(n), name) }

func valueOf(n *yaml.Node, name string) *yaml.Node {
	_, v := entry(n, name)
	return doc.Deref(v)
}

func items(n *yaml.Node) []*yaml.Node {
	if n = doc.Deref(n); n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

func isMapping(n *yaml.Node) bool {
	return n != nil && n.Kind == yaml.MappingNode && len(n.Content) > 0
}
