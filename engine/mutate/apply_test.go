package mutate

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/engine/admission"
)

func parsed(t testing.TB, text string) any {
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

func TestConfiguration(t *testing.T) {
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {a: x}, finalizers: [f]}, ` +
		`spec: {nodeSelector: {os: linux}, containers: [{name: a, image: i, ports: [{containerPort: 80}]}, {name: b}]}}`
	tests := []struct {
		name, object, configuration string
		replace                     bool
		at, want                    string // a part of the result, or of the error
	}{
		{"a label", pod, `metadata: {labels: {b: y}}`, false, "/metadata/labels", `{a: x, b: y}`},
		{"a field of a container", pod, `spec: {containers: [{name: b, image: j}]}`, false, "/spec/containers/1",
			`{name: b, image: j}`},
		{"others stay", pod, `spec: {containers: [{name: b, image: j}]}`, false, "/spec/containers/0/image", `i`},
		{"a new container comes last", pod, `spec: {containers: [{name: c}]}`, false, "/spec/containers/2", `{name: c}`},
		{"a new list", pod, `spec: {volumes: [{name: v, emptyDir: {}}]}`, false, "/spec/volumes",
			`[{name: v, emptyDir: {}}]`},
		{"ports by number and protocol", pod, `spec: {containers: [{name: a, ports: [{containerPort: 80, protocol: TCP, ` +
			`name: web}, {containerPort: 80, protocol: UDP}]}]}`, false,
			"/spec/containers/0/ports", `[{containerPort: 80, protocol: TCP, name: web}, {containerPort: 80, protocol: UDP}]`},
		{"a set", pod, `metadata: {finalizers: [f, g]}`, false, "/metadata/finalizers", `[f, g]`},
		{"a set that has an element twice", `{apiVersion: v1, kind: Pod, metadata: {name: p, finalizers: [f, f]}}`, `metadata: {finalizers: [g]}`,
			false, "/metadata/finalizers", `[f, f, g]`},
		{"an atomic list", pod, `spec: {tolerations: [{key: k}]}`, false, "error", "tolerations of spec"},
		{"an atomic list of a container", pod, `spec: {containers: [{name: a, args: [x]}]}`, false, "error",
			"args of containers"},
		{"an atomic map", pod, `spec: {nodeSelector: {zone: z}}`, false, "error", "nodeSelector of spec"},
		{"an atomic map is replaced", pod, `spec: {nodeSelector: {zone: z}}`, true, "/spec/nodeSelector", `{zone: z}`},
		{"an atomic list is replaced", pod, `spec: {tolerations: [{key: k}]}`, true, "/spec/tolerations", `[{key: k}]`},
		{"a list of another group", `{apiVersion: x.io/v1, kind: X, spec: {list: [1]}}`, `spec: {list: [2]}`, false,
			"/spec/list", `[2]`},
		{"nothing", pod, `{}`, false, "", pod},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			object, configuration := parsed(t, tt.object).(map[string]any), parsed(t, tt.configuration).(map[string]any)
			got, err := Configuration(object, configuration, tt.replace)
			if !reflect.DeepEqual(parsed(t, tt.object), any(object)) || !reflect.DeepEqual(parsed(t, tt.configuration),
				any(configuration)) {
				t.Error("an input changed")
			}
			if tt.at == "error" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Fatalf("got %v, want %q", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(parsed(t, tt.want), at(t, got, tt.at)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func at(t testing.TB, v any, pointer string) any {
	t.Helper()
	if pointer == "" {
		return v
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		switch c := v.(type) {
		case map[string]any:
			v = c[token]
		case []any:
			i := strings.Index("0123456789", token)
			if i < 0 || i >= len(c) {
				return nil
			}
			v = c[i]
		}
	}
	return v
}

func TestJSONPatch(t *testing.T) {
	const object = `{kind: X, metadata: {name: a}, spec: {list: [1, 2]}}`
	tests := []struct{ patch, want, problem string }{
		{`[{op: add, path: /spec/list/-, value: 3}]`, `{kind: X, metadata: {name: a}, spec: {list: [1, 2, 3]}}`, ""},
		{`[{op: add, path: /spec/list/0, value: 0}]`, `{kind: X, metadata: {name: a}, spec: {list: [0, 1, 2]}}`, ""},
		{`[{op: replace, path: /metadata/name, value: b}, {op: remove, path: /spec}]`, `{kind: X, metadata: {name: b}}`, ""},
		{`[{op: copy, from: /spec/list/1, path: /last}]`, `{kind: X, metadata: {name: a}, spec: {list: [1, 2]}, last: 2}`,
			""},
		{`[{op: test, path: /metadata/name, value: other}, {op: remove, path: /spec}]`, object, ""},
		{`[]`, object, ""},
		{`[{op: add, path: /no/way, value: 1}]`, "", "missing value"},
		{`[{op: remove, path: /no}]`, "", "missing value"},
		{`[{op: guess, path: /no}]`, "", "not a list of operations"},
		{`[{op: add, path: /no}]`, "", "not a list of operations"},
		{`[{op: remove, path: ""}]`, "", ""},
	}
	for _, tt := range tests {
		in := parsed(t, object).(map[string]any)
		got, err := JSONPatch(in, parsed(t, tt.patch).([]any))
		if !reflect.DeepEqual(parsed(t, object), any(in)) {
			t.Errorf("%s changed the object", tt.patch)
		}
		if tt.want == "" {
			if err == nil || !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("%s: got %v, want %q", tt.patch, err, tt.problem)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.patch, err)
		} else if diff := cmp.Diff(parsed(t, tt.want), any(got)); diff != "" {
			t.Errorf("%s: %s", tt.patch, diff)
		}
	}
}

// FuzzStrictJSONPatch looks for panics and changed inputs.
func FuzzStrictJSONPatch(f *testing.F) {
	f.Add(`[{"op":"add","path":"/spec/list/-","value":3}]`, `{"spec":{"list":[1]}}`)
	f.Add(`[{"op":"move","from":"/a","path":"/b/c"}]`, `{"a":1,"b":{}}`)
	f.Add(`[{"op":"copy","from":"","path":"/-1"}]`, `{"a":[1]}`)
	f.Fuzz(func(t *testing.T, patch, object string) {
		var ops []any
		var o admission.Object
		if len(patch)+len(object) > 1<<12 || utiljson.Unmarshal([]byte(patch), &ops) != nil ||
			utiljson.Unmarshal([]byte(object), &o) != nil || o == nil {
			return
		}
		before, _ := json.Marshal(o)
		got, err := JSONPatch(o, ops)
		if after, _ := json.Marshal(o); string(after) != string(before) {
			t.Fatal("the object changed")
		}
		if err == nil && got == nil {
			t.Fatal("no error and no object")
		}
	})
}

// FuzzConfiguration looks for panics and changed inputs, and for a configuration that is not there once it has
// been applied.
func FuzzConfiguration(f *testing.F) {
	f.Add(`{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":"a"},{"name":"a"}]}}`,
		`{"spec":{"containers":[{"name":"a","image":"i"}]}}`)
	f.Add(`{"kind":"Service","spec":{"ports":[{"port":1}]}}`, `{"spec":{"ports":[{"port":1,"protocol":"TCP"}]}}`)
	f.Fuzz(func(t *testing.T, object, configuration string) {
		var o, c admission.Object
		if len(object)+len(configuration) > 1<<12 || utiljson.Unmarshal([]byte(object), &o) != nil ||
			utiljson.Unmarshal([]byte(configuration), &c) != nil || o == nil || c == nil {
			return
		}
		before, _ := json.Marshal([]any{o, c})
		once, err := Configuration(o, c, true)
		if after, _ := json.Marshal([]any{o, c}); string(after) != string(before) {
			t.Fatal("an input changed")
		}
		if err != nil {
			return
		}
		twice, err := Configuration(once, c, true)
		if err != nil || !reflect.DeepEqual(once, twice) && admission.IdentityOf(once) == admission.IdentityOf(o) {
			t.Fatalf("applying it twice is not applying it once: %v\n%v\n%v", err, once, twice)
		}
	})
}
