package kustomization_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
)

func TestRefs(t *testing.T) {
	f, err := kustomization.Parse("a/kustomization.yaml", []byte(`
resources: [r.yaml, ../base]
bases:
- b
components: [c]
crds: [crd.json]
configurations: [conf.yaml]
openapi: {path: schema.json}
generators: [g.yaml]
transformers:
- |
  kind: Inline
- t.yaml
patchesStrategicMerge:
- psm.yaml
- |-
  kind: X
patches:
- path: p.yaml
- patch: '[]'
patchesJson6902:
- path: j.yaml
replacements:
- path: rep.yaml
configMapGenerator:
- name: a
  files: [one.txt, key=two.txt]
  envs: [e.env]
  env: old.env
secretGenerator:
- name: s
  files: [s.txt]
`), doc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range f.Refs {
		got = append(got, fmt.Sprintf("%d %s %s", r.Line, r.Field, r.Value))
	}
	want := []string{
		"2 resources r.yaml", "2 resources ../base", "4 bases b", "5 components c", "6 crds crd.json",
		"7 configurations conf.yaml",
		"9 generators g.yaml", "13 transformers t.yaml", "15 patchesStrategicMerge psm.yaml", "19 patches.path p.yaml",
		"22 patchesJson6902.path j.yaml", "24 replacements.path rep.yaml", "27 configMapGenerator.files one.txt",
		"27 configMapGenerator.files two.txt", "28 configMapGenerator.envs e.env", "29 configMapGenerator.env old.env",
		"32 secretGenerator.files s.txt", "8 openapi.path schema.json",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	if !f.OpenAPI || f.Component || f.Dir != "a" {
		t.Errorf("got %+v", f)
	}
}

// Kustomize reads the first document of the file.
func TestFirstDocument(t *testing.T) {
	for data, want := range map[string]string{
		"resources: [a]\n---\nresources: [b]\n": "a", "resources: [a]\n...\nresources: [b]\n": "a", "resources: [a]\n---\n{{\n": "a",
		"# c\n---\nresources: [a]\n--- {}\n": "a", "{resources: [a]}\n{resources: [b]}\n": "a",
		"---\n# c\n": "", "{{\n---\nresources: [a]\n": "", "[a]\n---\nresources: [a]\n": "",
	} {
		f, err := kustomization.Parse("k", []byte(data), doc.Limits{})
		if got := err == nil; got != (want != "") {
			t.Errorf("%q: %v", data, err)
		} else if got && (len(f.Refs) != 1 || f.Refs[0].Value != want) {
			t.Errorf("%q: %v", data, f.Refs)
		}
	}
}

func TestRemote(t *testing.T) {
	for value, want := range map[string]bool{
		"../base": false, "a.yaml": false, "./x/y": false, "app.github/x.yaml": false, "key:x": false, "conf:a/b.yaml": false,
		"https://example.com/a.yaml": true, "http://x": true, "github.com/a/b": true, "git@host:a/b": true,
		"ssh://git@h/a":    true,
		"git::https://h/a": true, "host.example:a/b": true, "user@host:a": true, "a?ref=v1": true, "h/a.git": true,
		"h/a.git/x":  true,
		"repo//path": true, "file:///etc": true, "GitHub.com/A/B": true,
	} {
		if got := kustomization.Remote(value); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("resources: [a]\npatches: [{path: b}]\n"))
	f.Add([]byte("configMapGenerator: [{files: [{}]}]\nopenapi: x\nhelmCharts: {a: b}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := kustomization.Parse("k", data, doc.Limits{Nodes: 10_000, Depth: 50})
		var e *doc.Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("%T", err)
		}
		if file != nil && file.Node == nil {
			t.Fatal("no node")
		}
	})
}
