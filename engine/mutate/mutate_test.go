package mutate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/engine/jmespath"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/variable"
)

func tree(t testing.TB, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := utiljson.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func apply(t *testing.T, rule string, object map[string]any) (map[string]any, []string, error) {
	t.Helper()
	m, err := Compile(tree(t, rule), "/mutate", nil)
	if err != nil {
		t.Fatal(err)
	}
	s := variable.NewScope(t.Context(), map[string]any{"request": map[string]any{"operation": "CREATE", "object": object}},
		jmespath.Env{}, nil)
	return m.Apply(s, object)
}

const pod = `
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {a: b}}
spec:
  containers:
  - {name: x, image: "nginx:latest", ports: [{containerPort: 80}], env: [{name: A, value: "1"}]}
  - {name: w, image: "nginx:1.25", imagePullPolicy: Never}
`

func TestApply(t *testing.T) {
	for name, tt := range map[string]struct {
		rule, object string
		set          map[string]any // what stands at these pointers afterwards
		written      []string
	}{
		"merge": {
			rule:    `mutate: {patchStrategicMerge: {metadata: {labels: {c: "{{request.object.metadata.name}}"}}}}`,
			set:     map[string]any{"/metadata/labels/c": "p", "/metadata/labels/a": "b"},
			written: []string{"/metadata/labels/c"},
		},
		"add if absent": {
			rule: `mutate: {patchStrategicMerge: {metadata: {labels: {+(a): x, +(new): "yes"}}, ` +
				`spec: {+(securityContext): {runAsNonRoot: true}}}}`,
			set: map[string]any{"/metadata/labels/a": "b", "/metadata/labels/new": "yes",
				"/spec/securityContext/runAsNonRoot": true},
			written: []string{"/metadata/labels/new", "/spec/securityContext"},
		},
		"conditional element": {
			rule: `mutate: {patchStrategicMerge: {spec: {containers: [{(image): "*:latest", imagePullPolicy: Always}]}}}`,
			set: map[string]any{"/spec/containers/0/imagePullPolicy": "Always",
				"/spec/containers/1/imagePullPolicy": "Never", "/spec/containers/0/image": "nginx:latest"},
			written: []string{"/spec/containers/0/imagePullPolicy"},
		},
		"every element": {
			rule: `mutate: {patchStrategicMerge: {spec: {containers: [{(name): "*", resources: {requests: {+(cpu): 1m}}}]}}}`,
			set: map[string]any{"/spec/containers/0/resources/requests/cpu": "1m",
				"/spec/containers/1/resources/requests/cpu": "1m"},
			written: []string{"/spec/containers/0/resources", "/spec/containers/1/resources"},
		},
		"addition in a condition": {
			rule:    `mutate: {patchStrategicMerge: {metadata: {(labels): {a: b, +(new): c}}}}`,
			set:     map[string]any{"/metadata/labels/new": "c"},
			written: []string{"/metadata/labels/new"},
		},
		"addition in a condition of a list": {
			rule:    `mutate: {patchStrategicMerge: {spec: {(containers): [{(name): "*", +(tty): true}]}}}`,
			set:     map[string]any{"/spec/containers/0/tty": true, "/spec/containers/1/tty": true},
			written: []string{"/spec/containers/0/tty", "/spec/containers/1/tty"},
		},
		"condition not met": {
			rule: `mutate: {patchStrategicMerge: {metadata: {labels: {(a): other, c: d}}}}`,
		},
		"global": {
			rule: `mutate: {patchStrategicMerge: {metadata: {labels: {c: d}}, spec: {containers: [{<(image): "ghcr.io/*"}]}}}`,
		},
		"global met": {
			rule:    `mutate: {patchStrategicMerge: {metadata: {labels: {c: d}}, spec: {containers: [{<(image): "*:latest"}]}}}`,
			set:     map[string]any{"/metadata/labels/c": "d", "/spec/containers/1/name": "w"},
			written: []string{"/metadata/labels/c"},
		},
		"global, and the list is absent": {
			rule: `mutate: {patchStrategicMerge: {metadata: {labels: {c: d}}, spec: {volumes: [{<(emptyDir): {}}]}}}`,
		},
		"global below an absent list": {
			rule: `mutate: {patchStrategicMerge: {metadata: {labels: {c: d}}, spec: {volumes: [{secret: {<(name): a}}]}}}`,
		},
		"global in an absent list of an element": {
			rule: `mutate: {patchStrategicMerge: {metadata: {labels: {c: d}}, spec: {containers: [{envFrom: [{<(prefix): A}]}]}}}`,
		},
		"global in an absent list of an absent map": {
			rule: `mutate: {patchStrategicMerge: {metadata: {labels: {c: d}}, spec: {template: {volumes: [{<(a): b}]}}}}`,
		},
		"global, and the list is empty": {
			rule:    `mutate: {patchStrategicMerge: {metadata: {labels: {c: d}}, spec: {volumes: [{<(emptyDir): {}}]}}}`,
			object:  "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {}}\nspec: {volumes: []}",
			set:     map[string]any{"/metadata/labels/c": "d", "/spec/volumes": []any{}},
			written: []string{"/metadata/labels/c"},
		},
		"conditional, and the list is absent": {
			rule:    `mutate: {patchStrategicMerge: {metadata: {labels: {c: d}}, spec: {volumes: [{(emptyDir): {}, a: b}]}}}`,
			set:     map[string]any{"/metadata/labels/c": "d", "/spec/volumes": nil},
			written: []string{"/metadata/labels/c"},
		},
		"a global condition counts for more": {
			rule: `mutate: {patchStrategicMerge: {metadata: {labels: {c: d}}, ` +
				`spec: {containers: [{(name): other, <(image): "ghcr.io/*"}]}}}`,
		},
		"what stands beside a global condition of an element": {
			rule: `mutate: {patchStrategicMerge: {metadata: {labels: {c: d}}, ` +
				`spec: {containers: [{<(image): "*:latest", tty: true}]}}}`,
			set:     map[string]any{"/metadata/labels/c": "d", "/spec/containers/0/tty": nil, "/spec/containers/1/tty": nil},
			written: []string{"/metadata/labels/c"},
		},
		"new element": {
			rule: `mutate: {patchStrategicMerge: {spec: {containers: [{name: z, image: z}, {name: w, image: q}]}}}`,
			set: map[string]any{"/spec/containers/0/name": "z", "/spec/containers/1/image": "q",
				"/spec/containers/1/imagePullPolicy": "Never", "/spec/containers/2/name": "x"},
			written: []string{"/spec/containers/0", "/spec/containers/1/image"},
		},
		"ports by number and protocol": {
			object: "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP}]}",
			rule:   `mutate: {patchStrategicMerge: {spec: {ports: [{port: 53, protocol: TCP, name: dns}]}}}`,
			set: map[string]any{"/spec/ports/0/name": "dns", "/spec/ports/0/protocol": "TCP",
				"/spec/ports/1/protocol": "UDP", "/spec/ports/1/name": nil, "/spec/ports/2": nil},
			written: []string{"/spec/ports/0/name"},
		},
		"a port by number": {
			object:  "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 53, protocol: UDP}]}",
			rule:    `mutate: {patchStrategicMerge: {spec: {ports: [{port: 53, name: dns}]}}}`,
			set:     map[string]any{"/spec/ports/0/name": "dns", "/spec/ports/0/protocol": "UDP", "/spec/ports/1": nil},
			written: []string{"/spec/ports/0/name"},
		},
		"what is patched comes first": {
			rule: `mutate: {patchStrategicMerge: {spec: {containers: [{(image): "*:1.25", tty: true}]}}}`,
			set: map[string]any{"/spec/containers/0/name": "w", "/spec/containers/0/tty": true,
				"/spec/containers/1/name": "x"},
			written: []string{"/spec/containers/0/tty"},
		},
		"the first element decides what is absent": {
			rule: `mutate: {patchStrategicMerge: {spec: {containers: [{(name): "*", +(imagePullPolicy): Always, +(ports): []}]}}}`,
			set: map[string]any{"/spec/containers/0/imagePullPolicy": "Always",
				"/spec/containers/1/imagePullPolicy": "Always", "/spec/containers/1/ports": nil},
			written: []string{"/spec/containers/0/imagePullPolicy", "/spec/containers/1/imagePullPolicy"},
		},
		"the first element that is meant": {
			rule:    `mutate: {patchStrategicMerge: {spec: {containers: [{(name): w, security: {+(a): 1}}]}}}`,
			set:     map[string]any{"/spec/containers/0/name": "w", "/spec/containers/0/security/a": int64(1)},
			written: []string{"/spec/containers/0/security"},
		},
		"a condition that adds is a patch": {
			rule:    `mutate: {patchStrategicMerge: {metadata: {(labels): {+(a): z, +(b): z, c: z}}}}`,
			set:     map[string]any{"/metadata/labels": map[string]any{"a": "b", "b": "z", "c": "z"}},
			written: []string{"/metadata/labels/b", "/metadata/labels/c"},
		},
		"a condition that adds, to nothing": {
			rule: `mutate: {patchStrategicMerge: {metadata: {(annotations): {+(b): z, c: z}, labels: {n: m}}}}`,
		},
		"no element to decide by": {
			rule: `mutate: {patchStrategicMerge: {spec: {initContainers: [{name: z, security: {+(a): 1}}]}}}`,
		},
		"finalizers": {
			rule:    `mutate: {patchStrategicMerge: {metadata: {finalizers: [b, a]}}}`,
			object:  "apiVersion: v1\nkind: Pod\nmetadata: {name: p, finalizers: [a, c]}",
			set:     map[string]any{"/metadata/finalizers": []any{"b", "a", "c"}},
			written: []string{"/metadata/finalizers/0", "/metadata/finalizers/1", "/metadata/finalizers/2"},
		},
		"finalizers of other kinds": {
			rule:    `mutate: {patchStrategicMerge: {metadata: {finalizers: [b]}}}`,
			object:  "apiVersion: example.com/v1\nkind: X\nmetadata: {name: p, finalizers: [a]}",
			set:     map[string]any{"/metadata/finalizers": []any{"b"}},
			written: []string{"/metadata/finalizers/0"},
		},
		"delete": {
			rule: `mutate: {patchStrategicMerge: {metadata: {labels: {a: null}}, spec: {containers: [{name: w, ` +
				`$patch: delete}]}}}`,
			set:     map[string]any{"/metadata/labels": map[string]any{}, "/spec/containers/0/name": "x"},
			written: []string{"/metadata/labels/a", "/spec/containers"},
		},
		"custom resource": {
			rule:    `mutate: {patchStrategicMerge: {spec: {containers: [{name: z}]}}}`,
			object:  "apiVersion: example.com/v1\nkind: X\nspec: {containers: [{name: w}]}",
			set:     map[string]any{"/spec/containers": []any{map[string]any{"name": "z"}}},
			written: []string{"/spec/containers/0"},
		},
		"json patch text": {
			rule: "mutate:\n  patchesJson6902: |-\n    - op: add\n      path: /spec/template/x\n      value: 1\n" +
				"    - {op: remove, path: /nothing}\n    - {op: replace, path: /spec/containers/0/image, value: " +
				"'{{request.object.metadata.name}}'}\n",
			set:     map[string]any{"/spec/template/x": int64(1), "/spec/containers/0/image": "p"},
			written: []string{"/spec/containers/0/image", "/spec/template"},
		},
		"json patch list": {
			rule:    `mutate: {patchesJson6902: [{op: add, path: /metadata/labels/x~1y, value: z}]}`,
			set:     map[string]any{"/metadata/labels/x~1y": "z"},
			written: []string{"/metadata/labels/x~1y"},
		},
		"foreach merge": {
			rule: `mutate: {foreach: [{list: request.object.spec.containers, ` +
				`preconditions: {all: [{key: "{{element.image}}", operator: Equals, value: "*:latest"}]}, ` +
				`patchStrategicMerge: {spec: {containers: [{(name): "{{element.name}}", image: "mirror/{{element.image}}"}]}}}]}`,
			set:     map[string]any{"/spec/containers/0/image": "mirror/nginx:latest", "/spec/containers/1/image": "nginx:1.25"},
			written: []string{"/spec/containers/0/image"},
		},
		"foreach json": {
			rule: `mutate: {foreach: [{list: request.object.spec.containers, patchesJson6902: "[{op: add, ` +
				`path: /spec/containers/{{elementIndex}}/tty, value: true}]"}]}`,
			set:     map[string]any{"/spec/containers/0/tty": true, "/spec/containers/1/tty": true},
			written: []string{"/spec/containers/0/tty", "/spec/containers/1/tty"},
		},
		"foreach descending": {
			rule: `mutate: {foreach: [{list: request.object.spec.containers, order: Descending, ` +
				`patchesJson6902: "[{op: remove, path: /spec/containers/{{elementIndex}}}]"}]}`,
			set:     map[string]any{"/spec/containers": []any{}},
			written: []string{"/spec/containers"},
		},
		"foreach nested": {
			rule: `mutate: {foreach: [{list: request.object.spec.containers, foreach: [{list: "element.env || ` + "`[]`" +
				`", patchesJson6902: "[{op: replace, path: /spec/containers/{{elementIndex0}}/env/{{elementIndex1}}/value, ` +
				`value: '2'}]"}]}]}`,
			set:     map[string]any{"/spec/containers/0/env/0/value": "2"},
			written: []string{"/spec/containers/0/env/0/value"},
		},
		"foreach over an empty list": {rule: `mutate: {foreach: [{list: "request.object.spec.initContainers[]", ` +
			`patchStrategicMerge: {metadata: {labels: {c: d}}}}]}`},
		"existing only": {
			rule: `mutate: {targets: [{kind: Pod}], patchStrategicMerge: {metadata: {labels: {c: d}}}}`,
		},
		"targets that are null are none": {
			rule:    `mutate: {targets: null, patchStrategicMerge: {metadata: {labels: {c: d}}}}`,
			set:     map[string]any{"/metadata/labels/c": "d"},
			written: []string{"/metadata/labels/c"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := tt.object
			if text == "" {
				text = pod
			}
			object := tree(t, text)
			before, _ := json.Marshal(object)
			out, written, err := apply(t, tt.rule, object)
			if err != nil {
				t.Fatal(err)
			}
			for at, want := range tt.set {
				if diff := cmp.Diff(want, jsonpointer.At(out, at)); diff != "" {
					t.Errorf("%s: %s", at, diff)
				}
			}
			if diff := cmp.Diff(tt.written, written); diff != "" {
				t.Errorf("written: %s", diff)
			}
			if after, _ := json.Marshal(object); string(after) != string(before) {
				t.Errorf("the input was changed: %s", after)
			}
		})
	}
}

// Validation forgives a list that is not there, and mutation does not.
func TestForEachWithoutAList(t *testing.T) {
	_, _, err := apply(t, "mutate: {foreach: [{list: request.object.spec.initContainers, patchStrategicMerge: "+
		"{metadata: {labels: {c: d}}}}]}", tree(t, pod))
	if err == nil || !strings.Contains(err.Error(), `Unknown key "initContainers"`) {
		t.Errorf("got %v", err)
	}
}

func TestCompileErrors(t *testing.T) {
	for rule, want := range map[string]string{
		"mutate: {}": "/mutate",
		"mutate: {patchStrategicMerge: {a: b}, patchesJson6902: '[]'}":                      "/mutate",
		"mutate: {patchesJson6902: '{'}":                                                    "/mutate/patchesJson6902",
		"mutate: {patchesJson6902: [{op: frob, path: /a}]}":                                 "/mutate/patchesJson6902",
		"mutate: {patchesJson6902: [{op: add, path: a}]}":                                   "/mutate/patchesJson6902",
		"mutate: {foreach: [{list: 'a[', patchStrategicMerge: {a: b}}]}":                    "/mutate/foreach/0/list",
		"mutate: {foreach: [{list: a}]}":                                                    "/mutate/foreach/0",
		"mutate: {foreach: [{list: a, context: [{name: x}], patchStrategicMerge: {a: b}}]}": "/mutate/foreach/0/context",
		"mutate: {foreach: [{list: a, preconditions: {some: []}, patchStrategicMerge: {a: b}}]}": "/mutate/foreach/0/" +
			"preconditions/some",
		"mutate: {foreach: [{list: a, foreach: [{list: 'b[', patchStrategicMerge: {a: b}}]}]}": "/mutate/foreach/0/" +
			"foreach/0/list",
	} {
		_, err := Compile(tree(t, rule), "/mutate", nil)
		e, ok := err.(*jsonpointer.Error)
		if !ok || e.Pointer != want {
			t.Errorf("%s: got %v, want an error at %s", rule, err, want)
		}
	}
}

// FuzzOverlay holds that patches of all shapes neither panic nor change the object they are given.
func FuzzOverlay(f *testing.F) {
	f.Add(`{"metadata":{"labels":{"+(a)":"x","(b)":"?*"}}}`)
	f.Add(`{"spec":{"containers":[{"(image)":"*:latest","<(name)":"x","env":[{"name":"A","$patch":"delete"}]},1,null]}}`)
	f.Add(`{"spec":{"containers":[{"$patch":"replace"}],"(volumes)":[{"^(x)":1}]}}`)
	f.Fuzz(func(t *testing.T, patch string) {
		var p any
		if json.Unmarshal([]byte(patch), &p) != nil {
			return
		}
		object := tree(t, pod)
		before, _ := json.Marshal(object)
		_, _ = overlay(p, object)
		if after, _ := json.Marshal(object); string(after) != string(before) {
			t.Errorf("the object was changed by %s", patch)
		}
	})
}

// FuzzJSONPatch holds the same for JSON patches.
func FuzzJSONPatch(f *testing.F) {
	f.Add("- op: add\n  path: /a/-/b\n  value: 1\n")
	f.Add(`[{"op":"test","path":""}]`) // the library panicked
	f.Add(`[{"op":"add","path":"/a/999999999/x","value":1}]`)
	f.Add(`[{"op":"move","from":"/spec","path":"/spec/x"},{"op":"test","path":"","value":null}]`)
	f.Add(`[{"op":"remove","path":"/spec/containers/-7"},{"op":"copy","from":"","path":"/x"}]`)
	f.Fuzz(func(t *testing.T, text string) {
		o, err := operations(text)
		if err != nil {
			return
		}
		object := tree(t, pod)
		before, _ := json.Marshal(object)
		_, _ = o.apply(object)
		if after, _ := json.Marshal(object); string(after) != string(before) {
			t.Errorf("the object was changed by %q", text)
		}
	})
}
