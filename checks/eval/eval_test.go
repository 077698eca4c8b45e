package eval

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine/admission"
)

var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func file(text string) []rules.File { return []rules.File{{Path: "x.yaml", Data: []byte(text)}} }

// seen is a policy whose message shows the values of expressions.
func seen(expressions ...string) []rules.File {
	var parts []string
	for _, e := range expressions {
		parts = append(parts, "{{ "+e+" }}")
	}
	return file(`apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: seen}
spec:
  background: false
  rules:
  - name: seen
    match: {any: [{resources: {kinds: ["*"], operations: [CREATE, UPDATE, DELETE]}}]}
    validate:
      failureAction: Enforce
      message: "` + strings.Join(parts, " ") + `"
      deny: {}
`)
}

func run(t *testing.T, in Input) *report.Evaluation {
	t.Helper()
	in.Now = now
	r, err := Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Errors) > 0 {
		t.Fatal(r.Errors)
	}
	return r
}

func message(t *testing.T, in Input) string {
	t.Helper()
	r := run(t, in)
	if len(r.Results) != 1 {
		t.Fatalf("%d results", len(r.Results))
	}
	return r.Results[0].Message
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: v\n"

func values(t *testing.T, text string) *Values {
	t.Helper()
	v, problems := ParseValues(rules.File{Path: "values.yaml",
		Data: []byte("apiVersion: cli.kyverno.io/v1alpha1\nkind: Values\n" + text)})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return v
}

func TestRequest(t *testing.T) {
	old := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: default\ndata:\n  k: old\n"
	const what = "request.operation"
	for name, c := range map[string]struct {
		in   Input
		see  []string
		want string
	}{
		"create": {Input{}, []string{what, "request.object.data.k", "request.namespace"},
			"CREATE v default"},
		"update": {Input{Old: file(old)}, []string{what, "request.oldObject.data.k"}, "UPDATE old"},
		"update of an object in the cluster": {Input{Operation: admission.Update, Cluster: file(old)},
			[]string{what, "request.oldObject.data.k"}, "UPDATE old"},
		"in the cluster, no operation": {Input{Cluster: file(old)}, []string{what}, "CREATE"},
		"old object, operation CREATE": {Input{Operation: admission.Create, Old: file(old)}, []string{what}, "CREATE"},
		"update of an unknown object": {Input{Operation: admission.Update}, []string{what, "request.oldObject || 'none'"},
			"UPDATE none"},
		"delete": {Input{Operation: admission.Delete}, []string{what, "request.oldObject.data.k"},
			"DELETE v"},
		"operation of values": {Input{Values: values(t, "globalValues: {request.operation: UPDATE}\n")},
			[]string{what, "request.oldObject.data.k"}, "UPDATE v"},
		"flag overrides values": {Input{Operation: admission.Create,
			Values: values(t, "globalValues: {request.operation: UPDATE}\n")}, []string{what}, "CREATE"},
		"object of values": {Input{Values: values(t, "globalValues: {request.object.data.k: w}\n")},
			[]string{"request.object.data.k"}, "w"},
		"policy values override global ones": {Input{Values: values(t,
			"globalValues: {request.object.data.k: w}\n"+
				"policies: [{name: seen, resources: [{name: a, values: {request.object.data.k: x}}]}]\n")},
			[]string{"request.object.data.k"}, "x"},
		"values of another policy": {Input{Values: values(t,
			"policies: [{name: other, resources: [{name: a, values: {request.object.data.k: x}}]}]\n")},
			[]string{"request.object.data.k"}, "v"},
		"values of another object": {Input{Values: values(t,
			"policies: [{name: seen, resources: [{name: b, values: {request.object.data.k: x}}]}]\n")},
			[]string{"request.object.data.k"}, "v"},
		"user": {Input{User: settings.Requester{Info: admission.UserInfo{Username: "olga", Groups: []string{"g"}},
			Roles: []string{"ns:r"}}},
			[]string{"request.userInfo.username", "request.userInfo.groups[0]", "request.roles[0]"}, "olga g ns:r"},
	} {
		t.Run(name, func(t *testing.T) {
			c.in.Policies, c.in.Resources = seen(c.see...), file(configMap)
			if got := message(t, c.in); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestPathOf(t *testing.T) {
	for path, want := range map[string][]string{
		"data.k": {"data", "k"}, `metadata.labels."a.b/c"`: {"metadata", "labels", "a.b/c"}, `a."b`: nil,
	} {
		if got := pathOf(path); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// Default sets the namespace only for namespaced kinds.
func TestDefault(t *testing.T) {
	for kind, want := range map[string]string{
		"v1 Pod": "default", "v1 Namespace": "", "rbac.authorization.k8s.io/v1 ClusterRole": "",
		"rbac.authorization.k8s.io/v1 Role": "default",
		"apps/v1 Deployment":                "default", "storage.k8s.io/v1 StorageClass": "",
		"example.com/v1 Thing":                    "default",
		"kyverno.io/v1 ClusterPolicy":             "",
		"policies.kyverno.io/v1 ValidatingPolicy": "", "policies.kyverno.io/v1 NamespacedValidatingPolicy": "default",
		"networking.k8s.io/v1 Ingress": "default", "networking.k8s.io/v1 IngressClass": "",
	} {
		version, name, _ := strings.Cut(kind, " ")
		o := admission.Object{"apiVersion": version, "kind": name, "metadata": map[string]any{"name": "a"}}
		Default(o)
		if got := admission.IdentityOf(o).Namespace; got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
	named := admission.Object{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"namespace": "x"}}
	if Default(named); admission.IdentityOf(named).Namespace != "x" {
		t.Error("a namespace was replaced")
	}
}

func TestObjects(t *testing.T) {
	c, problems := Declare(rules.File{Data: []byte(configMap +
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n---\n" +
		"apiVersion: cli.kyverno.io/v1alpha1\nkind: ClusterResource\nspec:\n  resources:\n" +
		"  - {apiVersion: v1, kind: Namespace, metadata: {name: b}}\n")})
	if len(problems) > 0 || c.Empty() {
		t.Fatal(problems)
	}
	ctx := t.Context()
	for _, look := range []struct {
		kind, namespace, name string
		found                 bool
	}{{"ConfigMap", "default", "a", true}, {"ConfigMap", "b", "a", true}, {"ConfigMap", "c", "a", false},
		{"ConfigMap", "", "a", true},
		{"Namespace", "", "b", true}, {"Namespace", "x", "b", true}, {"Secret", "b", "a", false}} {
		if _, ok := c.Get(ctx, "", look.kind, look.namespace, look.name); ok != look.found {
			t.Errorf("%v: found %v", look, ok)
		}
	}
	if n, m := len(c.List(ctx, "", "ConfigMap", "")), len(c.List(ctx, "", "ConfigMap", "b")); n != 2 || m != 1 {
		t.Errorf("%d and %d listed", n, m)
	}
}

func TestParseProblems(t *testing.T) {
	for text, want := range map[string]string{
		"":               "the file has no apiVersion and kind",
		"kind: Values\n": "the file has no apiVersion and kind",
		"apiVersion: a/v1\nkind: Values\nglobalValue: {}\n":                     `unknown field "globalValue"`,
		"apiVersion: a/v1\nkind: Values\npolicies: {}\n":                        "a list",
		"apiVersion: a/v1\nkind: Values\n---\napiVersion: a/v1\nkind: Values\n": "more than one document",
		"apiVersion: [\n": "not valid YAML",
	} {
		_, problems := ParseValues(rules.File{Path: "v.yaml", Data: []byte(text)})
		if len(problems) != 1 || !strings.Contains(problems[0].Message, want) || problems[0].Path != "v.yaml" {
			t.Errorf("%q: %v, want %q", text, problems, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("apiVersion: a/v1\nkind: Values\nglobalValues: {a.b: 1}\n" +
		"policies: [{name: p, resources: [{name: a, values: {request.object.x: [1]}}]}]\n")
	f.Add("apiVersion: a/v1\nkind: Values\nnamespaces: [{metadata: {name: default, labels: {a: b}}}, {metadata: 1}]\n")
	f.Add("apiVersion: a/v1\nkind: UserInfo\nuserInfo: {username: a, extra: {b: [c]}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		src := rules.File{Path: "x", Data: []byte(text)}
		v, bad := ParseValues(src)
		u, worse := ParseUser(src)
		if len(bad) > 0 && len(worse) > 0 {
			return
		}
		if _, err := Run(t.Context(), Input{Policies: seen("request.operation"), Resources: file(configMap), Values: v,
			User: u, Now: now}); err != nil {
			t.Fatal(err)
		}
	})
}

// The same input gives the same report.
func TestSameBytes(t *testing.T) {
	in := Input{Policies: seen("random('[a-z]{9}')", "request.object.metadata.name"),
		Resources: file(configMap + "---\n" + strings.ReplaceAll(configMap, "name: a", "name: b")),
		Values:    values(t, "policies: [{name: seen, resources: [{name: a, values: {request.operation: DELETE}}]}]\n")}
	first, _ := json.Marshal(run(t, in))
	second, _ := json.Marshal(run(t, in))
	if string(first) != string(second) {
		t.Errorf("%s\n%s", first, second)
	}
}
