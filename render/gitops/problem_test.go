package gitops

import (
	"strings"
	"testing"
)

func argoApp(spec string) string {
	return "-- app.yaml --\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web, namespace: " +
		"argocd}\nspec:\n  " +
		strings.ReplaceAll(spec, "\n", "\n  ") + "\n" + apps
}

func fluxKind(apiVersion, kind, spec string) string {
	return "-- k.yaml --\napiVersion: " + apiVersion + "\nkind: " + kind +
		"\nmetadata: {name: web, namespace: flux}\nspec:\n  " +
		strings.ReplaceAll(spec, "\n", "\n  ") + "\n" + apps
}

// TestProblems has a case for each thing that is not rendered. It tests the cause, the place and the object of the
// problem.
func TestProblems(t *testing.T) {
	const clusters, plain = "  - clusters: {}\n",
		"'{{.name}}'}\n    spec: {source: {path: apps/a}, destination: {namespace: x}}"
	list := "  - list: {elements: [{name: a}]}\n"
	goSet := func(generators, template string) string { return appSet("  goTemplate: true\n", generators, template) }
	ofClusters := func(generator string) string {
		return "  - matrix:\n      generators:\n      - clusters: {}\n      - " + generator + "\n"
	}
	patched := strings.Replace(goSet(clusters, plain), "  template:\n", "  templatePatch: '{{ .server }}'\n  template:\n",
		1)
	kustomization := func(spec string) string { return fluxKind(fluxGroup+"/v1", "Kustomization", spec) }
	for name, test := range map[string]struct {
		archive string
		cause   Cause
		want    string
	}{
		"no source":    {argoApp("project: default"), Broken, "app.yaml:5: this Application names no source"},
		"neither path": {argoApp("source:\n  repoURL: o/r"), Broken, "names no path and no chart"},
		"two ways to render": {argoApp("source: {repoURL: o/r, path: apps/a, helm: {releaseName: x}, directory: {recurse: true}}"), Broken,
			"app.yaml:5: this source has helm and directory, and Argo CD renders only one of them"},
		"chart without a repository": {argoApp("source:\n  chart: redis"), Broken, `app.yaml:6: this source names no repository ` +
			`for the chart "redis"`},
		"another repository": {argoApp("source:\n  path: apps/a\n  repoURL: https://x/${y}"), ClusterOnly,
			"app.yaml:7: the source is another repository, https://x/${y}"},
		"plugin": {argoApp("source:\n  path: apps/a\n  plugin: {name: x}"), ClusterOnly,
			"app.yaml:7: a config management plugin"},
		"missing folder": {argoApp("source: {path: gone, repoURL: o/r}"), Broken, `is not a folder`},
		"malformed pattern": {argoApp("source: {path: apps/b, directory: {include: '[a'}}"), Suspicious,
			"the pattern is malformed"},
		"no generators": {"-- s.yaml --\napiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: " +
			"set}\nspec: {template: {}}\n", Broken, "has no generators"},
		"no spec": {"-- s.yaml --\napiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: set}\n", Broken,
			"s.yaml:3: this ApplicationSet has no generators"},
		"unknown generator": {goSet("  - cluster: {}\n", plain), Broken,
			`set.yaml:7: this ApplicationSet cannot be expanded: there is no generator with the name "cluster"`},
		"null generator": {goSet("  - clusters:\n", plain), Broken, "no generator is named"},
		"in a matrix": {goSet("  - matrix:\n      generators:\n      - list: {elements: [{a: b}]}\n      - x: {}\n",
			plain), Broken, "set.yaml:10: this ApplicationSet"},
		"in a merge": {goSet("  - merge:\n      mergeKeys: [a]\n      generators:\n      - list: {elements: [{a: b}]}\n    "+
			"  - x: {}\n", plain), Broken, "set.yaml:11: this ApplicationSet"},
		"unknown option of templates": {appSet("  goTemplate: true\n  goTemplateOptions: [missingkey=x]\n", list, plain), Broken,
			"goTemplateOptions"},
		"unknown operator of a selector": {goSet(list+"    selector: {matchExpressions: [{key: a, operator: Is}]}\n", plain), Broken,
			"set.yaml:8: this ApplicationSet cannot be expanded: the selector"},
		"path that depends on clusters": {goSet(clusters, strings.Replace(plain, "apps/a", "'{{.server}}'", 1)), ClusterOnly,
			"set.yaml:7: the clusters generator needs the cluster"},
		"cluster decisions": {goSet("  - clusterDecisionResource: {}\n",
			strings.Replace(plain, "namespace: x", "namespace: '{{.name}}'", 1)), ClusterOnly, "clusterDecisionResource"},
		"second of two generators": {goSet(clusters+"  - scmProvider: {}\n",
			"'x'}\n    spec: {source: {path: 'apps/{{ .repository }}'}}"), ClusterOnly, "set.yaml:7: the clusters"},
		"git generator of another repository": {goSet("  - git: {repoURL: 'https://x/y', files: [{path: a}]}\n",
			strings.Replace(plain, "apps/a", "'{{.a}}'", 1)), ClusterOnly, "another repository"},
		"list element that is a text": {goSet("  - list: {elements: [a]}\n", plain), Broken,
			"set.yaml:7: this ApplicationSet cannot be expanded: an element"},
		"elementsYaml that is a map": {goSet("  - list: {elementsYaml: 'a: b'}\n", plain), Broken,
			"set.yaml:7: this ApplicationSet cannot be expanded: elementsYaml is not a list"},
		"list element that needs the cluster": {goSet(ofClusters("list: {elements: [{a: '{{.name}}-x'}]}"),
			"'x'}\n    spec: {source: {path: 'apps/{{.a}}'}}"), ClusterOnly, "set.yaml:9: the clusters generator needs"},
		"namespace that needs the cluster": {goSet(ofClusters("list: {elements: [{a: '{{.name}}-x'}]}"),
			"'x'}\n    spec: {source: {path: apps/a}, destination: {namespace: '{{.a}}'}}"), ClusterOnly,
			"set.yaml:9: the clusters generator needs"},
		"a value that needs the cluster": {appSet("  goTemplate: true\n  goTemplateOptions: [missingkey=error]\n",
			ofClusters("git: {directories: [{path: apps/a}], values: {x: '{{.name}}'}}"),
			"x}\n    spec: {source: {path: '{{.path.path}}'}, destination: {namespace: '{{.values.x}}'}}"), ClusterOnly,
			"set.yaml:10: the clusters generator needs"},
		"a key that needs the cluster": {goSet(clusters,
			"x}\n    spec: {source: {path: apps/a, kustomize: {commonLabels: {'{{.name}}': x}}}}"), ClusterOnly,
			"set.yaml:7: the clusters generator needs"},
		"unknown patch": {patched, ClusterOnly, "the clusters generator needs"},
		"unknown pattern": {goSet(clusters,
			"x}\n    spec: {source: {path: apps/b, directory: {include: '{{ .name }}'}}}"), ClusterOnly,
			"the clusters generator needs"},
		"function with a random result": {goSet(list, "'{{ randAlpha 3 }}'}\n    spec: {source: {path: apps/a}}"), ClusterOnly,
			"differs each time"},
		"template that fails": {goSet(list, "'{{ fail `no` }}'}\n    spec: {source: {path: apps/a}}"), Broken, "no"},
		"text over the limit": {goSet(list, "'{{ repeat 999999 `x` }}'}\n    spec: {source: {path: apps/a}}"), ClusterOnly,
			"grows larger than the limit"},
		"template in the namespace": {appSet("", list,
			"x}\n    spec: {source: {path: apps/a}, destination: {namespace: '{{gone}}'}}"), Broken,
			"the namespace has a template expression"},
		"Flux, elsewhere": {kustomization("path: gone\nsourceRef: {kind: OCIRepository, name: x}"), ClusterOnly,
			`k.yaml:6: the source is OCIRepository "x"`},
		"Flux, bucket": {kustomization("path: gone\nsourceRef: {kind: Bucket, name: x}"), ClusterOnly,
			`Bucket "x", an artifact that is built outside this repository`},
		"Flux, artifact at a path of ours": {kustomization("path: apps/a\nsourceRef: {kind: OCIRepository, name: x}"),
			ClusterOnly, "k.yaml:6: the source is OCIRepository"},
		"Flux, variable": {kustomization("path: ${x}"), ClusterOnly, "the path has a variable"},
		"Flux, own overrides": {kustomization("path: apps/a\ntargetNamespace: ${x}"), ClusterOnly,
			"k.yaml:6: targetNamespace has a variable"},
		"Flux, Secret": {kustomization("path: apps/a\npostBuild: {substituteFrom: [{kind: Secret, name: x}]}"),
			ClusterOnly, "k.yaml:6: the variables of Secret"},
		"Helm": {fluxKind(helmGroup+"/v2", "HelmRelease", "chart: {spec: {chart: redis}}"), Broken,
			"k.yaml:5: this chart names no source"},
		"Helm, reference": {fluxKind(helmGroup+"/v2", "HelmRelease", "chartRef:\n  name: redis"), ClusterOnly,
			`k.yaml:6: no  of this repository has the name "redis"`},
	} {
		t.Run(name, func(t *testing.T) {
			var urls []string
			if name == "missing folder" || strings.Contains(test.archive, "https://x/") {
				urls = []string{"o/r"}
			}
			_, _, problems := read(t, test.archive, urls...)
			if len(problems) == 0 {
				t.Fatal("no problem")
			}
			p := problems[0]
			if p.Cause != test.cause || !strings.Contains(p.Error.Error(), test.want) || p.Object.Name == "" || p.Line == 0 ||
				!strings.Contains(p.Message, p.Object.Name) {
				t.Errorf("%s\nof %v, want %s %q", messages(problems), p.Object, test.cause, test.want)
			}
		})
	}
}

// TestObjectsWithoutProblems has objects that deploy nothing by themselves, or that have options which do not change what is deployed.
func TestObjectsWithoutProblems(t *testing.T) {
	set := strings.Replace(appSet("  goTemplate: true\n", "  - list: {elements: [{name: a}]}\n",
		"'{{.name}}'}\n    spec: {source: {path: apps/a}}"),
		"  template:\n", "  strategy: {type: RollingSync}\n  syncPolicy: {applicationsSync: create-only}\n  template:\n", 1)
	for name, archive := range map[string]string{
		"values of others": argoApp("sources: [{repoURL: o/r, ref: values}, {path: apps/a}]"), "progressive sync": set,
	} {
		if _, found, problems := read(t, archive); len(found) != 1 || len(problems) > 0 {
			t.Errorf("%s: %d deployments, %s", name, len(found), messages(problems))
		}
	}
	// The controller does not change what a suspended object deployed, so its problems are not reported.
	for _, suspended := range []string{
		fluxKind(fluxGroup+"/v1", "Kustomization", "path: apps/a\nsuspend: true"),
		fluxKind(fluxGroup+"/v1", "Kustomization", "path: apps/a\ntargetNamespace: ${x}\nsuspend: true"),
	} {
		if _, found, problems := read(t, suspended); len(found) != 1 || !found[0].Suspended || len(problems) > 0 {
			t.Errorf("suspended: %+v, %s", found, messages(problems))
		}
	}
}
