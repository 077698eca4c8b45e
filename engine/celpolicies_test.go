package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/internal/yamltest"
	"github.com/lintel-bot/lintel/engine/policy"
)

const hardens = `
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: harden}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: 'Object{spec: Object.spec{hostPID: false}}'
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: first}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  mutations:
  - patchType: JSONPatch
    jsonPatch: {expression: '[JSONPatch{op: "add", path: "/metadata/labels/pid", value: string(object.spec.hostPID)}]'}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: no-host-pid}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validationActions: [Deny]
  validations:
  - expression: '!object.spec.hostPID'
  - expression: 'object.metadata.labels.pid == "true"'
  - expression: 'object.metadata.labels.app == "db"'
    message: only databases
`

func TestMutatingPoliciesRunFirst(t *testing.T) {
	pod := object(t, badPod)
	results := mustCompile(t, hardens).Bind(nil, nil).Evaluate(context.Background(),
		&admission.Request{Operation: admission.Create, Object: pod})
	if len(results) != 3 {
		t.Fatalf("got %+v", results)
	}
	if results[0].Policy.Name != "first" {
		t.Errorf("results of mutations are not in the order in which they ran: %s is first", results[0].Policy.Name)
	}
	byName := map[string]engine.Result{}
	for _, r := range results {
		byName[r.Policy.Name] = r
	}
	if r := byName["harden"]; r.Outcome != engine.Pass || !r.Mutation ||
		r.Patched["spec"].(map[string]any)["hostPID"] != false {
		t.Errorf("got %+v", r)
	}
	if r := byName["first"]; r.Outcome != engine.Pass || r.Rule != "first" || r.Line != 12 {
		t.Errorf("a policy of Kubernetes comes before those of Kyverno and sees what was written: got %+v", r)
	}
	r := byName["no-host-pid"]
	if r.Outcome != engine.Fail || r.Message != "only databases" || r.Line != 30 {
		t.Errorf("validations see the outcome of all mutations: got %+v", r)
	}
	if diff := cmp.Diff([]string{"/metadata/labels/app"}, r.Fields); diff != "" {
		t.Error(diff)
	}
	if pod["spec"].(map[string]any)["hostPID"] != true {
		t.Error("the object of the request changed")
	}
}

// What a group that is not of Kubernetes calls its kinds need not be spelled as Kubernetes spells its own.
func TestKindsWithThePluralOfAnother(t *testing.T) {
	for plural, kind := range map[string]string{"ipaddresses": "IpAddress", "endpoints": "Endpoint"} {
		text := strings.Replace(validatingPolicy, `apiGroups: [""], apiVersions: [v1]`, "apiGroups: [example.com], apiVersions: [v1]", 1)
		text = strings.Replace(text, "resources: [pods]", "resources: ["+plural+"]", 1)
		o := object(t, strings.Replace(badPod, "apiVersion: v1\nkind: Pod", "apiVersion: example.com/v1\nkind: "+kind, 1))
		results := mustCompile(t, text).Bind(nil, nil).Evaluate(context.Background(),
			&admission.Request{Operation: admission.Create, Object: o})
		if len(results) != 1 || results[0].Outcome != engine.Fail {
			t.Errorf("%s: got %+v", kind, results)
		}
	}
}

func TestLines(t *testing.T) {
	results := mustCompile(t, ruleOf("validate: {pattern: {spec: {hostPID: false}}}")).Bind(nil, nil).
		Evaluate(context.Background(), &admission.Request{Operation: admission.Create, Object: object(t, badPod)})
	if len(results) != 1 || results[0].Line != 8 || results[0].Policy.Line != 1 {
		t.Errorf("got %+v", results)
	}
	cel := ruleOf("validate:\n  cel:\n    expressions:\n    - expression: 'true'\n    - expression: '!object.spec.hostPID'")
	results = mustCompile(t, cel).Bind(nil, nil).Evaluate(context.Background(),
		&admission.Request{Operation: admission.Create, Object: object(t, badPod)})
	if len(results) != 1 || results[0].Line != 14 {
		t.Errorf("got %+v", results)
	}
}

func TestNotForAdmission(t *testing.T) {
	for spec, want := range map[string]string{
		"kind: ValidatingPolicy\nmetadata: {name: p}\nspec: {evaluation: {mode: JSON}, matchConstraints: {}, validations: " +
			"[{expression: 'true'}]}": "JSON",
		"kind: ValidatingPolicy\nmetadata: {name: p}\nspec: {evaluation: {mode: Envoy}, validations: [{expression: " +
			"'object.attributes.x == 1'}]}": "Envoy",
		"kind: MutatingPolicy\nmetadata: {name: p}\nspec: {evaluation: {mutateExisting: {enabled: true}}, " + podsOnly +
			", " + labels + "}": "exist already",
		"kind: MutatingPolicy\nmetadata: {name: p}\nspec: {targetMatchConstraints: {expression: 'x'}, " + podsOnly + ", " +
			labels + "}": "exist already",
		"kind: MutatingPolicy\nmetadata: {name: p}\nspec: {evaluation: {admission: {enabled: false}, mutateExisting: {enabled: true}}, " +
			podsOnly + ", " + labels + "}": "changes objects that exist already",
		"kind: NamespacedImageValidatingPolicy\nmetadata: {name: p, namespace: n}\nspec: {}": "not evaluated",
	} {
		p, problems := engine.CompilePolicies([]policy.Source{{Path: "p.yaml", Documents: yamltest.Documents("apiVersion: " +
			"policies.kyverno.io/v1\n" + spec)}}, engine.Options{})
		if len(problems) > 0 || len(p.List()) > 0 || len(p.Unsupported()) != 1 ||
			!strings.Contains(p.Unsupported()[0].Message, want) {
			t.Errorf("%s: problems %v, policies %v, unsupported %v", spec, problems, p.List(), p.Unsupported())
		}
	}
}

const (
	podsOnly = "matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], " +
		"resources: [pods]}]}"
	labels = "mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{}'}}]"
)

// TestCauseOfAPlainNo looks at violations whose own condition reads nothing of the object.
func TestCauseOfAPlainNo(t *testing.T) {
	vpol := "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: p}\nspec:\n  " + podsOnly + "\n"
	for data, want := range map[string]string{
		ruleOf("preconditions: {all: [{key: '{{ request.object.spec.hostPID }}', operator: Equals, value: true}]}\n" +
			"validate: {deny: {}}"): "/spec/hostPID",
		ruleOf("validate: {deny: {conditions: {all: [{key: '{{ request.namespace }}', operator: Equals, value: team}]}}}"):       "/metadata/namespace",
		vpol + "  matchConditions: [{name: c, expression: object.spec.hostPID == true}]\n  validations: [{expression: 'false'}]": "/spec/hostPID",
		vpol + "  validations: [{expression: 'namespaceObject.metadata.name != \"team\"'}]":                                      "/metadata/namespace",
		vpol + "  validations: [{expression: 'namespaceObject.metadata.name == \"x\" || object.spec.hostPID == false'}]":         "/spec/hostPID",
		vpol + "  validations: [{expression: 'request.name != \"web\"'}]":                                                        "/metadata/name",
		vpol + "  validations: [{expression: 'false'}]":                                                                          "",
	} {
		results := mustCompile(t, data).Bind(nil, nil).Evaluate(context.Background(),
			&admission.Request{Operation: admission.Create, Object: object(t, badPod)})
		if len(results) != 1 || results[0].Outcome != engine.Fail {
			t.Errorf("%s: got %+v", data, results)
			continue
		}
		if diff := cmp.Diff([]string{want}, results[0].Fields); diff != "" {
			t.Errorf("%s: %s", data, diff)
		}
	}
}
