package engine_test

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/internal/yamltest"
	"github.com/lintel-bot/lintel/engine/policy"
)

const (
	onPods   = "match: {any: [{resources: {kinds: [Pod]%s}}]}\n"
	hostPID  = "validate: {failureAction: Enforce, pattern: {spec: {hostPID: false}}}"
	celMatch = "matchConstraints: {%sresourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], " +
		"operations: [CREATE]}]}\n  "
	unplacedPod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, labels: {a: b}}\nspec: {hostPID: true, containers: []}"
)

// Of an object whose namespace nobody knows, what depends on it is not known: it is no pass, and skipped by nothing.
func TestUnplaced(t *testing.T) {
	rule := func(filter, rest string) string {
		return "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\n" +
			"metadata: {name: p, annotations: {pod-policies.kyverno.io/autogen-controllers: none}}\nspec:\n" +
			"  rules:\n  - name: r\n" +
			indent(strings.Replace(onPods, "%s", filter, 1)+rest)
	}
	inPolicy := strings.Replace(rule("", hostPID), "kind: ClusterPolicy\nmetadata: {",
		"kind: Policy\nmetadata: {namespace: team, ", 1)
	valid := func(kind, match, validation string) string {
		return "apiVersion: policies.kyverno.io/v1\nkind: " + kind + "\nmetadata: {name: p, namespace: team}\nspec:\n  " +
			strings.Replace(celMatch, "%s", match, 1) + "validations: [{expression: \"" + validation + "\"}]\n"
	}
	const holds, violated = "object.spec.hostPID == true", "object.spec.hostPID == false"
	for name, c := range map[string]struct {
		policy string
		want   engine.Outcome // empty: no result
	}{
		"no filter":              {rule("", hostPID), engine.Fail},
		"namespaces":             {rule(", namespaces: [prod]", hostPID), engine.Unknown},
		"all namespaces":         {rule(", namespaces: ['*']", hostPID), engine.Fail},
		"namespaces, other name": {rule(", names: [x], namespaces: [prod]", hostPID), ""},
		"selector":               {rule(", namespaceSelector: {matchLabels: {a: b}}", hostPID), engine.Unknown},
		"selector by absence": {rule(
			", namespaceSelector: {matchExpressions: [{key: a, operator: DoesNotExist}]}", hostPID), engine.Unknown},
		"selector by name": {rule(
			", namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: a}}", hostPID), engine.Unknown},
		"selector of everything": {rule(", namespaceSelector: {}", hostPID), engine.Fail},
		"exclude": {rule(
			"", "exclude: {any: [{resources: {namespaces: [kube-system]}}]}\n"+hostPID), engine.Unknown},
		"exclude by selector": {rule(
			"", "exclude: {any: [{resources: {namespaceSelector: {matchLabels: {a: b}}}}]}\n"+hostPID), engine.Unknown},
		"excluded by another": {rule(
			"", "exclude: {any: [{resources: {namespaces: [x]}}, {resources: {names: [web]}}]}\n"+hostPID), ""},
		"exclude all, one does not": {rule(
			"", "exclude: {all: [{resources: {namespaces: [x]}}, {resources: {names: [y]}}]}\n"+hostPID), engine.Fail},
		"matched and holds either way": {rule(
			", namespaces: [prod]", "validate: {failureAction: Enforce, pattern: {spec: {hostPID: true}}}"), engine.Pass},
		"policy of a namespace": {inPolicy, engine.Unknown},
		"pattern of the namespace": {rule(
			"", "validate: {failureAction: Enforce, pattern: {metadata: {namespace: '!default'}}}"), engine.Unknown},
		"anchored pattern of it": {rule(
			"", "validate: {failureAction: Enforce, pattern: {=(metadata): {X(namespace): 'null'}}}"), engine.Unknown},
		"precondition": {rule(
			"", "preconditions: {all: [{key: '{{ request.namespace }}', operator: Equals, value: prod}]}\n"+
				hostPID), engine.Unknown},
		"precondition by the object": {rule(
			"", "preconditions: {all: [{key: \"{{ request.object.metadata.namespace || 'default' }}\", "+
				"operator: NotEquals, value: prod}]}\n"+
				hostPID), engine.Unknown},
		"deny": {rule(
			"", "validate: {failureAction: Enforce, deny: {conditions: {all: [{key: prod, "+
				"operator: Equals, value: '{{ request.namespace }}'}]}}}"), engine.Unknown},
		"only a message": {rule(
			"", "validate: {failureAction: Enforce, message: 'in {{ request.namespace }}', "+
				"pattern: {spec: {hostPID: false}}}"), engine.Fail},
		"another namespace": {rule(
			"", "validate: {failureAction: Enforce, pattern: {spec: {namespace: x}}}"), engine.Fail},
		"mutation": {rule(
			", namespaces: [prod]", "mutate: {patchStrategicMerge: {metadata: {labels: {c: d}}}}"), engine.Unknown},
		"validate.cel": {rule(
			"", "validate: {failureAction: Enforce, cel: {expressions: [{"+
				"expression: \"namespaceObject.metadata.name != 'x'\"}]}}"),
			engine.Unknown},
		"CEL, no filter": {valid("ValidatingPolicy", "", violated), engine.Fail},
		"CEL, holds":     {valid("ValidatingPolicy", "", holds), engine.Pass},
		"CEL, selector": {valid(
			"ValidatingPolicy", "namespaceSelector: {matchLabels: {a: b}}, ", violated), engine.Unknown},
		"CEL, selector by name": {valid(
			"ValidatingPolicy", "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: b}}, ", violated), engine.Unknown},
		"CEL, selector, holds either way": {valid(
			"ValidatingPolicy", "namespaceSelector: {matchLabels: {a: b}}, ", holds), engine.Pass},
		"CEL, namespaceObject": {valid(
			"ValidatingPolicy", "", "namespaceObject.metadata.labels['a'] == 'b'"), engine.Unknown},
		"CEL, some namespace": {valid("ValidatingPolicy", "", "namespaceObject != null"), engine.Pass},
		"CEL, request":        {valid("ValidatingPolicy", "", "request.namespace != 'prod'"), engine.Unknown},
		"CEL, object":         {valid("ValidatingPolicy", "", "object.metadata.namespace == 'prod'"), engine.Unknown},
		"CEL, object, has": {valid(
			"ValidatingPolicy", "", "!has(object.metadata.namespace) || object.metadata.namespace != 'prod'"), engine.Unknown},
		"CEL, other metadata":   {valid("ValidatingPolicy", "", "object.metadata.labels['a'] == 'b'"), engine.Pass},
		"CEL, other side of or": {valid("ValidatingPolicy", "", "request.namespace == 'prod' || "+holds), engine.Pass},
		"CEL, of a namespace":   {valid("NamespacedValidatingPolicy", "", violated), engine.Unknown},
		"CEL, of another policy": {valid(
			"NamespacedValidatingPolicy", "objectSelector: {matchLabels: {a: x}}, ", violated), ""},
	} {
		t.Run(name, func(t *testing.T) {
			results := mustCompile(t, c.policy).Bind(nil, nil).Evaluate(t.Context(),
				&admission.Request{Operation: admission.Create, Object: object(t, unplacedPod)})
			var got engine.Outcome
			for _, r := range results {
				got = r.Outcome
				if got == engine.Unknown && !strings.Contains(r.Message, "needs the cluster: the namespace of Pod web") {
					t.Errorf("%s", r.Message)
				}
			}
			if len(results) > 1 || got != c.want {
				t.Errorf("got %+v, want %q", results, c.want)
			}
		})
	}
}

// What is in no namespace has none that would have to be known.
func TestUnplacedByKind(t *testing.T) {
	policy := strings.NewReplacer("kinds: ['*']", "kinds: ['*'], namespaces: [prod]",
		"spec:\n", "spec:\n  background: false\n").Replace(ruleOn("'*'", "validate: {failureAction: Enforce, deny: {}}"))
	for kind, want := range map[string]int{
		"{apiVersion: v1, kind: Namespace, metadata: {name: dev}}":                                                      0,
		"{apiVersion: v1, kind: Namespace, metadata: {name: prod}}":                                                     1,
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}}":                            0,
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}":                                                        1,
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: dev}}":                                        0,
		"{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}":                                                1,
		"{apiVersion: v1, kind: ConfigMap, metadata: {generateName: a-}}":                                               1,
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: prod}, roleRef: {a: b}}": 0,
	} {
		results := mustCompile(t, policy).Bind(nil, nil).Evaluate(t.Context(),
			&admission.Request{Operation: admission.Create, Object: object(t, kind)})
		if len(results) != want {
			t.Errorf("%s: got %+v", kind, results)
		}
	}
}

// An exception for a namespace does not cover such an object: else whoever names no namespace has those of all of them.
func TestUnplacedException(t *testing.T) {
	p := mustCompile(t, ruleOf(hostPID))
	for spec, want := range map[string]engine.Outcome{
		"match: {any: [{resources: {kinds: [Pod], namespaces: [dev]}}]}": engine.Fail,
		"match: {any: [{resources: {kinds: [Pod], namespaceSelector: {matchExpressions: [{key: a, " +
			"operator: DoesNotExist}]}}}]}": engine.Fail,
		"match: {any: [{resources: {kinds: [Pod], names: [other]}}]}": engine.Fail,
		"match: {any: [{resources: {kinds: [Pod]}}]}":                 engine.Skip,
		"match: {any: [{resources: {kinds: [Pod]}}]}\n  conditions: {all: [{key: '{{ request.namespace }}', " +
			"operator: Equals, value: ''}]}": engine.Fail,
	} {
		list, problems := engine.CompileExceptions([]policy.Source{{Path: "e.yaml", Documents: yamltest.Documents(
			"apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: x, namespace: ns}\nspec:\n" +
				"  exceptions: [{policyName: p, ruleNames: [r]}]\n  " + spec + "\n")}}, engine.Options{})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		results := p.Bind(list, nil).Evaluate(t.Context(),
			&admission.Request{Operation: admission.Create, Object: object(t, unplacedPod)})
		if len(results) != 1 || results[0].Outcome != want {
			t.Errorf("%s: got %+v", spec, results)
		}
	}
}

// An override of the failure action that may be about the object counts if it enforces.
func TestUnplacedFailureAction(t *testing.T) {
	for action, want := range map[string]bool{
		"failureAction: Audit, failureActionOverrides: [{action: Enforce, namespaces: [prod]}]": true,
		"failureAction: Enforce, failureActionOverrides: [{action: Audit, namespaces: [dev]}]":  true,
		"failureAction: Enforce, failureActionOverrides: [{action: Audit, namespaces: ['*']}]":  false,
		"failureAction: Audit, failureActionOverrides: [{action: Enforce, " +
			"namespaceSelector: {matchLabels: {a: b}}}]": true,
		"failureAction: Audit": false,
	} {
		results := mustCompile(t, ruleOf("validate: {"+action+", deny: {}}")).Bind(nil, nil).Evaluate(t.Context(),
			&admission.Request{Operation: admission.Create, Object: object(t, unplacedPod)})
		if len(results) != 1 || results[0].Enforce != want {
			t.Errorf("%s: got %+v", action, results)
		}
	}
}
