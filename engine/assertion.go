package engine

import (
	"fmt"

	"github.com/lintel-bot/lintel/engine/assert"
	"github.com/lintel-bot/lintel/engine/condition"
	"github.com/lintel-bot/lintel/engine/jmespath"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

func (c *ruleCompiler) assertion(tree any) *assert.Tree {
	t, err := assert.Compile(tree)
	if err != nil {
		c.failedBelow("/validate/assert", err)
	}
	return t
}

// maxResponses limits how many results one rule gives about an object.
const maxResponses = 100

// assertion evaluates an assertion tree on the input that Kyverno gives it: the objects and what is known about the
// request, with the rule's context entries as bindings.
func (f *frame) assertion(t *assert.Tree) verdict {
	bound := map[string]any{}
	for _, name := range t.Names() {
		e, err := jmespath.Compile(name)
		if err != nil {
			continue
		}
		value, err := f.scope.Query(e)
		switch {
		case condition.IsNotFound(err):
			continue // the use of a name that nothing defines is an error of its own
		case err != nil:
			return broken("failed to load context", err)
		}
		bound[name] = value
	}
	env := f.env
	env.Bindings = bound
	failures, err := t.Check(f.ctx, f.payload(), env)
	if err != nil {
		return broken("failed to apply assertion", err)
	}
	f.logAssertion(failures)
	if len(failures) == 0 {
		return verdict{outcome: Pass, message: "Validation rule '" + f.rule.name + "' passed."}
	}
	subject := "/object"
	if f.request.Object == nil {
		subject = "/oldObject"
	}
	// Each assertion that fails is a response of its own, as in Kyverno.
	var out []verdict
	for _, x := range failures {
		var fields []string
		for _, pointer := range x.Fields {
			if rest, ok := jsonpointer.Below(pointer, subject); ok {
				fields = append(fields, rest)
			}
		}
		if len(fields) == 0 {
			fields = []string{""}
		}
		for _, field := range fields {
			f.sheet.Add(field, x.Requirement)
		}
		if last := len(out) - 1; len(out) == maxResponses {
			out[last].message = fmt.Sprintf("%d more assertions do not hold", len(failures)-last)
			out[last].fields = append(out[last].fields, fields...)
			continue
		}
		out = append(out, failed(x.Message, fields))
	}
	for i := range out {
		out[i].fields = jsonpointer.Distinct(out[i].fields)
	}
	out[0].more = out[1:]
	return out[0]
}

// payload is the input of an assertion tree.
func (f *frame) payload() map[string]any {
	request, _ := f.root()["request"].(map[string]any)
	kind, _ := request["kind"].(map[string]any)
	labels, _ := jsonpointer.At(f.request.Namespace, "/metadata/labels").(map[string]any)
	return map[string]any{
		"object": map[string]any(f.request.Object), "oldObject": map[string]any(f.request.OldObject),
		"operation": string(f.request.Operation), "admissionOperation": true,
		"admissionInfo": map[string]any{"userInfo": request["userInfo"], "roles": request["roles"],
			"clusterRoles": request["clusterRoles"]},
		"namespaceLabels": labels,
		"requestResource": request["requestResource"],
		"resourceKind": map[string]any{
			"group": kind["group"], "version": kind["version"], "kind": kind["kind"], "subResource": f.request.SubResource,
		},
	}
}
