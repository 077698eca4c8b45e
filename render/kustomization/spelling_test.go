package kustomization_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
)

// However a field is spelled, it is recognized as the field that kustomize matches it with, or the file is refused.
func TestSpelling(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"capitals", "RESOURCES: [a]\nConfigmapGenerator: [{NAME: g, Files: [b]}]\n",
			"1 resources a, 2 configMapGenerator.files b"},
		{"letters that fold", "re\u017fource\u017f: [a]\npatche\u017f: [{path: b}]\n", "1 resources a, 2 patches.path b"},
		{"twice", "resources: [a]\nresources: [b]\n", "2 resources b"},
		{"twice below", "patches: [{path: a, path: b}]\n", "1 patches.path b"},
		{"two spellings", "resources: [a]\nResources: [b]\n",
			`f/kustomization.yaml:2: sets "resources" twice, in two spellings: keep one`},
		{"two spellings below", "replacements:\n- sourceValue: a\n  sourcevalue: b\n",
			`f/kustomization.yaml:3: sets "sourceValue" twice, in two spellings: keep one`},
		{"an alias for a name", "x: &n resources\n*n : [a]\n", "2 resources a"},
		{"merged", "x: &x {resources: [a]}\n<<: *x\n", "1 resources a"},
		{"merged and set", "x: &x {resources: [a]}\n<<: *x\nresources: [b]\n", "3 resources b"},
		{"set and merged", "x: &x {resources: [a]}\nresources: [b]\n<<: *x\n",
			`f/kustomization.yaml:3: sets "resources" before a merge key`},
		{"merged in capitals", "x: &x {Resources: [a]}\n<<: *x\n", `f/kustomization.yaml:2: merges in the field "Resources"`},
		{"merged twice", "x: &x {resources: [a]}\n<<: *x\n<<: *x\n", "f/kustomization.yaml:3: has two merge keys"},
		{"base64", "resources: [!!binary YQ==]\n", "f/kustomization.yaml:1: has text in base64"},
		{"base64 for a name", "!!binary cmVzb3VyY2Vz: [a]\n", "f/kustomization.yaml:1: has text in base64"},
		{"labels keep theirs", "commonLabels: {Path: a, FILES: b}\nlabels: [{pairs: {Name: c}}]\n", ""},
		{"a document that is none", "transformers: ['http://h/x: y', \"kind: X\"]\nresources: ['a: b']\n",
			"2 resources a: b, 1 transformers http://h/x: y"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := kustomization.Parse("f/kustomization.yaml", []byte(c.data), doc.Limits{})
			var e *doc.Error
			if errors.As(err, &e) {
				if !strings.HasPrefix(e.Error(), c.want) || c.want == "" {
					t.Errorf("got %q, want %q", e.Error(), c.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var refs []string
			for _, r := range f.Refs {
				refs = append(refs, fmt.Sprint(r.Line, " ", r.Field, " ", r.Value))
			}
			if got := strings.Join(refs, ", "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	for _, data := range []string{"openapi: {path: x}", "OpenAPI: {path: x}", "openap\u0130: {path: x}"} {
		f, err := kustomization.Parse("f/kustomization.yaml", []byte("resources: [a]\n"+data+"\n"), doc.Limits{})
		if err != nil || f.OpenAPI != !strings.Contains(data, "\u0130") { // a dotted I folds to itself
			t.Errorf("%s: %v", data, err)
		}
	}
	for _, text := range []string{"kind: COMPONENT", "Kind: Component", "kind: Kustomization\nkind: Component"} {
		f, err := kustomization.Parse("f/kustomization.yaml", []byte(text+"\n"), doc.Limits{})
		if err != nil || f.Component != strings.Contains(text, "Component") {
			t.Errorf("%s: %+v, %v", text, f, err)
		}
	}
}
