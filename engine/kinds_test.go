package engine_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
)

const validatingPolicy = `apiVersion: policies.kyverno.io/v1alpha1
kind: ValidatingPolicy
metadata: {name: v}
spec:
  validationActions: [Deny]
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
  validations:
  - expression: "!has(object.spec.hostPID) || object.spec.hostPID == false"
    message: no host PID
`

func TestValidatingPolicy(t *testing.T) {
	good := strings.Replace(badPod, "hostPID: true", "hostPID: false", 1)
	p := mustCompile(t, validatingPolicy)
	exception := mustExceptions(t, `apiVersion: policies.kyverno.io/v1beta1
kind: PolicyException
metadata: {name: x, namespace: ns}
spec:
  policyRefs: [{name: v, kind: ValidatingPolicy}]
  matchConditions: [{name: web, expression: "object.metadata.name == 'web'"}]
`)
	tests := []struct {
		name        string
		exceptions  []*engine.Exception
		old, object string
		want        engine.Outcome
		existing    bool
	}{
		{"violated", nil, "", badPod, engine.Fail, false},
		{"held", nil, "", good, engine.Pass, false},
		{"became bad", nil, good, badPod, engine.Fail, false},
		{"was bad already", nil, badPod, badPod, engine.Fail, true},
		{"excepted", exception, "", badPod, engine.Skip, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &admission.Request{Operation: admission.Create, Object: object(t, tt.object)}
			if tt.old != "" {
				r.Operation, r.OldObject = admission.Update, object(t, tt.old)
			}
			results := p.Bind(tt.exceptions, nil).Evaluate(context.Background(), r)
			if len(results) != 1 {
				t.Fatalf("got %+v", results)
			}
			got := results[0]
			if got.Outcome != tt.want || got.PreExisting != tt.existing || got.Outcome == engine.Skip &&
				!slices.Equal(got.Exceptions, tt.exceptions) {
				t.Errorf("got %+v", got)
			}
			if got.Outcome == engine.Fail && !slices.Equal(got.Fields, []string{"/spec/hostPID"}) {
				t.Errorf("fields %v", got.Fields)
			}
		})
	}
}

func TestCELRule(t *testing.T) {
	body := "validate: {failureAction: Enforce, cel: {expressions: [{expression: 'object.spec.hostPID == false', " +
		"message: no host PID}]}}"
	results := mustCompile(t, ruleOf(body)).Bind(nil, nil).Evaluate(context.Background(),
		&admission.Request{Operation: admission.Create, Object: object(t, badPod)})
	if len(results) != 1 || results[0].Outcome != engine.Fail || !results[0].Enforce ||
		!strings.Contains(results[0].Message, "no host PID") {
		t.Errorf("got %+v", results)
	}
}

func TestMatchConditions(t *testing.T) {
	data := strings.Replace(ruleOf("validate: {deny: {}}"), "spec:\n",
		"spec:\n  webhookConfiguration: {matchConditions: [{name: c, expression: \"object.metadata.name == 'web'\"}]}\n", 1)
	e := mustCompile(t, data).Bind(nil, nil)
	for name, want := range map[string]int{"web": 1, "db": 0} {
		o := object(t, strings.Replace(badPod, "name: web", "name: "+name, 1))
		if got := e.Evaluate(context.Background(), &admission.Request{Operation: admission.Create,
			Object: o}); len(got) != want {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestAssert(t *testing.T) {
	data := ruleOf(`
context: [{name: limit, variable: {value: 1}}]
validate:
  assert:
    object:
      spec:
        (length(containers) > $limit): true
        ~.containers:
          image: {"(ends_with(@, ':latest'))": false}`)
	results := mustCompile(t, data).Bind(nil, nil).
		Evaluate(context.Background(), &admission.Request{Operation: admission.Create, Object: object(t, badPod)})
	if len(results) != 1 || results[0].Outcome != engine.Fail {
		t.Fatalf("got %+v", results)
	}
	if want := "object.spec.~.containers[1].image.(ends_with(@, ':latest')): Invalid value: true: Expected value: false"; results[0].Message != want {
		t.Errorf("got %q, want %q", results[0].Message, want)
	}
	if diff := cmp.Diff([]string{"/spec/containers/1/image"}, results[0].Fields); diff != "" {
		t.Error(diff)
	}
}

// Each assertion that does not hold is a result of its own, up to a bound.
func TestAssertGivesEachFailure(t *testing.T) {
	data := ruleOf("validate: {assert: {object: {spec: {hostPID: false, ~.containers: {securityContext: {privileged: " +
		"false}}}}}}")
	e := mustCompile(t, data).Bind(nil, nil)
	var got []string
	for _, r := range e.Evaluate(context.Background(), &admission.Request{Operation: admission.Create,
		Object: object(t, badPod)}) {
		got = append(got, string(r.Outcome)+" "+strings.Join(r.Fields, " ")+" "+r.Message)
	}
	const b = "securityContext.privileged: Invalid value: true: Expected value: false"
	want := []string{
		"fail /spec/hostPID object.spec.hostPID: Invalid value: true: Expected value: false",
		"fail /spec/containers/0/securityContext/privileged object.spec.~.containers[0]." + b,
		"fail /spec/containers/1/securityContext/privileged object.spec.~.containers[1]." + b,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	many := object(t, badPod)
	spec := many["spec"].(map[string]any)
	for range 7 {
		list := spec["containers"].([]any)
		spec["containers"] = append(list, list...)
	}
	results := e.Evaluate(context.Background(), &admission.Request{Operation: admission.Create, Object: many})
	if len(results) != 100 {
		t.Fatalf("%d results", len(results))
	}
	if last := results[99]; last.Message != "158 more assertions do not hold" || len(last.Fields) != 158 {
		t.Errorf("%d fields: %s", len(last.Fields), last.Message)
	}
}

func TestMatchThatIsNotKnown(t *testing.T) {
	selected := func(body string) string {
		return strings.Replace(ruleOf(body), "kinds: [Pod]}", "kinds: [Pod], namespaceSelector: {matchLabels: {env: prod}}}",
			1)
	}
	tests := []struct {
		name, body string
		want       engine.Outcome
	}{
		{"violated", "validate: {pattern: {spec: {hostPID: false}}}", engine.Unknown},
		{"held in any case", "validate: {pattern: {spec: {hostPID: true}}}", engine.Pass},
		{"mutation", "mutate: {patchStrategicMerge: {spec: {hostPID: false}}}", engine.Unknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			results := mustCompile(t, selected(tt.body)).Bind(nil, nil).
				Evaluate(context.Background(), &admission.Request{Operation: admission.Create, Object: object(t, badPod)})
			if len(results) != 1 || results[0].Outcome != tt.want {
				t.Errorf("got %+v", results)
			}
		})
	}
}

func TestReportOnlyPolicyNeverEnforces(t *testing.T) {
	data := strings.Replace(ruleOf("validate: {failureAction: Enforce, deny: {}}"), "spec:\n",
		"spec:\n  admission: false\n", 1)
	results := mustCompile(t, data).Bind(nil, nil).Evaluate(context.Background(),
		&admission.Request{Operation: admission.Create, Object: object(t, badPod)})
	if len(results) != 1 || results[0].Outcome != engine.Fail || results[0].Enforce {
		t.Errorf("got %+v", results)
	}
}

func TestForEachIsBounded(t *testing.T) {
	list := make([]any, 400)
	for i := range list {
		list[i] = map[string]any{"name": "x"}
	}
	o := object(t, badPod)
	o["spec"].(map[string]any)["list"] = list
	body := "validate: {foreach: [{list: request.object.spec.list, foreach: [{list: request.object.spec.list, foreach: " +
		"[{list: request.object.spec.list, pattern: {name: x}}]}]}]}"
	results := mustCompile(t, ruleOf(body)).Bind(nil, nil).Evaluate(context.Background(),
		&admission.Request{Operation: admission.Create, Object: o})
	if len(results) != 1 || results[0].Outcome != engine.Error {
		t.Errorf("got %d results", len(results))
	}
}

func TestWithValues(t *testing.T) {
	body := "context: [{name: cm, configMap: {name: a, namespace: b}}]\n" +
		"validate: {deny: {conditions: {all: [{key: '{{ cm.data.x }}', operator: Equals, value: z}]}}}"
	e := mustCompile(t, ruleOf(body)).Bind(nil, nil).WithValues(func(policy, rule string) map[string]any {
		return map[string]any{"cm.data.x": "z"}
	})
	results := e.Evaluate(context.Background(), &admission.Request{Operation: admission.Create, Object: object(t, badPod)})
	if len(results) != 1 || results[0].Outcome != engine.Fail {
		t.Errorf("got %+v", results)
	}
}
