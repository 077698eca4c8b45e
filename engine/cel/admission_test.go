package cel

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/policy"
)

// declared is a cluster that has what a test declares.
type declared []admission.Object

func (d declared) Get(_ context.Context, group, kind, namespace, name string) (admission.Object, bool) {
	for _, o := range d {
		if id := admission.IdentityOf(o); id.Group == group && id.Kind == kind && id.Namespace == namespace &&
			id.Name == name {
			return o, true
		}
	}
	return nil, false
}

func (d declared) List(_ context.Context, group, kind, namespace string) []admission.Object {
	var out []admission.Object
	for _, o := range d {
		if id := admission.IdentityOf(o); id.Group == group && id.Kind == kind &&
			(namespace == "" || id.Namespace == namespace) {
			out = append(out, o)
		}
	}
	return out
}

func outcomes(in []Result) (out []string) {
	for _, r := range in {
		s := r.Rule + " " + string(r.Outcome)
		if r.Enforce {
			s += " enforced"
		}
		out = append(out, s)
	}
	return out
}

func TestAdmissionPolicy(t *testing.T) {
	const deployments = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\n" +
		"metadata: {name: v}\nspec:\n  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], " +
		"operations: ['*'], resources: [deployments]}]}\n"
	const limited = deployments + "  paramKind: {apiVersion: v1, kind: ConfigMap}\n" +
		"  validations: [{expression: 'object.spec.replicas <= int(params.data.max)'}]\n"
	const plainPolicy = deployments + "  validations: [{expression: 'object.spec.replicas <= 2'}]\n"
	deploy := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: prod, labels: {app: web}}\n" +
		"spec: {replicas: 3}"
	for name, tt := range map[string]struct {
		policy   string
		bindings []string
		cluster  declared
		want     []string
	}{
		"no binding":    {plainPolicy, nil, nil, []string{"v fail"}},
		"other binding": {plainPolicy, []string{"{policyName: w, validationActions: [Deny]}"}, nil, []string{"v fail"}},
		"deny": {plainPolicy, []string{"{policyName: v, validationActions: [Deny]}"}, nil,
			[]string{"v fail enforced"}},
		"two bindings": {plainPolicy, []string{"{policyName: v, validationActions: [Warn, Audit]}",
			"{policyName: v, validationActions: [Deny]}"}, nil, []string{"v fail", "v fail enforced"}},
		"selector": {plainPolicy, []string{"{policyName: v, validationActions: [Deny], matchResources: " +
			"{objectSelector: {matchLabels: {app: db}}}}"}, nil, nil},
		"namespace": {plainPolicy, []string{"{policyName: v, validationActions: [Deny], matchResources: " +
			"{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: prod}}}}"}, nil, []string{"v fail enforced"}},
		"unknown labels": {plainPolicy, []string{"{policyName: v, validationActions: [Deny], matchResources: " +
			"{namespaceSelector: {matchLabels: {env: x}}}}"}, nil, []string{"v unknown enforced"}},
		"parameters": {limited, []string{"{policyName: v, validationActions: [Deny], paramRef: {name: limits}}"},
			declared{object(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: limits, namespace: prod}\ndata: {max: '5'}")},
			[]string{"v pass enforced"}},
		"each parameter": {limited, []string{"{policyName: v, validationActions: [Deny], paramRef: {selector: {}}}"},
			declared{object(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: prod}\ndata: {max: '5'}"),
				object(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: prod}\ndata: {max: '1'}")},
			[]string{"v pass enforced", "v fail enforced"}},
		"no parameters": {limited, []string{"{policyName: v, validationActions: [Deny], paramRef: {name: limits}}"},
			declared{}, []string{"v unknown enforced"}},
		"parameters that cannot be selected": {limited, []string{"{policyName: v, validationActions: [Deny], paramRef: " +
			"{selector: {matchExpressions: [{key: a, operator: Near}]}}}"}, declared{}, []string{"v error enforced"}},
		"error, ignored": {deployments + "  failurePolicy: Ignore\n" +
			"  validations: [{expression: 'object.spec.nothing == 1'}]\n",
			[]string{"{policyName: v, validationActions: [Deny]}"}, nil, []string{"v error"}},
		"others count": {deployments + "  failurePolicy: Ignore\n" +
			"  validations: [{expression: 'object.spec.nothing == 1'}, {expression: 'false'}]\n",
			[]string{"{policyName: v, validationActions: [Deny]}"}, nil, []string{"v fail enforced"}},
		"annotation": {deployments + "  validations: [{expression: 'true'}]\n" +
			"  auditAnnotations: [{key: k, valueExpression: 'string(object.spec.nothing)'}]\n",
			[]string{"{policyName: v, validationActions: [Audit]}"}, nil, []string{"v error enforced"}},
		"annotation, ok": {deployments + "  failurePolicy: Ignore\n  validations: [{expression: 'true'}]\n" +
			"  auditAnnotations: [{key: k, valueExpression: 'string(object.spec.nothing)'}]\n",
			[]string{"{policyName: v, validationActions: [Audit]}"}, nil, []string{"v pass"}},
		"error": {deployments + "  validations: [{expression: 'object.spec.nothing == 1'}]\n", nil, nil, []string{"v fail"}},
	} {
		t.Run(name, func(t *testing.T) {
			doc := document(t, tt.policy)
			var p policy.ValidatingAdmissionPolicy
			if problems := policy.Decode(doc, &p); len(problems) > 0 {
				t.Fatal(problems)
			}
			var bindings []policy.ValidatingAdmissionPolicyBinding
			for _, b := range tt.bindings {
				var out policy.ValidatingAdmissionPolicyBinding
				d := document(t, "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\n"+
					"metadata: {name: b}\nspec: "+b)
				if problems := policy.Decode(d, &out); len(problems) > 0 {
					t.Fatal(problems)
				}
				bindings = append(bindings, out)
			}
			compiled, problems := CompileAdmissionPolicy(doc, p, bindings)
			if compiled == nil {
				t.Fatal(problems)
			}
			got := compiled.Evaluate(t.Context(), &admission.Request{Operation: admission.Create, Object: object(t, deploy)},
				Env{Cluster: tt.cluster})
			if !slices.Equal(outcomes(got), tt.want) {
				t.Errorf("got %v, want %v", outcomes(got), tt.want)
			}
		})
	}
}

func TestMatching(t *testing.T) {
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: prod, labels: {app: web}}\nspec: {}"
	for name, tt := range map[string]struct {
		rules     string
		object    string
		operation admission.Operation
		sub       string
		namespace string
		want      bool
	}{
		"plain": {rules: "resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [pods]}]", object: pod,
			want: true},
		"all": {rules: "resourceRules: [{apiGroups: ['*'], apiVersions: ['*'], resources: ['*']}]",
			object: pod, want: true},
		"other operation": {rules: "resourceRules: [{operations: [UPDATE], resources: [pods]}]", object: pod},
		"delete": {rules: "resourceRules: [{operations: [DELETE], resources: [pods]}]", object: pod,
			operation: admission.Delete, want: true},
		"subresource":       {rules: "resourceRules: [{resources: [pods]}]", object: pod, sub: "exec"},
		"that subresource":  {rules: "resourceRules: [{resources: [pods/exec]}]", object: pod, sub: "exec", want: true},
		"every subresource": {rules: "resourceRules: [{resources: ['*/*']}]", object: pod, sub: "exec", want: true},
		"name":              {rules: "resourceRules: [{resources: [pods], resourceNames: [q]}]", object: pod},
		"excluded": {rules: "resourceRules: [{resources: [pods]}]\n" +
			"  excludeResourceRules: [{resources: [pods], resourceNames: [p]}]", object: pod},
		"scope": {rules: "resourceRules: [{resources: [pods], scope: Cluster}]", object: pod},
		"cluster scope": {rules: "resourceRules: [{resources: [namespaces], scope: Cluster}]",
			object: "apiVersion: v1\nkind: Namespace\nmetadata: {name: n}", want: true},
		"custom plural": {rules: "resourceRules: [{apiGroups: [x.io], resources: [gateway-policies, ingressroutes]}]",
			object: "apiVersion: x.io/v1\nkind: IngressRoute\nmetadata: {name: n}", want: true},
		"irregular plural": {rules: "resourceRules: [{resources: [networkpolicies]}]",
			object: "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: n}", want: true},
		"labels": {rules: "resourceRules: [{resources: [pods]}]\n" +
			"  objectSelector: {matchExpressions: [{key: app, operator: In, values: [db]}]}", object: pod},
		"absent label": {rules: "resourceRules: [{resources: [pods]}]\n" +
			"  objectSelector: {matchExpressions: [{key: app, operator: DoesNotExist}]}", object: pod},
		"namespace labels": {rules: "resourceRules: [{resources: [pods]}]\n  namespaceSelector: {matchLabels: {env: x}}",
			object: pod, namespace: "apiVersion: v1\nkind: Namespace\nmetadata: {name: prod, labels: {env: x}}", want: true},
		"namespace mismatch": {rules: "resourceRules: [{resources: [pods]}]\n  namespaceSelector: {matchLabels: {env: q}}",
			object: pod, namespace: "apiVersion: v1\nkind: Namespace\nmetadata: {name: prod, labels: {env: x}}"},
		"the namespace": {rules: "resourceRules: [{resources: [namespaces]}]\n  namespaceSelector: {matchLabels: {env: x}}",
			object: "apiVersion: v1\nkind: Namespace\nmetadata: {name: n, labels: {env: x}}", want: true},
	} {
		t.Run(name, func(t *testing.T) {
			doc := document(t, "kind: M\n"+"m:\n  "+tt.rules)
			var m policy.MatchResources
			if problems := policy.DecodeAt(doc, "/m", &m); len(problems) > 0 {
				t.Fatal(problems)
			}
			c, err := newCompiler(doc)
			if err != nil {
				t.Fatal(err)
			}
			r := &admission.Request{Operation: admission.Create, Object: object(t, tt.object), SubResource: tt.sub,
				Place: admission.Place{Namespace: object(t, tt.namespace)}}
			if tt.operation == admission.Delete {
				r.Operation, r.Object, r.OldObject = tt.operation, nil, r.Object
			}
			got, err := c.matching("/m", &m).matches(t.Context(), r, nil)
			if err != nil || got != tt.want || len(c.problems) > 0 {
				t.Errorf("got %v, %v, %v", got, err, c.problems)
			}
		})
	}
}

func TestLookUps(t *testing.T) {
	cluster := declared{object(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: prod}\ndata: {a: b}")}
	for e, want := range map[string]Outcome{
		"resource.Get('v1', 'configmaps', 'prod', 'c').data.a == 'b'":                                                         Pass,
		"resource.get(resource.ToGVR('v1', 'ConfigMap'), 'prod', 'c').data.a == 'x'":                                          Fail,
		"resource.List('v1', 'configmaps', 'prod').items.exists(c, c.metadata.name == 'c')":                                   Pass,
		"resource.List('v1', 'secrets', 'prod').items.size() == 0":                                                            Unknown,
		"resource.Post('authorization.k8s.io/v1', 'subjectaccessreviews', {'a': 'b'}).status.allowed":                         Unknown,
		"!has(object.metadata.nothing) || resource.Get('v1', 'configmaps', 'prod', 'other').data.a == 'b'":                    Pass,
		"has(object.metadata.nothing) ? true : resource.Get('v1', 'configmaps', 'prod', 'other').?data.?a.orValue('') == 'b'": Unknown,
	} {
		got := mustVP(t, podPolicy(validates(e))).Evaluate(t.Context(), &admission.Request{Operation: admission.Create,
			Object: object(t, twoContainers)}, Env{Cluster: cluster})
		if len(got) != 1 || got[0].Outcome != want {
			t.Errorf("%s: %+v", e, got)
		}
	}
}

// described is a cluster that also knows an image.
type described struct{ declared }

func (described) ImageData(image string) (map[string]any, bool) {
	if image != "nginx:1" {
		return nil, false
	}
	return map[string]any{"config": map[string]any{"architecture": "amd64"}}, true
}

// complete is a cluster that holds nothing else.
type complete struct{ declared }

func (complete) Whole() bool { return true }

func TestLookUpsInTests(t *testing.T) {
	for e, want := range map[string]Outcome{
		"resource.Get('v1', 'configmaps', 'prod', 'c') == null":                 Pass,
		"resource.Get('v1', 'configmaps', 'prod', 'c').data.a == 'b'":           Error,
		"resource.List('v1', 'configmaps', 'prod').items.size() == 0":           Error,
		"resource.List('v1', 'secrets', 'prod').items.size() == 0":              Pass,
		"http.Get('https://x').ok":                                              Unknown,
		"resource.Post('v1', 'configmaps', 'prod', {'a': 'b'}).kind == 'Other'": Unknown,
	} {
		got := mustVP(t, podPolicy(validates(e))).Evaluate(t.Context(), &admission.Request{Operation: admission.Create,
			Object: object(t, twoContainers)}, Env{Cluster: complete{declared{object(t, "apiVersion: v1\nkind: Secret\n"+
			"metadata: {name: s, namespace: other}")}}})
		if len(got) != 1 || got[0].Outcome != want {
			t.Errorf("%s: %+v", e, got)
		}
	}
}

func TestImageData(t *testing.T) {
	for e, want := range map[string]Outcome{
		"image.GetMetadata('nginx:1').config.architecture == 'amd64'":    Pass,
		"image.getMetadata('nginx:1').config.architecture == 'arm64'":    Fail,
		"image.GetMetadata('nginx:2').config.architecture == 'amd64'":    Unknown,
		"image.GetMetadata('nginx:1', 2).config.architecture == 'amd64'": Error,
	} {
		got := mustVP(t, podPolicy(validates(e))).Evaluate(t.Context(), &admission.Request{Operation: admission.Create,
			Object: object(t, twoContainers)}, Env{Cluster: described{}})
		if len(got) != 1 || got[0].Outcome != want {
			t.Errorf("%s: %+v", e, got)
		}
	}
}

// A Namespace is in itself, in the eyes of the API server, and has no namespaceObject.
func TestRequestOfNamespace(t *testing.T) {
	text := strings.Replace(podPolicy(validates("request.namespace == 'team' && namespaceObject == null")), "[pods]",
		"[namespaces]", 1)
	got := mustVP(t, text).Evaluate(t.Context(), &admission.Request{Operation: admission.Create,
		Object: object(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}")}, Env{})
	if len(got) != 1 || got[0].Outcome != Pass {
		t.Errorf("%+v", got)
	}
}

func TestRule(t *testing.T) {
	r := &admission.Request{Operation: admission.Delete, OldObject: object(t, twoContainers)}
	for name, tt := range map[string]struct {
		conditions          []policy.MatchCondition
		message, expression string
		want                Decision
	}{
		"pass": {nil, "", "oldObject.metadata.name == 'web'", Decision{Outcome: Pass, Message: "Validation rule 'r' passed."}},
		"precondition": {[]policy.MatchCondition{{Expression: "false"}}, "", "false",
			Decision{Outcome: Skip, Message: "cel preconditions not met"}},
		"message": {nil, "m", "oldObject.metadata.name == 'x'",
			Decision{Outcome: Fail, Message: "m", Fields: []string{"/metadata/name"}, Old: true}},
		"no message": {nil, "", " oldObject.metadata.name == 'x' ",
			Decision{Outcome: Fail, Message: "failed expression: oldObject.metadata.name == 'x'",
				Fields: []string{"/metadata/name"}, Old: true}},
		"error": {nil, "", "oldObject.nothing",
			Decision{Outcome: Fail, Message: "expression 'oldObject.nothing' resulted in error: no such key: nothing",
				Fields: []string{"/nothing"}, Old: true}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.want.Rule = "r"
			rule, problems := CompileRule(document(t, "kind: ClusterPolicy"), RuleSpec{Rule: &policy.Rule{Name: "r",
				CELPreconditions: tt.conditions, Validate: &policy.Validation{Message: tt.message,
					CEL: &policy.CEL{Expressions: []policy.CELValidation{{Expression: tt.expression}}}}}})
			if rule == nil {
				t.Fatal(problems)
			}
			got := rule.Evaluate(t.Context(), r, Env{})
			if got.Outcome != tt.want.Outcome || got.Message != tt.want.Message || got.Old != tt.want.Old ||
				!slices.Equal(got.Fields, tt.want.Fields) || got.Rule != "r" {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}
