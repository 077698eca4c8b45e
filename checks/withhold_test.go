package checks_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// Text of another repository is in the report only for readers of both repositories, however it gets there. What the
// own repository says about the same objects stays for all.
func TestTextOfOtherRepositoriesIsWithheld(t *testing.T) {
	const url = "https://git.example/octo/b"
	overlay := func(ref string, more string) sources {
		return sources{"apps/kustomization.yaml": "resources: ['" + url + "//app?ref=" + ref + "']\n" + more,
			"apps/p.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\nspec: {hostname: own-" + ref +
				"}\n"}
	}
	const patched = "patches: [{path: p.yaml}]\n"
	source := fluxSource("GitRepository", "b", "{interval: 1m, url: '"+url+"', ref: {tag: REF}}") + "---\n"
	at := func(ref string, files sources) sources {
		out := sources{}
		for name, text := range files {
			out[name] = strings.ReplaceAll(text, "REF", ref)
		}
		return out
	}
	for _, c := range []struct {
		name       string
		base, head sources
		own        string // a line that is not withheld
	}{
		{"a remote base", overlay("v1", patched), overlay("v2", patched), "hostname: own-v2"},
		{"a new remote base", sources{}, overlay("v2", patched), "hostname: own-v2"},
		{"a removed remote base", overlay("v1", patched), sources{}, "hostname: own-v1"},
		{"a component", at("v1", sources{"apps/kustomization.yaml": "resources: [p.yaml]\ncomponents: ['" + url +
			"//part?ref=REF']\n", "apps/p.yaml": aPod("web", "1")}), at("v2", sources{"apps/kustomization.yaml": "resources: " +
			"[p.yaml]\ncomponents: ['" + url + "//part?ref=REF']\n", "apps/p.yaml": aPod("web", "2")}), ""},
		{"values that are changed further", overlay("v1", patched+"images: [{name: hush/web, newTag: '1'}]\nnamePrefix: a-\n"),
			overlay("v2", patched+"images: [{name: hush/web, newTag: '2'}]\nnamePrefix: b-\n"), ""},
		{"values that are copied", overlay("v1", patched), overlay("v2", patched+"replacements:\n- source: {kind: ConfigMap, name: c, "+
			"fieldPath: data.a}\n  targets: [{select: {kind: Pod}, fieldPaths: [spec.hostname], options: {create: true}}]\n"), ""},
		{"a Secret that holds the address", overlay("v1", patched), overlay("v2", patched).with(sources{
			"apps/kustomization.yaml": "resources: ['" + url + "//app?ref=v2', s.yaml]\n" + patched,
			"apps/s.yaml":             "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: shop}\nstringData: {a: '" + url + "'}\n",
		}), "hostname: own-v2"},
		{"an Application", at("v1", sources{"apps/a.yaml": argo("  source: {repoURL: " + url +
			", path: app, targetRevision: REF}\n")}), at("v2", sources{"apps/a.yaml": argo("  source: {repoURL: " + url +
			", path: app, targetRevision: REF}\n")}), ""},
		{"a chart", at("v1", sources{"apps/a.yaml": source + release("  targetNamespace: shop\n  chart: {spec: {chart: chart, "+
			"sourceRef: {kind: GitRepository, name: b}}}\n  values: {mine: own-REF}\n")}), at("v2", sources{"apps/a.yaml": source +
			release("  targetNamespace: shop\n  chart: {spec: {chart: chart, sourceRef: {kind: GitRepository, name: b}}}\n  "+
				"values: {mine: own-REF}\n")}), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fetched{t: t, repo: treetest.New(t)}
			for _, v := range []string{"v1", "v2"} {
				f.add(remote.Want{Kind: remote.Git, URL: url, Ref: v, Submodules: true}, v, hushed(v))
				f.add(remote.Want{Kind: remote.Git, URL: url, Ref: "refs/tags/" + v}, v, hushed(v))
			}
			rep := f.against(c.base, c.head)
			if len(rep.NotChecked)+len(rep.Errors) > 0 || len(rep.Differences) == 0 || len(rep.RemoteSources) != 1 {
				t.Fatalf("%s\n%+v\n%+v", problems(rep.Errors), rep.NotChecked, rep.RemoteSources)
			}
			if !strings.Contains(said(t, rep), "hush") {
				t.Error("there is nothing to withhold")
			}
			if got := said(t, rep.Withhold(nil)); got != said(t, rep) {
				t.Error("who may read all sees less")
			}
			got := said(t, rep.Withhold([]string{url}))
			if i := strings.Index(got, "hush"); i >= 0 || !strings.Contains(got, c.own) {
				t.Errorf("of another repository: …%s…\n%s", got[max(0, i-300):max(i+20, 0)], got)
			}
		})
	}
}

func said(t *testing.T, rep *report.Report) string {
	t.Helper()
	data, err := json.MarshalIndent(rep, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// hushed are files of another repository that only its readers may see.
func hushed(v string) sources {
	return sources{
		"app/kustomization.yaml": "resources: [pod.yaml, cm.yaml]\n",
		"app/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  namespace: shop\n  labels: {hush-" + v + ": hush-" +
			v + "}\nspec:\n  containers:\n  - name: c\n    image: hush/web:latest\n    args: [hush-" + v + "]\n",
		"app/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: shop}\ndata:\n  a: hush-" + v +
			"\n  hush-" + v + ": |\n    hush " + v + "\n    more\n",
		"part/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- target: {kind: Pod}\n" +
			"  patch: |\n    - {op: add, path: /metadata/labels, value: {hush: hush-" + v + "}}\n" +
			"images: [{name: nothing, newTag: hush}]\n",
		"chart/Chart.yaml":  "apiVersion: v2\nname: chart\nversion: 1.0.0\ndescription: hush\n",
		"chart/values.yaml": "theirs: hush-" + v + "\nmine: hush\n",
		"chart/templates/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: web, labels: {hush: hush-" + v + "}}\nspec:\n" +
			"  hostname: {{ .Values.mine }}\n  containers:\n  - {name: c, image: 'hush:latest', args: ['{{ .Values.theirs }}']}\n",
	}
}
