package render_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/roots"
)

// named renders the root of a given name, and fetches what it wants.
func (w *world) named(name string) (*render.Rendering, []doc.Error) {
	w.t.Helper()
	for range 10 {
		s := w.sources()
		set, err := deploy.Open(w.repo.Tree("HEAD"), roots.Options{}, &graph.Cache{}, render.Config{Sources: s})
		if err != nil {
			w.t.Fatal(err)
		}
		r := set
		root, err := set.Find(name)
		if err != nil {
			w.t.Fatal(err)
		}
		out, problems, err := r.Render(w.t.Context(), root)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(s.Wanted()) == 0 {
			return out, problems
		}
		for _, want := range s.Wanted() {
			w.fetch(want)
		}
	}
	w.t.Fatal("there is no end of what is wanted")
	return nil, nil
}

func externalApp(name, source string) string {
	return "-- apps/" + name + ".yaml --\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + name +
		", namespace: argocd}\nspec:\n  destination: {name: in-cluster, namespace: shop}\n  source:\n" +
		"    repoURL: HOST/o/base\n    targetRevision: v1\n" + source
}

const externalFiles = mountsBase + `
-- git/o/base/plain/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
-- git/o/base/plain/below/b.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: b
-- git/o/base/chart/Chart.yaml --
apiVersion: v2
name: chart
version: 1.0.0
-- git/o/base/chart/templates/c.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
-- git/o/base/set/.argocd-source.yaml --
kustomize: {namePrefix: x-}
-- git/o/base/set/kustomization.yaml --
resources: [../common]
-- git/o/flux/deploy/x/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
data:
  who: ${who}
`

// What Argo CD and Flux deploy from other repositories is rendered as they render it. The place of each field is the
// line that chooses the revision.
func TestExternalSourceIsRendered(t *testing.T) {
	const flux = "-- apps/flux.yaml --\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n" +
		"metadata: {name: f, namespace: flux-system}\nspec:\n  path: ./deploy\n  targetNamespace: shop\n" +
		"  sourceRef: {kind: GitRepository, name: other}\n  postBuild:\n    substitute: {who: me}\n" +
		"-- apps/source.yaml --\napiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n" +
		"metadata: {name: other, namespace: flux-system}\nspec:\n  url: HOST/o/flux\n  ref:\n    tag: v1\n"
	for _, c := range []struct{ name, archive, root, want string }{
		{"folder with a kustomization", externalApp("a", "    path: deploy\n"), "Application/argocd/a",
			"Deployment shop/base-d apps/a.yaml:8, ServiceAccount shop/base-sa apps/a.yaml:8, " +
				"ConfigMap shop/base-nested apps/a.yaml:8"},
		{"kustomization with options of the Application", externalApp("a", "    path: deploy\n    kustomize: {nameSuffix: -x}\n"), "Application/argocd/a",
			"Deployment shop/base-d-x apps/a.yaml:10, ServiceAccount shop/base-sa-x apps/a.yaml:10, " +
				"ConfigMap shop/base-nested-x apps/a.yaml:10"},
		{"folder of manifests", externalApp("a", "    path: plain\n"), "Application/argocd/a", "ConfigMap shop/a apps/a.yaml:8"},
		{"folder of manifests, recursively", externalApp("a", "    path: plain\n    directory: {recurse: true}\n"),
			"Application/argocd/a", "ConfigMap shop/a apps/a.yaml:8, ConfigMap shop/b apps/a.yaml:8"},
		{"folder with a chart", externalApp("a", "    path: chart\n"), "Application/argocd/a", "ConfigMap shop/a apps/a.yaml:3"},
		{"Kustomization of Flux", flux, "Kustomization/flux-system/f", "ConfigMap shop/a apps/source.yaml:7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, host, externalFiles+c.archive)
			out, problems := w.named(c.root)
			var got []string
			for _, res := range out.Resources {
				meta := res.Object["metadata"].(map[string]any)
				at := res.Origin("/metadata/name")
				got = append(got, fmt.Sprintf("%s %s/%s %s:%d", res.Object["kind"], meta["namespace"], meta["name"], at.Path,
					at.StartLine))
				if data, ok := res.Object["data"].(map[string]any); ok && data["who"] != nil && data["who"] != "me" {
					t.Errorf("substituted: %v", data)
				}
			}
			if strings.Join(got, ", ") != c.want || len(problems) > 0 {
				t.Errorf("got %s\n%+v", strings.Join(got, ", "), problems)
			}
		})
	}
}

// An external source that is missing or cannot be rendered is one problem at its line.
func TestMissingExternalSourceIsNotChecked(t *testing.T) {
	for _, c := range []struct {
		path, fails, want string
	}{
		{"nowhere", "", `apps/a.yaml:9: the path nowhere is not a folder of `},
		{"set", "", "apps/a.yaml:7: the folder has an .argocd-source.yaml, which Lintel does not read in another " +
			"repository: what is deployed from it is not checked"},
		{"deploy", "gone", "apps/a.yaml:8: the source https://git.example.com/o/base: gone"},
		{"deploy", "credentials", "apps/a.yaml:7: the source is another repository, https://git.example.com/o/base: what " +
			"is deployed from it is not checked: credentials"},
	} {
		w := newWorld(t, host, externalFiles+externalApp("a", "    path: "+c.path+"\n"))
		if c.fails != "" {
			w.fails["o/base"] = &remote.Failure{Message: c.fails, Broken: c.fails == "gone"}
		}
		out, problems := w.named("Application/argocd/a")
		unknown := slices.ContainsFunc(problems, func(e doc.Error) bool { return e.Unknown })
		if len(problems) != 1 || len(out.Resources) > 0 || unknown != strings.Contains(c.want, "not checked") ||
			!strings.HasPrefix(fmt.Sprintf("%s:%d: %s", problems[0].Path, problems[0].Line, problems[0].Message), c.want) {
			t.Errorf("%s: %+v", c.path, problems)
		}
	}
}

// A source that cannot be read is not reported as one that lacks the folder.
func TestUnreadableExternalSourceIsNotChecked(t *testing.T) {
	w := newWorld(t, host, externalFiles+externalApp("a", "    path: plain/below\n"))
	base := w.repos["o/base"]
	base.Lose(base.Rev("v1:plain"))
	w.fetch(remote.Want{Kind: remote.Git, URL: host + "/o/base", Ref: "v1", Submodules: true})
	s := w.sources()
	set, err := deploy.Open(w.repo.Tree("HEAD"), roots.Options{}, &graph.Cache{}, render.Config{Sources: s})
	if err != nil {
		t.Fatal(err)
	}
	root, err := set.Find("Application/argocd/a")
	if err != nil {
		t.Fatal(err)
	}
	_, problems, err := set.Render(t.Context(), root)
	if err == nil || len(problems) > 0 || len(s.Wanted()) > 0 {
		t.Errorf("%v, problems %v, wanted %v", err, problems, s.Wanted())
	}
}
