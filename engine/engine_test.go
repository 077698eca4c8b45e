package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/internal/yamltest"
	"github.com/lintel-bot/lintel/engine/policy"
)

// ruleOf is a policy with one rule on pods.
func ruleOf(body string) string {
	return ruleOn("Pod", body)
}

func ruleOn(kind, body string) string {
	return "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata:\n  name: p\n" +
		"  annotations: {pod-policies.kyverno.io/autogen-controllers: none}\nspec:\n  rules:\n" +
		"  - name: r\n    match: {any: [{resources: {kinds: [" + kind + "]}}]}\n" + indent(body)
}

func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n    ") + "\n"
}

func mustCompile(t testing.TB, data string) *engine.Policies {
	t.Helper()
	p, problems := engine.CompilePolicies([]policy.Source{{Path: "p.yaml", Documents: yamltest.Documents(data)}},
		engine.Options{Now: conformanceNow})
	if policy.HasErrors(problems) {
		t.Fatalf("%v\n%s", problems, data)
	}
	return p
}

func mustExceptions(t testing.TB, data string) []*engine.Exception {
	t.Helper()
	x, problems := engine.CompileExceptions([]policy.Source{{Path: "e.yaml", Documents: yamltest.Documents(data)}},
		engine.Options{Now: conformanceNow})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return x
}

func object(t testing.TB, data string) admission.Object {
	t.Helper()
	list := objects(t, []policy.Source{{Documents: yamltest.Documents(data)}})
	if len(list) != 1 {
		t.Fatalf("%d objects in %s", len(list), data)
	}
	return list[0]
}

const badPod = `
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: team, labels: {app: web}}
spec:
  hostPID: true
  initContainers:
  - {name: init, image: "docker.io/init:1"}
  containers:
  - {name: a, image: "registry.example.com/a:v1", securityContext: {privileged: true}, env: [{name: X, value: "1"}, {name: Z, value: "2"}]}
  - {name: b, image: "nginx:latest", securityContext: {privileged: true}}
  - {name: c, image: "registry.example.com/c:v1", securityContext: {privileged: false}}
`

func TestEvaluateFields(t *testing.T) {
	tests := []struct {
		name, body string
		outcome    engine.Outcome
		message    string
		fields     []string
	}{
		{"pattern names all fields", `validate: {message: "No.", pattern: {spec: {hostPID: false, ` +
			`containers: [{securityContext: {privileged: false}}]}}}`,
			engine.Fail, "validation error: No. rule r failed at path /spec/containers/0/securityContext/privileged/",
			[]string{"/spec/containers/0/securityContext/privileged", "/spec/containers/1/securityContext/privileged",
				"/spec/hostPID"}},
		{"pattern passes", `validate: {message: "No.", pattern: {spec: {hostPID: true}}}`, engine.Pass,
			"validation rule 'r' passed.", nil},
		{"a missing field is where it would be", `validate: {pattern: {metadata: {labels: {team: "?*"}}}}`,
			engine.Fail, "validation error: rule r failed at path /metadata/labels/team/", []string{"/metadata/labels/team"}},
		{"pattern with a variable", `validate: {message: "{{ request.object.metadata.name }} is bad", ` +
			`pattern: {metadata: {labels: {app: "{{ request.object.spec.containers[0].name }}"}}}}`,
			engine.Fail, "validation error: web is bad. rule r failed at path /metadata/labels/app/",
			[]string{"/metadata/labels/app"}},
		{"message that cannot be resolved",
			`validate: {message: "{{ request.object.nothing }}", pattern: {spec: {hostPID: false}}}`,
			engine.Fail, "validation error: variables substitution error in rule r failed at path /spec/hostPID/",
			[]string{"/spec/hostPID"}},
		{"a variable inside of another", "context: [{name: label, variable: {value: app}}]\n" +
			"validate: {message: m, deny: {conditions: {all: [{key: '{{ request.object.metadata.labels.{{ label }} }}', " +
			"operator: Equals, value: web}]}}}",
			engine.Fail, "m", []string{"/metadata/labels/app"}},
		{"the narrowest alternative", `validate: {message: m, anyPattern: [{spec: {hostPID: false, hostIPC: false}}, ` +
			`{metadata: {labels: {app: db}}}]}`,
			engine.Fail, "validation error: m. rule r[0] failed at path /spec/hostIPC/ rule r[1] failed at path " +
				"/metadata/labels/app/", []string{"/metadata/labels/app"}},
		{"an alternative passes", `validate: {anyPattern: [{spec: {hostPID: false}}, {metadata: {labels: {app: web}}}]}`,
			engine.Pass, "validation rule 'r' anyPattern[1] passed.", nil},
		{"deny names what it read", `validate: {message: m, deny: {conditions: {any: [{key: "{{ ` +
			`request.object.spec.hostPID }}", operator: Equals, value: true}, {key: "{{ request.object.metadata.name }}", ` +
			`operator: Equals, value: db}]}}}`,
			engine.Fail, "m", []string{"/spec/hostPID"}},
		{"deny of everything", `validate: {message: m, deny: {}}`, engine.Fail, "m", []string{""}},
		{"deny through a context variable", "context: [{name: pid, variable: {jmesPath: request.object.spec.hostPID}}]\n" +
			"validate: {message: m, deny: {conditions: {all: [{key: '{{ pid }}', operator: Equals, value: true}]}}}",
			engine.Fail, "m", []string{"/spec/hostPID"}},
		{"deny through images", `validate: {message: m, deny: {conditions: {all: [{key: "{{ images.containers.b.tag }}", ` +
			`operator: Equals, value: latest}]}}}`,
			engine.Fail, "m", []string{"/spec/containers/1/image"}},
		{"foreach with a pattern", `validate: {message: m, foreach: [{list: "request.object.spec.[initContainers, ` +
			`containers][]", pattern: {image: "registry.example.com/*"}}]}`,
			engine.Fail, "validation failure: validation error: m. rule r failed at path /image/",
			[]string{"/spec/containers/1/image", "/spec/initContainers/0/image"}},
		{"foreach with a filter", `validate: {message: m, foreach: [{list: "request.object.spec.containers[?name=='b']", ` +
			`deny: {conditions: {all: [{key: "{{ element.securityContext.privileged }}", operator: Equals, value: true}]}}}]}`,
			engine.Fail, "validation failure: m", []string{"/spec/containers/1/securityContext/privileged"}},
		{"foreach without elements", `validate: {foreach: [{list: request.object.spec.nothing, pattern: {image: x}}]}`, "",
			"", nil},
		{"foreach over strings", `validate: {message: m, foreach: [{list: "request.object.spec.containers[].image", ` +
			`deny: {conditions: {all: [{key: "{{ element }}", operator: Equals, value: "*:latest"}]}}}]}`,
			engine.Fail, "validation failure: m", []string{"/spec/containers/1/image"}},
		{"nested foreach", `validate: {message: "{{ variable }}", foreach: [{list: request.object.spec.containers, ` +
			`foreach: [{list: "element.env || ` + "`[]`" + `", context: [{name: variable, variable: {value: "{{ element.name }}"}}], ` +
			`deny: {conditions: {all: [{key: "{{ element.value }}", operator: Equals, value: "2"}]}}}]}]}`,
			engine.Fail, "validation failure: validation failure: Z", []string{"/spec/containers/0/env/1/value"}},
		{"elements are skipped by preconditions",
			`validate: {message: m, foreach: [{list: request.object.spec.containers, ` +
				`preconditions: {all: [{key: "{{ element.name }}", operator: Equals, value: c}]}, ` +
				`pattern: {securityContext: {privileged: false}}}]}`,
			engine.Pass, "rule passed", nil},
		{"a violation beside what is not known",
			"context: [{name: cm, configMap: {name: allowed, namespace: x}}]\n" +
				"validate: {message: m, foreach: [{list: request.object.spec.initContainers, deny: {conditions: {all: [{key: '{{ " +
				"cm.data.z }}', operator: Equals, value: z}]}}}, {list: request.object.spec.containers, pattern: {image: " +
				"'registry.example.com/*'}}]}",
			engine.Fail, "validation failure: validation error: m. rule r failed at path /image/",
			[]string{"/spec/containers/1/image"}},
		{"element scope off", `validate: {message: m, foreach: [{list: request.object.spec.containers, ` +
			`elementScope: false, pattern: {metadata: {labels: {app: "{{ element.name }}"}}}}]}`,
			engine.Fail, "validation failure: validation error: m. rule r failed at path /metadata/labels/app/",
			[]string{"/metadata/labels/app"}},
		{"element scope on text", `validate: {foreach: [{list: "request.object.spec.containers[].name", ` +
			`elementScope: true, pattern: {a: b}}]}`,
			engine.Error, "validation failure: failed to process foreach: cannot use elementScope=true foreach rules for " +
				"elements that are not maps, expected type=map got type=string", []string{""}},
		{"preconditions not met", "preconditions: {all: [{key: '{{ request.operation }}', operator: Equals, value: " +
			"DELETE}]}\nvalidate: {deny: {}}",
			engine.Skip, "preconditions not met", nil},
		{"a ConfigMap that is not declared", "context: [{name: cm, configMap: {name: allowed, namespace: '{{ " +
			"request.namespace }}'}}]\nvalidate: {deny: {conditions: {all: [{key: '{{ cm.data.x }}', operator: Equals, value: " +
			"y}]}}}",
			engine.Unknown, "", []string{""}},
		{"an object that is not declared", "context: [{name: ns, apiCall: {urlPath: '/api/v1/namespaces/{{ " +
			"request.namespace }}', jmesPath: metadata.labels}}]\n" +
			"validate: {deny: {conditions: {all: [{key: '{{ ns.x }}', operator: Equals, value: y}]}}}",
			engine.Unknown, "", []string{""}},
		{"what is not used is not loaded", "context: [{name: cm, configMap: {name: allowed, namespace: x}}]\n" +
			"validate: {message: m, deny: {conditions: {all: [{key: a, operator: Equals, value: a}]}}}",
			engine.Fail, "m", []string{""}},
		{"unknown variable", `validate: {deny: {conditions: {all: [{key: "{{ request.object.metadata.nothing }}", ` +
			`operator: Equals, value: y}]}}}`,
			engine.Error, "", []string{""}},
		{"pod security", `validate: {podSecurity: {level: baseline, version: latest}}`, engine.Fail, "",
			[]string{"/spec/containers/0/securityContext/privileged", "/spec/containers/1/securityContext/privileged",
				"/spec/hostPID"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := mustCompile(t, ruleOf(tt.body)).Bind(nil, nil)
			results := e.Evaluate(context.Background(), &admission.Request{Operation: admission.Create,
				Object: object(t, badPod)})
			if tt.outcome == "" {
				if len(results) != 0 {
					t.Errorf("got %+v", results)
				}
				return
			}
			if len(results) != 1 {
				t.Fatalf("got %d results: %+v", len(results), results)
			}
			r := results[0]
			if r.Outcome != tt.outcome || tt.message != "" && r.Message != tt.message {
				t.Errorf("got %s %q, want %s %q", r.Outcome, r.Message, tt.outcome, tt.message)
			}
			if diff := cmp.Diff(tt.fields, r.Fields); diff != "" {
				t.Errorf("fields: %s\n%s", diff, r.Message)
			}
		})
	}
}

func TestEvaluateWithCluster(t *testing.T) {
	cluster := declared{
		object(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: allowed, namespace: team}\ndata: {names: '[\"web\"]'}"),
		object(t, "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: team, labels: {a: b}}"),
		object(t, "apiVersion: v1\nkind: Service\nmetadata: {name: t, namespace: team}"),
	}
	tests := []struct {
		name, body string
		want       engine.Outcome
	}{
		{"ConfigMap", "context: [{name: cm, configMap: {name: allowed, namespace: '{{ request.namespace }}'}}]\n" +
			"validate: {deny: {conditions: {all: [{key: '{{ request.object.metadata.name }}', operator: AnyNotIn, value: '{{ " +
			"cm.data.names | parse_json(@) }}'}]}}}", engine.Pass},
		{"list", "context: [{name: found, apiCall: {urlPath: '/api/v1/namespaces/{{ request.namespace }}/services', " +
			"jmesPath: 'items | length(@)'}}]\nvalidate: {deny: {conditions: {all: [{key: '{{ found }}', operator: Equals, " +
			"value: 2}]}}}", engine.Fail},
		{"list with a selector", "context: [{name: found, apiCall: {urlPath: '/api/v1/services?labelSelector=a=b', " +
			"jmesPath: 'items | length(@)'}}]\nvalidate: {deny: {conditions: {all: [{key: '{{ found }}', operator: Equals, " +
			"value: 1}]}}}", engine.Fail},
		{"object", "context: [{name: s, apiCall: {urlPath: '/api/v1/namespaces/team/services/s'}}]\n" +
			"validate: {deny: {conditions: {all: [{key: '{{ s.metadata.labels.a }}', operator: Equals, value: b}]}}}",
			engine.Fail},
		{"a list that is not declared", "context: [{name: found, apiCall: {urlPath: /apis/apps/v1/deployments, jmesPath: " +
			"'items | length(@)'}}]\nvalidate: {deny: {conditions: {all: [{key: '{{ found }}', operator: Equals, value: 0}]}}}",
			engine.Unknown},
		{"a POST", "context: [{name: found, apiCall: {method: POST, urlPath: " +
			"/apis/authorization.k8s.io/v1/subjectaccessreviews, data: []}}]\n" +
			"validate: {deny: {conditions: {all: [{key: '{{ found }}', operator: Equals, value: 0}]}}}", engine.Unknown},
		{"a service", "context: [{name: found, apiCall: {service: {url: 'http://x'}}}]\n" +
			"validate: {deny: {conditions: {all: [{key: '{{ found }}', operator: Equals, value: 0}]}}}", engine.Unknown},
		{"a registry", "context: [{name: found, imageRegistry: {reference: '{{ request.object.spec.containers[0].image " +
			"}}'}}]\nvalidate: {deny: {conditions: {all: [{key: '{{ found.x }}', operator: Equals, value: 0}]}}}",
			engine.Unknown},
		{"a default does not stand in for the cluster",
			"context: [{name: cm, configMap: {name: none, namespace: x}}, {name: v, variable: {jmesPath: cm.data.x, default: " +
				"y}}]\nvalidate: {deny: {conditions: {all: [{key: '{{ v }}', operator: Equals, value: z}]}}}", engine.Unknown},
		{"a default", "context: [{name: v, variable: {jmesPath: request.object.nothing, default: y}}]\n" +
			"validate: {deny: {conditions: {all: [{key: '{{ v }}', operator: Equals, value: y}]}}}", engine.Fail},
		{"a value with a path", "context: [{name: v, variable: {value: {a: '{{ request.namespace }}'}, jmesPath: " +
			"'to_upper(a)'}}]\nvalidate: {deny: {conditions: {all: [{key: '{{ v }}', operator: Equals, value: TEAM}]}}}",
			engine.Fail},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := mustCompile(t, ruleOf(tt.body)).Bind(nil, cluster)
			results := e.Evaluate(context.Background(), &admission.Request{Operation: admission.Create,
				Object: object(t, badPod)})
			if len(results) != 1 || results[0].Outcome != tt.want {
				t.Errorf("got %+v, want %s", results, tt.want)
			}
		})
	}
}

func TestEvaluateUpdate(t *testing.T) {
	good := strings.Replace(badPod, "hostPID: true", "hostPID: false", 1)
	const rule = "validate: {failureAction: Enforce, pattern: {spec: {hostPID: false}}}"
	const strict = "validate: {failureAction: Enforce, allowExistingViolations: false, pattern: {spec: {hostPID: false}}}"
	tests := []struct {
		name, body, old, object string
		want                    engine.Outcome
		existing, tolerated     bool
	}{
		{"became bad", rule, good, badPod, engine.Fail, false, false},
		{"was bad already", rule, badPod, badPod, engine.Fail, true, true},
		{"was bad already, not allowed", strict, badPod, badPod, engine.Fail, true, false},
		{"was bad already, by the API server's code", "validate: {failureAction: Enforce, cel: {expressions: [{expression: " +
			"'!object.spec.hostPID'}]}}", badPod, badPod, engine.Fail, true, false},
		{"was bad already, enforced by an override", "validate: {failureAction: Audit, failureActionOverrides: [{action: " +
			"Enforce}], pattern: {spec: {hostPID: false}}}", badPod, badPod, engine.Fail, true, false},
		{"became good", rule, badPod, good, engine.Pass, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := mustCompile(t, ruleOf(tt.body)).Bind(nil, nil)
			results := e.Evaluate(context.Background(), &admission.Request{Operation: admission.Update,
				Object: object(t, tt.object), OldObject: object(t, tt.old)})
			if len(results) != 1 {
				t.Fatal(results)
			}
			r := results[0]
			if r.Outcome != tt.want || r.PreExisting != tt.existing || r.Tolerated != tt.tolerated || !r.Enforce {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestEvaluateDelete(t *testing.T) {
	deny := mustCompile(t, ruleOf("validate: {message: 'no {{ request.oldObject.metadata.name }}', deny: {conditions: "+
		"{all: [{key: '{{ request.object.metadata.labels.app }}', operator: Equals, value: web}]}}}")).Bind(nil, nil)
	r := &admission.Request{Operation: admission.Delete, OldObject: object(t, badPod)}
	results := deny.Evaluate(context.Background(), r)
	if len(results) != 1 || results[0].Outcome != engine.Fail || !results[0].Old || results[0].Message != "no web" ||
		!slices.Equal(results[0].Fields, []string{"/metadata/labels/app"}) {
		t.Errorf("got %+v", results)
	}
	pattern := mustCompile(t, ruleOf("validate: {pattern: {spec: {hostPID: false}}}")).Bind(nil, nil)
	if results := pattern.Evaluate(context.Background(), r); len(results) != 0 {
		t.Errorf("a pattern says nothing about a deletion: %+v", results)
	}
}

func TestFailureAction(t *testing.T) {
	const fails = "pattern: {spec: {hostPID: false}}"
	overrides := "Overrides: [{action: enforce, namespaces: ['te*']}, {action: Audit, namespaces: [other]}]"
	tests := []struct {
		name, spec, validate, namespace string
		want                            bool
		warnings                        int
	}{
		{"default", "", "", "team", false, 0},
		{"enforce", "", "failureAction: Enforce", "team", true, 0},
		{"other case", "", "failureAction: enforce", "team", true, 1},
		{"under spec", "validationFailureAction: enforce", "", "team", true, 1},
		{"old name under validate", "", "validationFailureAction: Enforce", "team", true, 1},
		{"the rule wins", "validationFailureAction: Enforce", "failureAction: Audit", "team", false, 1},
		{"override", "", "failureAction" + overrides, "team", true, 0},
		{"override of another namespace", "", "failureAction: Enforce, failureAction" + overrides, "other", false, 0},
		{"no override for it", "", "failureAction: Enforce, failureAction" + overrides, "third", true, 0},
		{"override under spec", "validationFailureAction" + overrides, "", "team", true, 1},
		{"selector that is not known enforces", "",
			"failureActionOverrides: [{action: Enforce, namespaceSelector: {matchLabels: {a: b}}}]", "team", true, 0},
		{"selector that is not known does not audit", "",
			"failureAction: Enforce, failureActionOverrides: [{action: Audit, namespaceSelector: {matchLabels: {a: b}}}]",
			"team", true, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			validate := strings.TrimSuffix(strings.TrimPrefix(tt.validate+", "+fails, ", "), ", ")
			data := strings.Replace(ruleOf("validate: {"+validate+"}"), "spec:\n", "spec:\n  "+tt.spec+"\n", 1)
			p, problems := engine.CompilePolicies([]policy.Source{{Path: "p.yaml", Documents: yamltest.Documents(data)}},
				engine.Options{})
			if policy.HasErrors(problems) || len(problems) != tt.warnings {
				t.Fatalf("got %v", problems)
			}
			o := object(t, strings.Replace(badPod, "namespace: team", "namespace: "+tt.namespace, 1))
			results := p.Bind(nil, nil).Evaluate(context.Background(), &admission.Request{Operation: admission.Create,
				Object: o})
			if len(results) != 1 || results[0].Enforce != tt.want {
				t.Errorf("got %+v", results)
			}
		})
	}
}

func TestNamespacedPolicy(t *testing.T) {
	data := strings.Replace(strings.Replace(ruleOf("validate: {deny: {}}"), "ClusterPolicy", "Policy", 1), "name: p",
		"name: p\n  namespace: team", 1)
	e := mustCompile(t, data).Bind(nil, nil)
	for namespace, want := range map[string]int{"team": 1, "other": 0} {
		o := object(t, strings.Replace(badPod, "namespace: team", "namespace: "+namespace, 1))
		if got := len(e.Evaluate(context.Background(), &admission.Request{Operation: admission.Create,
			Object: o})); got != want {
			t.Errorf("%s: %d results", namespace, got)
		}
	}
}

func TestMutationRunsFirst(t *testing.T) {
	data := ruleOf("validate: {pattern: {spec: {hostPID: false}}}") + "---\n" +
		strings.Replace(ruleOf("mutate: {patchStrategicMerge: {spec: {hostPID: false}}}"), "name: p", "name: m", 1)
	e := mustCompile(t, data).Bind(nil, nil)
	results := e.Evaluate(context.Background(), &admission.Request{Operation: admission.Create, Object: object(t, badPod)})
	var got []string
	for _, r := range results {
		got = append(got, fmt.Sprint(r.Policy.Name, r.Outcome, r.Mutation))
	}
	if want := []string{"ppassfalse", "mpasstrue"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	e := mustCompile(t, ruleOf("validate: {pattern: {spec: {hostPID: true}}}")).Bind(nil, nil)
	results := e.Evaluate(ctx, &admission.Request{Operation: admission.Create, Object: object(t, badPod)})
	if len(results) != 1 || results[0].Outcome != engine.Error {
		t.Errorf("got %+v", results)
	}
}

func TestApplyRulesOneStopsAtTheFirstMatch(t *testing.T) {
	data := strings.Replace(ruleOf("validate: {deny: {}}"), "spec:\n", "spec:\n  applyRules: One\n", 1) +
		"  - name: second\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    validate: {deny: {}}\n"
	e := mustCompile(t, data).Bind(nil, nil)
	if got := e.Evaluate(context.Background(), &admission.Request{Operation: admission.Create,
		Object: object(t, badPod)}); len(got) != 1 {
		t.Errorf("got %d results", len(got))
	}
}

func TestExceptionExpiry(t *testing.T) {
	const x = "apiVersion: kyverno.io/v2\nkind: PolicyException\n" +
		"metadata: {name: x, namespace: ns, labels: {cleanup.kyverno.io/ttl: %q}}\n" +
		"spec: {exceptions: [{policyName: p, ruleNames: [r]}], match: {any: [{resources: {kinds: [Pod]}}]}}\n"
	tests := []struct {
		label   string
		expires time.Time
		ttl     time.Duration
	}{
		{"2026-05-01", time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC), 0},
		{"2026-05-01T100000Z", time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC), 0},
		{"2026-05-01T10:00:00Z", time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC), 0},
		{"36h", time.Time{}, 36 * time.Hour},
		{"2d", time.Time{}, 48 * time.Hour},
		{"1d12h", time.Time{}, 36 * time.Hour},
	}
	for _, tt := range tests {
		got := mustExceptions(t, fmt.Sprintf(x, tt.label))
		if len(got) != 1 || !got[0].Expires.Equal(tt.expires) || got[0].TTL != tt.ttl {
			t.Errorf("%s: got %+v", tt.label, got[0])
		}
	}
	_, problems := engine.CompileExceptions(
		[]policy.Source{{Path: "e.yaml", Documents: yamltest.Documents(fmt.Sprintf(x, "soon"))}},
		engine.Options{})
	if len(problems) != 1 || problems[0].Line != 3 {
		t.Errorf("got %v", problems)
	}
}
