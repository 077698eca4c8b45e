package cel

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/policy"
)

func compileMP(t testing.TB, text string) (*Policy, []policy.Problem) {
	t.Helper()
	doc := document(t, text)
	if doc.Kind == "MutatingAdmissionPolicy" {
		var p policy.MutatingAdmissionPolicy
		if problems := policy.Decode(doc, &p); len(problems) > 0 {
			t.Fatal(problems)
		}
		return CompileMutatingAdmissionPolicy(doc, p, nil)
	}
	var p policy.MutatingPolicy
	if problems := policy.Decode(doc, &p); len(problems) > 0 {
		t.Fatal(problems)
	}
	return CompileMutatingPolicy(doc, p)
}

func mpOf(spec string) string {
	return "apiVersion: policies.kyverno.io/v1\nkind: MutatingPolicy\nmetadata: {name: m}\nspec:\n" +
		"  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], " +
		"resources: [pods]}]}\n" +
		"  " + strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ") + "\n"
}

func patches(kind, field string, expressions ...string) string {
	var b strings.Builder
	b.WriteString("mutations:\n")
	for _, e := range expressions {
		b.WriteString("- patchType: " + kind + "\n  " + field + ":\n    expression: |\n      " + strings.ReplaceAll(e, "\n",
			"\n      ") + "\n")
	}
	return b.String()
}

func applies(expressions ...string) string {
	return patches("ApplyConfiguration", "applyConfiguration", expressions...)
}

func jsonPatches(expressions ...string) string {
	return patches("JSONPatch", "jsonPatch", expressions...)
}

const (
	mutatedPod = `{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: team, labels: {a/b: x}}, ` +
		`spec: {containers: [{name: a, image: "nginx:1"}, {name: b}]}}`
	mutatedDeployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: team}, ` +
		`spec: {replicas: 1, template: {metadata: {labels: {x: v}}, spec: {containers: [{name: a}]}}}}`
)

func TestMutating(t *testing.T) {
	tests := []struct {
		name, spec, object string
		outcome            Outcome
		message            string
		at, want           string // a field of the outcome
	}{
		{"an apply configuration", applies(`Object{metadata: Object.metadata{labels: {"new": "1"}}}`), mutatedPod, Pass,
			"success", "/metadata/labels/new", `"1"`},
		{"no old object is an empty one", applies(`Object{metadata: Object.metadata{labels: {"old": string(oldObject == {})}}}`), mutatedPod,
			Pass, "success", "/metadata/labels/old", `"true"`},
		{"types all the way down", applies(`Object{spec: Object.spec{containers: object.spec.containers.map(c, ` +
			`Object.spec.containers{name: c.name, imagePullPolicy: "Always"})}}`),
			mutatedPod, Pass, "success", "/spec/containers/1", `{name: b, imagePullPolicy: Always}`},
		{"lists and maps in lists", applies(
			`Object{spec: Object.spec{volumes: [Object.spec.volumes{name: "v", emptyDir: {"medium": "Memory"}}]}}`), mutatedPod,
			Pass, "success", "/spec/volumes/0", `{name: v, emptyDir: {medium: Memory}}`},
		{"an optional field", applies(
			`Object{?spec: optional.none(), metadata: Object.metadata{?labels: optional.of({"n": "m"})}}`), mutatedPod, Pass,
			"success", "/metadata/labels/n", `m`},
		{"a type of another place", applies(`Object{spec: Object.spec{securityContext: Object.spec.wrong{}}}`), mutatedPod,
			Error, "type mismatch", "", ""},
		{"a JSON patch", jsonPatches(`[JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("c/d"), ` +
			`value: "v"}]`), mutatedPod, Pass, "success", "/metadata/labels/c~1d", `v`},
		{"an object in a JSON patch", jsonPatches(
			`[JSONPatch{op: "add", path: "/spec/securityContext", value: Object.spec.securityContext{runAsNonRoot: true}}]`),
			mutatedPod, Pass, "success", "/spec/securityContext", `{runAsNonRoot: true}`},
		{"a patch for each element", jsonPatches(`object.spec.containers.map(c, object.spec.containers.indexOf(c)).map(i, ` +
			`JSONPatch{op: "add", path: "/spec/containers/" + string(i) + "/tty", value: true})`),
			mutatedPod, Pass, "success", "/spec/containers/1/tty", `true`},
		{"no patch", jsonPatches(`has(object.spec.nothing) ? [JSONPatch{op: "remove", path: "/spec"}] : []`), mutatedPod,
			Pass, "success", "/metadata/name", `p`},
		{"a patch that does not fit", jsonPatches(`[JSONPatch{op: "add", path: "/no/way", value: 1}]`), mutatedPod, Error,
			"apply the JSON patch", "", ""},
		{"a failed test", jsonPatches(
			`[JSONPatch{op: "test", path: "/kind", value: "Job"}, JSONPatch{op: "remove", path: "/spec"}]`), mutatedPod, Pass,
			"success", "/kind", `Pod`},
		{"each sees the one before", applies(`Object{metadata: Object.metadata{labels: {"one": "1"}}}`,
			`Object{metadata: Object.metadata{labels: {"two": object.metadata.labels.one + "2"}}}`),
			mutatedPod, Pass, "success", "/metadata/labels/two", `"12"`},
		{"variables", "variables: [{name: who, expression: object.metadata.name}]\n" +
			applies(`Object{metadata: Object.metadata{labels: {"who": variables.who}}}`), mutatedPod, Pass, "success",
			"/metadata/labels/who", `p`},
		{"variables in conditions", "variables: [{name: who, expression: object.metadata.name}]\n" +
			"matchConditions: [{name: c, expression: variables.who == 'no'}]\n" + applies(`Object{}`), mutatedPod, Skip, "skip",
			"", ""},
		{"a condition that does not hold", "matchConditions: [{name: c, expression: 'false'}]\n" + applies(`Object{}`),
			mutatedPod, Skip, "skip", "", ""},
		{"an error", applies(`Object{metadata: Object.metadata{labels: {"x": object.metadata.labels.no}}}`), mutatedPod,
			Error, "no such key", "", ""},
		{"an error that is ignored", "failurePolicy: Ignore\n" +
			applies(`Object{metadata: Object.metadata{labels: {"x": object.metadata.labels.no}}}`), mutatedPod, Error,
			"no such key", "", ""},
		{"an atomic list", applies(`Object{spec: Object.spec{tolerations: [{"key": "k"}]}}`), mutatedPod, Error,
			"replaced as a whole", "", ""},
		{"an atomic list by server-side apply", "evaluation: {useServerSideApply: true}\n" +
			applies(`Object{spec: Object.spec{tolerations: [{"key": "k"}]}}`), mutatedPod, Pass, "success",
			"/spec/tolerations/0/key", `k`},
		{"a pod controller", applies(`Object{metadata: {"labels": {"new": object.metadata.labels.x}}, ` +
			`spec: Object.spec{hostPID: false}}`), mutatedDeployment, Pass, "success",
			"/spec/template", `{metadata: {labels: {x: v, new: v}}, spec: {hostPID: false, containers: [{name: a}]}}`},
		{"metadata by its type", applies(`Object{metadata: Object.metadata{labels: {"new": "x"}}}`), mutatedPod, Pass,
			"success", "/metadata/labels/new", `x`},
		{"metadata by its type, of a pod controller", applies(`Object{metadata: Object.metadata{labels: {"new": "x"}}}`),
			mutatedDeployment, Error,
			"type mismatch: the type is Object.metadata where Object.spec.template.metadata is expected", "", ""},
		{"metadata by its type and labels by theirs, of a pod controller",
			applies(`Object{metadata: Object.metadata{labels: Object.metadata.labels{new: "x"}}}`), mutatedDeployment, Error,
			"type mismatch", "", ""},
		{"all other metadata of a pod controller is its own", applies(`Object{metadata: {"labels": {"n": object.metadata.name}}}`),
			mutatedDeployment, Pass, "success", "/spec/template/metadata/labels/n", `d`},
		{"variables are not rewritten", "variables: [{name: n, expression: object.spec.replicas}]\n" +
			applies(`Object{metadata: {"labels": {"n": string(variables.n)}}}`), mutatedDeployment, Pass, "success",
			"/spec/template/metadata/labels/n", `"1"`},
		{"an object of a pod controller that is no literal", applies(`true ? Object{spec: Object.spec{hostPID: true}} : Object{}`),
			mutatedDeployment, Error, "type mismatch: the type is Object.spec.template.spec where Object.spec is expected", "", ""},
		{"a JSON patch is not rewritten", jsonPatches(
			`[JSONPatch{op: "replace", path: "/spec/replicas", value: object.spec.replicas + 1}]`), mutatedDeployment, Pass,
			"success", "/spec/replicas", `2`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, problems := compileMP(t, mpOf(tt.spec))
			if p == nil {
				t.Fatal(problems)
			}
			before := object(t, tt.object)
			got := p.Evaluate(t.Context(), &admission.Request{Operation: admission.Create, Object: before}, Env{})
			if !reflect.DeepEqual(before, object(t, tt.object)) {
				t.Error("the request changed")
			}
			if len(got) != 1 || got[0].Outcome != tt.outcome || !strings.Contains(got[0].Message, tt.message) {
				t.Fatalf("got %+v", got)
			}
			if (got[0].Patched != nil) != (tt.outcome == Pass) {
				t.Errorf("patched is %v", got[0].Patched)
			}
			if tt.at == "" {
				return
			}
			s := &evaluation{object: got[0].Patched}
			have, _ := s.lookup(place{pointer: tt.at})
			want := object(t, "v: "+tt.want)["v"]
			if diff := cmp.Diff(want, have); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMutatingDoesNotMatch(t *testing.T) {
	p, _ := compileMP(t, mpOf(applies(`Object{}`)))
	service := object(t, `{apiVersion: v1, kind: Service, metadata: {name: s}}`)
	if got := p.Evaluate(t.Context(), &admission.Request{Operation: admission.Create, Object: service},
		Env{}); got != nil {
		t.Errorf("got %+v", got)
	}
	if got := p.Evaluate(t.Context(), &admission.Request{Operation: admission.Delete, OldObject: object(t, mutatedPod)},
		Env{}); got != nil {
		t.Errorf("a deletion is mutated: %+v", got)
	}
}

func TestMutatingExceptions(t *testing.T) {
	p, _ := compileMP(t, mpOf(applies(`Object{metadata: Object.metadata{labels: {"n": "1"}}}`)))
	doc := document(t, "apiVersion: policies.kyverno.io/v1\nkind: PolicyException\nmetadata: {name: x}\nspec:\n"+
		"  expiresAt: 2026-01-01T00:00:00Z\n  policyRefs: [{name: m, kind: MutatingPolicy}]\n"+
		"  matchConditions: [{name: c, expression: object.metadata.namespace == 'team'}]\n")
	var e policy.CELException
	policy.Decode(doc, &e)
	x, problems := CompileException(doc, e)
	if x == nil {
		t.Fatal(problems)
	}
	for now, want := range map[string]Outcome{"2025-12-31T00:00:00Z": Skip, "2026-01-02T00:00:00Z": Pass} {
		at, err := time.Parse(time.RFC3339, now)
		if err != nil {
			t.Fatal(err)
		}
		got := p.Evaluate(t.Context(), &admission.Request{Operation: admission.Create, Object: object(t, mutatedPod)},
			Env{Exceptions: []*Exception{x}, Now: at})
		if len(got) != 1 || got[0].Outcome != want || (want == Skip) != (len(got[0].Exceptions) == 1) {
			t.Errorf("%s: got %+v", now, got)
		}
	}
}

func TestMutatingProblems(t *testing.T) {
	for spec, want := range map[string]string{
		"mutations: []":                   "no mutations",
		"mutations: [{patchType: Guess}]": "unknown patch type",
		"mutations: [{patchType: JSONPatch, applyConfiguration: {expression: 'Object{}'}}]": "has jsonPatch",
		"mutations: [{patchType: ApplyConfiguration}]":                                      "has applyConfiguration",
		applies(`[Object{}]`):                 "must return",
		jsonPatches(`"x"`):                    "must return",
		jsonPatches(`[JSONPatch{op: 1}]`):     "does not compile",
		jsonPatches(`[JSONPatch{what: "x"}]`): "does not compile",
		applies(`Object{metadata: {"annotations": {"a": "}}}", "b": "c"}}}`): "rewritten for pod controllers, the expression does not compile",
		"variables: [{name: v, expression: 'nope'}]\n" + applies(`Object{}`): "does not compile",
	} {
		p, problems := compileMP(t, mpOf(spec))
		if p != nil || len(problems) == 0 || !strings.Contains(problems[0].Message, want) {
			t.Errorf("%s: got %v, want %q", spec, problems, want)
		}
	}
	if _, problems := compileVP(t, vpOf(`Object{} == Object{}`)); len(problems) == 0 ||
		!strings.Contains(problems[0].Message, "mutations only") {
		t.Errorf("a validation makes objects: %v", problems)
	}
}

func vpOf(expression string) string {
	return "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: v}\nspec:\n" +
		"  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: " +
		"[pods]}]}\n" +
		"  validations:\n  - expression: |\n      " + strings.ReplaceAll(expression, "\n", "\n      ") + "\n"
}

func TestMutatingAdmissionPolicy(t *testing.T) {
	doc := document(t, "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\n"+
		"metadata: {name: m}\nspec:\n"+
		"  paramKind: {apiVersion: v1, kind: ConfigMap}\n"+
		"  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: [pods]}]}\n"+
		"  variables: [{name: count, expression: size(object.metadata.labels)}]\n"+
		"  "+strings.ReplaceAll(applies(
		`Object{metadata: Object.metadata{labels: {params.data.key: string(variables.count)}}}`,
		`Object{metadata: Object.metadata{labels: {"again": string(variables.count)}}}`), "\n", "\n  "))
	var p policy.MutatingAdmissionPolicy
	if problems := policy.Decode(doc, &p); len(problems) > 0 {
		t.Fatal(problems)
	}
	var bindings []policy.MutatingAdmissionPolicyBinding
	for _, name := range []string{"one", "two"} {
		var b policy.MutatingAdmissionPolicyBinding
		b.Spec.PolicyName, b.Spec.ParamRef = "m", &policy.ParamRef{Name: name, Namespace: "team"}
		bindings = append(bindings, b)
	}
	m, problems := CompileMutatingAdmissionPolicy(doc, p, bindings)
	if m == nil {
		t.Fatal(problems)
	}
	cluster := declared{object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: team}, `+
		`data: {key: k1}}`), object(t,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: two, namespace: team}, data: {key: k2}}`)}
	got := m.Evaluate(t.Context(), &admission.Request{Operation: admission.Create, Object: object(t, mutatedPod)},
		Env{Cluster: cluster})
	if len(got) != 2 || got[1].Outcome != Pass || got[1].Rule != "m" {
		t.Fatalf("got %+v", got)
	}
	want := map[string]any{"a/b": "x", "k1": "1", "again": "4", "k2": "3"}
	if diff := cmp.Diff(want, got[1].Patched["metadata"].(map[string]any)["labels"]); diff != "" {
		t.Errorf("the second binding works on what the first one left: %s", diff)
	}
	if got := m.Evaluate(t.Context(), &admission.Request{Operation: admission.Create, Object: object(t, mutatedPod)},
		Env{}); len(got) != 2 || got[0].Outcome != Unknown {
		t.Errorf("parameters that are not declared: %+v", got)
	}
}

// FuzzMutating looks for panics and for changes of the object in what expressions of mutations make.
func FuzzMutating(f *testing.F) {
	f.Add(`Object{spec: Object.spec{containers: [Object.spec.containers{name: "a"}]}}`)
	f.Add(`[JSONPatch{op: "add", path: "/spec/x", value: {"a": [1, 2.5, null]}}]`)
	f.Add(`Object{metadata: Object.metadata{labels: {1: "x"}}}`)
	f.Add(`[JSONPatch{op: "add", path: "/x", value: timestamp("2026-01-01T00:00:00Z")}, JSONPatch{}]`)
	doc := document(f, mpOf(applies("Object{}")))
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > 1<<10 {
			return
		}
		c, err := newCompiler(doc)
		if err != nil {
			t.Fatal(err)
		}
		c.mutates = true
		x := c.compile("/spec", source)
		if x == nil {
			return
		}
		pod := object(t, mutatedPod)
		before, _ := json.Marshal(pod)
		for _, kind := range []patchType{applyConfiguration, jsonPatch} {
			p := &program{lang: c.lang}
			of := &target{program: func() *program { return p }, mutations: []mutation{{kind: kind, expr: x}}}
			m := &Policy{program: p}
			got := m.apply(t.Context(), &admission.Request{Operation: admission.Create, Object: pod}, Env{}, of, nil, nil)
			if (got.Patched == nil) == (got.Outcome == Pass) {
				t.Fatalf("%q: %+v", source, got)
			}
		}
		if after, _ := json.Marshal(pod); string(after) != string(before) {
			t.Fatalf("%q changed the object", source)
		}
	})
}

// Exceptions for images and values give them to the expressions of mutations, too; one that cannot be decided refuses.
func TestMutatingAllowances(t *testing.T) {
	p, problems := compileMP(t, mpOf(
		applies(`Object{metadata: Object.metadata{labels: {"images": exceptions.allowedImages.join(",")}}}`)))
	if p == nil {
		t.Fatal(problems)
	}
	exception := func(spec string) *Exception {
		e := exceptionOf(t, "e", spec)
		e.refs = []policy.CELPolicyRef{{Kind: p.kind, Name: p.name}}
		return e
	}
	r := &admission.Request{Operation: admission.Create, Object: object(t, mutatedPod)}
	got := p.Evaluate(t.Context(), r, Env{Exceptions: []*Exception{exception("  images: [a, b]\n")}})
	if len(got) != 1 || got[0].Patched == nil || admission.LabelsOf(got[0].Patched)["images"] != "a,b" {
		t.Errorf("%+v", got)
	}
	got = p.Evaluate(t.Context(), r, Env{Exceptions: []*Exception{exception("  matchConditions: [{name: c, expression: " +
		"object.no == true}]\n")}})
	if len(got) != 1 || got[0].Outcome != Error || !got[0].Enforce {
		t.Errorf("%+v", got)
	}
}
