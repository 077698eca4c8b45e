package engine_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/internal/yamltest"
	"github.com/lintel-bot/lintel/engine/policy"
)

func problemsOf(data string) []string {
	sources := []policy.Source{{Path: "p.yaml", Documents: yamltest.Documents(data)}}
	_, problems := engine.CompilePolicies(sources, engine.Options{Now: conformanceNow})
	_, more := engine.CompileExceptions(sources, engine.Options{Now: conformanceNow})
	var out []string
	for _, p := range append(problems, more...) {
		out = append(out, strings.TrimPrefix(p.String(), "p.yaml:"))
	}
	return slices.Compact(out) // both tell of a file that cannot be read
}

// The rule of these tests starts at line 6.
func TestCheckRules(t *testing.T) {
	const match = "  match: {any: [{resources: {kinds: [Pod]}}]}\n"
	const body = "  validate: {deny: {}}"
	tests := []struct{ name, spec, want string }{
		{"failure policy", "failurePolicy: ignore\nrules:\n- name: r\n" + match + body,
			`5:18: unknown value "ignore" of spec.failurePolicy: did you mean "Ignore"?`},
		{"timeout", "webhookConfiguration: {timeoutSeconds: 60}\nrules:\n- name: r\n" + match + body,
			"5:26: the timeout is 60 seconds and must be from 1 to 30"},
		{"off", "admission: false\nbackground: false\nrules:\n- name: r\n" + match + body,
			"5:3: the policy is never evaluated: set spec.admission or spec.background to true"},
		{"conflicting overrides", "rules:\n- name: r\n" + match +
			"  validate: {deny: {}, failureActionOverrides: [{action: Enforce, namespaces: [a, b]}, {action: Audit, " +
			"namespaces: [b]}]}", `8:119: an earlier override gives namespace "b" another action: keep one`},
		{"override of nothing", "rules:\n- name: r\n" + match +
			"  validate: {deny: {}, failureActionOverrides: [{action: Enforce}]}",
			"8:51: warning: the override names no namespaces and applies to all: change the action itself, or add namespaces or namespaceSelector"},
		{"failure action", "rules:\n- name: r\n" + match + "  validate: {deny: {}, failureAction: Block}",
			`8:41: unknown value "Block" of spec.rules[0].validate.failureAction: use Enforce or Audit`},
		{"operation", "rules:\n- name: r\n  match: {any: [{resources: {kinds: [Pod], operations: [CREATE, Update]}}]}\n" + body,
			`7:67: unknown value "Update" of spec.rules[0].match.any[0].resources.operations[1]: did you mean "UPDATE"?`},
		{"apply rules", "applyRules: First\nrules:\n- name: r\n" + match + body,
			`5:15: unknown value "First" of spec.applyRules: use All or One`},
		{"order", "rules:\n- name: r\n" + match + "  mutate: {foreach: [{list: request.object.a, order: Up, patchStrategicMerge: {a: b}}]}",
			`8:56: unknown value "Up" of spec.rules[0].mutate.foreach[0].order: use Ascending or Descending`},
		{"method", "rules:\n- name: r\n" + match + "  context: [{name: a, apiCall: {urlPath: /api, method: PUT}}]\n" + body,
			`8:58: unknown value "PUT" of spec.rules[0].context[0].apiCall.method: use GET or POST`},
		{"service without URL", "rules:\n- name: r\n" + match + "  context: [{name: a, apiCall: {service: {caBundle: a}}}]\n" + body,
			`8:44: spec.rules[0].context[0].apiCall.service has no url: add it`},
		{"empty name", "rules:\n- name: r\n" + match + "  context: [{name: a, globalReference: {name: ''}}]\n" + body,
			`8:42: spec.rules[0].context[0].globalReference has no name: add it`},
		{"users in the background", "rules:\n- name: r\n  match: {any: [{clusterRoles: [admin]}]}\n" + body,
			"7:20: clusterRoles are not available in a background scan, which this policy allows: set " +
				"spec.background to false"},
		{"variables about users in the background", "rules:\n- name: r\n" + match +
			"  validate: {message: 'Hello, {{ request.userInfo.username }}', deny: {}}",
			"8:33: request.userInfo is not available in a background scan, which this policy allows: set " +
				"spec.background to false"},
		{"name and names", "rules:\n- name: r\n  match: {any: [{resources: {kinds: [Pod], name: a, names: [b]}}]}\n" + body,
			"7:46: name and names are both set: keep names"},
		{"all kinds in the background", "rules:\n- name: r\n  match: {any: [{resources: {kinds: ['*']}}]}\n" + body,
			"7:40: the kind * is not allowed in a background scan, which this policy allows: set spec.background to false"},
		{"all kinds and more", "background: false\nrules:\n- name: r\n  match: {any: [{resources: {kinds: ['*', Pod]}}]}\n" +
			body, "8:32: the kind * stands for all kinds: remove the others"},
		{"subresource in the background", "rules:\n- name: r\n  match: {any: [{resources: {kinds: [Pod/exec]}}]}\n" + body,
			"7:40: the subresource Pod/exec is not available in a background scan, which this policy allows: set " +
				"spec.background " +
				"to false"},
		{"a resource for a kind", "rules:\n- name: r\n  match: {any: [{resources: {kinds: [pods]}}]}\n" + body,
			`7:40: "pods" is not a kind: write the kind in upper camel case and the singular, as in a manifest: did ` +
				`you mean "Pod"?`},
		{"letters of a kind", "rules:\n- name: r\n  match: {any: [{resources: {kinds: [Deploymnet]}}]}\n" + body,
			`7:40: warning: Kubernetes has no kind "Deploymnet": did you mean "Deployment"?`},
		{"a version that never was", "rules:\n- name: r\n  match: {any: [{resources: {kinds: [apps/v9/Deployment]}}]}\n" + body,
			"7:40: warning: apps has no version v9: this matches nothing"},
		{"selector operator", "rules:\n- name: r\n  match: {any: [{resources: {kinds: [Pod], selector: {matchExpressions: " +
			"[{key: a, operator: Equals, values: [b]}]}}}]}\n" + body,
			`7:85: unknown operator "Equals": use In, NotIn, Exists or DoesNotExist`},
		{"selector key", "rules:\n- name: r\n  match: {any: [{resources: {kinds: [Pod], selector: {matchLabels: {'a b': " +
			"c}}}}]}\n" + body, `7:71: "a b" is not a valid label key: write a name, or domain/name`},
		{"service account without a namespace",
			"background: false\nrules:\n- name: r\n  match: {any: [{resources: {kinds: [Pod]}}]}\n" +
				"  exclude: {any: [{subjects: [{kind: ServiceAccount, name: a}]}]}\n" + body,
			"9:33: warning: the ServiceAccount has no namespace, so it matches no account: add the namespace"},
		{"service account without a namespace in match",
			"background: false\nrules:\n- name: r\n  match: {any: [{subjects: [{kind: ServiceAccount, name: a}]}]}\n" + body,
			"8:31: the ServiceAccount has no namespace, so it matches no account: add the namespace"},
		{"operation", "rules:\n- name: r\n" + match +
			"  preconditions: {all: [{key: '{{ request.operation }}', operator: AnyIn, value: [CREATE, Update]}]}\n" + body,
			`8:93: unknown operation "Update": use CREATE, UPDATE, DELETE, CONNECT`},
		{"duration", "rules:\n- name: r\n" + match +
			"  preconditions: {all: [{key: '{{ request.object.a }}', operator: DurationGreaterThan, value: soon}]}\n" + body,
			`8:90: "soon" is not a duration: write for example 1h30m`},
		{"label of a pattern", "rules:\n- name: r\n" + match + "  validate: {pattern: {metadata: {labels: {a: true}}}}",
			"8:46: labels are text: put true in quotes"},
		{"null as a label of a pattern", "rules:\n- name: r\n" + match +
			"  validate: {pattern: {metadata: {labels: {a: null}}}}", "8:46: labels are text, and Kyverno rejects " +
			"anything else here: write text, or leave a out"},
		{"annotation of a pattern of a foreach", "rules:\n- name: r\n" + match +
			"  validate: {foreach: [{list: request.object.a, pattern: {metadata: {annotations: {a: 1}}}}]}",
			"8:86: annotations are text: put 1 in quotes"},
		{"reserved name", "rules:\n- name: r\n" + match + "  context: [{name: request, variable: {value: x}}]\n" + body,
			`8:16: the context entry cannot be called "request", which is predefined: rename it`},
		{"JMESPath", "rules:\n- name: r\n" + match + "  context: [{name: x, variable: {jmesPath: 'a ||'}}]\n" + body,
			"8:36: not a JMESPath expression: "},
		{"CEL", "rules:\n- name: r\n" + match + "  validate: {cel: {expressions: [{expression: 'object.spec.'}]}}", "8:"},
		{"a level", "rules:\n- name: r\n" + match + "  validate: {podSecurity: {level: strict}}", "8:30: "},
		{"a version", "rules:\n- name: r\n" + match + "  validate: {podSecurity: {level: baseline, version: newest}}",
			"8:47: "},
		{"Pod beside another kind", "rules:\n- name: r\n  match: {any: [{resources: {kinds: [Pod, Service]}}]}\n" + body,
			"7:32: warning: the kinds are Pod and Service: Kyverno then generates no rules for pod controllers."},
		{"a control", "rules:\n- name: r\n" + match +
			"  validate: {podSecurity: {level: baseline, exclude: [{controlName: Capability}]}}", "8:58: "},
		{"two bodies", "rules:\n- name: r\n" + match + "  validate: {deny: {}}\n  mutate: {patchStrategicMerge: {a: b}}",
			"8:5: the rule has several bodies"},
		{"a name twice", "rules:\n- name: r\n" + match + body + "\n- name: r\n" + match + body,
			`9:5: the rule name "r" is used twice`},
		{"existing objects without targets", "rules:\n- name: r\n" + match +
			"  mutate: {mutateExistingOnPolicyUpdate: true, patchStrategicMerge: {a: b}}",
			"8:14: rule r has no mutate.targets, so there are no existing objects to change: add them"},
		{"an undefined variable with a default", "rules:\n- name: r\n" + match +
			"  validate: {message: \"{{ nobody || '' }}\", deny: {}}",
			`8:26: warning: the variable "nobody" is not defined here: add it to the context, before its first use`},
		{"a variable of the outer loop", "rules:\n- name: r\n" + match +
			"  validate: {foreach: [{list: request.object.a, foreach: [{list: element.b, deny: {conditions: {all: [{key: '{{ " +
			"element0.x }}{{ elementIndex1 }}{{ element2 }}', operator: Equals, value: x}]}}}]}]}",
			`8:147: the variable "element2" is not defined here: did you mean "element"?`},
		{"a part for the kind *", "background: false\nrules:\n- name: r\n  match: {any: [{resources: {kinds: ['*']}}]}\n" +
			"  validate: {pattern: {metadata: {name: a}, spec: {a: b}}}", "9:47: a rule for the kind * can be about metadata only"},
		{"a part for the kind * in any pattern", "background: false\nrules:\n- name: r\n  match: {any: [{resources: {kinds: ['*']}}]}\n" +
			"  validate: {anyPattern: [{metadata: {name: a}}, {data: {a: b}}]}", "9:53: a rule for the kind * can be about metadata only"},
		{"elements for the kind *", "background: false\nrules:\n- name: r\n  match: {any: [{resources: {kinds: ['*']}}]}\n" +
			"  validate: {foreach: [{list: request.object.a, deny: {}}]}", "9:16: a rule for the kind * has no foreach"},
		{"a mutation for the kind *", "background: false\nrules:\n- name: r\n  match: {any: [{resources: {kinds: ['*']}}]}\n" +
			"  mutate: {patchStrategicMerge: {spec: {a: b}}}", "9:36: a rule for the kind * can be about metadata only"},
		{"a JSON patch for the kind *", "background: false\nrules:\n- name: r\n  match: {any: [{resources: {kinds: ['*']}}]}\n" +
			`  mutate: {patchesJson6902: '[{"op": "remove", "path": "/spec"}]'}`, "9:14: a rule for the kind * can be about metadata only"},
		{"context of an expression", "rules:\n- name: r\n" + match + "  context: [{name: x, variable: {value: a}}]\n" +
			"  validate: {cel: {expressions: [{expression: 'true'}]}}", "8:5: expressions in CEL cannot use the context of a rule"},
		{"preconditions in CEL", "rules:\n- name: r\n" + match + "  celPreconditions: [{name: a, expression: 'true'}]\n" + body,
			"8:5: celPreconditions are for validate.cel only"},
		{"parameters without a default", "rules:\n- name: r\n" + match + "  validate: {cel: {paramKind: {apiVersion: v1, kind: ConfigMap}, " +
			"paramRef: {name: a}, expressions: [{expression: 'true'}]}}", "8:68: paramRef has no parameterNotFoundAction"},
		{"parameters without a name", "rules:\n- name: r\n" + match + "  validate: {cel: {paramKind: {apiVersion: v1, kind: ConfigMap}, " +
			"paramRef: {parameterNotFoundAction: Deny}, expressions: [{expression: 'true'}]}}", "8:68: paramRef has either name or selector"},
		{"no parameters", "rules:\n- name: r\n" + match + "  validate: {cel: {paramKind: {apiVersion: v1, kind: ConfigMap}, " +
			"expressions: [{expression: 'true'}]}}", "8:22: paramKind needs paramRef"},
		{"images of a validate rule", "rules:\n- name: r\n" + match + "  imageExtractors: {Task: [{path: /spec/image}]}\n" + body,
			"8:5: imageExtractors are for verifyImages rules only"},
		{"a mutation without admission", "admission: false\nrules:\n- name: r\n" + match + "  mutate: {patchStrategicMerge: {a: b}}",
			"5:3: only validate rules can do without admission"},
		{"a block twice", "rules:\n- name: r\n  match: {any: [{resources: {kinds: [Pod]}}, {resources: {kinds: [Service]}}]}\n" +
			"  exclude: {any: [{resources: {kinds: [Service]}}]}\n  validate: {deny: {}}", "8:21: the same block is in match"},
		{"a variable in a path", "rules:\n- name: r\n" + match +
			"  mutate:\n    patchesJson6902: |\n      - {op: add, path: '/metadata/labels/{{ request.namespace }}', value: x}",
			"10: variables are not resolved in the path of a JSON patch"},
		{"two patches", "rules:\n- name: r\n" + match + "  mutate: {foreach: [{list: request.object.a, preconditions: {all: []}, " +
			"foreach: [{list: element.b, patchStrategicMerge: {a: b}}]}]}", "8:24: beside a nested foreach"},
		{"a control of another level", "rules:\n- name: r\n" + match +
			"  validate: {podSecurity: {level: baseline, exclude: [{controlName: Volume Types}]}}", "8:58: "},
		{"a control of containers without images", "rules:\n- name: r\n" + match +
			"  validate: {podSecurity: {level: baseline, exclude: [{controlName: Host Ports}]}}", "8:57: "},
		{"a control of the pod with images", "rules:\n- name: r\n" + match +
			"  validate: {podSecurity: {level: baseline, exclude: [{controlName: Sysctls, images: [a]}]}}", "8:80: "},
		{"a variable inside another", "rules:\n- name: r\n" + match +
			"  validate: {message: '{{ labels.{{ request.object.kind }} }}', deny: {}}",
			`8:26: the variable "labels" is not defined here: add it to the context, before its first use`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := problemsOf(clusterPolicy("p", tt.spec))
			got = slices.DeleteFunc(got, func(s string) bool { return strings.Contains(s, "is deprecated") })
			if len(got) != 1 || !strings.HasPrefix(got[0], tt.want) {
				t.Errorf("got %q, want %s", got, tt.want)
			}
		})
	}
}

func TestCheckOtherKinds(t *testing.T) {
	const exception = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: e, namespace: x}\nspec:\n" +
		"  exceptions: [{policyName: p, ruleNames: [r]}]\n"
	namespaced := func(filter string) string {
		return "apiVersion: kyverno.io/v1\nkind: Policy\nmetadata: {name: p, namespace: x}\nspec:\n  rules:\n" +
			"  - name: r\n    match: {any: [{resources: {" + filter + "}}]}\n    validate: {deny: {}}\n"
	}
	tests := []struct{ name, data, want string }{
		{"name", strings.Replace(namespaced("kinds: [Pod]"), "name: p,", "name: My_Policy,", 1),
			`3:12: "My_Policy" is not a valid name of an object: use lower case letters, digits, - and . only, up to 253`},
		{"label", strings.Replace(namespaced("kinds: [Pod]"), "name: p,", "name: p, labels: {a: 'b c'},", 1),
			`3:30: "b c" is not a valid label value: use up to 63 letters, digits, -, _ and .`},
		{"controllers", strings.Replace(namespaced("kinds: [Pod]"), "name: p,",
			"name: p, annotations: {pod-policies.kyverno.io/autogen-controllers: 'Deployments,CronJob'},", 1),
			`3:35: warning: no rules are generated for "Deployments": did you mean "Deployment"?`},
		{"controllers with a space", strings.Replace(namespaced("kinds: [Pod]"), "name: p,",
			"name: p, annotations: {pod-policies.kyverno.io/autogen-controllers: 'Deployment, CronJob'},", 1),
			`3:35: warning: no rules are generated for " CronJob": Kyverno reads the name with the space, remove it`},
		{"all controllers", strings.Replace(namespaced("kinds: [Pod]"), "name: p,",
			"name: p, annotations: {pod-policies.kyverno.io/autogen-controllers: all},", 1),
			`3:35: warning: Kyverno refuses "all" here: remove the annotation, which means the same`},
		{"a selector of nothing", namespaced("kinds: [Pod], selector: {}"), "7:46: the selector has no labels: add some, or remove it"},
		{"a wildcard in an expression", namespaced("kinds: [Pod], selector: {matchExpressions: [{key: app, operator: In, values: ['w*']}]}"),
			`7:110: "w*" is not a valid label value: up to 63 letters, digits, -, _ and .`},
		{"namespaces in a Policy", namespaced("kinds: [Pod], namespaces: [ns]"),
			"7:46: a Policy applies to its own namespace only: remove namespaces, or make it a ClusterPolicy"},
		{"cluster scope in a Policy", namespaced("kinds: [Namespace]"),
			"7:40: Namespace objects have no namespace, and a Policy applies to its own only: make it a ClusterPolicy"},
		{"exception with users", exception + "  match: {any: [{resources: {kinds: [Pod]}, subjects: [{kind: User, name: " +
			"a}]}]}\n", "6:45: subjects are not available in a background scan"},
		{"exception with a variable", exception + "  match: {any: [{resources: {kinds: [Pod]}}]}\n" +
			"  conditions: {all: [{key: '{{ element.x }}', operator: Equals, value: a}]}\n",
			`7:29: the variable "element" is not defined here: it exists inside of foreach only`},
		{"old version of an exception", strings.Replace(exception, "/v2\n", "/v2alpha1\n", 1) +
			"  match: {any: [{resources: {kinds: [Pod]}}]}\n",
			"1:1: warning: kyverno.io/v2alpha1 is deprecated: use kyverno.io/v2"},
		{"a resource in upper case", strings.Replace(vpol("v", "validations: [{expression: 'true'}]"), `["pods"]`, "[Pod]",
			1), `11:21: "Pod" is not a resource: write the plural in lower case: did you mean "pods"?`},
		{"no operations", strings.Replace(vpol("v", "validations: [{expression: 'true'}]"),
			`      operations:  ["CREATE", "UPDATE"]`+"\n", "", 1),
			`8:7: the rule has no operations and matches nothing: add them, "*" for all`},
		{"a group with its version", strings.Replace(vpol("v", "validations: [{expression: 'true'}]"), `[""]`, "[apps/v1]",
			1), `8:21: "apps/v1" is not an API group: write the version under apiVersions`},
		{"scope", strings.Replace(vpol("v", "validations: [{expression: 'true'}]"), `      resources: `,
			"      scope: namespaced\n      resources: ", 1), `11:14: unknown value "namespaced" of spec.matchConstraints.resourceRules[0].scope: did you mean "Namespaced"?`},
		{"reason", vpol("v", "validations: [{expression: 'true', reason: Bad}]"),
			`12:46: unknown value "Bad" of spec.validations[0].reason: use Unauthorized, Forbidden, Invalid or RequestEntityTooLarge`},
		{"action", vpol("v", "validationActions: [Audit, Block]\nvalidations: [{expression: 'true'}]"),
			`12:30: unknown value "Block" of spec.validationActions[1]: use Deny, Audit or Warn`},
		{"audit annotation", vpol("v", "auditAnnotations: [{valueExpression: 'a'}]\nvalidations: [{expression: 'true'}]"),
			`12:22: spec.auditAnnotations[0] has no key: add it`},
		{"variable name", vpol("v", "variables: [{name: a-b, expression: '1'}]\nvalidations: [{expression: 'true'}]"),
			`12:16: "a-b" is not a valid name of a variable: use letters, digits and _`},
		{"match condition twice", vpol("v", "matchConditions: [{name: a, expression: 'true'}, {name: a, expression: "+
			"'true'}]\nvalidations: [{expression: 'true'}]"), `12:53: the match condition "a" is written twice: rename one`},
		{"match condition without a name", vpol("v", "matchConditions: [{expression: 'true'}]\nvalidations: [{expression: 'true'}]"),
			`12:21: the match condition has no name: add one`},
		{"kind of policy", strings.Replace(strings.TrimPrefix(celException("e", "v", "images: [a]"), "\n---\n"),
			"kind: ValidatingPolicy", "kind: ClusterPolicy", 1),
			`8:7: unknown kind of policy "ClusterPolicy": exceptions to it are PolicyExceptions of kyverno.io/v2`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := problemsOf(tt.data); len(got) != 1 || !strings.HasPrefix(got[0], tt.want) {
				t.Errorf("got %q, want %s", got, tt.want)
			}
		})
	}
}

// All that is wrong is told in one go, in the order of the lines.
func TestCheckReportsAllProblems(t *testing.T) {
	got := problemsOf(`apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: P}
spec:
  backgroud: true
  failurePolicy: fail
  rules:
  - name: a
    match: {any: [{resources: {kinds: [pod], operations: [create]}}]}
    preconditions: {all: [{key: '{{ elment }}', operator: Equalz, value: 1}]}
    validate: {mesage: x, failureAction: 1, deny: {}}
  - name: a
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: '{{ a b }}', pattern: {spec: {}}, deny: {}}
`)
	var lines []string
	for _, p := range got {
		if !strings.Contains(p, "deprecated") {
			line, _, _ := strings.Cut(p, ":")
			lines = append(lines, line)
		}
	}
	want := []string{"3", "5", "6", "9", "9", "10", "10", "11", "11", "12", "14"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("%s\n%s", diff, strings.Join(got, "\n"))
	}
}

// What the policy library of Kyverno holds loads without an error.
func TestLibraryLoads(t *testing.T) {
	dir := conformanceDir(t)
	loaded := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)) {
			return err
		}
		// Tests hold the status that a cluster should show, and files of other kinds.
		if strings.Contains(path, ".chainsaw-test") || d.Name() == "kyverno-test.yaml" {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(data, []byte("kyverno.io")) &&
			!bytes.Contains(data, []byte("admissionregistration")) {
			return err
		}
		source := []policy.Source{{Path: path, Documents: yamltest.Documents(data)}}
		p, problems := engine.CompilePolicies(source, engine.Options{Now: conformanceNow})
		_, more := engine.CompileExceptions(source, engine.Options{Now: conformanceNow})
		loaded += len(p.List())
		for _, q := range append(problems, more...) {
			if !q.Warning {
				t.Error(q)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if loaded < 500 {
		t.Errorf("only %d policies loaded", loaded)
	}
}
