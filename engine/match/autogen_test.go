package match

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/engine/internal/yamltest"
	"github.com/lintel-bot/lintel/engine/policy"
)

func load(t *testing.T, data string) (*policy.ClusterPolicy, []any) {
	t.Helper()
	docs, problems := policy.Documents(policy.Source{Path: "p.yaml", Documents: yamltest.Documents(data)})
	if len(docs) != 1 {
		t.Fatal(problems)
	}
	var p policy.ClusterPolicy
	if problems := policy.Decode(docs[0], &p); len(problems) > 0 {
		t.Fatal(problems)
	}
	spec := docs[0].Value().(map[string]any)["spec"].(map[string]any)
	return &p, spec["rules"].([]any)
}

func policyWith(annotation, match, body string) string {
	head := "kind: ClusterPolicy\nmetadata:\n  name: p\n"
	if annotation != "-" {
		head += fmt.Sprintf("  annotations: {%s: %q}\n", AutogenAnnotation, annotation)
	}
	return head + "spec:\n  rules:\n  - name: r\n    " + match + "\n    " + body + "\n"
}

const (
	onPods = "match: {any: [{resources: {kinds: [Pod]}}]}"
	denies = "validate: {message: m, pattern: {spec: {hostPID: false}}}"
)

func TestControllers(t *testing.T) {
	all := []string{"CronJob", "DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"}
	tests := []struct {
		name, data string
		want       []string
	}{
		{"default", policyWith("-", onPods, denies), all},
		{"none", policyWith("none", onPods, denies), nil},
		{"some", policyWith("Deployment,CronJob", onPods, denies), []string{"CronJob", "Deployment"}},
		{"one with a space does not count", policyWith("Deployment, CronJob", onPods, denies), []string{"Deployment"}},
		{"unknown ones do not count", policyWith("Deployment,Rollout", onPods, denies), []string{"Deployment"}},
		{"name", policyWith("-", "match: {any: [{resources: {kinds: [Pod], name: x}}]}", denies), nil},
		{"names", policyWith("-", "match: {any: [{resources: {kinds: [Pod], names: [x]}}]}", denies), nil},
		{"selector", policyWith("-", "match: {any: [{resources: {kinds: [Pod], selector: {matchLabels: {a: b}}}}]}", denies),
			nil},
		{"annotations", policyWith("-", "match: {any: [{resources: {kinds: [Pod], annotations: {a: b}}}]}", denies), nil},
		{"namespaces are fine", policyWith("-", "match: {any: [{resources: {kinds: [Pod], namespaces: [a]}}]}", denies),
			all},
		{"mixed kinds", policyWith("-", "match: {any: [{resources: {kinds: [Pod, Service]}}]}", denies), nil},
		{"name in exclude", policyWith("-", onPods+"\n    exclude: {any: [{resources: {name: x}}]}", denies), nil},
		{"no pods", policyWith("-", "match: {any: [{resources: {kinds: [Service]}}]}", denies), nil},
		{"JSON patch", policyWith("-", onPods, "mutate: {patchesJson6902: x}"), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, _ := load(t, tt.data)
			if got := AutogenControllers(p); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestRules(t *testing.T) {
	body := `validate:
      failureAction: Enforce
      message: "{{ request.object.metadata.name }} $(./../pattern/spec/hostPID)"
      pattern: {spec: {hostPID: false}}`
	p, trees := load(t, policyWith("Deployment,CronJob", onPods+"\n"+
		"    preconditions: {all: [{key: '{{ request.oldObject.spec.x }}', operator: Equals, value: 1}]}", body))
	before := fmt.Sprint(trees)
	got := AutogenRules(p, trees)
	if fmt.Sprint(trees) != before {
		t.Error("the rules of the policy were changed")
	}
	want := []AutogenRule{
		{0, map[string]any{
			"name": "autogen-r",
			"match": map[string]any{"any": []any{
				map[string]any{"resources": map[string]any{"kinds": []any{"apps/v1/Deployment"}}}}},
			"preconditions": map[string]any{"all": []any{map[string]any{"key": "{{ request.oldObject.spec.template.spec.x }}",
				"operator": "Equals", "value": int64(1)}}},
			"validate": map[string]any{
				"failureAction": "Enforce",
				"message":       "{{ request.object.spec.template.metadata.name }} $(./../pattern/spec/template/spec/hostPID)",
				"pattern": map[string]any{
					"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"hostPID": false}}}},
			},
		}},
		{0, map[string]any{
			"name": "autogen-cronjob-r",
			"match": map[string]any{"any": []any{
				map[string]any{"resources": map[string]any{"kinds": []any{"batch/v1/CronJob"}}}}},
			"preconditions": map[string]any{"all": []any{map[string]any{"key": "{{ " +
				"request.oldObject.spec.jobTemplate.spec.template.spec.x }}", "operator": "Equals", "value": int64(1)}}},
			"validate": map[string]any{
				"failureAction": "Enforce",
				"message": "{{ request.object.spec.jobTemplate.spec.template.metadata.name }} " +
					"$(./../pattern/spec/jobTemplate/spec/template/spec/hostPID)",
				"pattern": map[string]any{"spec": map[string]any{"jobTemplate": map[string]any{"spec": map[string]any{
					"template": map[string]any{"spec": map[string]any{"hostPID": false}}}}}},
			},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRulesOfBodies(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"any pattern", "validate: {anyPattern: [{spec: {a: 1}}, {spec: {b: 1}}]}",
			"anyPattern:[map[spec:map[template:map[spec:map[a:1]]]] map[spec:map[template:map[spec:map[b:1]]]]]"},
		{"foreach", "validate: {foreach: [{list: 'request.object.spec.containers', pattern: {a: 1}}]}",
			"list:request.object.spec.template.spec.containers pattern:map[a:1]"},
		{"deny", "validate: {deny: {conditions: {any: [{key: '{{request.object.spec.a}}', operator: Equals, value: 1}]}}}",
			"{{request.object.spec.template.spec.a}}"},
		{"pod security", "validate: {podSecurity: {level: baseline}}", "podSecurity:map[level:baseline]"},
		{"cel", "validate: {cel: {expressions: [{expression: 'object.spec.a == oldObject.spec.a'}]}}",
			"object.spec.template.spec.a == oldObject.spec.template.spec.a"},
		{"mutation", "mutate: {patchStrategicMerge: {spec: {a: 1}}}",
			"patchStrategicMerge:map[spec:map[template:map[spec:map[a:1]]]]"},
		{"mutating foreach", "mutate: {foreach: [{list: 'request.object.spec.containers', patchStrategicMerge: {spec: {a: " +
			"1}}}]}",
			"list:request.object.spec.template.spec.containers patchStrategicMerge:map[spec:map[template:map[spec:map[a:1]]]]"},
		{"assert", "validate: {assert: {object: {spec: {a: 1}}, oldObject: {metadata: {b: 2}}, operation: CREATE}}",
			"assert:map[object:map[spec:map[template:map[spec:map[a:1]]]] " +
				"oldObject:map[spec:map[template:map[metadata:map[b:2]]]] operation:CREATE]"},
		{"an assertion as an expression", "validate: {assert: {(request.object.spec.a): 1, object: (x)}}",
			"assert:map[(request.object.spec.template.spec.a):1 object:(x)]"},
		{"an assertion about no object", "validate: {assert: {spec: 1}}", "assert:map[spec:1]"},
		{"generation", "generate: {kind: ConfigMap}", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, trees := load(t, policyWith("Deployment", onPods, tt.body))
			got := AutogenRules(p, trees)
			if tt.want == "" {
				if len(got) != 0 {
					t.Errorf("got %v", got)
				}
				return
			}
			if len(got) != 1 || !strings.Contains(fmt.Sprint(got[0].Tree), tt.want) {
				t.Errorf("got %v, want %s", got, tt.want)
			}
		})
	}
}

func TestRulesNames(t *testing.T) {
	long := strings.Repeat("x", 60)
	p, trees := load(t, strings.ReplaceAll(policyWith("-", onPods, denies), "name: r\n", "name: "+long+"\n"))
	for _, r := range AutogenRules(p, trees) {
		if name, _ := r.Tree["name"].(string); len(name) != maxName {
			t.Errorf("got %q", name)
		}
	}
	p, trees = load(t, strings.ReplaceAll(policyWith("-", onPods, denies), "name: r\n", "name: autogen-r\n"))
	if got := AutogenRules(p, trees); len(got) != 0 {
		t.Errorf("got %v for a rule that is generated itself", got)
	}
}
