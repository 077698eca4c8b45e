package checks_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// Obstacles to rendering, and what a chart looks up in another root, do not quote another repository to readers without
// access to it. Problems of the own files are shown to everybody, and JSON does not say who may see a text.
func TestWithholdProblems(t *testing.T) {
	const url = "https://git.example/octo/b"
	overlay := func(more string) sources {
		return sources{"apps/kustomization.yaml": "resources: ['" + url + "//app?ref=v1']\n" + more}
	}
	chart := sources{"apps/a.yaml": fluxSource("GitRepository", "b", "{interval: 1m, url: '"+url+"', ref: {tag: v1}}") +
		"---\n" + release("  targetNamespace: shop\n  chart: {spec: {chart: chart, sourceRef: {kind: GitRepository, name: b}}}\n")}
	charted := func(template string) sources {
		return sources{"chart/Chart.yaml": "apiVersion: v2\nname: chart\nversion: 1.0.0\n", "chart/values.yaml": "a: hush\n",
			"chart/templates/a.yaml": template}
	}
	declaring := sources{"apps/kustomization.yaml": "resources: [own.yaml, '" + url + "//app?ref=v1']\n",
		"apps/own.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\n"}
	looking := func(template string) sources {
		return declaring.with(sources{"rel/Chart.yaml": "apiVersion: v2\nname: rel\nversion: 1.0.0\n",
			"rel/templates/a.yaml": `{{ $c := lookup "v1" "ConfigMap" "shop" "c" }}` + template})
	}
	for _, c := range []struct {
		name       string
		base, head sources
		theirs     sources // files of the other repository; nil: hushed
		stays      string  // text that is not withheld
	}{
		{"a file that does not exist", sources{}, overlay(""), sources{"app/kustomization.yaml": "resources: [hush.yaml]\n"}, ""},
		{"a field that kustomize does not know", sources{}, overlay(""),
			sources{"app/kustomization.yaml": "resources: [p.yaml]\nhush: 1\n", "app/p.yaml": goodPod}, ""},
		{"what kustomize cannot read", sources{}, overlay(""), sources{"app/kustomization.yaml": "resources: [hush.yaml]\n",
			"app/hush.yaml": "apiVersion: v1\nkind: Pod\nhush: 1\n"}, ""},
		{"a replacement of a missing field", sources{}, overlay("replacements: [{source: {kind: ConfigMap, name: c, fieldPath: " +
			"data.none}, targets: [{select: {kind: Pod}, fieldPaths: [spec.none]}]}]\n"), nil, ""},
		{"an error that the base had", overlay("").with(sources{"apps/a.yaml": goodPod}), overlay("namePrefix: a-\n"),
			sources{"app/kustomization.yaml": "resources: [hush.yaml]\n"}, ""},
		{"an Application", sources{}, sources{"apps/a.yaml": argo("  source: {repoURL: " + url + ", path: app, " +
			"targetRevision: v1}\n")}, sources{"app/kustomization.yaml": "resources: [hush.yaml]\n"}, ""},
		{"a chart that fails", sources{}, chart, charted("{{ fail .Values.a }}\n"), ""},
		{"a chart that looks up", declaring, looking("apiVersion: v1\nkind: Pod\nmetadata: {name: look}\nspec: {hostname: " +
			"'{{ $c.data.a }}', containers: [{name: c, image: 'i:1'}]}\n"), nil, ""},
		{"a chart that fails with what it looks up", declaring, looking("{{ fail $c.data.a }}\n"), nil, ""},
		{"an error of the own files", sources{}, overlay("patches: [{path: gone.yaml}]\n"), nil, "does not exist"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &fetched{t: t, repo: treetest.New(t)}
			theirs := c.theirs
			if theirs == nil {
				theirs = hushed("v1")
			}
			f.add(remote.Want{Kind: remote.Git, URL: url, Ref: "v1", Submodules: true}, "v1", theirs)
			f.add(remote.Want{Kind: remote.Git, URL: url, Ref: "refs/tags/v1"}, "v1", theirs)
			f.add(remote.Want{Kind: remote.Git, URL: url, Ref: "v1"}, "v1", theirs)
			rep := f.against(c.base, c.head)
			got := rep.Withhold([]string{url})
			if text := said(t, got); strings.Contains(text, "hush") || !strings.Contains(text, c.stays) ||
				len(got.Errors) != len(rep.Errors) || len(got.NotChecked) != len(rep.NotChecked) {
				t.Errorf("withheld: %s", text)
			}
			if text := said(t, rep); c.stays == "" && !strings.Contains(text, "hush") {
				t.Errorf("there is nothing to withhold: %s", text)
			}
			var out bytes.Buffer
			if err := output.Write("json", &out, rep, output.Options{}); err != nil || strings.Contains(out.String(), `"quotes"`) || strings.Contains(out.String(), `"outside"`) {
				t.Errorf("%v\n%s", err, out.String())
			}
		})
	}
}
