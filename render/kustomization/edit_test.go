package kustomization_test

import (
	"testing"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
)

// What is edited in place keeps all lines; what cannot be is written anew behind everything, and its lines are blank.
func TestEdit(t *testing.T) {
	const url = "https://h/o/r.git"
	for _, c := range []struct {
		name, data string
		components []string
		without    []kustomization.Position
		want       string
	}{
		{name: "plain", data: "resources:\n- a\n- " + url + " # why\nnamePrefix: x\n",
			want: "resources:\n- a\n- new # why\nnamePrefix: x\n"},
		{name: "quoted", data: "resources:\n- '" + url + "'\n- \"" + url + "\"\n", want: "resources:\n- 'new'\n- \"new\"\n"},
		{name: "flow", data: "resources: [a, " + url + ", \"" + url + "\"]\n", want: "resources: [a, new, \"new\"]\n"},
		{name: "a map", data: "patches:\n- path: " + url + "\n  target: {}\n",
			want: "patches:\n- path: new\n  target: {}\n"},
		{name: "a part", data: "configMapGenerator:\n- files: [k=" + url + "]\n",
			want: "configMapGenerator:\n- files: [k=new]\n"},
		{name: "folded", data: "resources:\n- >-\n  " + url + "\n- a\nnamePrefix: x\n",
			want: "resources:\n- new\n\n- a\nnamePrefix: x\n"},
		{name: "tagged", data: "resources:\n- !!str '" + url + "'\n", want: "resources:\n- !!str 'new'\n"},
		{name: "JSON", data: `{"resources": ["` + url + `", "b"], "namePrefix": "x"}`,
			want: `{"resources": ["new", "b"], "namePrefix": "x"}`},
		{name: "one left out", data: "resources:\n- a\n- " + url + "\n", without: []kustomization.Position{{Line: 2, Column: 3}},
			want: "resources:\n\n- new\n"},
		{name: "one left out of a flow list", data: "resources: [a, " + url + "]\n",
			without: []kustomization.Position{{Line: 1, Column: 13}}, want: "resources: [new]\n"},
		{name: "components", data: "components:\n- a\nresources:\n- b\n", components: []string{"x", "y"},
			want: "components: [x, \"y\", a]\n\nresources:\n- b\n"},
		{name: "the first components", data: "resources: [" + url + "]\n", components: []string{"x"},
			want: "resources: [new]\ncomponents:\n  - x\n"},
		{name: "components in JSON", data: `{"components": ["a"]}`, components: []string{"x"},
			want: `{"components": [x, a]}`},
		{name: "documents that kustomize does not read", data: "resources: [" + url + "]\n---\n# nothing\n",
			want: "resources: [new]\n---\n# nothing\n"},
		{name: "aliases elsewhere", data: "commonLabels: &l {a: b}\nresources: [" + url + "]\ncommonAnnotations: *l\n",
			want: "commonLabels: &l {a: b}\nresources: [new]\ncommonAnnotations: *l\n"},
		{name: "an alias in what is written anew", data: "namePrefix: &a x-\nresources:\n- >-\n  " + url + "\n- *a\n",
			want: "namePrefix: &a x-\nresources:\n- new\n\n- *a\n"},
		{name: "an alias before another anchor of its name",
			data: "namePrefix: &a x\nresources:\n- >-\n  " + url + "\n- *a\nnameSuffix: &a y\n",
			want: "namePrefix: &a x\nresources:\n- new\n\n- *a\nnameSuffix: &a y\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := kustomization.Parse("k", []byte(c.data), doc.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			values := map[kustomization.Position]kustomization.Value{}
			for _, ref := range f.Refs {
				if ref.Value == url {
					values[kustomization.Position{Line: ref.Line, Column: ref.Column}] = kustomization.Value{Old: url, New: "new"}
				}
			}
			_, text, ok := f.Edit([]byte(c.data),
				kustomization.Edits{Values: values, Components: c.components, Without: c.without})
			if !ok || string(text) != c.want {
				t.Errorf("got %v\n%s\nwant\n%s", ok, text, c.want)
			}
		})
	}
	for _, data := range []string{
		"resources: [&a " + url + "]\nnamePrefix: *a\n",        // would have the new text
		"resources:\n- &a >-\n  " + url + "\nnamePrefix: *a\n", // would stand in front of its anchor
	} {
		f, err := kustomization.Parse("k", []byte(data), doc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		values := map[kustomization.Position]kustomization.Value{}
		for _, ref := range f.Refs {
			values[kustomization.Position{Line: ref.Line, Column: ref.Column}] = kustomization.Value{Old: url, New: "new"}
		}
		if _, text, ok := f.Edit([]byte(data), kustomization.Edits{Values: values}); ok {
			t.Errorf("%s\nwas edited:\n%s", data, text)
		}
	}
}
