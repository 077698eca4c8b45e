package checks_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// releaseOf is a HelmRelease of a chart in this repository.
func releaseOf(name, namespace, chart, values string) string {
	return "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: " + name + ", namespace: " + namespace +
		"}\nspec:\n  chart: {spec: {chart: " + chart + ", sourceRef: {kind: GitRepository, name: fleet}}}\n  values: {" + values +
		"}\n"
}

// fetchedRelease is a HelmRelease of a chart of a Helm repository.
func fetchedRelease(version string) string {
	return "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: charts, namespace: ops}\n" +
		"spec: {url: 'https://charts.example.com'}\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n" +
		"metadata: {name: settings, namespace: ops}\nspec:\n  chart:\n    spec:\n      chart: settings\n      version: " + version +
		"\n      sourceRef: {kind: HelmRepository, name: charts}\n"
}

const (
	fleet = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: fleet, namespace: ops}\n" +
		"spec: {url: 'https://git.example.com/fleet'}\n"
	chartFile = "{apiVersion: v2, name: settings, version: 1.0.0}\n"
	// printsAllowed is a template of the ConfigMap that a policy looks up.
	printsAllowed = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: allowed}\ndata: {team: {{ .Values.team | quote }}}\n"
	// uniqueHosts is a policy that rejects two Ingresses with one host.
	uniqueHosts = `
-- policies/hosts.yaml --
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: hosts}
spec:
  rules:
  - name: unique
    match: {any: [{resources: {kinds: [Ingress], operations: [CREATE]}}]}
    context:
    - {name: hosts, apiCall: {urlPath: /apis/networking.k8s.io/v1/ingresses,
       jmesPath: "items[?metadata.name!='{{ request.object.metadata.name }}'].spec.rules[].host"}}
    validate:
      failureAction: Enforce
      message: The host is taken.
      deny: {conditions: {all: [{key: "{{ request.object.spec.rules[].host }}", operator: AnyIn, value: "{{ hosts }}"}]}}
`
)

func with(files map[string]string, p, text string) map[string]string {
	files[p] = text
	return files
}

func ingressOf(name, host string) string {
	return "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: " + name + ", namespace: shop}\nspec:\n" +
		"  rules: [{host: " + host + "}]\n"
}

// lookupCase is a change, and the expected result of a policy that looks something up.
type lookupCase struct {
	name       string
	base, head map[string]string
	conclusion report.Conclusion
	says       string // part of a finding's message
	waits      string // the file that waits for approval
	rendered   int    // limit of rendered releases, where it is not 0
}

func (c lookupCase) run(t *testing.T, change report.Change) *report.Report {
	t.Helper()
	r := treetest.New(t)
	r.Commit(allowed + uniqueHosts + "-- flux/source.yaml --\n" + fleet)
	edit(t, r, c.base)
	change.Base = r.Snapshot()
	change.Rules = change.Base
	edit(t, r, c.head)
	change.Head, change.Repository = r.Snapshot(), []string{"https://git.example.com/fleet"}
	rep := check(t, r, change)
	said := c.says == "" || slices.ContainsFunc(rep.Findings, func(f report.Finding) bool {
		return strings.Contains(sayings(rep, f), c.says)
	})
	if rep.Conclusion != c.conclusion || !said {
		t.Fatalf("%s (%s), want %s and %q: %+v, causes %+v, errors %s", rep.Conclusion, rep.Title, c.conclusion, c.says,
			rep.Findings, rep.Causes, problems(rep.Errors))
	}
	if waits := len(rep.Exceptions) == 1 && rep.Exceptions[0].Path == c.waits; c.waits != "" && !waits {
		t.Errorf("%+v", rep.Exceptions)
	}
	if c.rendered > 0 && rep.Work.Rendered > c.rendered {
		t.Errorf("%d roots were rendered", rep.Work.Rendered)
	}
	return rep
}

// Policies look up objects that only a chart renders. Charts that the change leaves alone answer as they are. A chart
// that the change alters does not loosen the change's own check, and an unknown rendering is reported.
func TestLookupsOfReleases(t *testing.T) {
	chart := func(more map[string]string) map[string]string {
		files := map[string]string{"charts/settings/Chart.yaml": chartFile, "charts/settings/values.yaml": "team: none\n",
			"charts/settings/templates/cm.yaml": printsAllowed, "ops/release.yaml": releaseOf("settings", "ops", "charts/settings",
				"team: red")}
		for p, text := range more {
			files[p] = text
		}
		return files
	}
	pod := func(team string) map[string]string {
		return map[string]string{"apps/pod.yaml": podOf("shop", team, "")}
	}
	hosts := func(host string) map[string]string {
		return map[string]string{"charts/web/Chart.yaml": strings.Replace(chartFile, "settings", "web", 1),
			"charts/web/templates/i.yaml": ingressOf("{{ .Release.Name }}", "{{ .Values.host }}"),
			"ops/web.yaml":                releaseOf("web", "shop", "charts/web", "host: "+host)}
	}
	for _, c := range []lookupCase{
		{"allowed", chart(nil), pod("red"), report.Success, "", "", 0},
		{"not allowed", chart(nil), pod("blue"), report.Failure, "Not allowed", "", 0},
		{"of an Application", with(chart(nil), "ops/release.yaml", "apiVersion: argoproj.io/v1alpha1\nkind: Application\n"+
			"metadata: {name: settings}\nspec:\n  destination: {namespace: ops}\n"+
			"  source: {repoURL: 'https://git.example.com/fleet', path: charts/settings, helm: {values: 'team: red'}}\n"),
			pod("blue"), report.Failure, "Not allowed", "", 0},
		{"the template sets the namespace", chart(map[string]string{
			"ops/release.yaml":                  releaseOf("settings", "elsewhere", "charts/settings", "team: red"),
			"charts/settings/templates/cm.yaml": strings.Replace(printsAllowed, "allowed", "allowed, namespace: ops", 1)}),
			pod("blue"), report.Failure, "Not allowed", "", 0},
		{"another namespace", with(chart(nil), "ops/release.yaml", releaseOf("settings", "elsewhere", "charts/settings",
			"team: red")), pod("blue"), report.Neutral, "needs the cluster: ConfigMap ops/allowed", "", 1},
		{"another name", chart(map[string]string{
			"charts/settings/templates/cm.yaml": strings.Replace(printsAllowed, "allowed", "other", 1)}),
			pod("blue"), report.Neutral, "needs the cluster: ConfigMap ops/allowed", "", 1},
		{"another kind", chart(map[string]string{
			"charts/settings/templates/cm.yaml": strings.Replace(printsAllowed, "ConfigMap", "Secret", 1)}),
			pod("blue"), report.Neutral, "needs the cluster: ConfigMap ops/allowed", "", 1},
		{"files answer before releases", with(chart(nil), "ops/cm.yaml", configMap("blue")), pod("blue"), report.Success, "", "", 1},
		{"two releases differ", chart(map[string]string{"ops/second.yaml": releaseOf("second", "ops", "charts/settings",
			"team: blue")}), pod("blue"), report.Neutral, "several roots declare ConfigMap ops/allowed, and they differ: " +
			"HelmRelease/ops/second, HelmRelease/ops/settings", "", 0},
		{"its own release answers first", chart(map[string]string{"ops/second.yaml": releaseOf("second", "ops", "charts/settings",
			"team: blue, tier: a"), "charts/settings/templates/pod.yaml": strings.NewReplacer("web", "{{ .Release.Name }}", "{team",
			"{tier: '{{ .Values.tier }}', team").Replace(podOf("ops", "blue", ""))}),
			map[string]string{"ops/second.yaml": releaseOf("second", "ops", "charts/settings", "team: blue, tier: b")},
			report.Success, "", "", 0},
		{"loosened by the values", chart(nil), with(pod("blue"), "ops/release.yaml", releaseOf("settings", "ops",
			"charts/settings", "team: blue")), report.ActionRequired, "relies on ConfigMap ops/allowed", "ops/release.yaml", 0},
		{"loosened by the template", chart(nil), with(pod("blue"), "charts/settings/templates/cm.yaml",
			strings.Replace(printsAllowed, "{{ .Values.team | quote }}", "blue", 1)), report.ActionRequired,
			"relies on ConfigMap ops/allowed", "charts/settings/templates/cm.yaml", 0},
		{"tightened", chart(nil), with(pod("red"), "ops/release.yaml", releaseOf("settings", "ops", "charts/settings",
			"team: blue")), report.Failure, "Not allowed", "", 0},
		{"a decoy that the change adds", chart(nil), with(pod("blue"), "a/release.yaml", releaseOf("a", "ops",
			"charts/settings", "team: blue")), report.Failure, "Not allowed", "", 0},
		{"a new file that answers before the release", chart(map[string]string{"ops/ns.yaml": namespaceOf("ops", "x")}),
			with(pod("blue"), "ops/cm.yaml", configMap("blue")), report.ActionRequired, "relies on ConfigMap ops/allowed",
			"ops/cm.yaml", 0},
		{"the release is removed", chart(nil), with(pod("blue"), "ops/release.yaml", ""), report.Failure,
			`configmaps "allowed" not found`, "", 0},
		{"a value that only the cluster has", with(chart(nil), "ops/release.yaml", releaseOf("settings", "ops", "charts/settings",
			"more: 1")+"  valuesFrom: [{kind: Secret, name: hidden, valuesKey: x, targetPath: team}]\n"), pod("blue"),
			report.Neutral, "depends on a value that only the cluster has", "", 0},
		{"a template that fails", chart(map[string]string{
			"charts/settings/templates/x.yaml": `{{ fail "secret words" }}`}), pod("blue"), report.Neutral,
			"charts/settings/templates/x.yaml:1: what is deployed from charts/settings/templates/x.yaml is not known: cannot be rendered", "", 0},
		{"a chart that prints without end", chart(map[string]string{
			"charts/settings/templates/x.yaml": `{{ range until 9999 }}{{ repeat 99999 "x" }}{{ end }}`}), pod("blue"),
			report.Neutral, "is not known: ", "", 0},
		{"an invalid Chart.yaml", with(chart(nil), "charts/settings/Chart.yaml", "name: [\n"), pod("blue"), report.Neutral,
			"is not known: ", "", 0},
		{"a template that the change breaks", chart(nil), with(pod("blue"), "charts/settings/templates/x.yaml",
			`{{ fail "x" }}`), report.Failure, "relies on ConfigMap ops/allowed", "", 0},
		{"the release of another cluster", chart(map[string]string{
			".lintel.yaml":   "clusters: {a: {roots: ['a/**']}, b: {roots: ['ops/**']}}\n",
			"a/release.yaml": releaseOf("settings", "ops", "charts/settings", "team: blue")}),
			map[string]string{"ops/pod.yaml": podOf("shop", "blue", "")}, report.Failure, "Not allowed", "", 0},
		{"the release of its cluster", chart(map[string]string{
			".lintel.yaml":   "clusters: {a: {roots: ['a/**']}, b: {roots: ['ops/**']}}\n",
			"a/release.yaml": releaseOf("settings", "ops", "charts/settings", "team: blue")}),
			map[string]string{"a/pod.yaml": podOf("shop", "blue", "")}, report.Success, "", "", 0},
		{"a chart of a kustomization", map[string]string{"ops/charts/settings/Chart.yaml": chartFile,
			"ops/charts/settings/values.yaml":       "team: red\n",
			"ops/charts/settings/templates/cm.yaml": strings.Replace(printsAllowed, "allowed", "allowed, namespace: ops", 1),
			"ops/kustomization.yaml":                "helmCharts: [{name: settings, releaseName: x, namespace: ops}]\n"}, pod("blue"), report.Failure,
			"Not allowed", "", 0},
		{"a host of a release is taken", hosts("a.example.com"), map[string]string{"apps/i.yaml": ingressOf("mine",
			"a.example.com")}, report.Failure, "The host is taken", "", 0},
		{"a host is free", hosts("a.example.com"), map[string]string{"apps/i.yaml": ingressOf("mine", "b.example.com")},
			report.Success, "", "", 0},
		{"a release is missing in a list", with(hosts("a.example.com"), "charts/web/templates/x.yaml", `{{ fail "x" }}`),
			map[string]string{"apps/i.yaml": ingressOf("mine", "b.example.com"), "apps/j.yaml": ingressOf("other", "c.example.com")},
			report.Neutral, "charts/web/templates/x.yaml:1: what is deployed from charts/web/templates/x.yaml is not known: cannot be rendered", "", 0},
		{"a release changes to a chart of a Helm repository", hosts("a.example.com"), map[string]string{
			"apps/i.yaml": ingressOf("mine", "a.example.com"), "ops/web.yaml": fetchedRelease("1.0.0")}, report.ActionRequired,
			"Ingress shop/web, which this change adds, edits or removes", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, report.Change{}) })
	}
}

// A remote chart is requested if a look-up may need it, also if only the base branch deploys it. A chart that was not
// fetched is reported, and the result is unknown.
func TestLookupsOfFetchedReleases(t *testing.T) {
	store := treetest.New(t)
	store.Write("Chart.yaml", chartFile)
	store.Write("values.yaml", "team: red\n")
	store.Write("templates/cm.yaml", printsAllowed)
	tree := strings.TrimSpace(store.Rev(store.Snapshot() + "^{tree}"))
	want := remote.Want{Kind: remote.Chart, URL: "https://charts.example.com", Name: "settings", Ref: "1.0.0"}
	base := map[string]string{"ops/release.yaml": fetchedRelease("1.0.0")}
	pod := func(team string) map[string]string {
		return map[string]string{"apps/pod.yaml": podOf("shop", team, "")}
	}
	refused := remote.Entry{Want: want, Failure: &remote.Failure{Message: "needs credentials"}}
	gone := refused
	gone.Want.Ref = "2.0.0"
	there := remote.Entry{Want: want, Tree: tree, Revision: "1.0.0"}
	store.Git("rm", "-rqf", ".")
	store.Write("kustomization.yaml", "resources: [cm.yaml]\n")
	store.Write("cm.yaml", configMap("red"))
	plain := strings.TrimSpace(store.Rev(store.Snapshot() + "^{tree}"))
	git := remote.Want{Kind: remote.Git, URL: "https://git.example.com/base.git", Ref: "v1", Submodules: true}
	fromGit := remote.Lock{{Want: git, Tree: plain, Revision: "0123"}}
	bases := map[string]string{"remote/kustomization.yaml": "namespace: ops\nresources: ['https://git.example.com/base.git?ref=v1']\n"}
	for _, c := range []struct {
		lookupCase
		lock remote.Lock
	}{
		{lookupCase{"a remote base", bases, pod("blue"), report.Failure, "Not allowed", "", 0}, fromGit},
		{lookupCase{"a remote base that cannot be had", bases, pod("blue"), report.Neutral, "(remote/kustomization.yaml:2: " +
			"https://git.example.com/base.git?ref=v1: ", "", 0}, remote.Lock{{Want: git, Failure: refused.Failure}}},
		{lookupCase{"a folder of another repository", map[string]string{"flux/other.yaml": "apiVersion: " +
			"source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: other, namespace: ops}\nspec: {url: " +
			"'https://git.example.com/base.git', ref: {tag: v1}}\n---\napiVersion: kustomize.toolkit.fluxcd.io/v1\n" +
			"kind: Kustomization\nmetadata: {name: other, namespace: ops}\nspec: {path: ., sourceRef: {kind: GitRepository, name: " +
			"other}}\n"}, pod("blue"), report.Failure, "Not allowed", "", 0}, remote.Lock{{Want: remote.Want{Kind: remote.Git,
			URL: git.URL, Ref: "refs/tags/v1"}, Tree: plain, Revision: "0123"}}},
		{lookupCase{"allowed", base, pod("red"), report.Success, "", "", 0}, remote.Lock{there}},
		{lookupCase{"not allowed", base, pod("blue"), report.Failure, "Not allowed", "", 0}, remote.Lock{there}},
		{lookupCase{"refused", base, pod("blue"), report.Neutral, "needs the cluster: ConfigMap ops/allowed " +
			"(ops/release.yaml:13: chart settings 1.0.0 of https://charts.example.com: needs credentials)", "", 0}, remote.Lock{refused}},
		{lookupCase{"a version that hides what is deployed", map[string]string{"apps/other.yaml": ingressOf("other", "b.example.com"),
			"ops/release.yaml": fetchedRelease("1.0.0")},
			map[string]string{"apps/i.yaml": ingressOf("mine", "b.example.com"), "ops/release.yaml": fetchedRelease("2.0.0")},
			report.ActionRequired, "relies on HelmRelease ops/settings", "ops/release.yaml", 0}, remote.Lock{there, gone}},
		{lookupCase{"nothing is fetched", base, pod("blue"), report.Neutral, "ops/release.yaml:13: chart settings 1.0.0 of " +
			"https://charts.example.com: has not been fetched", "", 0}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			change := report.Change{}
			if c.lock != nil {
				lock, err := json.Marshal(c.lock)
				if err != nil {
					t.Fatal(err)
				}
				change.Sources = &report.Sources{GitDir: store.GitDir, Lock: lock, Last: true}
			}
			c.run(t, change)
		})
	}
	for _, c := range []struct {
		name       string
		base, head map[string]string
		want       []remote.Asked
	}{
		{"a release of the base", base, pod("blue"), []remote.Asked{{Want: want, Base: true}}},
		{"nothing looks it up", base, map[string]string{"apps/x.yaml": namespaceOf("x", "y")}, nil},
		{"files answer", map[string]string{"ops/release.yaml": fetchedRelease("1.0.0"), "ops/cm.yaml": configMap("red")},
			pod("blue"), nil},
		{"another namespace", map[string]string{"ops/release.yaml": strings.ReplaceAll(fetchedRelease("1.0.0"),
			"namespace: ops", "namespace: dev")}, pod("blue"), nil},
	} {
		t.Run("wants/"+c.name, func(t *testing.T) {
			r := treetest.New(t)
			r.Commit(allowed)
			edit(t, r, c.base)
			at := r.Snapshot()
			edit(t, r, c.head)
			rep := check(t, r, report.Change{Base: at, Rules: at, Head: r.Snapshot(), Sources: &report.Sources{GitDir: store.GitDir,
				Lock: []byte("[]")}})
			var request remote.Request
			if len(rep.Wanted) > 0 {
				if err := json.Unmarshal(rep.Wanted, &request); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(request.Wants, c.want) {
				t.Errorf("wants %v", request.Wants)
			}
		})
	}
}

// Releases that the base branch added later are requested and used for look-ups, if the change leaves them alone.
func TestLookupsUseReleasesOfTheTipOfTheBaseBranch(t *testing.T) {
	r := treetest.New(t)
	base := r.Commit(allowed + "-- flux/source.yaml --\n" + fleet + "-- charts/settings/Chart.yaml --\n" + chartFile +
		"-- charts/settings/templates/cm.yaml --\n" + printsAllowed + "-- ops/release.yaml --\n" +
		releaseOf("settings", "ops", "charts/settings", "team: red"))
	r.Write("ops/release.yaml", releaseOf("settings", "ops", "charts/settings", "team: blue"))
	changed := r.Snapshot()
	r.Write("ops/release.yaml", fetchedRelease("1.0.0"))
	fetched := r.Snapshot()
	r.Git("checkout", "-q", "-f", base)
	r.Write("apps/pod.yaml", podOf("shop", "red", ""))
	change := report.Change{Base: base, Rules: changed, Head: r.Snapshot(), Repository: []string{"https://git.example.com/fleet"}}
	if rep := check(t, r, change); rep.Conclusion != report.Failure {
		t.Errorf("%s %q", rep.Conclusion, lines(rep))
	}
	change.Rules, change.Sources = fetched, &report.Sources{Lock: []byte("[]")}
	rep := check(t, r, change)
	var request remote.Request
	if err := json.Unmarshal(rep.Wanted, &request); err != nil || len(request.Wants) != 1 || !request.Wants[0].Base ||
		request.Wants[0].Want.Name != "settings" {
		t.Errorf("%v %s", err, rep.Wanted)
	}
}
