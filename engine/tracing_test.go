package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/explain"
	"github.com/lintel-bot/lintel/engine/internal/yamltest"
	"github.com/lintel-bot/lintel/engine/policy"
)

// A trace gives the results that an evaluation gives, and for each rule of the set the steps that led there: also for
// those that say nothing.
func TestTraceAgrees(t *testing.T) {
	policies := podPolicies(t)
	e := policies.Bind(nil, nil)
	rules := 0
	for _, p := range policies.List() {
		rules += max(1, len(p.Rules))
	}
	for i, r := range requests(60) {
		want := e.Evaluate(t.Context(), r)
		got, traces := e.Trace(t.Context(), r)
		if a, b := encode(t, got), encode(t, want); !bytes.Equal(a, b) {
			t.Fatalf("request %d: %s, want %s", i, a, b)
		}
		if len(traces) != rules {
			t.Errorf("request %d: %d traces of %d rules", i, len(traces), rules)
		}
		said := map[string]bool{}
		for _, res := range want {
			said[res.Policy.Name+"/"+res.Rule] = true
		}
		for _, tr := range traces {
			id := tr.Policy.Name + "/" + tr.Rule
			if len(tr.Steps) == 0 || (tr.Outcome != "") != said[id] {
				t.Errorf("request %d, %s: %q, %d steps", i, id, tr.Outcome, len(tr.Steps))
			}
			for _, s := range tr.Steps {
				if s.Words == "" && len(s.Values) == 0 && s.Err == nil {
					t.Errorf("request %d, %s: a step that says nothing: %+v", i, id, s)
				}
			}
		}
	}
}

// record is a trace in one line a step.
func told(tr engine.Trace) string {
	out := []string{fmt.Sprintf("%s/%s %s", tr.Policy.Name, tr.Rule, tr.Outcome)}
	for _, s := range tr.Steps {
		holds := "no"
		if s.Holds {
			holds = "yes"
		}
		line := strings.TrimSpace(fmt.Sprintf("%s%s %s: %s", s.Part, s.At, holds, s.Words))
		for _, v := range s.Values {
			value, _ := json.Marshal(v.Value)
			line += fmt.Sprintf(" [%s=%s]", v.Name, value)
		}
		if s.Err != nil {
			line += " (" + s.Err.Error() + ")"
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

func TestTraceWords(t *testing.T) {
	pod := objects(t, []policy.Source{{Documents: yamltest.Documents("apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: prod, labels: {app: web}}\n" +
		"spec: {containers: [{name: a, image: 'a:latest'}, {name: b, image: 'b:1'}]}\n")}})[0]
	for name, c := range map[string]struct {
		policy, want string
		operation    admission.Operation
	}{
		"deny": {ruleOf("preconditions: {all: [{key: '{{ request.operation }}', operator: In, value: [CREATE, UPDATE]}]}\n" +
			"validate: {deny: {conditions: {any: [{key: '{{ request.object.metadata.labels.app }}', operator: Equals, value: web},\n" +
			"  {key: '{{ request.object.metadata.name }}', operator: Equals, value: q}]}}}"), `p/r fail
match yes: kind Pod
preconditions/all/0 yes: {{ request.operation }} In [key="CREATE"] [value=["CREATE","UPDATE"]]
deny/any/0 yes: {{ request.object.metadata.labels.app }} Equals [key="web"] [value="web"]
deny/any/1 no: {{ request.object.metadata.name }} Equals [key="p"] [value="q"]`, ""},
		"preconditions": {ruleOf("preconditions: {all: [{key: '{{ request.operation }}', operator: Equals, value: DELETE}]}\n" +
			"validate: {deny: {}}"), `p/r skip
match yes: kind Pod
preconditions/all/0 no: {{ request.operation }} Equals [key="CREATE"] [value="DELETE"]`, ""},
		"pattern": {ruleOf("validate: {pattern: {spec: {containers: [{image: '!*:latest'}]}}}"), `p/r fail
match yes: kind Pod
pattern no: it fails at /spec/containers/0/image/ [/spec/containers/0/image="a:latest"]`, ""},
		"missing": {ruleOf("validate: {pattern: {metadata: {labels: {team: '?*'}}}}"), `p/r fail
match yes: kind Pod
pattern no: it fails at /metadata/labels/team/ [/metadata/labels/team=null]`, ""},
		"foreach": {ruleOf("validate: {foreach: [{list: request.object.spec.containers, deny: {conditions: {any: " +
			"[{key: '{{ element.name }}', operator: Equals, value: b}]}}}]}"), `p/r fail
match yes: kind Pod
foreach/0 yes: the list has 2 elements
deny/element/0/any/0 no: {{ element.name }} Equals [key="a"] [value="b"]
deny/element/1/any/0 yes: {{ element.name }} Equals [key="b"] [value="b"]`, ""},
		"unknown": {ruleOf("context: [{name: c, configMap: {name: c, namespace: d}}]\n" +
			"validate: {deny: {conditions: {any: [{key: '{{ c.data.a }}', operator: Equals, value: b}]}}}"), `p/r unknown
match yes: kind Pod
deny/any/0 no: {{ c.data.a }} Equals (…)`, ""},
		"not about": {ruleOf("exclude: {any: [{resources: {namespaces: [prod]}}]}\nvalidate: {deny: {}}"), `p/r 
match yes: kind Pod
exclude yes: namespace prod`, ""},
		"all denied": {ruleOf("validate: {deny: {}}"), `p/r fail
match yes: kind Pod
deny yes: there are no conditions, so everything is denied`, ""},
		"cel": {`apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: v}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  matchConditions: [{name: c, expression: "object.metadata.namespace == 'prod'"}]
  variables: [{name: images, expression: "object.spec.containers.map(c, c.image)"}]
  validations:
  - {expression: "size(variables.images) == 2"}
  - {expression: "variables.images.all(i, !i.endsWith(':latest'))", message: m}
`, `v/ fail
matchConditions/0 yes: object.metadata.namespace == 'prod'
validation/0 yes: size(variables.images) == 2 [variables.images=["a:latest","b:1"]]
validation/1 no: variables.images.all(i, !i.endsWith(':latest')) [variables.images=["a:latest","b:1"]] [/spec/containers/0/image="a:latest"]`, ""},
		"cel, not about": {`apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: v}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [pods, services]}]}
  validations: [{expression: "false"}]
`, `v/ 
match/resourceRules/0 no: CREATE of v1/pods is none of UPDATE of v1/pods|services`, ""},
		"cel, another kind": {`apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: v}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: ["*"], resources: [deployments]}]}
  validations: [{expression: "false"}]
`, `v/ 
match/resourceRules/0 no: CREATE of v1/pods is none of * of apps/v1/deployments`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := &admission.Request{Operation: admission.Create, Object: pod}
			_, traces := mustCompile(t, c.policy).Bind(nil, nil).Trace(t.Context(), r)
			got := told(traces[0])
			if i := strings.Index(c.want, "(…)"); i >= 0 && len(got) > i {
				got = got[:i] + "(…)"
			}
			if got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// The steps of a rule are bounded, and those too many are counted.
func TestTraceIsBounded(t *testing.T) {
	l := &explain.Log{}
	for range 1000 {
		l.Add(explain.Step{})
	}
	steps, more := l.Take()
	if len(steps)+more != 1000 || more == 0 {
		t.Errorf("%d and %d", len(steps), more)
	}
	var none *explain.Log
	none.Add(explain.Step{})
	none.Within("x", 1)()
	if steps, more := none.Take(); none.On() || steps != nil || more != 0 || none.Steps() != nil {
		t.Error("the nil log took something")
	}
}
