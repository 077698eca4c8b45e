package render_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// brokenParts are the contents that the files of a root may have; "" means that the file does not exist.
var brokenParts = map[string][]string{
	"top/kustomization.yaml": {"resources: [own.yaml, ../a, ../b, link]\n", "resources: [own.yaml, ../a, missing.yaml]\npatches: [{path: p.yaml}]\n",
		"resources: [own.yaml, ../a, link]\ncomponents: [../c]\n", "resources: [own.yaml, ../a/x.yaml/, ../b]\ntransformers: [../t]\n",
		"resources: [own.yaml, ../a, ../h]\n"},
	"top/own.yaml":     {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\n", "a: b: c\n"},
	"top/missing.yaml": {"", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: late}\n"},
	"top/p.yaml": {"", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\ndata: {p: q}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: late}\ndata: {p: q}\n", "[\n"},
	"top/link": {"", "->../a", "->../b", "->nowhere", "->../a/x.yaml"},
	"a/kustomization.yaml": {"resources: [x.yaml]\n", "resources: [x.yaml, ../shared/deep]\n", "patches: text\nresources: [x.yaml]\n", "",
		"->../shared/a.yaml", "resources: [x.yaml\n", "resources: [x.yaml]\nnamePrefix: a-\npatches: [{target: {kind: ConfigMap}, patch: '[{op: remove, path: /data/none}]'}]\n"},
	"a/x.yaml": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n", "", "a: [\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {none: some}\n"},
	"b/kustomization.yaml": {"configMapGenerator: [{name: g, files: [f.txt]}]\n", "configMapGenerator: [{name: g, envs: [../shared/e.env]}]\n", "",
		"resources: [../shared/other.yaml]\ntransformers: [patch.yaml]\n"},
	"b/patch.yaml":         {"apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: p}\npath: inner.yaml\n"},
	"b/inner.yaml":         {"", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata: {in: ner}\n", "[\n"},
	"b/f.txt":              {"", "text\n"},
	"h/kustomization.yaml": {"helmCharts: [{name: x, releaseName: r}]\n", "helmCharts: [{name: x, releaseName: r, valuesFile: v.yaml}]\n"},
	"h/v.yaml":             {"", "a: b\n", "->../shared/v.yaml", "->charts/x/values.yaml"},
	"h/charts/x/Chart.yaml": {"apiVersion: v2\nname: x\nversion: 1.0.0\n", "",
		"apiVersion: v2\nname: x\nversion: 1.0.0\ndependencies: [{name: lib, version: 1.0.0, repository: 'file://../../../shared/lib'}]\n"},
	"h/charts/x/values.yaml":         {"", "a: c\n", "[\n", "->../../../shared/v.yaml"},
	"h/charts/x/templates/c.yaml":    {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Values.a }}'}\n", "{{ fail .Values.a }}", "->../../../../shared/other.yaml"},
	"shared/lib/Chart.yaml":          {"", "apiVersion: v2\nname: lib\nversion: 1.0.0\n"},
	"shared/v.yaml":                  {"", "a: d\n", "[\n"},
	"shared/a.yaml":                  {"", "resources: [x.yaml]\n", "[\n"},
	"shared/e.env":                   {"", "A=b\n", "A B\n"},
	"shared/deep/kustomization.yaml": {"resources: [../other.yaml]\n", "namePrefix: [x]\n", "", "resources: [../more]\n"},
	"shared/other.yaml":              {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n", "", "x: {\n"},
	"shared/more/kustomization.yaml": {"", "secretGenerator: [{name: s, files: [none.txt]}]\n"},
	"shared/more/none.txt":           {"", "text\n"},
	"c/kustomization.yaml":           {"kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\npatches: [{path: p.yaml}]\n", "", "kind: Component\nimages: x\n"},
	"c/p.yaml":                       {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\ndata: {c: d}\n", "", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {c: d}\n"},
	"t/kustomization.yaml":           {"resources: [t.yaml]\n", ""},
	"t/t.yaml":                       {"apiVersion: builtin\nkind: LabelTransformer\nmetadata: {name: l}\nlabels: {a: b}\nfieldSpecs: [{path: metadata/labels, create: true}]\n", "", "apiVersion: v1\nkind: Odd\n"},
	"flux/top.yaml":                  {"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: top, namespace: flux-system}\nspec: {path: top, targetNamespace: prod}\n"},
}

// After any sequence of edits, a root with broken parts renders the same from the cache as without, and a change that alters
// what it renders reaches it. LINTEL_STEPS is the number of edits, LINTEL_SEED the seed.
func TestCachedBrokenPartsEqualRendered(t *testing.T) {
	random := rand.New(rand.NewPCG(uint64(treetest.Number(t, "LINTEL_SEED", 1)), 0))
	r := treetest.NewWalk(t)
	objects := r.Objects()
	names := slices.Sorted(maps.Keys(brokenParts))
	for _, p := range names {
		r.Set(p, brokenParts[p][0])
	}
	disk, err := env.OpenDisk(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	set := func(id string, cache *render.Cache) *deploy.Set {
		at, err := objects.Tree(id)
		if err != nil {
			t.Fatal(err)
		}
		return cached(t, at, cache)
	}
	rendered := func(s *deploy.Set) string {
		var out []string
		for _, root := range s.All() {
			got, problems, err := s.Render(t.Context(), root)
			if err != nil {
				t.Fatal(err)
			}
			for _, res := range got.Resources {
				text, err := json.Marshal(res.Object)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, fmt.Sprintf("%s: %s", root, text))
			}
			for _, p := range problems {
				out = append(out, fmt.Sprintf("%s: %v %s", root, p.Unknown, p.Error()))
			}
		}
		return strings.Join(out, "\n")
	}
	log, before, was, recalled := []string{}, r.Snapshot(), "", 0
	for range treetest.Number(t, "LINTEL_STEPS", 60) {
		p := names[random.IntN(len(names))]
		r.Set(p, brokenParts[p][random.IntN(len(brokenParts[p]))])
		log = append(log, fmt.Sprintf("%s: %q", p, r.Now[p]))
		head := r.Snapshot()
		want := rendered(set(head, &render.Cache{}))
		cache := &render.Cache{Disk: disk}
		now := set(head, cache)
		if got := rendered(now); got != want {
			t.Fatalf("the cache changes the rendering.\nedits:\n%s\ngot:\n%s\nwant:\n%s", strings.Join(log, "\n"), got, want)
		}
		if want != was && was != "" && len(deploy.Between(set(before, cache), now, []string{p}, nil)) == 0 {
			t.Fatalf("the change reaches nothing.\nedits:\n%s\nbefore:\n%s\nnow:\n%s", strings.Join(log, "\n"), was, want)
		}
		_, n := now.Renderer.Counts()
		recalled += n
		cache.Save()
		before, was = head, want
	}
	if recalled == 0 {
		t.Error("nothing was recalled")
	}
}

// What is built without its broken part is kept as well: nothing is built again.
func TestPartialRenderingIsRemembered(t *testing.T) {
	r := treetest.New(t)
	at := r.Tree(r.Commit("-- top/kustomization.yaml --\nresources: [own.yaml, ../a, none.yaml]\n" +
		"-- top/own.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\n-- a/kustomization.yaml --\npatches: [text]\n"))
	disk, err := env.OpenDisk(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		s := cached(t, at, &render.Cache{Disk: disk})
		out, problems, err := s.Render(t.Context(), roots.Root{Path: "top"})
		if err != nil || len(out.Resources) != 1 || len(problems) != 2 {
			t.Fatal(err, problems)
		}
		if built, recalled := s.Renderer.Counts(); built != 1-round || recalled != round {
			t.Errorf("round %d: %d built, %d recalled", round, built, recalled)
		}
	}
}

// What repairs a folder that was left out is seen, although the build of the root stopped at another one before it read that.
func TestRepairOfSecondBrokenPartIsSeen(t *testing.T) {
	r := treetest.New(t)
	before := r.Tree(r.Commit("-- top/kustomization.yaml --\nresources: [own.yaml, ../a, ../b]\n" +
		"-- top/own.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\n" +
		"-- a/kustomization.yaml --\nresources: [a.yaml]\npatches: [{target: {kind: ConfigMap}, patch: '[{op: remove, path: /data/none}]'}]\n" +
		"-- a/a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" +
		"-- b/kustomization.yaml --\nresources: [b.yaml]\ntransformers: [t.yaml]\n" +
		"-- b/b.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n" +
		"-- b/t.yaml --\napiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: t}\npath: inner.yaml\n"))
	after := r.Tree(r.Commit("-- b/inner.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {in: ner}\n"))
	disk, err := env.OpenDisk(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, at := range []*tree.Tree{before, after} {
		out, problems, err := cached(t, at, &render.Cache{Disk: disk}).Render(t.Context(), roots.Root{Path: "top"})
		if err != nil || len(out.Resources) != 1+i || len(problems) == 0 {
			t.Errorf("%d: %d resources, %v %v", i, len(out.Resources), err, problems)
		}
	}
}
