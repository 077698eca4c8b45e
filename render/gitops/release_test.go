package gitops

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// describe returns a deployment's release in one line.
func describe(d Deployment) string {
	r := d.Release
	if r == nil {
		return string(d.Kind) + " " + d.Path
	}
	c := r.Chart
	chart := fmt.Sprintf("%s %s %s %s", c.Want.Kind, c.Want.URL, c.Want.Name, c.Want.Ref)
	if c.Here() {
		chart = "here"
	}
	flags := ""
	if c.Want.Filter != "" {
		flags = " of " + c.Want.Filter
	}
	for name, set := range map[string]bool{"tag": c.Want.Tag, "submodules": c.Want.Submodules} {
		if set {
			flags += " " + name
		}
	}
	return strings.Join(strings.Fields(fmt.Sprintf("%s: %s %s%s as %s in %s at %d", d.Kind, chart, c.Folder, flags,
		cmp.Or(r.Name, "-"), cmp.Or(r.Namespace, "-"), c.Where.Line)), " ")
}

// fluxSourceObjects are source objects of Flux.
const fluxSourceObjects = `
-- sources.yaml --
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: podinfo, namespace: flux}
spec: {url: https://charts.example.com/}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: oci, namespace: flux}
spec: {type: oci, url: oci://ghcr.io/charts}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: tag, namespace: flux}
spec: {url: oci://ghcr.io/charts/podinfo, ref: {tag: 6.5.0}, layerSelector: {operation: copy}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: range, namespace: flux}
spec: {url: oci://ghcr.io/charts/podinfo, ref: {semver: ">=6", tag: x}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: filtered, namespace: flux}
spec: {url: oci://ghcr.io/charts/podinfo, ref: {semver: ">=6", semverFilter: ".*-rc.*"}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: digest, namespace: flux}
spec: {url: oci://ghcr.io/charts/podinfo, ref: {semver: ">=6", digest: "sha256:00"}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: plain, namespace: flux}
spec: {url: oci://ghcr.io/charts/podinfo}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: other, namespace: flux}
spec: {url: https://example.com/x/y, recurseSubmodules: true, ref: {tag: v1}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: versions, namespace: flux}
spec: {url: https://example.com/x/y, ref: {semver: ">=1", branch: main}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: ours, namespace: flux}
spec: {url: "ssh://git@example.com/o/r.git", ref: {branch: main}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmChart
metadata: {name: chart, namespace: flux}
spec: {chart: podinfo, version: "6.x", sourceRef: {kind: HelmRepository, name: podinfo}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: late, namespace: flux}
spec: {url: "https://${HOST}"}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: bare, namespace: flux}
spec: {type: oci}
-- packed/c-1.tgz --
x
-- empty/values.yaml --
a: b
`

func twice(tag string) string {
	return "-- " + tag + ".yaml --\napiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n" +
		"metadata: {name: twice, namespace: flux}\nspec: {url: https://example.com/x/y, ref: {tag: " + tag + "}}\n"
}

func helmRelease(spec string) string {
	return fluxKind(helmGroup+"/v2", "HelmRelease", spec) + fluxSourceObjects
}

func TestReleases(t *testing.T) {
	const long = "a-name-that-is-much-longer-than-helm-likes-it-to-be-by-far"
	for name, test := range map[string]struct{ archive, want string }{
		"repository": {helmRelease("chart:\n  spec:\n    chart: podinfo\n    version: 6.5.0\n    sourceRef: {kind: " +
			"HelmRepository, name: podinfo}"), "flux helm: chart https://charts.example.com podinfo 6.5.0 as web in flux at 8"},
		"version is a star": {helmRelease("chart:\n  spec:\n    chart: podinfo\n    version: '*'\n    sourceRef: {kind: " +
			"HelmRepository, name: podinfo}"), "flux helm: chart https://charts.example.com podinfo as web in flux at 8"},
		"no version": {helmRelease("chart:\n  spec:\n    chart: podinfo\n    sourceRef: {kind: HelmRepository, name: " +
			"podinfo}"),
			"flux helm: chart https://charts.example.com podinfo as web in flux at 7"},
		"older API version of HelmRelease": {strings.Replace(helmRelease("chart: {spec: {chart: podinfo, sourceRef: {kind: HelmRepository, "+
			"name: podinfo}}}"), "/v2\n", "/v2beta1\n", 1),
			"flux helm: chart https://charts.example.com podinfo as web in flux at 5"},
		"registry": {helmRelease("chart: {spec: {chart: podinfo, version: '>1', sourceRef: {kind: HelmRepository, name: " +
			"oci}}}"),
			"flux helm: chart oci://ghcr.io/charts/podinfo >1 as web in flux at 5"},
		"tag": {helmRelease("chartRef: {kind: OCIRepository, name: tag}"),
			"flux helm: chart oci://ghcr.io/charts/podinfo 6.5.0 tag as web in flux at 14"},
		"range": {helmRelease("chartRef: {kind: OCIRepository, name: range}"),
			"flux helm: chart oci://ghcr.io/charts/podinfo semver:>=6 as web in flux at 19"},
		"filter": {helmRelease("chartRef: {kind: OCIRepository, name: filtered}"),
			"flux helm: chart oci://ghcr.io/charts/podinfo semver:>=6 of .*-rc.* as web in flux at 24"},
		"digest": {helmRelease("chartRef: {kind: OCIRepository, name: digest}"),
			"flux helm: chart oci://ghcr.io/charts/podinfo sha256:00 as web in flux at 29"},
		"newest": {helmRelease("chartRef: {kind: OCIRepository, name: plain}"),
			"flux helm: chart oci://ghcr.io/charts/podinfo latest tag as web in flux at 34"},
		"HelmChart": {helmRelease("chartRef: {kind: HelmChart, name: chart}"),
			"flux helm: chart https://charts.example.com podinfo 6.x as web in flux at 54"},
		"git": {helmRelease("chart: {spec: {chart: ./charts/a, sourceRef: {kind: GitRepository, name: other}}}"),
			"flux helm: git https://example.com/x/y refs/tags/v1 charts/a submodules as web in flux at 39"},
		"version range of a git repository": {helmRelease("chart: {spec: {chart: charts/a, sourceRef: {kind: GitRepository, name: versions}}}"),
			"flux helm: git https://example.com/x/y semver:>=1 charts/a as web in flux at 44"},
		"chart in this repository": {helmRelease("chart: {spec: {chart: ../apps/c/, sourceRef: {kind: GitRepository, name: ours}}}"),
			"flux helm: here apps/c as web in flux at 5"},
		"bootstrapped": {helmRelease("chart: {spec: {chart: apps/c, sourceRef: {kind: GitRepository, name: flux-system}}}"),
			"flux helm: here apps/c as web in flux at 5"},
		"release name and target namespace": {helmRelease("releaseName: site\ntargetNamespace: shop\nchartRef: {kind: OCIRepository, name: plain}"),
			"flux helm: chart oci://ghcr.io/charts/podinfo latest tag as site in shop at 34"},
		"target namespace": {helmRelease("targetNamespace: shop\nchartRef: {kind: OCIRepository, name: plain}"),
			"flux helm: chart oci://ghcr.io/charts/podinfo latest tag as shop-web in shop at 34"},
		"long name": {strings.Replace(helmRelease("chartRef: {kind: OCIRepository, name: plain}"), "name: web",
			"name: "+long, 1),
			"flux helm: chart oci://ghcr.io/charts/podinfo latest tag as " +
				"a-name-that-is-much-longer-than-helm-lik-442fde0ae171 in flux at 34"},
		"Argo repository": {argoApp("destination: {namespace: shop}\nsource:\n  repoURL: https://charts.example.com\n  " +
			"chart: redis\n  targetRevision: 1.x"), "helm: chart https://charts.example.com redis 1.x as web in shop at 9"},
		"Argo registry": {argoApp("source: {repoURL: ghcr.io/charts, chart: redis, targetRevision: 1.0.0}"),
			"helm: chart oci://ghcr.io/charts/redis 1.0.0 as web in - at 5"},
		"Argo registry with a scheme": {argoApp("source: {repoURL: 'oci://ghcr.io/charts/redis', path: ., targetRevision: " +
			"1.0.0}"),
			"helm: chart oci://ghcr.io/charts/redis 1.0.0 as web in - at 5"},
		"Argo, here": {argoApp("source: {repoURL: o/r, path: apps/c}"), "helm: here apps/c as web in - at 5"},
		"Argo, git": {argoApp("source: {repoURL: 'https://x/y', path: charts/a, targetRevision: HEAD, helm: {releaseName: " +
			"site, namespace: inner}}"), "helm: git https://x/y charts/a submodules as site in inner at 5"},
		"Argo, another revision": {argoApp("source: {repoURL: 'https://example.com/o/r', path: apps/c, targetRevision: " +
			"v1.2.3, helm: {skipTests: true}}"), "helm: git https://example.com/o/r v1.2.3 apps/c submodules as web in - at 5"},
		"Argo, zero values only": {argoApp("source: {repoURL: o/r, path: apps/c, helm: {valueFiles: []}, directory: {recurse: false}}"),
			"helm: here apps/c as web in - at 5"},
		"Argo, versions of git": {argoApp("source: {repoURL: 'https://x/y', path: charts/a, targetRevision: '1.2.*', helm: {skipTests: true}}"),
			"helm: git https://x/y versions:1.2.* charts/a submodules as web in - at 5"},
		"Argo, a branch like versions": {argoApp("source: {repoURL: 'https://x/y', path: charts/a, targetRevision: " +
			"release-1.x, helm: {skipTests: true}}"), "helm: git https://x/y release-1.x charts/a submodules as web in - at 5"},
	} {
		t.Run(name, func(t *testing.T) {
			_, list, problems := read(t, test.archive, "o/r")
			var got []string
			for _, d := range list {
				got = append(got, describe(d))
			}
			if diff := gocmp.Diff([]string{test.want}, got); diff != "" || len(problems) > 0 {
				t.Errorf("(-want +got):\n%s%s", diff, messages(problems))
			}
		})
	}
}

func TestReleaseProblems(t *testing.T) {
	for name, test := range map[string]struct {
		archive string
		cause   Cause
		want    string
	}{
		"no chart": {helmRelease("values: {}"), Broken, "k.yaml:5: this HelmRelease names no chart"},
		"HelmRepository that does not exist": {helmRelease("chart:\n  spec:\n    chart: a\n    sourceRef:\n      kind: HelmRepository\n      " +
			"name: x"), ClusterOnly, `k.yaml:10: no HelmRepository of this repository has the name "x"`},
		"OCIRepository that does not exist": {helmRelease("chartRef: {kind: OCIRepository, name: x}"), ClusterOnly,
			`k.yaml:5: no OCIRepository of this repository`},
		"GitRepository that does not exist": {helmRelease("chart: {spec: {chart: gone, sourceRef: {kind: GitRepository, name: x}}}"), ClusterOnly,
			`k.yaml:5: no GitRepository of this repository has the name "x"`},
		"chart without a source reference": {helmRelease("chart: {spec: {chart: a}}"), Broken, "k.yaml:5: this chart names no source"},
		"bucket": {helmRelease("chart: {spec: {chart: a, sourceRef: {kind: Bucket, name: x}}}"), ClusterOnly,
			`the Bucket "x"`},
		"source of an unknown kind": {helmRelease("chart: {spec: {chart: a, sourceRef: {kind: Thing, name: x}}}"), Broken,
			`cannot come from "Thing"`},
		"artifact": {helmRelease("chartRef: {kind: ExternalArtifact, name: x}"), ClusterOnly, "no ExternalArtifact"},
		"chart folder that does not exist": {helmRelease("chart: {spec: {chart: charts/x, sourceRef: {kind: GitRepository, name: ours}}}"), Broken,
			`k.yaml:5: the chart of HelmRelease "web" is not a folder of this repository`},
		"no Chart.yaml": {helmRelease("chart: {spec: {chart: empty, sourceRef: {kind: GitRepository, name: ours}}}"), Broken,
			`k.yaml:5: the folder empty of HelmRelease "web" has no Chart.yaml`},
		"packed": {helmRelease("chart: {spec: {chart: packed/c-1.tgz, sourceRef: {kind: GitRepository, name: ours}}}"),
			ClusterOnly,
			"is a packaged chart"},
		"variable in the version": {helmRelease("chart: {spec: {chart: a, version: '${V}', sourceRef: {kind: " +
			"HelmRepository, name: podinfo}}}"), ClusterOnly, "k.yaml:5: the chart depends on a variable"},
		"variable in the address": {helmRelease("chart: {spec: {chart: a, sourceRef: {kind: HelmRepository, name: late}}}"),
			ClusterOnly, "sources.yaml:59: the chart depends on a variable"},
		"variable in a values file": {helmRelease("chart: {spec: {chart: apps/c, valuesFiles: ['${ENV}.yaml'], sourceRef: " +
			"{kind: GitRepository, name: ours}}}"), ClusterOnly, "k.yaml:5: the chart depends on a variable"},
		"a repository without an address": {helmRelease("chart: {spec: {chart: a, sourceRef: {kind: HelmRepository, name: " +
			"bare}}}"), Broken, "sources.yaml:64: this HelmRepository has no url"},
		"several repositories": {helmRelease("chart: {spec: {chart: a, sourceRef: {kind: GitRepository, name: twice}}}") +
			twice("v1") + twice("v2"), ClusterOnly, `k.yaml:5: several objects GitRepository of this repository have the name ` +
			`"twice"`},
		"variable in the name": {helmRelease("releaseName: ${X}\nchartRef: {kind: OCIRepository, name: tag}"), ClusterOnly,
			"k.yaml:5: the name or namespace"},
		"Argo, template": {argoApp("source: {repoURL: 'https://x', chart: '{{ .x }}'}"), Broken, "chart has a " +
			"template expression"},
		"Argo, no address": {argoApp("source: {chart: redis}"), Broken, "names no repository"},
		"Argo, no chart":   {argoApp("source: {repoURL: o/r, path: apps/b, helm: {releaseName: x}}"), Broken, "has no Chart.yaml"},
		"Argo, plugin": {argoApp("source: {repoURL: 'https://x/y', path: a, plugin: {}, helm: {}}"), ClusterOnly,
			"another repository"},
		"Argo, the cluster's version": {appSet("  goTemplate: true\n", "  - clusters: {}\n",
			"x}\n    spec: {source: {repoURL: 'https://x', chart: a, targetRevision: '{{.name}}'}}"), ClusterOnly,
			"the folders or namespaces that this ApplicationSet deploys to depend on"},
	} {
		t.Run(name, func(t *testing.T) {
			_, list, problems := read(t, test.archive, "o/r")
			if len(problems) != 1 || len(list) > 0 {
				t.Fatalf("%d deployments, %s", len(list), messages(problems))
			}
			p := problems[0]
			if p.Cause != test.cause || !strings.Contains(p.Error.Error(), test.want) || p.State == "" {
				t.Errorf("%s, want %s %q", messages(problems), test.cause, test.want)
			}
		})
	}
	if _, list, problems := read(t, helmRelease("suspend: true\nchartRef: {kind: OCIRepository, name: x}")); len(
		list,
	)+
		len(
			problems,
		) > 0 {
		t.Errorf("suspended: %d deployments, %s", len(list), messages(problems))
	}
}

func oneRelease(t testing.TB, archive string) (files, Deployment) {
	t.Helper()
	f, list, problems := read(t, archive, "o/r")
	if len(list) != 1 || len(problems) > 0 {
		t.Fatalf("%d deployments, %s", len(list), messages(problems))
	}
	return f, list[0]
}

// beta returns objects of Flux in a beta version of their API.
func beta(text string) string {
	return strings.NewReplacer(fluxGroup+"/v1\n", fluxGroup+"/v1beta2\n", helmGroup+"/v2\n", helmGroup+"/v2beta2\n").Replace(text)
}

func TestReleaseOptions(t *testing.T) {
	_, d := oneRelease(t, beta(helmRelease(`chartRef: {kind: OCIRepository, name: tag}
install: {crds: Skip}
upgrade: {crds: CreateReplace}
kubeConfig: {secretRef: {name: prod}}
commonMetadata: {labels: {team: a, helm.toolkit.fluxcd.io/name: mine}, annotations: {b: c}}
postRenderers:
- kustomize:
    patches:
    - target: {kind: Deployment}
      patch: |
        - op: add
          path: /a
          value: b
    images: [{name: a, newTag: b}]
- kustomize:
    patchesStrategicMerge:
    - kind: Service`)))
	r := d.Release
	if r.SkipCRDs || r.KeepCRDs || d.Cluster != "prod" || d.Unmodified() {
		t.Errorf("%+v", r)
	}
	want := map[string]string{"team": "a", helmGroup + "/name": "web", helmGroup + "/namespace": "flux"}
	if diff := gocmp.Diff(want, texts(d.Metadata.Labels)); diff != "" {
		t.Error(diff)
	}
	if len(r.PostRender) != 2 {
		t.Fatal(r.PostRender)
	}
	v, err := r.PostRender[0].Kustomization("kustomization.yaml", "out.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range strings.Split(string(v.Data), "\n") {
		switch at := v.Place(i+1, 1); {
		case strings.Contains(text, "path: /a") && at.String() != "k.yaml:16:0",
			strings.Contains(text, "newTag") && at.Line != 18:
			t.Errorf("%q is at %s", text, at)
		}
	}
	for _, part := range []string{"resources:\n  - out.yaml", "kind: Deployment", "newTag: b", "path: /a"} {
		if !strings.Contains(strings.ReplaceAll(string(v.Data), `"`, ""), part) {
			t.Errorf("no %q in\n%s", part, v.Data)
		}
	}
	_, argo := oneRelease(t, argoApp("source:\n  repoURL: o/r\n  path: apps/c\n  helm: {skipCrds: true, skipTests: true, "+
		"skipSchemaValidation: true, kubeVersion: '1.30', apiVersions: [a/v1], passCredentials: true, version: v3}"))
	if r := argo.Release; !r.SkipCRDs || !r.Hooks.SkipTests || !r.SkipSchema || r.Kubernetes != "1.30" ||
		gocmp.Diff([]string{"a/v1"}, r.APIVersions) != "" || gocmp.Diff([]string{"apps/c"}, r.Reads) != "" {
		t.Errorf("%+v", r)
	}
}

// TestReleaseDigest has pairs of releases that render differently, and pairs that differ only in places.
func TestReleaseDigest(t *testing.T) {
	const base = "chartRef: {kind: OCIRepository, name: tag}\nvalues: {a: b}"
	digestOf := func(archive string) string {
		_, d := oneRelease(t, archive)
		return d.Digest()
	}
	first := digestOf(helmRelease(base))
	if digestOf(helmRelease("\n# moved\n\n"+base)) != first {
		t.Error("places count")
	}
	for _, spec := range []string{
		base + "\nreleaseName: x", base + "\ninstall: {crds: Skip}", strings.Replace(base, "a: b", "a: c", 1),
		strings.Replace(base, "name: tag", "name: range", 1), base + "\npostRenderers: [{kustomize: {images: [{name: a}]}}]",
		base + "\nvaluesFrom: [{kind: Secret, name: x}]", base + "\ncommonMetadata: {labels: {a: b}}",
		base + "\nupgrade: {crds: Create}", base + "\ntargetNamespace: x",
	} {
		if digestOf(helmRelease(spec)) == first {
			t.Errorf("the same digest:\n%s", spec)
		}
	}
	binary := func(data string) string { // in base64
		return digestOf(helmRelease(base+"\nvaluesFrom: [{kind: Secret, name: x, valuesKey: k, targetPath: a}]") +
			"-- secret.yaml --\n{apiVersion: v1, kind: Secret, metadata: {name: x}, data: {k: " + data + "}}\n")
	}
	if binary("/w==") == binary("/g==") {
		t.Error("bytes that are not UTF-8 do not count")
	}
}

// A chart that no object deploys has a name that Helm takes, whatever its folder is called.
func TestReleaseName(t *testing.T) {
	for dir, want := range map[string]string{"charts/web": "web", ".": "release", "charts/My_Chart": "release", "charts/web-1.2": "web-1.2",
		"charts/" + strings.Repeat("a", 53): strings.Repeat("a", 53), "charts/" + strings.Repeat("a", 54): "release"} {
		if got := ReleaseName(dir); got != want {
			t.Errorf("%s: %s, want %s", dir, got, want)
		}
	}
}
