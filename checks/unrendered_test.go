package checks_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// sources are the files of a repository, by their paths.
type sources map[string]string

func (f sources) with(more sources) sources {
	out := maps.Clone(f)
	maps.Copy(out, more)
	return out
}

func (f sources) archive() string {
	var b strings.Builder
	for _, p := range slices.Sorted(maps.Keys(f)) {
		fmt.Fprintf(&b, "-- %s --\n%s", p, f[p])
	}
	return b.String()
}

const (
	ownURL  = "https://github.com/acme/gitops"
	anyPod  = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\nspec: {containers: [{name: c, image: 'i:TAG'}]}\n"
	ofChart = "  chart:\n    spec: {chart: redis, version: 1.0.0, sourceRef: {kind: HelmRepository, name: bitnami}}\n"
)

func aPod(name, tag string) string {
	return strings.NewReplacer("NAME", name, "TAG", tag).Replace(anyPod)
}

// argo is an Application: its source, or sources, begin at line 6.
func argo(sources string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a, namespace: argocd}\nspec:\n" +
		"  destination: {server: https://kubernetes.default.svc, namespace: shop}\n" + sources + "  project: default\n"
}

// flux is an object of Flux: the given fields of its spec begin at line 6.
func flux(apiVersion, kind, spec string) string {
	return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: f, namespace: flux-system}\nspec:\n" +
		"  interval: 10m\n" + spec
}

func release(spec string) string { return flux("helm.toolkit.fluxcd.io/v2", "HelmRelease", spec) }
func fluxKustomize(spec string) string {
	return flux("kustomize.toolkit.fluxcd.io/v1", "Kustomization", spec)
}

func fluxSource(kind, name, spec string) string {
	return "apiVersion: source.toolkit.fluxcd.io/v1\nkind: " + kind + "\nmetadata: {name: " + name +
		", namespace: flux-system}\nspec: " + spec + "\n"
}

func appSetOf(generator, path string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: s, namespace: argocd}\nspec:\n" +
		"  goTemplate: true\n  generators:\n  - " + generator + "\n  template:\n    metadata: {name: '{{.name}}'}\n" +
		"    spec:\n      source: {repoURL: " + ownURL + ", path: " + path + "}\n" +
		"      destination: {server: '{{.server}}', namespace: shop}\n      project: default\n"
}

func against(t *testing.T, base, head sources) *report.Report {
	t.Helper()
	r := treetest.New(t)
	before := r.Commit(pods + base.archive())
	after := r.Commit(head.archive())
	return check(t, r, report.Change{Base: before, Rules: before, Head: after, Repository: []string{ownURL},
		Branches: []string{"main"}})
}

func wantNotChecked(t *testing.T, rep *report.Report, want report.Conclusion, places ...string) {
	t.Helper()
	got := []string{}
	for _, n := range rep.NotChecked {
		got = append(got, fmt.Sprintf("%s:%d", n.Path, n.Line))
	}
	slices.Sort(got)
	slices.Sort(places)
	if rep.Conclusion != want || !slices.Equal(got, places) {
		t.Errorf("%s (%s), not checked %q; want %s, %q\n%+v\n%q %q", rep.Conclusion, rep.Title, got, want, places,
			rep.NotChecked, lines(rep), problems(rep.Errors))
	}
}

// An object that deploys something Lintel does not render is reported at its own line, only by a change that adds or
// alters it. The settings can let it fail.
func TestUnrenderedDeploymentsAreReported(t *testing.T) {
	values := sources{"envs/redis.yaml": "a: 1\n"}
	several := func(version string) string {
		return argo("  sources:\n  - repoURL: https://charts.example.com\n    chart: redis\n    targetRevision: " + version +
			"\n    helm: {valueFiles: [$vals/envs/redis.yaml]}\n  - {repoURL: " + ownURL + ", ref: vals}\n  - {repoURL: " +
			ownURL + ", path: apps/shop}\n")
	}
	source := func(more string) string {
		return argo("  source:\n    repoURL: " + ownURL + "\n    path: apps/shop\n" + more)
	}
	from := func(kind string) string {
		return "  path: ./apps/shop\n  sourceRef: {kind: " + kind + ", name: src}\n"
	}
	secret := "  path: ./apps/shop\n  sourceRef: {kind: GitRepository, name: g}\n  postBuild:\n    substituteFrom:\n" +
		"    - kind: Secret\n      name: vars\n"
	type class struct {
		name, brought, altered string
		line                   int
		beside                 sources
		compared               bool // all that it deploys is rendered: alterations are compared
	}
	classes := []class{
		{"a tag", source("    targetRevision: v1.0.0\n"), source("    targetRevision: v1.0.1\n"), 9, nil, false},
		{"a branch", source("    targetRevision: staging\n"), source("    targetRevision: refs/heads/stage\n"), 9, nil, false},
		{"a commit", source("    targetRevision: 0123456789abcdef\n"), source("    targetRevision: 0123456789abcde\n"), 9,
			nil, false},
		{"another repository", argo("  source: {repoURL: https://github.com/x/y, path: apps/shop}\n"),
			argo("  source: {repoURL: https://github.com/x/y, path: apps/else}\n"), 6, nil, false},
		{"a chart", argo("  source:\n    repoURL: https://c\n    chart: redis\n    targetRevision: 1.0.0\n"),
			argo("  source:\n    repoURL: https://c\n    chart: redis\n    targetRevision: 1.0.1\n"), 9, nil, false},
		{"several sources", several("1.0.0"), several("1.0.1"), 9, values, false},
		{"a plugin", source("    plugin: {name: a}\n"), source("    plugin: {name: b}\n"), 9, nil, false},
		{"a release", release(ofChart), release(ofChart + "  values: {a: 1}\n"), 7, nil, false},
		{"an artifact", fluxKustomize(from("OCIRepository")), fluxKustomize(from("OCIRepository") + "  targetNamespace: a\n"),
			7,
			sources{"src.yaml": fluxSource("OCIRepository", "src", "{url: 'oci://x'}")}, false},
		{"a bucket", fluxKustomize(from("Bucket")), fluxKustomize(from("Bucket") + "  targetNamespace: a\n"), 7, nil, false},
		{"a git repository of others", fluxKustomize(from("GitRepository")),
			fluxKustomize(from("GitRepository") + "  targetNamespace: a\n"), 7,
			sources{"src.yaml": fluxSource("GitRepository", "src", "{url: 'https://github.com/x/y'}")}, false},
		{"variables of a Secret", fluxKustomize(secret), fluxKustomize(secret + "    substitute: {A: b}\n"), 11, nil, false},
	}
	for _, g := range []string{"clusters: {}", "scmProvider: {github: {organization: x}}",
		"plugin: {configMapRef: {name: x}}",
		"pullRequest: {github: {owner: x, repo: y}}", "clusterDecisionResource: {configMapRef: x}"} {
		classes = append(classes, class{g, appSetOf(g, "apps/shop"), appSetOf(g, "apps/else"), 7, nil, strings.HasPrefix(g, "cluster")},
			class{g + " by path", appSetOf(g, "'apps/{{.name}}'"), appSetOf(g, "'x/{{.name}}'"), 7, nil, false})
	}
	for _, ref := range []string{"{tag: v1}", "{commit: 0123abc}", "{semver: '>=1'}", "{branch: staging}",
		"{name: refs/tags/v1}", "{branch: main, tag: v1}"} {
		classes = append(classes, class{ref, fluxKustomize(from("GitRepository")),
			fluxKustomize(from("GitRepository") + "  targetNamespace: a\n"), 7,
			sources{"src.yaml": fluxSource("GitRepository", "src", "{url: '"+ownURL+"', ref: "+ref+"}")}, false})
	}
	fails := sources{".lintel.yaml": "unrendered: failure\n"}
	for _, c := range classes {
		t.Run(c.name, func(t *testing.T) {
			base := sources{"apps/shop/p.yaml": aPod("shop", "1"), "apps/else/p.yaml": aPod("else", "1"),
				"other/p.yaml": aPod("other", "1")}.with(c.beside)
			brought, at := sources{"deploy/x.yaml": c.brought}, fmt.Sprintf("deploy/x.yaml:%d", c.line)
			wantNotChecked(t, against(t, base, brought), report.Neutral, at)
			wantNotChecked(t, against(t, base.with(fails), brought), report.Failure, at)
			base = base.with(brought)
			if altered := against(t, base, sources{"deploy/x.yaml": c.altered}); c.compared {
				wantNotChecked(t, altered, report.Success)
			} else {
				wantNotChecked(t, altered, report.Neutral, at)
			}
			neighbours := sources{"other/p.yaml": aPod("other", "2"), "deploy/p.yaml": aPod("new", "1"),
				"deploy/x.yaml": c.brought + "# a comment\n---\n" + aPod("beside", "1")}
			wantNotChecked(t, against(t, base.with(fails), neighbours), report.Success)
		})
	}
}

// A change of a file that an unrendered deployment reads alters the deployment, which is reported at its own line.
func TestUnrenderedDeploymentIsAlteredByFilesThatItReads(t *testing.T) {
	chart := sources{"charts/c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n", "charts/c/values.yaml": "a: 1\n"}
	config := func(name, value string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {values.yaml: '" + value + "'}\n"
	}
	sealed := func(value string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: vals}\nstringData: {v: " + value + "}\nsops: {mac: " + value +
			"}\n"
	}
	valuesFrom := func(kind string) string { return ofChart + "  valuesFrom: [{kind: " + kind + ", name: vals}]\n" }
	generated := func(generator string) sources {
		return sources{"f/kustomization.yaml": "resources: [r.yaml, p.yaml]\n" + generator +
			":\n- {name: vals, files: [v.yaml]}\n" +
			"generatorOptions: {disableNameSuffixHash: true}\n", "f/v.yaml": "a: 1\n", "f/p.yaml": aPod("f", "1")}
	}
	own := func(file string) string {
		return "  chart:\n    spec: {chart: ./charts/c, valuesFiles: [" + file + "], sourceRef: {kind: " +
			"GitRepository, name: g}}\n"
	}
	git := func(ref string) string { return fluxSource("GitRepository", "g", "{url: '"+ownURL+"', ref: "+ref+"}") }
	argoChart := argo("  source: {repoURL: " + ownURL + ", path: charts/c, helm: {valueFiles: [../../envs/v.yaml]}}\n")
	remote := argo("  sources:\n  - {repoURL: https://c, chart: redis, helm: {valueFiles: [$vals/envs/v.yaml]}}\n" +
		"  - {repoURL: " + ownURL + ", ref: vals}\n")
	of := func(kind string) string { return "  chartRef: {kind: " + kind + ", name: src}\n" }
	for _, c := range []struct {
		name       string
		base, head sources
		places     []string // none: the change does not affect it
	}{
		{"a ConfigMap", sources{"f/r.yaml": release(valuesFrom("ConfigMap")), "g/c.yaml": config("vals", "a: 1")},
			sources{"g/c.yaml": config("vals", "a: 2")}, []string{"f/r.yaml:7"}},
		{"a new ConfigMap", sources{"f/r.yaml": release(valuesFrom("ConfigMap"))},
			sources{"g/c.yaml": config("vals", "a: 2")}, []string{"f/r.yaml:7"}},
		{"another ConfigMap", sources{"f/r.yaml": release(valuesFrom("ConfigMap")), "g/c.yaml": config("b", "a: 1")},
			sources{"g/c.yaml": config("b", "a: 2")}, nil},
		{"what is beside a ConfigMap", sources{"f/r.yaml": release(valuesFrom("ConfigMap")),
			"g/c.yaml": config("vals", "a: 1")},
			sources{"g/c.yaml": config("vals", "a: 1") + "---\n" + config("b", "x")}, nil},
		{"a Secret", sources{"f/r.yaml": release(valuesFrom("Secret")), "g/s.yaml": sealed("a")},
			sources{"g/s.yaml": sealed("b")}, []string{"f/r.yaml:7"}},
		{"a generated ConfigMap", generated("configMapGenerator").with(sources{"f/r.yaml": release(valuesFrom("ConfigMap"))}),
			sources{"f/v.yaml": "a: 2\n"}, []string{"f/r.yaml:7"}},
		{"a generated Secret", generated("secretGenerator").with(sources{"f/r.yaml": release(valuesFrom("Secret"))}),
			sources{"f/v.yaml": "a: 2\n"}, []string{"f/r.yaml:7"}},
		{"what is beside a generator", generated("configMapGenerator").with(
			sources{"f/r.yaml": release(valuesFrom("ConfigMap"))}),
			sources{"f/p.yaml": aPod("f", "2")}, nil},
		{"the repository of charts", sources{"f/r.yaml": release(ofChart), "s.yaml": fluxSource("HelmRepository", "bitnami",
			"{url: 'https://a'}")}, sources{"s.yaml": fluxSource("HelmRepository", "bitnami", "{url: 'https://b'}")},
			[]string{"f/r.yaml:7"}},
		{"an artifact with a chart", sources{"f/r.yaml": release(of("OCIRepository")),
			"s.yaml": fluxSource("OCIRepository", "src", "{ref: {tag: a}}")},
			sources{"s.yaml": fluxSource("OCIRepository", "src", "{ref: {tag: b}}")}, []string{"s.yaml:4"}},
		{"a HelmChart", sources{"f/r.yaml": release(of("HelmChart")),
			"s.yaml": fluxSource("HelmChart", "src", "{version: '1'}")},
			sources{"s.yaml": fluxSource("HelmChart", "src", "{version: '2'}")}, []string{"s.yaml:4"}},
		{"the folder of a chart", chart.with(sources{"f/r.yaml": release(own("x.yaml")), "g.yaml": git("{branch: main}")}),
			sources{"charts/c/values.yaml": "a: 2\n"}, []string{"f/r.yaml:7"}},
		{"the folder of a chart at a tag", chart.with(sources{"f/r.yaml": release(own("x.yaml")),
			"g.yaml": git("{tag: v1}")}),
			sources{"charts/c/values.yaml": "a: 2\n"}, nil},
		{"a file of values", chart.with(sources{"f/r.yaml": release(own("envs/v.yaml")), "g.yaml": git("{}"),
			"envs/v.yaml": "a: 1\n"}),
			sources{"envs/v.yaml": "a: 2\n"}, nil},
		{"a patch of an overlay", sources{"b/kustomization.yaml": "resources: [r.yaml]\n", "b/r.yaml": release(ofChart),
			"o/kustomization.yaml": "resources: [../b]\npatches: [{path: p.yaml}]\n", "o/p.yaml": release("  values: {a: 1}\n")},
			sources{"o/p.yaml": release("  values: {a: 2}\n")}, []string{"b/r.yaml:7"}},
		{"a file of values of a chart of this repository", chart.with(sources{"x.yaml": argoChart, "envs/v.yaml": "a: 1\n"}),
			sources{"envs/v.yaml": "a: 2\n"}, nil},
		{"a file of values of a chart of others", sources{"x.yaml": remote, "envs/v.yaml": "a: 1\n"},
			sources{"envs/v.yaml": "a: 2\n"}, []string{"x.yaml:7"}},
		{"what is beside a file of values", sources{"x.yaml": remote, "envs/v.yaml": "a: 1\n"},
			sources{"envs/w.yaml": "a: 2\n"}, nil},
		{"the folder of a plugin", sources{"x.yaml": argo("  source: {repoURL: " + ownURL + ", path: p, plugin: {}}\n"),
			"p/a.txt": "1\n"}, sources{"p/a.txt": "2\n"}, []string{"x.yaml:6"}},
		{"Jsonnet", sources{"x.yaml": argo("  source: {repoURL: " + ownURL + ", path: j}\n"), "j/a.jsonnet": "{}\n"},
			sources{"j/a.jsonnet": "{a: 1}\n"}, []string{"j/a.jsonnet:0"}},
		{"the ref of a source", sources{"k.yaml": fluxKustomize("  path: f\n  sourceRef: {kind: GitRepository, name: g}\n"),
			"g.yaml": git("{branch: main}"), "f/p.yaml": aPod("f", "1")}, sources{"g.yaml": git("{tag: v1}")},
			[]string{"g.yaml:4", "k.yaml:7"}},
		{"a suspended release", sources{}, sources{"r.yaml": release(ofChart + "  suspend: true\n")}, nil},
		{"a list generator", sources{"apps/shop/p.yaml": aPod("shop", "1")},
			sources{"s.yaml": appSetOf("list: {elements: [{name: a, server: b}]}", "apps/shop")}, nil},
		{"the branch by its name", sources{"apps/shop/p.yaml": aPod("shop", "1")},
			sources{"x.yaml": argo("  source: {repoURL: " + ownURL + ", path: apps/shop, targetRevision: main}\n")}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := report.Neutral
			if len(c.places) == 0 {
				want = report.Success
			}
			wantNotChecked(t, against(t, c.base, c.head), want, c.places...)
		})
	}
}

// If an object starts to deploy something that is not rendered, no object counts as deleted, and violations that the
// folder had are pre-existing.
func TestDeploymentThatBecomesUnrenderedDeletesNothing(t *testing.T) {
	source := func(more string) sources {
		return sources{"x.yaml": argo("  source: {repoURL: " + ownURL + ", path: apps/shop" + more + "}\n")}
	}
	base := source("").with(sources{"apps/shop/p.yaml": aPod("shop", "latest")})
	for _, more := range []string{", targetRevision: v1", ", plugin: {name: a}"} {
		rep := against(t, base, source(more))
		wantNotChecked(t, rep, report.Neutral, "x.yaml:6")
		for _, f := range rep.Findings {
			if f.New {
				t.Errorf("%+v", f)
			}
		}
	}
}
