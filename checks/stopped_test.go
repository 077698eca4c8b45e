package checks_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// A deleted object whose own file remains is placed where the change stops deploying it.
func TestDeletionsAreFoundWhereTheDeploymentStops(t *testing.T) {
	const keep = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: keep}
spec:
  rules:
  - name: keep
    match: {any: [{resources: {kinds: [ConfigMap], operations: [DELETE]}}]}
    validate: {failureAction: Enforce, message: do not delete, deny: {}}
`
	application := func(path string) string {
		return `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web, namespace: argocd, finalizers: [resources-finalizer.argocd.argoproj.io]}
spec:
  destination: {server: https://kubernetes.default.svc, namespace: shop}
  source:
    repoURL: ` + ownURL + `
    path: ` + path + "\n"
	}
	applications := func(names ...string) string {
		text := `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: set, namespace: argocd}
spec:
  template:
    metadata: {name: '{{name}}'}
    spec:
      destination: {server: https://kubernetes.default.svc, namespace: shop}
      source: {repoURL: '` + ownURL + `', path: '{{name}}'}
  generators:
  - list:
      elements:
`
		for _, name := range names {
			text += "      - {name: " + name + "}\n"
		}
		return text
	}
	matrix := func(cluster string) string {
		return `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: set, namespace: argocd}
spec:
  goTemplate: true
  generators:
  - matrix:
      generators:
      - git: {repoURL: '` + ownURL + `', directories: [{path: web}]}
      - list:
          elements:
          - env: staging
            cluster: other
          - env: prod
            cluster: ` + cluster + `
  template:
    metadata: {name: '{{.path.basename}}-{{.env}}'}
    spec:
      destination: {name: '{{.cluster}}', namespace: shop}
      source: {repoURL: '` + ownURL + `', path: '{{.path.path}}'}
`
	}
	deletion := func(name string) string {
		return "- patch: |\n    $patch: delete\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: " + name + "}\n"
	}
	both := "namespace: shop\nresources:\n- a.yaml\n- b.yaml\n"
	for name, tc := range map[string]struct {
		base, head sources
		want       string
	}{
		"the file is deleted": {
			base: sources{"web/kustomization.yaml": both},
			head: sources{"web/kustomization.yaml": "namespace: shop\nresources:\n- a.yaml\n", "web/b.yaml": ""},
			want: "base web/b.yaml:1",
		},
		"a resource is removed from a kustomization": {
			base: sources{"web/kustomization.yaml": both},
			head: sources{"web/kustomization.yaml": "namespace: shop\nresources:\n- a.yaml\n"},
			want: "head web/kustomization.yaml:2 put b.yaml back under resources",
		},
		"a base that includes another base is removed": {
			base: sources{"apps/web.yaml": application("top"), "top/kustomization.yaml": "resources:\n- ../middle\n- ../web\n",
				"middle/kustomization.yaml": "resources: [../low]\n", "low/kustomization.yaml": "resources: [b.yaml]\n",
				"low/b.yaml": keyed("b", "x"), "web/kustomization.yaml": "resources: [a.yaml]\n", "web/b.yaml": ""},
			head: sources{"top/kustomization.yaml": "resources:\n- ../web\n"},
			want: "head top/kustomization.yaml:1 put ../middle back under resources",
		},
		"the field components is removed": {
			base: sources{"web/kustomization.yaml": "resources:\n- a.yaml\ncomponents:\n- ../more\n", "web/b.yaml": "",
				"more/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [b.yaml]\n",
				"more/b.yaml":             keyed("b", "x")},
			head: sources{"web/kustomization.yaml": "resources:\n- a.yaml\n"},
			want: "base web/kustomization.yaml:4",
		},
		"a new patch deletes the object": {
			base: sources{"web/kustomization.yaml": both},
			head: sources{"web/kustomization.yaml": both + "patches:\n- patch: |\n    $patch: delete\n    apiVersion: v1\n    kind: ConfigMap\n" +
				"    metadata: {name: b}\n"},
			want: "head web/kustomization.yaml:7 remove this patch",
		},
		"an edited patch file deletes the object": {
			base: sources{"web/kustomization.yaml": both + "patches: [{path: patch.yaml}]\n",
				"web/patch.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {y: z}\n"},
			head: sources{"web/patch.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n$patch: delete\n"},
			want: "head web/patch.yaml:4 remove this patch",
		},
		"a patch beside one of another object": {
			base: sources{"web/kustomization.yaml": both},
			head: sources{"web/kustomization.yaml": both + "patches:\n" + deletion("a") + deletion("b")},
			want: "head web/kustomization.yaml:12 remove this patch",
		},
		"a patch after one that was there": {
			base: sources{"web/kustomization.yaml": both + "patches:\n" + deletion("a")},
			head: sources{"web/kustomization.yaml": both + "patches:\n" + deletion("a") + deletion("b")},
			want: "head web/kustomization.yaml:12 remove this patch",
		},
		"a patch of any name with a target": {
			base: sources{"web/kustomization.yaml": both},
			head: sources{"web/kustomization.yaml": both + "patches:\n- target: {kind: ConfigMap, name: b}\n" +
				"  patch: |\n    apiVersion: v1\n    kind: any\n    metadata: {name: any}\n    $patch: delete\n"},
			want: "head web/kustomization.yaml:11 remove this patch",
		},
		"the file of a patch that no kustomization named": {
			base: sources{"web/kustomization.yaml": both, "web/patch.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n$patch: delete\n"},
			head: sources{"web/kustomization.yaml": both + "patches:\n- path: patch.yaml\n"},
			want: "head web/kustomization.yaml:6 remove this entry",
		},
		"a component that deletes": {
			base: sources{"web/kustomization.yaml": both, "less/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\n" +
				"kind: Component\npatches:\n" + deletion("b")},
			head: sources{"web/kustomization.yaml": both + "components:\n- ../less\n"},
			want: "head web/kustomization.yaml:6 remove this entry",
		},
		"another overlay that drops the base": {
			base: sources{"web/kustomization.yaml": "resources: [b.yaml]\n", "dev/kustomization.yaml": "namePrefix: dev-\nresources: [../web, a.yaml]\n",
				"dev/a.yaml": keyed("a", "x"), "prod/kustomization.yaml": "resources: [../web]\n"},
			head: sources{"dev/kustomization.yaml": "namePrefix: dev-\nresources: [a.yaml]\n",
				"prod/kustomization.yaml": "resources: [../web]\npatches:\n" + deletion("b")},
			want: "head prod/kustomization.yaml:4 remove this patch",
		},
		"a kustomization of a folder of manifests": {
			head: sources{"web/kustomization.yaml": "kind: Kustomization\nresources: [a.yaml]\n"},
			want: "head web/kustomization.yaml:2 name b.yaml under resources",
		},
		"another namespace below an Application that deploys the same": {
			base: sources{"apps/web.yaml": application("web"), "web/kustomization.yaml": "namespace: shop\nresources: [b.yaml]\n"},
			head: sources{"apps/web.yaml": "# old\n" + application("web"), "web/kustomization.yaml": "namespace: other\nresources: [b.yaml]\n"},
			want: "base web/kustomization.yaml:1",
		},
		"an element of an ApplicationSet": {
			base: sources{"apps/set.yaml": applications("web", "other"), "other/o.yaml": keyed("o", "x"), "web/a.yaml": ""},
			head: sources{"apps/set.yaml": applications("other")},
			want: "base apps/set.yaml:13",
		},
		"another cluster in an element of a matrix": {
			base: sources{"apps/set.yaml": matrix("one"), "web/a.yaml": ""},
			head: sources{"apps/set.yaml": matrix("two")},
			want: "head apps/set.yaml:15 have this object deploy what it deployed before",
		},
		"the values of a chart": {
			base: sources{"apps/web.yaml": application("chart") + "    helm: {valueFiles: [prod.yaml]}\n", "web/a.yaml": "", "web/b.yaml": "",
				"chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "chart/prod.yaml": "x: y\nshown: true\n",
				"chart/templates/b.yaml": "{{ if .Values.shown }}\n" + keyed("b", "x") + "{{ end }}\n"},
			head: sources{"chart/prod.yaml": "x: y\nshown: false\n"},
			want: "head chart/prod.yaml:2 change this back so that the chart renders the object",
		},
		"a patch that deletes an Application": {
			base: sources{"apps/web.yaml": application("web"), "apps/kustomization.yaml": "resources: [web.yaml]\n", "web/a.yaml": ""},
			head: sources{"apps/kustomization.yaml": "resources: [web.yaml]\npatches:\n" +
				strings.NewReplacer("v1", "argoproj.io/v1alpha1", "ConfigMap", "Application").Replace(deletion("web, namespace: argocd"))},
			want: "head apps/kustomization.yaml:4 remove this patch",
		},
		"a patch of the path of an Application": {
			base: sources{"apps/web.yaml": application("web"), "apps/kustomization.yaml": "resources: [web.yaml]\n",
				"other/o.yaml": keyed("o", "x"), "web/a.yaml": ""},
			head: sources{"apps/kustomization.yaml": "resources: [web.yaml]\npatches:\n- target: {kind: Application}\n  patch: |\n" +
				"    - {op: replace, path: /spec/source/path, value: other}\n"},
			want: "head apps/kustomization.yaml:5 have this object deploy what it deployed before",
		},
		"a namespace that an Application newly sets": {
			base: sources{"apps/web.yaml": application("web"), "web/kustomization.yaml": "resources: [b.yaml]\n"},
			head: sources{"apps/web.yaml": application("web") + "    kustomize:\n      namespace: other\n"},
			want: "head apps/web.yaml:10 have this object deploy what it deployed before",
		},
		"a patch that newly deletes an object of an Application": {
			base: sources{"apps/web.yaml": application("web"), "web/kustomization.yaml": "resources: [a.yaml, b.yaml]\n"},
			head: sources{"apps/web.yaml": application("web") + "    kustomize:\n      patches:\n      - target: {name: b}\n        patch: '{$patch: delete, kind: ConfigMap, metadata: {name: b}}'\n"},
			want: "head apps/web.yaml:11 have this object deploy what it deployed before",
		},
		"a release name that is new": {
			base: sources{"apps/web.yaml": application("chart"), "web/a.yaml": "", "web/b.yaml": "",
				"chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "chart/templates/b.yaml": keyed(`{{ if eq .Release.Name "web" }}b{{ else }}c{{ end }}`, "x")},
			head: sources{"apps/web.yaml": application("chart") + "    helm:\n      releaseName: other\n"},
			want: "head apps/web.yaml:10 have this object deploy what it deployed before",
		},
		"a target namespace that a patch newly sets": {
			base: sources{"apps/web.yaml": "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: shop}\n" +
				"spec: {chart: {spec: {chart: ./chart, sourceRef: {kind: GitRepository, name: fleet}}}}\n" +
				"---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: fleet, namespace: shop}\nspec: {url: '" + ownURL + "', ref: {branch: main}}\n",
				"apps/kustomization.yaml": "resources: [web.yaml]\n", "web/a.yaml": "", "web/b.yaml": "",
				"chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "chart/templates/b.yaml": keyed("b", "x")},
			head: sources{"apps/kustomization.yaml": "resources: [web.yaml]\npatches:\n- target: {kind: HelmRelease}\n  patch: |\n" +
				"    - op: add\n      path: /spec/targetNamespace\n      value: other\n"},
			want: "head apps/kustomization.yaml:7 have this object deploy what it deployed before",
		},
		"values that switch an Application of a chart off": {
			base: sources{"root.yaml": strings.Replace(application("all"), "name: web", "name: root", 1) + "    helm: {valueFiles: [prod.yaml]}\n", "web/a.yaml": "",
				"all/Chart.yaml": "apiVersion: v2\nname: all\nversion: 1.0.0\n", "all/prod.yaml": "env: prod\nweb:\n  enabled: true\n",
				"all/templates/web.yaml": "{{ if .Values.web.enabled }}\n" + strings.Replace(application("web"), "name: web", "name: '{{ .Values.env }}-web'", 1) + "{{ end }}\n"},
			head: sources{"all/prod.yaml": "env: prod\nweb:\n  enabled: false\n"},
			want: "head all/prod.yaml:3 change this back so that the chart renders the object",
		},
		"values that move an Application of a chart": {
			base: sources{"root.yaml": strings.Replace(application("all"), "name: web", "name: root", 1) + "    helm: {valueFiles: [prod.yaml]}\n", "web/a.yaml": "",
				"all/Chart.yaml": "apiVersion: v2\nname: all\nversion: 1.0.0\n", "all/prod.yaml": "env: prod\nweb: {}\n",
				"all/templates/web.yaml": strings.NewReplacer("name: web", "name: '{{ .Values.env }}-web'", "namespace: shop", "namespace: '{{ .Values.web.namespace | default \"shop\" }}'").Replace(application("web"))},
			head: sources{"all/prod.yaml": "env: prod\nweb:\n  namespace: other\n"},
			want: "head all/prod.yaml:3 have this object deploy what it deployed before",
		},
		"a prefix that is new": {
			base: sources{"web/kustomization.yaml": "resources: [b.yaml]\n"},
			head: sources{"web/kustomization.yaml": "resources: [b.yaml]\nnamePrefix: x-\n"},
			want: "head web/kustomization.yaml:2",
		},
		"a namespace that is new": {
			base: sources{"web/kustomization.yaml": "resources: [b.yaml]\n"},
			head: sources{"web/kustomization.yaml": "namespace: other\nresources: [b.yaml]\n"},
			want: "head web/kustomization.yaml:1",
		},
		"another namespace": {
			base: sources{"web/kustomization.yaml": "namespace: shop\nresources: [b.yaml]\n"},
			head: sources{"web/kustomization.yaml": "namespace: other\nresources: [b.yaml]\n"},
			want: "base web/kustomization.yaml:1",
		},
		"an Application gets another path": {
			base: sources{"apps/web.yaml": application("web"), "other/o.yaml": keyed("o", "x"), "web/a.yaml": ""},
			head: sources{"apps/web.yaml": application("other")},
			want: "head apps/web.yaml:8 have this object deploy what it deployed before",
		},
		"an Application is deleted": {
			base: sources{"apps/web.yaml": application("web"), "web/a.yaml": ""},
			head: sources{"apps/web.yaml": ""},
			want: "base apps/web.yaml:3",
		},
		"a kustomization drops an Application": {
			base: sources{"apps/web.yaml": application("web"), "apps/kustomization.yaml": "resources: [web.yaml]\n", "web/a.yaml": ""},
			head: sources{"apps/kustomization.yaml": "resources: []\n"},
			want: "head apps/kustomization.yaml:1 put web.yaml back under resources",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := treetest.New(t)
			base := sources{"policies/keep.yaml": keep, ".lintel.yaml": "policies: [policies]\n", "web/a.yaml": keyed("a", "x"), "web/b.yaml": keyed("b", "x")}
			commit := func(more sources) string {
				base = base.with(more)
				maps.DeleteFunc(base, func(_, text string) bool { return text == "" })
				r.Git("rm", "-rq", "--ignore-unmatch", ".")
				return r.Commit(base.archive())
			}
			before, after := commit(tc.base), commit(tc.head)
			got := ""
			for _, f := range check(t, r, report.Change{Base: before, Rules: before, Head: after, Repository: []string{ownURL}, Branches: []string{"main"}}).Findings {
				if f.Resource.Name == "b" {
					side := "head"
					if f.Origin.Side == report.Base {
						side = "base"
					}
					got = fmt.Sprintf("%s %s:%d", side, f.Origin.Path, f.Origin.StartLine)
					if f.Origin.Advice != "" {
						got += " " + f.Origin.Advice
					}
					if !f.Origin.Changed {
						t.Errorf("the change does not touch %s", f.Origin.Path)
					}
				}
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
