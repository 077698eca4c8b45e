package engine

import (
	"errors"
	"strings"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/assert"
	"github.com/lintel-bot/lintel/engine/jmespath"
)

func (c *ruleCompiler) assertion(tree any) *assert.Tree {
	t, err := assert.Compile(tree)
	var bad *assert.CompileError
	if errors.As(err, &bad) {
		c.bad("/validate/assert"+bad.Pointer, "%s", bad.Message)
	}
	return t
}

// assertion evaluates an assertion tree on what Kyverno hands to one: the objects and what is known of the
// request, with the context entries of the rule as bindings.
func (f *frame) assertion(t *assert.Tree) verdict {
	bound := map[string]any{}
	for _, name := range t.Names() {
		e, err := jmespath.Compile(name)
		if err != nil {
			continue
		}
		value, err := f.scope.Query(e)
		var missing *jmespath.NotFoundError
		switch {
		case errors.As(err, &missing):
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
	if len(failures) == 0 {
		return verdict{outcome: Pass, message: "Validation rule '" + f.rule.name + "' passed."}
	}
	messages := make([]string, len(failures))
	var fields []string
	subject := "/object"
	if f.request.Object == nil {
		subject = "/oldObject"
	}
	for i, x := range failures {
		messages[i] = x.Message
		for _, pointer := range x.Fields {
			if rest, ok := below(pointer, subject); ok {
				fields = append(fields, rest)
			}
		}
	}
	return failed(strings.Join(messages, "; "), normalize(fields))
}

// payload is what the tree of an assertion starts from.
func (f *frame) payload() map[string]any {
	request, _ := f.root()["request"].(map[string]any)
	kind, _ := request["kind"].(map[string]any)
	return map[string]any{
		"object": map[string]any(f.request.Object), "oldObject": map[string]any(f.request.OldObject),
		"operation": string(f.request.Operation), "admissionOperation": true,
		"admissionInfo":   map[string]any{"userInfo": request["userInfo"], "roles": request["roles"], "clusterRoles": request["clusterRoles"]},
		"namespaceLabels": namespaceLabels(f.request.Namespace),
		"requestResource": request["requestResource"],
		"resourceKind": map[string]any{
			"group": kind["group"], "version": kind["version"], "kind": kind["kind"], "subResource": f.request.SubResource,
		},
	}
}

func namespaceLabels(namespace admission.Object) any {
	meta, _ := namespace["metadata"].(map[string]any)
	labels, _ := meta["labels"].(map[string]any)
	return labels
}
