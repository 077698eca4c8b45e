package assert

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/engine/jmespath"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

func parse(t testing.TB, text string) any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := utiljson.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

const payload = `
foo: {bar: 4, bat: 6, baz: true, none: null, "(odd)": 1}
spec:
  replicas: 2
  containers:
  - {name: a, image: "nginx:1.2", ports: [80]}
  - {name: b, image: "nginx:latest"}
metadata: {labels: {app: x, "a/b": y}}
`

func TestCheck(t *testing.T) {
	tests := []struct {
		name, tree string
		fields     []string // of all failures; none means that the tree holds
		message    string   // part of the first one
	}{
		{"a leaf", `foo: {bar: 4}`, nil, ""},
		{"a leaf that differs", `foo: {bar: 5}`, []string{"/foo/bar"}, "foo.bar: Invalid value: 4: Expected value: 5"},
		{"all failures", `{foo: {bar: 5, baz: false}, spec: {replicas: 1}}`,
			[]string{"/foo/bar", "/foo/baz", "/spec/replicas"}, ""},
		{"a missing field", `foo: {lacks: {deep: 1}}`, []string{"/foo/lacks"},
			"foo.lacks: Required value: field not found in the input object"},
		{"null and nothing", `foo: {none: null}`, nil, ""},
		{"null is no value", `foo: {none: 1}`, []string{"/foo/none"}, "foo.none: Invalid value: null"},
		{"an empty mapping wants something", `foo: {none: {}}`, []string{"/foo/none"}, "must not be null"},
		{"an empty mapping", `foo: {}`, nil, ""},
		{"an expression", "foo: {(bar > `3`): true, (!baz): false, (bar + bat): 10}", nil, ""},
		{"an expression that differs", "foo: {(bar > `5`): true}", []string{"/foo/bar"},
			"foo.(bar > `5`): Invalid value: false: Expected value: true"},
		{"all that an expression reads", "foo: {(bar + bat): 11}", []string{"/foo/bar", "/foo/bat"}, "Expected value: 11"},
		{"arithmetic", "foo: {(bat - bar): 2, (bar * bat): 24, (bat / bar): 1.5, (bat % bar): 2, (bat // bar): 1, (-bar): -4}", nil, ""},
		{"a missing key in an expression is null", "foo:\n  (lacks.it == null): true\n  (length(lacks || `[]`)): 0\n", nil,
			""},
		{"an expression as value", "foo: {bar: (`2` + `2`)}", nil, ""},
		{"the value itself", "foo: {bar: {(@ < `5`): true}}", nil, ""},
		{"elements", `spec: {~.containers: {image: {"(ends_with(@, ':latest'))": false}}}`,
			[]string{"/spec/containers/1/image"}, "spec.~.containers[1].image.(ends_with(@, ':latest'))"},
		{"elements of an expression", "spec: {\"~.(containers[?name == 'b'])\": {name: a}}",
			[]string{"/spec/containers/1/name"}, ""},
		{"a field elements lack", `spec: {~.containers: {ports: [80]}}`, []string{"/spec/containers/1/ports"}, "Required"},
		{"entries of a map", "metadata: {~key.labels: {($key): x}}",
			[]string{"/metadata/labels/a~1b", "/metadata/labels/app"}, ""},
		{"the index", "spec: {~i.containers: {($i): 0}}", []string{"/spec/containers/1"}, ""},
		{"a binding", "foo: {(bar + bat)->sum: {($sum): 10}}", nil, ""},
		{"a binding is overridden below", "foo: {(bar + bat)->sum: {($sum + $sum)->sum: {($sum): 20}, ($sum): 10}}", nil, ""},
		{"a binding of a field", "foo->f: {bar: {($f.bat): 6}}", nil, ""},
		{"an escaped key", `foo: {'\(odd)\': 1}`, nil, ""},
		{"lists by length", `spec: {containers: [{name: a}]}`, []string{"/spec/containers"}, "lengths of slices don't match"},
		{"lists by element", `spec: {containers: [{name: a}, {name: c}]}`, []string{"/spec/containers/1/name"},
			"spec.containers[1].name"},
		{"a list that is null", `foo: {none: [1]}`, []string{"/foo/none"}, "value is null"},
		{"a binding of the rule", `foo: {bar: ($limit)}`, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree, err := Compile(parse(t, tt.tree))
			if err != nil {
				t.Fatal(err)
			}
			data := parse(t, payload)
			got, err := tree.Check(t.Context(), data, jmespath.Env{Bindings: map[string]any{"limit": int64(4)}})
			if err != nil {
				t.Fatal(err)
			}
			var fields []string
			for _, f := range got {
				fields = append(fields, f.Fields...)
			}
			if diff := cmp.Diff(tt.fields, fields); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
			if len(got) > 0 && !strings.Contains(got[0].Message, tt.message) {
				t.Errorf("message %q does not hold %q", got[0].Message, tt.message)
			}
			if !reflect.DeepEqual(data, parse(t, payload)) {
				t.Error("the payload changed")
			}
		})
	}
}

func TestCheckErrors(t *testing.T) {
	for tree, want := range map[string]string{
		`foo: {bar: {x: 1}}`:              "projection not recognized",
		`foo: {bar: [1]}`:                 "expected a slice",
		`foo: {~.bar: 1}`:                 "expected a slice or a map",
		`foo: {bar: four}`:                "types are not comparable, string - int64",
		`foo: {($nobody): 1}`:             "not defined",
		"foo: {(bar / `0`): 1}":           "division by zero",
		"foo: {(length(bar)): 1}":         "length",
		"foo: {bar: \"(`[1]`)\"}":         "must be a slice",
		"foo: {bar: \"(`{}`)\"}":          "must be a map",
		`spec: {~.containers: {name: 1}}`: "types are not comparable",
	} {
		compiled, err := Compile(parse(t, tree))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := compiled.Check(t.Context(), parse(t, payload), jmespath.Env{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", tree, err, want)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	for tree, want := range map[string]string{
		`foo: ~.x`:            "/foo",
		`foo: x->y`:           "/foo",
		`{foo: {"(a b)": 1}}`: "/foo/(a b)",
		`(cel;a): 1`:          "/(cel;a)",
		`foo: [1, "(("]`:      "",
		`foo: [1, "(()"]`:     "/foo/1",
	} {
		_, err := Compile(parse(t, tree))
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", tree, err)
			}
			continue
		}
		if bad, ok := err.(*jsonpointer.Error); !ok || bad.Pointer != want {
			t.Errorf("%s: got %v, want a problem at %s", tree, err, want)
		}
	}
	deep := any("x")
	for range maxDepth + 2 {
		deep = map[string]any{"a": deep}
	}
	if _, err := Compile(deep); err == nil {
		t.Error("a tree without an end is compiled")
	}
}

func TestNames(t *testing.T) {
	tree, err := Compile(parse(t, "a: {(x == $two): ($one), b: ($two.c)}"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"one", "two"}, tree.Names()); diff != "" {
		t.Error(diff)
	}
}

// FuzzCheck looks for panics, for changes of the payload, and for failures that name no field.
func FuzzCheck(f *testing.F) {
	f.Add(`{"foo":{"(bar + bat)->sum":{"($sum)":10}}}`, payload)
	f.Add(`{"spec":{"~i.containers":{"image":"(name)"}}}`, payload)
	f.Add(`[{"~.\\(x)\\->b":null}]`, `[{"(x)":[1]}]`)
	f.Fuzz(func(t *testing.T, treeText, text string) {
		var tree any
		if len(treeText)+len(text) > 1<<12 || utiljson.Unmarshal([]byte(treeText), &tree) != nil {
			return
		}
		compiled, err := Compile(tree)
		if err != nil {
			return
		}
		raw, err := yaml.YAMLToJSON([]byte(text))
		var data any
		if err != nil || utiljson.Unmarshal(raw, &data) != nil {
			return
		}
		before, _ := json.Marshal(data)
		failures, err := compiled.Check(t.Context(), data, jmespath.Env{})
		if after, _ := json.Marshal(data); string(after) != string(before) {
			t.Fatal("the payload changed")
		}
		for _, x := range failures {
			if len(x.Fields) == 0 || x.Message == "" {
				t.Fatalf("a failure without a field or message: %+v", x)
			}
		}
		again, err2 := compiled.Check(t.Context(), data, jmespath.Env{})
		if !reflect.DeepEqual(failures, again) || (err == nil) != (err2 == nil) {
			t.Fatal("evaluating twice gives another answer")
		}
	})
}
