package checks_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// variants are the contents that each file of a repository may have; "" means that the file does not exist. They
// include roots of all kinds, with everything that a cached answer may depend on: files, folders, links, missing files,
// objects of other roots, API versions, and what deploys the root.
var variants = map[string][]string{
	".lintel.yaml":           {"", "context: [cluster.yaml]\n", "roots: {exclude: [plain]}\n", "limits: {fileBytes: 400}\n"},
	"cluster.yaml":           {"", labelledNamespace("shop", "a"), labelledNamespace("shop", "b")},
	"policies/team.yaml":     {requireLabel("team"), requireLabel("tier"), ""},
	"policies/labelled.yaml": {labelledPolicy, ""},
	"exceptions/team.yaml": {"", "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: team}\nspec:\n" +
		"  match: {any: [{resources: {kinds: [ConfigMap], names: [web*]}}]}\n" +
		"  exceptions: [{policyName: team, ruleNames: [team]}]\n"},

	"base/kustomization.yaml": {"resources: [web.yaml]\n", "resources: [web.yaml, more.yaml]\n",
		"namePrefix: x-\nresources: [web.yaml]\n",
		"resources: [gone.yaml]\n", "", "resources: [link.yaml]\n", "resources: [link.yaml]\n"},
	"base/link.yaml": {"->web.yaml", "->twin.yaml"}, // the same content at another place
	"base/twin.yaml": {configMapOf("web", "", "k: v")},
	"base/web.yaml": {configMapOf("web", "", "k: v"), configMapOf("web", "team: a", "k: v"),
		configMapOf("web", "", "k: w"), "{"},
	"base/more.yaml": {"", configMapOf("more", "team: a", "k: v"), configMapOf("more", "", "k: v")},
	"over/kustomization.yaml": {"resources: [../base]\ncomponents: [../part]\n", "resources: [../base]\nnamespace: shop\n" +
		"configMapGenerator: [{name: made, files: [one.txt]}]\n", "resources: [../base]\npatches: [{path: patch.yaml}]\n"},
	"over/one.txt":            {"1", "2", ""},
	"over/patch.yaml":         {"", configMapOf("web", "team: p", "k: p"), configMapOf("nobody", "", "k: p")},
	"part/kustomization.yaml": {component("labels: [{pairs: {team: c}}]"), component("commonAnnotations: {tier: c}"), ""},

	"plain/a.yaml": {configMapOf("plain", "", "k: v"), configMapOf("plain", "team: a", "k: v"), "",
		configMapOf("settings", "team: a", "mode: one"), configMapOf("settings", "team: a", "mode: two")},
	"plain/crd.yaml": {"", crd("things"), crd("others")},
	"linked":         {"", "->plain", "->over", "->nowhere"},

	"deploys/app.yaml": {application("chart", "size: 1"), application("chart", "size: 2"),
		application("over", ""), application("gone", ""), "", "# a line more\n" + application("gone", ""),
		"# a line more\n" + application("chart", "size: 1"), application("linked", "")},
	"deploys/set.yaml":    {"", generatedFrom("apps/*"), generatedFrom("apps/o*")},
	"deploys/source.yaml": {fleet, strings.Replace(fleet, "fleet'", "other'", 1), ""},
	"deploys/release.yaml": {releaseOf("r", "shop", "./chart", "size: 1"),
		releaseOf("r", "shop", "./chart", "size: 1, team: b"),
		releaseOf("r", "shop", "./nochart", "size: 1"), ""},
	"deploys/flux.yaml": {"", fluxKustomization("./flux", "one"),
		fluxKustomization("./flux", "two"), fluxKustomization("./apps", "one"), variablesFrom("vars"), variablesFrom("vars")},
	"deploys/vars.yaml":  {"", variablesOf("vars", "one"), variablesOf("vars", "two"), variablesOf("others", "one")},
	"flux/cm.yaml":       {configMapOf("fluxed", "team: ${team}", "k: v"), configMapOf("fluxed", "", "k: ${team}")},
	"apps/one/cm.yaml":   {configMapOf("one", "", "k: v"), configMapOf("one", "team: a", "k: v"), ""},
	"apps/other/cm.yaml": {configMapOf("other", "", "k: v"), ""},
	"chart/Chart.yaml": {"{apiVersion: v2, name: chart, version: 1.0.0}\n",
		"{apiVersion: v2, name: chart, version: 2.0.0}\n", ""},
	"chart/values.yaml":         {"size: 0\n", "size: 5\nteam: v\n", ""},
	"chart/templates/cm.yaml":   {chartText, strings.Replace(chartText, "k:", "j:", 1), ""},
	"chart/templates/asks.yaml": {"", asksText},
	"chart/templates/kind.yaml": {"", "{{ if .Capabilities.APIVersions.Has \"example.com/v1/Thing\" }}" +
		configMapOf("has", "", "k: v") + "{{ end }}"},
}

const (
	chartText = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web-{{ .Release.Name }}\n{{- with .Values.team }}\n" +
		"  labels: {team: {{ . }}}\n{{- end }}\ndata: {k: {{ .Values.size | quote }}, v: {{ .Chart.Version | quote }}}\n"
	asksText = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: asks}\n" +
		"data: {got: {{ dig \"data\" \"mode\" \"none\" (lookup \"v1\" \"ConfigMap\" \"shop\" \"settings\") | quote }}}\n"
	labelledPolicy = `{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: labelled}, spec: {rules: [{name: labelled,
 match: {any: [{resources: {kinds: [ConfigMap], namespaceSelector: {matchLabels: {team: a}}}}]},
 context: [{name: mode, configMap: {name: settings, namespace: shop}}],
 validate: {failureAction: Enforce, message: "mode {{ mode.data.mode }}", deny: {conditions: {all:
 [{key: "{{ mode.data.mode }}", operator: Equals, value: two}]}}}}]}}
`
)

func requireLabel(label string) string {
	return `{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: team}, spec: {rules: [{name: team,
 match: {any: [{resources: {kinds: [ConfigMap]}}]},
 validate: {failureAction: Enforce, message: no team, pattern: {metadata: {labels: {` + label + `: "?*"}}}}}]}}
`
}

func labelledNamespace(name, team string) string {
	return "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + name + ", labels: {team: " + team + "}}\n"
}

func configMapOf(name, labels, data string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n  namespace: shop\n  labels: {" +
		labels + "}\ndata: {" + data + "}\n"
}

func component(text string) string {
	return "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" + text + "\n"
}

func crd(plural string) string {
	kind := strings.ToUpper(plural[:1]) + strings.TrimSuffix(plural[1:], "s")
	return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + plural +
		".example.com}\nspec:\n  group: example.com\n  scope: Namespaced\n  names: {kind: " + kind + ", plural: " + plural + "}\n  versions:\n" +
		"  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n"
}

func application(path, values string) string {
	source := "{repoURL: 'https://git.example.com/fleet', path: " + path + ", targetRevision: HEAD"
	if values != "" {
		source += ", helm: {valuesObject: {" + values + "}}"
	}
	return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: app, namespace: argocd}\nspec:\n" +
		"  source: " + source + "}\n  destination: {server: 'https://kubernetes.default.svc', namespace: shop}\n"
}

func generatedFrom(folders string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: set, namespace: argocd}\nspec:\n" +
		"  generators: [{git: {repoURL: 'https://git.example.com/fleet', revision: HEAD, directories: [{path: '" +
		folders + "'}]}}]\n  template:\n    metadata: {name: '{{path.basename}}'}\n    spec:\n" +
		"      source: {repoURL: 'https://git.example.com/fleet', path: '{{path}}', targetRevision: HEAD}\n" +
		"      destination: {server: 'https://kubernetes.default.svc', namespace: shop}\n"
}

func fluxKustomization(path, team string) string {
	return "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: flux, namespace: ops}\nspec:\n" +
		"  path: " + path + "\n  prune: true\n  sourceRef: {kind: GitRepository, name: fleet}\n  targetNamespace: shop\n" +
		"  postBuild: {substitute: {team: " + team + "}}\n"
}

// variablesFrom is a Kustomization of Flux with the variables of a ConfigMap.
func variablesFrom(name string) string {
	return strings.Replace(fluxKustomization("./flux", "one"), "substitute: {team: one}", "substituteFrom: [{kind: ConfigMap, name: "+name+"}]", 1)
}

func variablesOf(name, team string) string {
	return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + ", namespace: ops}, data: {team: " + team + "}}\n"
}

// After any sequence of edits, a check gives the same report with caches in the process or on disk as without.
// LINTEL_STEPS is the number of random edits, LINTEL_SEED the seed.
func TestMemoryChangesNothing(t *testing.T) {
	steps, seed := treetest.Number(t, "LINTEL_STEPS", 12), treetest.Number(t, "LINTEL_SEED", 1)
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	r := treetest.NewWalk(t)
	paths := slices.Sorted(maps.Keys(variants))
	set, now := r.Set, r.Now
	for _, p := range paths {
		set(p, variants[p][0])
	}
	cache := t.TempDir()
	var warm checks.Checker
	base, log := r.Snapshot(), []string{}
	for range steps {
		moves := random.IntN(3) == 0
		if moves { // lines before the objects shift the places, and nothing else changes
			for _, p := range paths {
				if strings.HasPrefix(p, "deploys/") {
					set(p, moved(now[p]))
				}
			}
			log = append(log, "a line before all that deploys, or one less")
		} else {
			for range 1 + random.IntN(2) {
				p := paths[random.IntN(len(paths))]
				text := variants[p][random.IntN(len(variants[p]))]
				set(p, text)
				log = append(log, p+": "+strconv.Quote(text))
			}
		}
		head := r.Snapshot()
		change := report.Change{GitDir: r.GitDir, Rules: base, Base: base, Head: head,
			Repository: []string{"https://git.example.com/fleet"}, Now: time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC)}
		if moves || random.IntN(3) == 0 {
			change.All, change.Base = true, ""
		}
		want := reportText(t, &checks.Checker{}, change)
		kept := change
		kept.Cache = cache
		for name, got := range map[string]string{
			"in the process": reportText(t, &warm, change),
			"from disk":      reportText(t, &checks.Checker{}, kept),
		} {
			if got != want {
				t.Fatalf("what is kept %s changes the report.\nedits:\n%s\ngot:  %s\nwant: %s", name, strings.Join(log, "\n"), got, want)
			}
		}
		base = head
	}
}

// moved adds a line before a text, or removes it.
func moved(text string) string {
	const line = "# moved\n"
	if rest, ok := strings.CutPrefix(text, line); ok || text == "" {
		return rest
	}
	return line + text
}

// reportText is a report as text, without the fields about the work of the check.
func reportText(t *testing.T, c *checks.Checker, change report.Change) string {
	t.Helper()
	rep, err := c.Run(t.Context(), change)
	if err != nil {
		t.Fatal(err)
	}
	rep.Work = nil
	text, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
