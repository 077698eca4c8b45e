package engine_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/cel"
	"github.com/lintel-bot/lintel/engine/internal/yamltest"
	"github.com/lintel-bot/lintel/engine/policy"
)

const wants = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  rules:
  - name: all
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      failureAction: Enforce
      message: No.
      pattern:
        metadata: {labels: {team: "?*", tier: "gold | silver"}}
        spec:
          =(hostNetwork): false
          containers: [{image: "!*:latest", resources: {limits: {memory: "<=2Gi"}}}]
          restartPolicy: "{{ request.object.spec.x || 'Always' }}"
`

const unwanted = `{metadata: {name: a, labels: {tier: x}}, spec: {hostNetwork: true, restartPolicy: Never,
  containers: [{name: c, image: 'x:latest', resources: {limits: {memory: 3Gi}}}]}`

func TestRequirementOfFailedField(t *testing.T) {
	want := map[string]string{
		"/metadata/labels/team": "any value that is not empty", "/metadata/labels/tier": "gold, or silver",
		"/spec/hostNetwork": "false", "/spec/containers/0/image": "anything but *:latest",
		"/spec/containers/0/resources/limits/memory": "at most 2Gi", "/spec/restartPolicy": "Always",
	}
	p := mustCompile(t, wants)
	template := "spec: {template: " + unwanted + "}}"
	for head, at := range map[string]string{
		unwanted + ", apiVersion: v1, kind: Pod}":                                        "",
		"{apiVersion: apps/v1, kind: Deployment, " + template + "}":                      "/spec/template",
		"{apiVersion: batch/v1, kind: CronJob, spec: {jobTemplate: {" + template + "}}}": "/spec/jobTemplate/spec/template",
	} {
		request := &admission.Request{Operation: admission.Create, Object: object(t, head)}
		by := p.Bind(nil, nil)
		results := by.Evaluate(t.Context(), request)
		if len(results) != 1 || len(results[0].Fields) != len(want) {
			t.Fatalf("%s: %+v", at, results)
		}
		advice := by.SuggestFixes(t.Context(), request, results, nil)[0]
		for _, field := range results[0].Fields {
			words, ok := want[field[len(at):]]
			if got := advice[field].Requirement; !ok || got != words {
				t.Errorf("%s: %q, want %q", field, got, words)
			}
		}
	}
}

// What is expected is what the rule was compiled from, not what stands at the line that a person edits: the policy may
// be patched by a kustomization.
func TestRequirementOfRenderedPolicy(t *testing.T) {
	source := policy.Source{Path: "base/p.yaml", Documents: yamltest.OnOneLine(wants)}
	p, problems := engine.CompilePolicies([]policy.Source{source}, engine.Options{})
	if policy.HasErrors(problems) {
		t.Fatal(problems)
	}
	memory := "/spec/containers/0/resources/limits/memory"
	request := &admission.Request{Operation: admission.Create, Object: object(t, `
apiVersion: v1
kind: Pod
metadata: {labels: {team: a, tier: gold}}
spec: {restartPolicy: Always, containers: [{name: c, image: 'x:1', resources: {limits: {memory: 3Gi}}}]}
`)}
	by := p.Bind(nil, nil)
	results := by.Evaluate(t.Context(), request)
	if len(results) != 1 || !slices.Equal(results[0].Fields, []string{memory}) {
		t.Fatalf("%+v", results)
	}
	if got := by.SuggestFixes(t.Context(), request, results, nil)[0][memory].Requirement; got != "at most 2Gi" {
		t.Errorf("%q", got)
	}
}

// Whatever a rule is made of, it says what it expects; what is no result of the set gets no advice.
func TestRequirementOfEveryRuleBody(t *testing.T) {
	pod := object(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {x: 1, hostNetwork: true}\n")
	for body, want := range map[string]string{
		"anyPattern: [{spec: {x: 2}}, {spec: {x: 3}}]": "2, or instead spec.x: 3",
		"deny: {}": "no such object: the rule denies every Pod that it matches",
		"foreach: [{list: 'request.object.[spec]', pattern: {x: 2}}]":                                 "2",
		"pattern: {spec: '{{ request.object.metadata.name }}'}":                                       "a",
		"assert: {object: {spec: {x: 2}}}":                                                            "2",
		"cel: {expressions: [{expression: 'object.spec.x == 2'}]}":                                    "2",
		"podSecurity: {level: restricted, version: v1.30}":                                            "",
		"deny: {conditions: {any: [{key: '{{request.object.spec.x}}', operator: Equals, value: 1}]}}": "anything but 1",
	} {
		by := mustCompile(t, ruleOf("validate: {"+body+"}")).Bind(nil, nil)
		request := &admission.Request{Operation: admission.Create, Object: pod}
		results := by.Evaluate(t.Context(), request)
		if len(results) == 0 || results[0].Outcome != engine.Fail {
			t.Fatalf("%s: %+v", body, results)
		}
		for field, advice := range by.SuggestFixes(t.Context(), request, results, nil)[0] {
			if got := advice.Requirement; got == "" || want != "" && got != want {
				t.Errorf("%s: %s: %q, want %q", body, field, got, want)
			}
		}
		stranger := engine.Result{Decision: engine.Decision{Outcome: engine.Fail, Rule: "all", Fields: []string{"/spec/x"}}}
		if advice := by.SuggestFixes(t.Context(), request, []engine.Result{stranger}, nil)[0]; len(advice) > 0 {
			t.Errorf("a rule of no policy of the set: %+v", advice)
		}
	}
}

// What is to be written into a map of texts is a text, whether the map is there or not.
func TestChangeIsWritable(t *testing.T) {
	for _, tt := range []struct {
		pattern, object, at string
		want                any
	}{
		{"metadata: {labels: {a: 'true'}}", "{kind: Pod, metadata: {name: a}}", "/metadata/labels", map[string]any{"a": "true"}},
		{"metadata: {annotations: {a: 'false', b: '1'}}", "{kind: Pod, metadata: {name: a}}", "/metadata/annotations",
			map[string]any{"a": "false", "b": "1"}},
		{"metadata: {labels: {a: 'true'}}", "{kind: Pod, metadata: {name: a, labels: {b: c}}}", "/metadata/labels/a", "true"},
		{"spec: {nodeSelector: {a: 1}}", "{kind: Pod, metadata: {name: a}, spec: {}}", "/spec/nodeSelector", map[string]any{"a": "1"}},
		{"data: {a: 'true'}", "{kind: ConfigMap, metadata: {name: a}}", "/data", map[string]any{"a": "true"}},
		{"spec: {hostNetwork: 'true'}", "{kind: Pod, metadata: {name: a}, spec: {}}", "/spec/hostNetwork", true},
		{"spec: {data: {x: 'true'}}", "{kind: Pod, metadata: {name: a}, spec: {}}", "/spec/data", map[string]any{"x": true}},
	} {
		o := object(t, tt.object)
		o["apiVersion"] = "v1"
		by := mustCompile(t, ruleOn(o["kind"].(string), "validate: {pattern: {"+tt.pattern+"}}")).Bind(nil, nil)
		request := &admission.Request{Operation: admission.Create, Object: o}
		change := by.SuggestFixes(t.Context(), request, by.Evaluate(t.Context(), request), nil)[0][tt.at].Change
		if change == nil || !reflect.DeepEqual(change.Value, tt.want) {
			t.Errorf("%s: %#v, want %#v", tt.pattern, change, tt.want)
		}
	}
}

func TestUses(t *testing.T) {
	p := mustCompile(t, clusterPolicy("psa", `  rules:
  - name: restricted
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {podSecurity: {level: restricted, version: latest}}
`)+"---\n"+ruleOf("validate: {pattern: {spec: {x: 1}}}")+"---\n"+validatingPolicy+
		`  - expression: "object.spec.image in exceptions.allowedImages && object.spec.x in exceptions.allowedValues.y"
---
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: m}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  variables: [{name: v, expression: kyverno.excludedImages}]
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: "Object{metadata: Object.metadata{name: string(kyverno.allowedValues[0])}}"}
`)
	uses := map[string]engine.Uses{}
	for _, info := range p.List() {
		for _, rule := range append(info.Rules, "") {
			if u := p.Uses(engine.RuleID{Policy: info.PolicyRef, Rule: rule}); u.Images || u.Controls || u.Values != nil {
				uses[info.FullName()+"/"+rule] = u
			}
		}
	}
	want := map[string]engine.Uses{
		"psa/restricted": {Controls: true}, "psa/autogen-restricted": {Controls: true},
		"psa/autogen-cronjob-restricted": {Controls: true},
		"v/":                             {Allowances: cel.Allowances{Images: true, Values: []string{"y"}}},
		"m/":                             {Allowances: cel.Allowances{Images: true, Values: []string{""}}},
	}
	if diff := cmp.Diff(want, uses); diff != "" {
		t.Error(diff)
	}
}

func TestRuleID(t *testing.T) {
	rules := engine.PolicyRef{APIVersion: "kyverno.io/v1", Kind: "Policy", Namespace: "ns", Name: "p"}
	whole := engine.PolicyRef{APIVersion: "policies.kyverno.io/v1", Kind: "ValidatingPolicy", Name: "p"}
	id := func(p engine.PolicyRef, rule string) engine.RuleID {
		return engine.Result{Policy: p, Decision: engine.Decision{Rule: rule}}.ID()
	}
	switch {
	case id(rules, "a") == id(rules, "b"):
		t.Error("two rules of a policy are one")
	case id(whole, "exception") != id(whole, ""):
		t.Error("an exception makes another rule of a policy in CEL")
	case rules.FullName() != "ns/p" || whole.FullName() != "p":
		t.Errorf("names %s, %s", rules.FullName(), whole.FullName())
	}
}

func TestExceptionNamesItsPolicies(t *testing.T) {
	head := `apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: x, namespace: ns}
spec: {background: false, exceptions: [{policyName: ns/p, ruleNames: [a, 'b*']}], `
	pods := head + "match: {any: [{resources: {kinds: [Pod]}}]}"
	condition := ", conditions: {any: [{key: '{{ request.%s }}', operator: Equals, value: x}]}}"
	cel := `apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: x}
spec: {policyRefs: [{name: v, kind: ValidatingPolicy}], images: [i]`
	for text, reads := range map[string]bool{
		pods + "}": false,
		head + "match: {any: [{resources: {kinds: [Pod], operations: [CREATE]}}]}}": false,
		head + "match: {any: [{resources: {kinds: [Pod], operations: [DELETE]}}]}}": true,
		head + "match: {all: [{resources: {kinds: [Pod]}, roles: [r]}]}}":           true,
		pods + fmt.Sprintf(condition, "userInfo.username"):                          true,
		pods + fmt.Sprintf(condition, "object.metadata.name"):                       false,
		cel + "}": false,
		cel + ", matchConditions: [{name: c, expression: \"request.operation == 'CREATE'\"}]}": true,
	} {
		x := mustExceptions(t, text)[0]
		if got := x.ReadsRequest(); got != reads {
			t.Errorf("%s: %v", text, got)
		}
		rules, whole := x.Spec()
		policies, id := []string{"ns/p"}, "kyverno.io PolicyException ns/x"
		if whole != nil {
			policies, id = []string{"v"}, "policies.kyverno.io PolicyException x"
		}
		if (rules == nil) == (whole == nil) || !slices.Equal(x.Policies(), policies) || x.ID() != id {
			t.Errorf("%s: %v %v %v %s", text, rules, whole, x.Policies(), x.ID())
		}
	}
}

func TestRuleDocuments(t *testing.T) {
	documents := func(text string) []engine.RuleDocument {
		return engine.RuleDocuments([]policy.Source{{Path: "p.yaml", Documents: yamltest.Documents(text), Digest: text}})
	}
	got := documents(wants + `---
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
---
apiVersion: kyverno.io/v1
kind: Policy
metadata: {name: m, namespace: ns}
spec: {rules: [{name: r, mutate: {}}]}
---
apiVersion: policies.kyverno.io/v1
kind: ImageValidatingPolicy
metadata: {name: i}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: b}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: w}
---
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: x, namespace: ns}
spec: {exceptions: [{policyName: p}, {policyName: ns/q}]}
---
apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: other}
spec: {policyRefs: [{name: v, kind: ValidatingPolicy}]}
`)
	type row struct {
		ID                                     string
		Policies                               []string
		Exception, Binding, Mutates, Admission bool
	}
	var rows []row
	for _, d := range got {
		rows = append(rows, row{d.ID(), d.Policies, d.Exception, d.Binding, d.Mutates, d.Admission})
	}
	want := []row{
		{ID: "kyverno.io ClusterPolicy p", Policies: []string{"p"}},
		{ID: "kyverno.io Policy ns/m", Policies: []string{"ns/m"}, Mutates: true},
		{ID: "policies.kyverno.io ImageValidatingPolicy i", Policies: []string{"i"}},
		{ID: "admissionregistration.k8s.io MutatingAdmissionPolicyBinding b", Policies: []string{"b"}, Binding: true,
			Mutates: true, Admission: true},
		{ID: "kyverno.io PolicyException ns/x", Policies: []string{"p", "ns/q"}, Exception: true},
		{ID: "policies.kyverno.io PolicyException other", Policies: []string{"v"}, Exception: true},
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Error(diff)
	}
	if same := documents("# a comment\n" + wants); same[0].Content != got[0].Content {
		t.Errorf("a comment changes %s to %s", got[0].Content, same[0].Content)
	}
	ttl := "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: x, labels: {cleanup.kyverno.io/ttl: 1h}}\n"
	if documents(ttl)[0].Content != documents(ttl + "# touched\n")[0].Content {
		t.Error("an exception is another because its file was touched")
	}
}
