package checks_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// fetched is a repository under test with a lock of fetched remote sources.
type fetched struct {
	t    *testing.T
	repo *treetest.Repo
	lock remote.Lock
}

// add records that a wanted source was fetched and has these files.
func (f *fetched) add(w remote.Want, revision string, files sources) *remote.Entry {
	f.t.Helper()
	f.repo.Git("rm", "-rq", "--ignore-unmatch", ".")
	commit := f.repo.Commit("-- .keep --\n" + files.archive())
	id := f.repo.Rev(commit + "^{tree}")
	f.lock = append(f.lock, remote.Entry{Want: w, Tree: id, Revision: revision})
	return &f.lock[len(f.lock)-1]
}

func (f *fetched) sources() *report.Sources {
	data, err := json.Marshal(f.lock)
	if err != nil {
		f.t.Fatal(err)
	}
	return &report.Sources{GitDir: f.repo.GitDir, Lock: data, Last: true}
}

// against checks a change with the fetched sources.
func (f *fetched) against(base, head sources) *report.Report {
	f.t.Helper()
	r := treetest.New(f.t)
	before := r.Commit(pods + base.archive())
	r.Git("rm", "-rq", "--ignore-unmatch", ".")
	after := r.Commit(pods + head.archive())
	return check(f.t, r, report.Change{Base: before, Rules: before, Head: after, Repository: []string{ownURL},
		Branches: []string{"main"}, Sources: f.sources(), Differences: true})
}

const shopURL = "https://charts.example.com"

func shopChart(version string) remote.Want {
	return remote.Want{Kind: remote.Chart, URL: shopURL, Name: "shop", Ref: version}
}

func shopApp(version, values string) string {
	return argo("  source:\n    repoURL: " + shopURL + "\n    chart: shop\n    targetRevision: " + version +
		"\n    helm:\n      valuesObject: " + values + "\n")
}

// shopFiles are a chart in one of two versions, which differ in everything that the report of a bump mentions.
func shopFiles(version string, next bool) sources {
	pick := func(before, after string) string {
		if next {
			return after
		}
		return before
	}
	labels := "labels: {helm.sh/chart: 'shop-{{ .Chart.Version }}'}"
	files := sources{
		"Chart.yaml": "apiVersion: v2\nname: shop\nversion: " + version +
			"\nhome: https://shop.example.com\nsources: [https://github.com/acme/shop, 'javascript:alert(1)']\n",
		"values.yaml": pick("old: {size: 1}\nkept: 1\nsetting: x\n", "kept: 1\nsetting: x\n"),
		"values.schema.json": `{"type": "object", "properties": {"setting": {"type": "string"` +
			pick("", `, "deprecated": true, "description": "Renamed to settings.one."`) + "}}}\n",
		"templates/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  " + labels +
			pick("\n  annotations: {size: '{{ .Values.old.size }}'}", "") +
			"\nspec:\n  containers:\n  - {name: c, image: 'ghcr.io/acme/web:" + pick("1.0", "latest") + "'}\n" +
			"  initContainers:\n  - {name: i, image: 'ghcr.io/acme/init" + pick(":1@sha256:aa", ":2@sha256:bb") + "'}\n",
		"templates/same.yaml": "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  " + labels +
			"\nspec: {ports: [{port: 80}]}\n",
		"templates/secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n" +
			"  same: hunter2\n  other: " + pick("swordfish", "flounder") + "\n" + pick("", "  more: halibut\n"),
		"templates/role.yaml": "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: r}\nrules:\n" +
			"- {apiGroups: ['', apps], resources: [pods, deployments], verbs: [get" + pick("", ", list") + "]}\n" +
			pick("- {apiGroups: ['*'], resources: ['*'], verbs: [watch]}\n", "- {apiGroups: [''], resources: [nodes], "+
				"verbs: [watch]}\n- {apiGroups: [''], resources: [secrets], resourceNames: [a], verbs: ['*']}\n"),
		"crds/crd.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.x.io}\n" +
			"spec:\n  group: x.io\n  names: {kind: A, plural: as}\n  scope: Namespaced\n  versions:\n" +
			"  - {name: v1beta1, served: " + pick("true, storage: true", "false, storage: false") +
			", schema: {openAPIV3Schema: {type: object}}}\n" + "  - name: v1\n    served: true\n    storage: " +
			pick("false", "true") + "\n    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, " +
			"properties: {a: {type: string}" + pick(", b: {type: string}", "") + "}}}}}\n",
	}
	if next {
		files["templates/new.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\n"
	} else {
		files["templates/gone.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: gone}\n"
	}
	return files
}

// The report of a chart's new version lists everything that changes in the cluster.
func TestChartBumpListsItsChanges(t *testing.T) {
	f := &fetched{t: t, repo: treetest.New(t)}
	f.add(shopChart("1.0.0"), "1.0.0", shopFiles("1.0.0", false))
	f.add(shopChart("^2"), "2.1.0", shopFiles("2.1.0", true))
	const values = "{old: {size: 5}, kept: 2, setting: z, unheard: 1}"
	rep := f.against(sources{"apps/a.yaml": shopApp("1.0.0", values)}, sources{"apps/a.yaml": shopApp("^2", values)})
	if len(rep.Bumps) != 1 {
		t.Fatalf("%d bumps: %+v\n%s\n%+v", len(rep.Bumps), rep.Bumps, problems(rep.Errors), rep.NotChecked)
	}
	b := rep.Bumps[0]
	if b.Root != "Application/argocd/a" || len(b.Moved) != 1 {
		t.Fatalf("%+v", b)
	}
	m := b.Moved[0]
	if m.Name != "shop" || m.From.String() != "1.0.0" || m.To.String() != "^2 (2.1.0)" || m.Path != "apps/a.yaml" ||
		m.Line != 9 {
		t.Errorf("moved: %+v", m)
	}
	want := []report.Link{{Text: "home", URL: "https://shop.example.com"},
		{Text: "source", URL: "https://github.com/acme/shop"},
		{Text: "Artifact Hub", URL: "https://artifacthub.io/packages/search?kind=0&ts_query_web=shop"}}
	if !slices.Equal(m.Links, want) {
		t.Errorf("links %+v", m.Links)
	}
	names := func(list []report.Resource) (out []string) {
		for _, r := range list {
			out = append(out, r.String())
		}
		return out
	}
	if got := names(b.Added); !slices.Equal(got, []string{"ConfigMap shop/new"}) {
		t.Errorf("added %q", got)
	}
	if got := names(b.Removed); !slices.Equal(got, []string{"ConfigMap shop/gone"}) {
		t.Errorf("removed %q", got)
	}
	if b.Relabeled != 1 || len(b.Changed) != 4 || b.Violations != 1 || len(b.Images) != 2 {
		t.Errorf("relabeled %d, changed %d, violations %d, images %+v", b.Relabeled, len(b.Changed), b.Violations, b.Images)
	}
	var diffs strings.Builder
	for _, c := range b.Changed {
		diffs.WriteString(c.String() + "\n" + c.Diff)
	}
	for _, text := range []string{"-  - image: ghcr.io/acme/web:1.0\n+  - image: ghcr.io/acme/web:latest\n",
		"+  more: (hidden)\n-  other: (hidden)\n+  other: (changed)\n   same: (hidden)\n"} {
		if !strings.Contains(diffs.String(), text) {
			t.Errorf("%q is not in\n%s", text, diffs.String())
		}
	}
	data, err := json.Marshal(rep)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"hunter2", "swordfish", "flounder", "halibut", "javascript"} {
		if strings.Contains(string(data), secret) {
			t.Errorf("%s is in the report", secret)
		}
	}
	says := []string{"version v1beta1 is no longer served", "objects are stored as v1", "v1 no longer has spec.b"}
	if len(b.CRDs) != 1 || len(b.CRDs[0].Says) != 3 || !slices.Contains(b.CRDs[0].Says, says[0]) ||
		!slices.Contains(b.CRDs[0].Says, says[1]) || !slices.Contains(b.CRDs[0].Says, says[2]) {
		t.Errorf("CRDs %+v", b.CRDs)
	}
	rules := []string{"list: pods, deployments, pods.apps, deployments.apps", "*: secrets named a"}
	if len(b.Grants) != 1 || !slices.Equal(b.Grants[0].Rules, rules) {
		t.Errorf("grants %+v", b.Grants)
	}
	var told []string
	for _, v := range b.Values {
		told = append(told, v.String())
		if v.Path != "apps/a.yaml" || v.Line != 11 {
			t.Errorf("%s at %s:%d", v, v.Path, v.Line)
		}
	}
	if !slices.Equal(told, []string{"the schema of the new version rejects setting: Renamed to settings.one.",
		"no template of the new version reads old"}) {
		t.Errorf("values %q", told)
	}
	if len(rep.Resolved) != 1 || rep.Resolved[0].String() != "^2 of shop is 2.1.0" {
		t.Errorf("resolved %+v", rep.Resolved)
	}
}

// A remote base with a new ref is reported at the line that names it, and so is the new commit of a branch. A tag whose
// content changed is a warning.
func TestBumpOfARemoteBaseIsReported(t *testing.T) {
	f := &fetched{t: t, repo: treetest.New(t)}
	base := func(ref string) remote.Want {
		return remote.Want{Kind: remote.Git, URL: "https://github.com/acme/base", Ref: ref, Submodules: true}
	}
	files := func(tag string) sources {
		return sources{"app/kustomization.yaml": "resources: [pod.yaml]\n", "app/pod.yaml": aPod("p", tag)}
	}
	f.add(base("v1.0.0"), strings.Repeat("a", 40), files("1"))
	f.add(base("v1.1.0"), strings.Repeat("b", 40), files("2")).Changed = "sha256:" + strings.Repeat("c", 64)
	f.add(base("main"), strings.Repeat("d", 40), files("3"))
	overlay := func(ref string) sources {
		return sources{"apps/kustomization.yaml": "namespace: shop\nresources:\n- https://github.com/acme/base//app?ref=" +
			ref + "\n- more.yaml\n", "apps/more.yaml": aPod("more", "1")}
	}
	rep := f.against(overlay("v1.0.0"), overlay("v1.1.0"))
	if len(rep.Bumps) != 1 || len(rep.Bumps[0].Moved) != 1 {
		t.Fatalf("%+v\n%s\n%+v", rep.Bumps, problems(rep.Errors), rep.NotChecked)
	}
	b, m := rep.Bumps[0], rep.Bumps[0].Moved[0]
	if b.Root != "apps" || m.Name != "github.com/acme/base" || m.From.String() != "v1.0.0 (aaaaaaa)" ||
		m.Path != "apps/kustomization.yaml" || m.Line != 3 || len(m.Links) != 1 ||
		m.Links[0].URL != "https://github.com/acme/base/compare/v1.0.0...v1.1.0" {
		t.Errorf("%+v", b)
	}
	if len(b.Changed) != 1 || len(b.Images) != 1 || b.Images[0].From != "i:1" || b.Images[0].To != "i:2" {
		t.Errorf("%+v", b)
	}
	if len(rep.Warnings) != 1 || !strings.Contains(rep.Warnings[0].Message, "this version has changed its content") ||
		rep.Warnings[0].Line != 3 {
		t.Errorf("warnings %+v", rep.Warnings)
	}
	rep = f.against(overlay("v1.1.0"), overlay("main"))
	if len(rep.Resolved) != 1 || rep.Resolved[0].String() != "main of github.com/acme/base is ddddddd" ||
		len(rep.Bumps) != 1 || rep.Bumps[0].Moved[0].To.String() != "main (ddddddd)" {
		t.Errorf("%+v, %+v", rep.Resolved, rep.Bumps)
	}
	same := overlay("main")
	if rep := f.against(same, same.with(sources{"apps/more.yaml": aPod("more", "2")})); len(rep.Bumps) != 0 {
		t.Errorf("nothing moved: %+v", rep.Bumps)
	}
}

// Another tag of the repository that an Application deploys is reported as a bump.
func TestBumpOfAnApplicationIsReported(t *testing.T) {
	f := &fetched{t: t, repo: treetest.New(t)}
	for _, tag := range []string{"v1.0.0", "v1.1.0"} {
		f.add(remote.Want{Kind: remote.Git, URL: "https://github.com/acme/app", Ref: tag, Submodules: true},
			strings.Repeat(tag[3:4], 40), sources{"deploy/pod.yaml": aPod("p", tag)})
	}
	app := func(tag string) sources {
		return sources{"apps/a.yaml": argo("  source:\n    repoURL: https://github.com/acme/app\n    path: deploy\n" +
			"    targetRevision: " + tag + "\n")}
	}
	rep := f.against(app("v1.0.0"), app("v1.1.0"))
	if len(rep.Bumps) != 1 || len(rep.NotChecked) != 0 {
		t.Fatalf("%+v\n%s\n%+v", rep.Bumps, problems(rep.Errors), rep.NotChecked)
	}
	b, m := rep.Bumps[0], rep.Bumps[0].Moved[0]
	if b.Root != "Application/argocd/a" || m.Line != 9 || len(b.Images) != 1 || b.Images[0].To != "i:v1.1.0" ||
		m.Links[0].URL != "https://github.com/acme/app/compare/v1.0.0...v1.1.0" {
		t.Errorf("%+v", b)
	}
}

// Roots beyond the listed ones are only counted.
func TestBumpsBeyondTheLimitAreCounted(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	f := &fetched{t: t, repo: treetest.New(t)}
	for _, version := range []string{"1.0.0", "2.0.0"} {
		f.add(shopChart(version), version, sources{"Chart.yaml": "apiVersion: v2\nname: shop\nversion: " + version + "\n",
			"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {v: '" + version + "'}\n"})
	}
	apps := func(version string) sources {
		out := sources{}
		for i := range 203 {
			name := "a" + strconv.Itoa(i)
			out["apps/"+name+".yaml"] = strings.Replace(shopApp(version, "{}"), "name: a,", "name: "+name+",", 1)
		}
		return out
	}
	rep := f.against(apps("1.0.0"), apps("2.0.0"))
	if len(rep.Bumps)+rep.MoreBumps != 203 || rep.MoreBumps != 3 {
		t.Errorf("%d bumps and %d more", len(rep.Bumps), rep.MoreBumps)
	}
}
