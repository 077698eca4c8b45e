package origin

import (
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/lintel-bot/lintel/render/doc"
)

func parse(t *testing.T, text string) *value {
	t.Helper()
	docs, err := doc.Parse("test.yaml", []byte(text), doc.Limits{})
	if err != nil || len(docs) != 1 {
		t.Fatalf("%q: %v", text, err)
	}
	return mark{path: "test.yaml"}.value(docs[0], nil)
}

// plain returns a value without its marks.
func plain(v *value) any {
	switch v.kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for _, f := range v.fields {
			m[f.key] = plain(f.value)
		}
		return m
	case yaml.SequenceNode:
		list := []any{}
		for _, item := range v.items {
			list = append(list, plain(item))
		}
		return list
	}
	return v.text
}

func printed(t *testing.T, v *value) string {
	t.Helper()
	data, err := yaml.Marshal(plain(v))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestStrategicMergePatches(t *testing.T) {
	for _, c := range []struct {
		name, base, patch, want string
		custom                  bool
	}{
		{"maps merge", "{a: {b: 1, c: 2}}", "{a: {c: 3, d: 4}}", "{a: {b: 1, c: 3, d: 4}}", false},
		{"null removes", "{a: 1, b: 2}", "{a: null}", "{b: 2}", false},
		{"named elements merge, those of the patch come first", "{containers: [{name: a, x: 1}, {name: b, x: 2}]}",
			"{containers: [{name: b, y: 3}, {name: c}]}",
			"{containers: [{name: b, x: 2, y: 3}, {name: c}, {name: a, x: 1}]}", false},
		{"unnamed lists are replaced", "{args: [a, b]}", "{args: [c]}", "{args: [c]}", false},
		{"lists of custom resources are replaced", "{env: [{name: a}]}", "{env: [{name: b}]}", "{env: [{name: b}]}", true},
		{"an element is deleted", "{volumes: [{name: a}, {name: b}]}", "{volumes: [{name: a, $patch: delete}]}",
			"{volumes: [{name: b}]}", false},
		{"a list is replaced", "{env: [{name: a}]}", "{env: [{$patch: replace}, {name: b}]}", "{env: [{name: b}]}", false},
		{"a map is replaced", "{a: {b: 1}}", "{a: {$patch: replace, c: 2}}", "{a: {c: 2}}", false},
		{"a map in an element is replaced", "{containers: [{name: a, x: {b: 1}}]}",
			"{containers: [{name: a, x: {$patch: replace, c: 2}}]}", "{containers: [{name: a, x: {c: 2}}]}", false},
		{"a map in an element is deleted", "{containers: [{name: a, x: {b: 1}}]}",
			"{containers: [{name: a, x: {$patch: delete}}]}", "{containers: [{name: a}]}", false},
		{"a list in an element is replaced", "{containers: [{name: a, env: [{name: b}]}]}",
			"{containers: [{name: a, env: [{$patch: replace}, {name: c}]}]}",
			"{containers: [{name: a, env: [{name: c}]}]}", false},
		{"a named element is not replaced, as in kustomize",
			"{containers: [{name: a, x: 1}, {name: b, x: 1}]}",
			"{containers: [{name: b, $patch: replace, y: 2}]}", "{containers: [{name: b, x: 1}, {name: a, x: 1}]}", false},
		{"a map is deleted", "{a: {b: 1}, d: 1}", "{a: {$patch: delete}}", "{d: 1}", false},
		{"other directives are fields, as in kustomize", "{v: {name: a, x: 1}}", "{v: {$retainKeys: [name, z], z: 3}, $setElementOrder/l: [a]}",
			"{v: {name: a, x: 1, $retainKeys: [name, z], z: 3}, $setElementOrder/l: [a]}", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := parse(t, c.base)
			mergeMaps(base, parse(t, c.patch), !c.custom)
			if got, want := printed(t, base), printed(t, parse(t, c.want)); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

func TestJSONPatchOperations(t *testing.T) {
	const base = "{a: {b: 1}, list: [x, y], 'a/b': 1}"
	for _, c := range []struct{ name, patch, want string }{
		{"add", "[{op: add, path: /a/c, value: 2}]", "{a: {b: 1, c: 2}, list: [x, y], 'a/b': 1}"},
		{"insert", "[{op: add, path: /list/1, value: z}]", "{a: {b: 1}, list: [x, z, y], 'a/b': 1}"},
		{"append", "[{op: add, path: /list/-, value: z}]", "{a: {b: 1}, list: [x, y, z], 'a/b': 1}"},
		{"replace", "[{op: replace, path: /a~1b, value: 2}]", "{a: {b: 1}, list: [x, y], 'a/b': 2}"},
		{"negative indexes", "[{op: replace, path: /list/-2, value: z}, {op: add, path: /list/-1, value: w}, {op: remove, path: /list/-2}, " +
			"{op: remove, path: /list/-4}]", "{a: {b: 1}, list: [z, w], 'a/b': 1}"},
		{"remove", "[{op: remove, path: /list/0}]", "{a: {b: 1}, list: [y], 'a/b': 1}"},
		{"move", "[{op: move, from: /a/b, path: /c}]", "{a: {}, list: [x, y], 'a/b': 1, c: 1}"},
		{"copy", "[{op: copy, from: /a, path: /c}]", "{a: {b: 1}, list: [x, y], 'a/b': 1, c: {b: 1}}"},
		{"paths that do not exist", "[{op: add, path: /no/where, value: 1}, {op: remove, path: ''}, {op: add, path: /list/9, value: 1}, " +
			"{path: x}]", base},
	} {
		t.Run(c.name, func(t *testing.T) {
			docs, err := doc.Parse("patch.yaml", []byte(c.patch), doc.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			i := newItem(parse(t, base), nil)
			(&transformation{}).operations(mark{path: "patch.yaml"}, docs[0], i)
			if got, want := printed(t, i.root), printed(t, parse(t, c.want)); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

func TestSplitImage(t *testing.T) {
	for ref, want := range map[string][3]string{
		"a":                    {"a", "", ""},
		"a:1":                  {"a", "1", ""},
		"h:5000/a":             {"h:5000/a", "", ""},
		"h:5000/a:1@sha256:ff": {"h:5000/a", "1", "sha256:ff"},
	} {
		if name, tag, digest := SplitImage(ref); [3]string{name, tag, digest} != want {
			t.Errorf("%s: %s %s %s", ref, name, tag, digest)
		}
	}
}

func TestFlowColumns(t *testing.T) {
	for _, c := range []struct {
		line string
		want []int // nil: not on one line, or with escapes that have no counterpart
	}{
		{`k: ab`, []int{4, 5}},
		{`k: 'a''b'`, []int{5, 6, 8}},
		{`k: "a\nb"`, []int{5, 6, 8}},
		{`k: "a\x41"`, nil},
	} {
		docs, err := doc.Parse("test.yaml", []byte(c.line), doc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		_, n := doc.Field(docs[0], "k")
		if got := flowColumns([]rune(c.line), n); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.line, got, c.want)
		}
	}
}

func TestFieldSpecs(t *testing.T) {
	const deployment = "{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {containers: [{name: a}, " +
		"{name: b}]}}, empty: null}}"
	for _, c := range []struct {
		name string
		spec fieldSpec
		kind yaml.Kind
		want string
	}{
		{"a field of each element", fieldSpec{path: []string{"spec", "template", "spec", "containers", "name"}}, 0,
			"{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {containers: [{name: x}, {name: x}]}}, empty: " +
				"'null'}}"},
		{"missing field is created", fieldSpec{path: []string{"spec", "new", "field"}, create: true}, yaml.ScalarNode,
			"{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {containers: [{name: a}, {name: b}]}}, empty: " +
				"'null', new: {field: x}}}"},
		{"null is replaced", fieldSpec{path: []string{"spec", "empty", "field"}, create: true}, yaml.ScalarNode,
			"{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {containers: [{name: a}, {name: b}]}}, empty: " +
				"{field: x}}}"},
		{"missing field is not created without create", fieldSpec{path: []string{"spec", "new"}}, yaml.ScalarNode, ""},
		{"missing list is not created", fieldSpec{path: []string{"spec", "list[]", "field"}, create: true}, yaml.ScalarNode, ""},
		{"another kind", fieldSpec{Gvk: resid.Gvk{Kind: "Service"}, path: []string{"kind"}}, 0, ""},
		{"another group", fieldSpec{Gvk: resid.Gvk{Group: "batch"}, path: []string{"kind"}}, 0, ""},
		{"another version", fieldSpec{Gvk: resid.Gvk{Version: "v2"}, path: []string{"kind"}}, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := newItem(parse(t, deployment), nil)
			c.spec.apply(i, c.kind, mark{}, func(v *value) { v.write("x", mark{}) })
			if c.want == "" {
				c.want = strings.Replace(deployment, "null", "'null'", 1)
			}
			if got, want := printed(t, i.root), printed(t, parse(t, c.want)); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

// No default is listed twice, and each has a path.
func TestDefaultSpecs(t *testing.T) {
	for step, list := range defaultSpecs() {
		if len(union(nil, list)) != len(list) {
			t.Errorf("%s lists a field twice", step)
		}
	}
}

func TestTargetsSelectResources(t *testing.T) {
	made := func(text string) *item { return newItem(parse(t, text), nil) }
	renamed := made("{apiVersion: v1, kind: ConfigMap, metadata: {name: old}}")
	renamed.root.at("metadata", "name").write("new", mark{})
	renamed.remember()
	placed := made("{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: ns, labels: {a: b}}}")
	cluster := made("{apiVersion: v1, kind: Namespace, metadata: {name: ns}}")
	all := []*item{renamed, placed, cluster}
	for target, want := range map[string][]*item{
		"{}": all, "{name: old}": {renamed}, "{name: new}": {renamed}, "{name: n.*}": {renamed, cluster}, "{name: o}": nil,
		"{namespace: default}": {renamed}, "{namespace: ns}": {placed}, "{group: apps}": {placed},
		"{version: v1, kind: Name.*}": {cluster},
		"{labelSelector: a=b}":        {placed}, "{name: '['}": nil,
	} {
		docs, err := doc.Parse("t.yaml", []byte(target), doc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got := selected(docs[0], all); !slices.Equal(got, want) {
			t.Errorf("%s: %d items, want %d", target, len(got), len(want))
		}
		if got := targeted(docs[0], all); !slices.Equal(got, want) {
			t.Errorf("replacement to %s: %d items, want %d", target, len(got), len(want))
		}
	}
}

func TestFieldPath(t *testing.T) {
	for _, c := range []struct {
		path, base, want string
		create           yaml.Kind
	}{
		{"a.b", "{a: {b: 1}}", "{a: {b: x}}", 0},
		{"a.0.b", "{a: [{b: 1}, {b: 2}]}", "{a: [{b: x}, {b: 2}]}", 0},
		{"a.*.b", "{a: [{b: 1}, {b: 2}]}", "{a: [{b: x}, {b: x}]}", 0},
		{"a.[n=p.*].b", "{a: [{n: pq, b: 1}, {n: r, b: 2}]}", "{a: [{n: pq, b: x}, {n: r, b: 2}]}", 0},
		{"a.c", "{a: {b: 1}}", "{a: {b: 1}}", 0},
		{"a.c.d", "{a: {b: 1}}", "{a: {b: 1, c: {d: x}}}", yaml.ScalarNode},
		{"a.1.b", "{a: [{b: 1}]}", "{a: [{b: 1}, {b: x}]}", yaml.ScalarNode},
		{"a.2.b", "{a: [{b: 1}]}", "{a: [{b: 1}]}", yaml.ScalarNode},
		{"a.0.b", "{z: 1}", "{z: 1, a: [{b: x}]}", yaml.ScalarNode},
		{"a.[n=m].b", "{a: []}", "{a: [{n: m, b: x}]}", yaml.ScalarNode},
	} {
		v := parse(t, c.base)
		walk := fieldPath{create: c.create, by: mark{node: &yaml.Node{Value: c.path}}}
		for _, found := range walk.find(v, splitPath(c.path)) {
			found.write("x", mark{})
		}
		if got, want := printed(t, v), printed(t, parse(t, c.want)); got != want {
			t.Errorf("%s of %s: got\n%swant\n%s", c.path, c.base, got, want)
		}
	}
}

func TestFlowEnd(t *testing.T) {
	for line, want := range map[string]int{
		`{a: b}`: 7, `{a: "}", b: [1, {c: d}]} # x`: 25, `{a: it's}`: 10, `{a: b`: 0, `a: b`: 0, ``: 0, `}`: 0, `{a: '}'}`: 9,
	} {
		p, x := Place{Path: "x.yaml", StartLine: 1}, newTexts(func(string) ([]byte, error) { return []byte(line), nil })
		if x.flow(&p, 1); p.EndColumn != want {
			t.Errorf("%s: got %d, want %d", line, p.EndColumn, want)
		}
	}
}
