package deploy

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

const (
	argo    = "apiVersion: argoproj.io/v1alpha1\n"
	fluxed  = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
	charted = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n"
	sources = "apiVersion: source.toolkit.fluxcd.io/v1\n"
	fleet   = "repoURL: 'https://git.example.com/fleet', targetRevision: HEAD"
)

// parts are the documents that files consist of. They refer to each other, to folders and to other files.
var parts = []string{
	argo + "kind: Application\nmetadata: {name: app, namespace: argocd}\nspec:\n  source: {" + fleet + ", path: apps/one, kustomize: {namePrefix: x-, " +
		"images: ['a=b:1']}}\n  destination: {namespace: shop}\n",
	argo + "kind: Application\nmetadata: {name: app, namespace: argocd}\nspec:\n  source: {" + fleet + ", path: chart, helm: {valueFiles: [values-a.yaml, " +
		"../shared/v.yaml], ignoreMissingValueFiles: true, valuesObject: {a: 1.0, b: [], c: {}, d: null, e: 1e30}}}\n  destination: {namespace: shop}\n",
	argo + "kind: Application\nmetadata: {name: plain, namespace: argocd}\nspec:\n  source: {" + fleet + ", path: apps, directory: {recurse: true, " +
		"exclude: '*/k*.yaml'}}\n",
	argo + "kind: ApplicationSet\nmetadata: {name: set, namespace: argocd}\nspec:\n  generators: [{git: {" + fleet + ", directories: [{path: 'apps/*'}]}}]\n" +
		"  template:\n    metadata: {name: '{{path.basename}}'}\n    spec: {source: {" + fleet + ", path: '{{path}}'}, destination: {namespace: shop}}\n",
	argo + "kind: ApplicationSet\nmetadata: {name: files, namespace: argocd}\nspec:\n  goTemplate: true\n  generators:\n  - merge:\n      mergeKeys: [dir]\n" +
		"      generators: [{git: {" + fleet + ", files: [{path: 'shared/*.yaml'}]}}, {list: {elements: [{dir: apps/one, n: '2'}]}}]\n" +
		"  template:\n    metadata: {name: 'm-{{.n}}'}\n    spec: {source: {" + fleet + ", path: '{{.dir}}'}, destination: {namespace: 'n-{{.n}}'}}\n",
	argo + "kind: ApplicationSet\nmetadata: {name: open, namespace: argocd}\nspec:\n  generators: [{clusters: {}}, {list: {elements: [{name: one}]}}]\n" +
		"  template:\n    metadata: {name: 'o-{{name}}'}\n    spec: {source: {" + fleet + ", path: 'apps/{{name}}'}, destination: {namespace: shop}}\n",
	fluxed + "metadata: {name: ks, namespace: ops}\nspec:\n  path: ./apps/one\n  sourceRef: {kind: GitRepository, name: fleet}\n  targetNamespace: shop\n" +
		"  postBuild: {substitute: {a: b}, substituteFrom: [{kind: ConfigMap, name: vars}, {kind: Secret, name: vars, optional: true}]}\n" +
		"  patches: [{patch: '[]', target: {kind: ConfigMap}}]\n",
	fluxed + "metadata: {name: all, namespace: ops}\nspec:\n  path: ./clusters/a\n  sourceRef: {kind: GitRepository, name: fleet}\n",
	fluxed + "metadata: {name: made, namespace: ops}\nspec:\n  path: ./one\n  sourceRef: {kind: ExternalArtifact, name: made}\n",
	fluxed + "metadata: {name: waits, namespace: ops}\nspec:\n  suspend: true\n  path: ./apps/two\n  sourceRef: {kind: GitRepository, name: fleet}\n",
	charted + "metadata: {name: hr, namespace: ops}\nspec:\n  chart: {spec: {chart: ./chart, valuesFiles: [chart/values.yaml, shared/v.yaml], sourceRef: " +
		"{kind: GitRepository, name: fleet}}}\n  valuesFrom: [{kind: ConfigMap, name: vars, valuesKey: a}, {kind: ConfigMap, name: vars, valuesKey: n, targetPath: x.y}]\n" +
		"  values: {a: 1, b: '${a}'}\n",
	charted + "metadata: {name: hr, namespace: ops}\nspec:\n  chartRef: {kind: HelmChart, name: hc}\n",
	sources + "kind: HelmChart\nmetadata: {name: hc, namespace: ops}\nspec: {chart: ./chart, sourceRef: {kind: GitRepository, name: fleet}}\n",
	sources + "kind: GitRepository\nmetadata: {name: fleet, namespace: ops}\nspec: {url: 'https://git.example.com/fleet'}\n",
	sources + "kind: GitRepository\nmetadata: {name: fleet, namespace: ops}\nspec: {url: 'https://git.example.com/fleet', ignore: '/apps/one/b*'}\n",
	sources + "kind: GitRepository\nmetadata: {name: fleet}\nspec: {url: 'https://git.example.com/other', ref: {tag: v1}}\n",
	"apiVersion: source.extensions.fluxcd.io/v1beta1\nkind: ArtifactGenerator\nmetadata: {name: g, namespace: ops}\nspec:\n  sources: [{alias: f, kind: " +
		"GitRepository, name: fleet}]\n  artifacts: [{name: made, copy: [{from: '@f/apps/**', to: '@artifact/'}]}]\n",
	"{apiVersion: v1, kind: ConfigMap, metadata: {name: vars, namespace: ops}, data: {a: 'x: 1', n: '5'}}\n",
	"{apiVersion: v1, kind: ConfigMap, metadata: {name: vars}, data: {a: 'x: 2', 'not valid': '5'}}\n",
	"{apiVersion: v1, kind: ConfigMap, metadata: {name: \"v\\x61rs\", namespace: ops}, data: {a: 'x: 3'}}\n",
	"{apiVersion: v1, kind: ConfigMap, metadata: {name: vars, namespace: ops, annotations: {config.kubernetes.io/local-config: 'true'}}, data: {a: 'x: 4'}}\n",
	"{apiVersion: v1, kind: Secret, metadata: {name: vars, namespace: ops}, stringData: {a: 'x: 6'}}\n",
	"{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: ops}, data: {k: v}}\n",
	"dir: apps/one\nn: 1\n", "dir: apps/two\nn: 18446744073709551615\n", "- {dir: apps/two, n: 2.5}\n",
}

var (
	// writtenIn are the files that consist of such documents.
	writtenIn = []string{"argo/a.yaml", "argo/b.yaml", "clusters/a/ks.yaml", "clusters/a/vars.yaml", "clusters/b/ks.yaml", "clusters/b/vars.yaml",
		"flux/ks.yaml", "flux/vars.yaml", "apps/one/a.yaml", "apps/one/b.yaml", "apps/two/a.yaml", "shared/v.yaml", "shared/w.yaml", "base/a.yaml"}
	// others are the contents that other files may have; "" means that the file does not exist.
	others = map[string][]string{
		"apps/one/kustomization.yaml": {"", "resources: [a.yaml]\n", "resources: [a.yaml, ../../base]\nnamePrefix: p-\n"},
		"base/kustomization.yaml":     {"", "resources: [a.yaml]\n", "configMapGenerator: [{name: vars, namespace: ops, literals: [a=b]}]\n"},
		"clusters/a/kustomization.yaml": {"", "resources: [ks.yaml, vars.yaml]\n", "resources: [ks.yaml, ../../base]\npatches:\n- target: {kind: Kustomization, name: ks}\n" +
			"  patch: '[{\"op\": \"replace\", \"path\": \"/spec/path\", \"value\": \"./apps/two\"}]'\n",
			"namespace: ops\nresources: [../../flux, ks.yaml]\nnamePrefix: a-\n"},
		"clusters/b/kustomization.yaml": {"", "resources: [ks.yaml, ../../flux]\n", "resources: [ks.yaml]\npatches:\n- target: {kind: HelmRelease}\n" +
			"  patch: '[{\"op\": \"add\", \"path\": \"/spec/values\", \"value\": {\"big\": 18446744073709551615, \"half\": 1.0}}]'\n"},
		"flux/kustomization.yaml":      {"", "resources: [ks.yaml, vars.yaml]\n"},
		"chart/Chart.yaml":             {"{apiVersion: v2, name: c, version: 1.0.0}\n", "", "->../shared/w.yaml", "{apiVersion: v2, name: c, version: 1.0.0, dependencies: [{name: d, repository: 'file://../shared'}]}\n"},
		"chart/values.yaml":            {"a: 0\n", "", "->../shared/v.yaml"},
		"chart/values-a.yaml":          {"", "a: 2\n", "->../shared/v.yaml"},
		"chart/templates/cm.yaml":      {"{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: {{ .Values.a | quote }}}}\n", "->../../shared/w.yaml"},
		"apps/one/.sourceignore":       {"", "b.yaml\n", "->../../shared/v.yaml"},
		"apps/three":                   {"", "->one", "->../base", "->nowhere"},
		"argo/link.yaml":               {"", "->../flux/ks.yaml", "->a.yaml", "->../shared/w.yaml"},
		"apps/two/.argocd-source.yaml": {"", "kustomize: {namePrefix: y-}\n", "->../../shared/v.yaml"},
	}
)

// described is what a set knows about what is deployed, with all places.
func described(t *testing.T, s *Set) (out []string) {
	t.Helper()
	for _, root := range s.All() {
		out = append(out, fmt.Sprint("root ", root, s.Target(root).Digest, s.Placement(root), s.Files(root)))
	}
	for _, one := range s.found().sorted() {
		text, err := json.Marshal(one.Deployment)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("deployment %s %s %s", one.id, one.Digest(), text), hex.EncodeToString(env.Encode(one.Deployment)))
	}
	for _, p := range s.Problems() {
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, "problem "+string(text))
	}
	slices.Sort(out)
	return out
}

// After any sequence of edits, what is deployed is the same with caches in the process or on disk as without.
// LINTEL_STEPS is the number of random edits, LINTEL_SEED the seed.
func TestCacheChangesNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(uint64(treetest.Number(t, "LINTEL_SEED", 1)), 0))
	pick := func(list []string) string { return list[random.IntN(len(list))] }
	r := treetest.NewWalk(t)
	objects := r.Objects()
	set, now := r.Set, r.Now
	written := func() (text string) {
		for range random.IntN(3) {
			text += "---\n" + pick(parts)
		}
		return text
	}
	for _, p := range slices.Sorted(maps.Keys(others)) {
		set(p, others[p][0])
	}
	for _, p := range writtenIn {
		set(p, written())
	}
	disk, err := env.OpenDisk(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	open := func(at *tree.Tree, o roots.Options, c *render.Cache) *Set {
		s, err := Open(at, o, &graph.Cache{}, render.Config{Cache: c})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	log, before, warm := []string{}, r.Snapshot(), &render.Cache{}
	for range treetest.Number(t, "LINTEL_STEPS", 30) {
		for range 1 + random.IntN(2) {
			p, from := pick(writtenIn), pick(writtenIn)
			switch random.IntN(8) {
			case 0: // lines are shifted, and nothing else changes
				set(p, moved(now[p]))
			case 1: // a file is renamed, or two are exchanged
				here, there := now[p], now[from]
				set(p, there)
				set(from, here)
			case 2:
				set(p, now[from])
			case 3: // a symlink replaces a file with equal content
				if text := now[p]; text != "" && !strings.HasPrefix(text, "->") {
					set("copies/copy.yaml", text)
					set(p, "->"+strings.Repeat("../", strings.Count(p, "/"))+"copies/copy.yaml")
				}
			case 4:
				set(p, written())
			case 5:
				p = pick(slices.Sorted(maps.Keys(others)))
				set(p, moved(now[p]))
			default:
				p = pick(slices.Sorted(maps.Keys(others)))
				set(p, pick(others[p]))
			}
			log = append(log, p+": "+strconv.Quote(now[p]))
		}
		head := r.Snapshot()
		o := roots.Options{Repository: []string{"https://git.example.com/" + pick([]string{"fleet", "fleet", "fleet", "other"})}}
		if random.IntN(4) == 0 {
			o.Repository = nil
		}
		if random.IntN(8) == 0 {
			o.Limits.Nodes = 20
		}
		objects.SetBlobLimit([]int64{0, 0, 0, 0, 150}[random.IntN(5)])
		results := map[string][]string{}
		for name, cache := range map[string]*render.Cache{"without": nil, "in the process": warm, "from disk": {Disk: disk}} {
			trees := [2]*Set{}
			for i, id := range []string{before, head} {
				at, err := objects.Tree(id)
				if err != nil {
					t.Fatal(err)
				}
				trees[i] = open(at, o, cache)
			}
			for _, root := range Between(trees[0], trees[1], []string{log[len(log)-1][:strings.Index(log[len(log)-1], ":")]}, nil) {
				results[name] = append(results[name], fmt.Sprint("reached ", root))
			}
			results[name] = append(results[name], described(t, trees[1])...)
			if cache != nil {
				cache.Save()
			}
		}
		for name, got := range results {
			if want := results["without"]; !slices.Equal(got, want) {
				t.Fatalf("what is kept %s changes what is deployed.\nedits:\n%s\ngot:\n%s\nwant:\n%s", name, strings.Join(log, "\n"),
					strings.Join(minus(got, want), "\n"), strings.Join(minus(want, got), "\n"))
			}
		}
		before = head
	}
	if err := objects.Err(); err != nil {
		t.Error(err)
	}
}

// minus returns the texts that another list lacks.
func minus(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(text string) bool { return slices.Contains(other, text) })
}

// moved adds a line before a text, or removes it.
func moved(text string) string {
	const line = "# moved\n"
	if rest, ok := strings.CutPrefix(text, line); ok || text == "" || strings.HasPrefix(text, "->") {
		return rest
	}
	return line + text
}
