package builtin

import (
	"testing"

	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render"
)

// exceptionFor compiles an exception for some rules of the policy lintel, for the ConfigMap a.
func exceptionFor(t *testing.T, names string) []*engine.Exception {
	t.Helper()
	file := rules.File{Path: "e.yaml", Data: []byte(`apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: e, namespace: ns}
spec:
  exceptions: [{policyName: lintel, ruleNames: [` + names + `]}]
  match: {any: [{resources: {kinds: [ConfigMap], names: [a]}}]}
`)}
	list, problems := engine.CompileExceptions([]policy.Source{file.Source()}, engine.Options{})
	if len(problems) > 0 || len(list) != 1 {
		t.Fatal(problems)
	}
	return list
}

func TestResults(t *testing.T) {
	object := func(name string) admission.Object {
		return admission.Object{"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": name, "namespace": "ns"}}
	}
	for _, c := range []struct {
		name, resource, except string
		issue                  render.Check
		want                   engine.Outcome
		enforce                bool
	}{
		{"items of an object that is no list", "a", "", render.EmbeddedItems, engine.Fail, true},
		{"an object that kustomize cannot print", "a", "", render.Unprintable, engine.Fail, true},
		{"rejected", "a", "", render.ControllerRejects, engine.Fail, true},
		{"it depends on cluster data", "a", "", render.ControllerUnknown, engine.Unknown, false},
		{"advice", "a", "", render.ControllerSuspicious, engine.Fail, false},
		{"a deployment", "a", "", deploys, engine.Fail, true},
		{"excepted", "a", "embedded-items", render.EmbeddedItems, engine.Skip, true},
		{"excepted by a wildcard", "a", "'*'", render.Unprintable, engine.Skip, true},
		{"another rule is excepted", "a", "unprintable", render.EmbeddedItems, engine.Fail, true},
		{"another resource is excepted", "b", "embedded-items", render.EmbeddedItems, engine.Fail, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			policies, _ := engine.CompilePolicies(nil, engine.Options{})
			var exceptions []*engine.Exception
			if c.except != "" {
				exceptions = exceptionFor(t, c.except)
			}
			o := object(c.resource)
			r := render.NewResource(o, nil, render.Issue{Check: c.issue, Pointer: "/data", Message: "is wrong"})
			request := &admission.Request{Operation: admission.Create, Object: o}
			got := Results(t.Context(), Always(), Deployed{Resource: r}, policies.Bind(exceptions, nil), request)
			if len(got) != 1 || got[0].Outcome != c.want || got[0].Enforce != c.enforce || got[0].Rule != string(c.issue) ||
				got[0].Fields[0] != "/data" || (len(got[0].Exceptions) > 0) != (c.want == engine.Skip) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// Exactly one check reports each issue that rendering can find, and the names of checks are unique.
func TestEachIssueHasExactlyOneCheck(t *testing.T) {
	names := map[string]bool{}
	for _, c := range Always() {
		if info := c.Info; names[info.Name] || info.Name == "" || info.Severity == "" {
			t.Errorf("%+v", info)
		} else {
			names[info.Name] = true
		}
	}
	for _, issue := range []render.Check{render.Unprintable, render.EmbeddedItems, render.ControllerRejects,
		render.ControllerUnknown, render.ControllerSuspicious} {
		if !names[string(issue)] {
			t.Errorf("nothing judges %s", issue)
		}
	}
}
