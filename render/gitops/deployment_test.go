package gitops

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func summary(list []Deployment) []string {
	var out []string
	for _, d := range list {
		out = append(out, fmt.Sprintf("%s %s %s ns=%s cluster=%s", d.Kind, d.Path, d.Name, d.Namespace, d.Cluster))
	}
	return out
}

func messages(list []Problem) string {
	var b strings.Builder
	for _, p := range list {
		fmt.Fprintf(&b, "%s cause=%s\n", p.Error.Error(), p.Cause)
	}
	return b.String()
}

const apps = `
-- apps/a/kustomization.yaml --
resources: [x.yaml]
-- apps/a/config.json --
{"cluster": {"name": "east", "port": 8080}, "tier": "gold"}
-- apps/b/x.yaml --
apiVersion: v1
-- apps/c/Chart.yaml --
name: c
-- apps/.hidden/x.yaml --
a: b
`

// clusterSecrets declare clusters to Argo CD; one of them is encrypted. The last Secret declares none.
const clusterSecrets = `
-- clusters.yaml --
apiVersion: v1
kind: Secret
metadata: {name: east, labels: {argocd.argoproj.io/secret-type: cluster, env: prod}, annotations: {dir: a}}
stringData: {name: East, server: 'https://east'}
---
apiVersion: v1
kind: Secret
metadata: {name: west, labels: {argocd.argoproj.io/secret-type: cluster, env: prod}, annotations: {dir: b}}
data: {name: V2VzdC4x, server: aHR0cHM6Ly93ZXN0}
---
apiVersion: v1
kind: Secret
metadata: {name: dev, labels: {argocd.argoproj.io/secret-type: cluster, env: dev}}
stringData: {name: dev, server: 'https://dev'}
---
apiVersion: v1
kind: Secret
metadata: {name: sealed, labels: {argocd.argoproj.io/secret-type: cluster, env: prod}}
stringData: {name: 'ENC[x]', server: 'ENC[x]'}
sops: {version: 3.0.0}
---
apiVersion: v1
kind: Secret
metadata: {name: login, labels: {env: prod}}
stringData: {name: login, server: 'https://login'}
`

func appSet(options, generators, template string) string {
	return "-- set.yaml --\napiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: set}\nspec:\n" +
		options +
		"  generators:\n" + generators + "  template:\n    metadata: {name: " + template + "\n" + apps
}

const (
	fastPath = `'{{path.basename}}'}
    spec:
      source: {repoURL: 'https://example.com/o/r', path: '{{path}}'}
      destination: {server: https://kubernetes.default.svc, namespace: '{{path[1]}}'}`
	goPath = `'{{.path.basename}}'}
    spec:
      source: {repoURL: 'https://example.com/o/r', path: '{{.path.path}}'}
      destination: {name: '{{ .env | default "dev" | upper }}', namespace: '{{ index .path.segments 1 }}'}`
)

func TestDeployments(t *testing.T) {
	tests := map[string]struct {
		archive string
		urls    []string
		want    []string
		problem string // parts of them, in order, with " & " between
	}{
		"application": {archive: `
-- app.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web, namespace: argocd}
spec:
  destination: {name: prod, namespace: shop}
  sources:
  - {repoURL: https://charts.example.com, chart: redis}
  - {repoURL: https://example.com/o/r.git, path: apps/a}
  - {repoURL: https://example.com/o/r.git, path: apps/b, directory: {recurse: true}}
  - {repoURL: https://example.com/o/r.git, path: apps/c}
` + apps, want: []string{"helm app.yaml web ns=shop cluster=prod", "argo kustomize apps/a web ns=shop cluster=prod",
			"argo directory apps/b web ns=shop cluster=prod", "helm apps/c web ns=shop cluster=prod"}},
		"another repository": {archive: `
-- app.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web}
spec: {source: {repoURL: git@github.com:other/r.git, path: apps/a}}
` + apps, urls: []string{"https://github.com/o/r"}, want: []string{"argo directory app.yaml web ns= cluster="}},
		"spellings of this repository": {archive: `
-- app.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web}
spec: {source: {repoURL: 'ssh://git@GitHub.com:22/O/r.git', path: ./apps/a/}}
` + apps, urls: []string{"o/r"}, want: []string{"argo kustomize apps/a web ns= cluster="}},
		"missing folder": {archive: `
-- app.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web}
spec: {source: {repoURL: o/r, path: gone}}
`, urls: []string{"o/r"}, problem: "app.yaml:4: the path of Application \"web\" is not a folder"},
		"way out": {archive: `
-- app.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web}
spec: {source: {repoURL: o/r, path: ../x}}
`, urls: []string{"o/r"}, problem: "points outside the repository"},
		"plugin": {archive: `
-- app.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web}
spec: {source: {repoURL: o/r, path: apps/a, plugin: {name: x}}}
` + apps, problem: "config management plugin"},
		"source file": {archive: `
-- app.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web}
spec: {source: {repoURL: o/r, path: apps/b}}
-- apps/b/.argocd-source-web.yaml --
kustomize: {namePrefix: x-}
path: elsewhere
` + apps, want: []string{"argo kustomize apps/b web ns= cluster="}},
		"git directories": {archive: appSet("", "  - git: {directories: [{path: apps/*}, {path: apps/b, exclude: true}]}\n",
			fastPath),
			want: []string{"argo kustomize apps/a a ns=a cluster=in-cluster", "helm apps/c c ns=c cluster=in-cluster"}},
		"git files": {archive: appSet("",
			"  - git: {files: [{path: 'apps/**/config.json'}], values: {x: '{{cluster.name}}-{{tier}}'}}\n",
			`'{{values.x}}-{{cluster.port}}'}
    spec: {source: {path: '{{path}}'}, destination: {name: '{{cluster.name}}'}}`), want: []string{"argo kustomize apps/a east-gold-8080 ns= cluster=east"}},
		"go templates": {archive: appSet("  goTemplate: true\n  goTemplateOptions: [missingkey=error]\n",
			"  - git: {directories: [{path: apps/a}]}\n    selector: {matchLabels: {path.basename: a}}\n",
			strings.Replace(goPath, ".env | default \"dev\"", `dig "env" "dev" .`, 1)),
			want: []string{"argo kustomize apps/a a ns=a cluster=DEV"}},
		"list": {archive: appSet("",
			"  - list: {elements: [{n: one, values: {p: apps/a}}, {n: two, values: {p: apps/b}}]}\n", `'{{n}}'}
    spec: {source: {path: '{{values.p}}'}}`), want: []string{"argo kustomize apps/a one ns= cluster=", "argo directory apps/b two ns= cluster="}},
		"matrix": {archive: appSet("  goTemplate: true\n",
			"  - matrix: {generators: [{list: {elements: [{env: x, dir: apps}]}}, {git: {directories: [{path: "+
				"'{{.dir}}/[ab]'}]}}]}\n", goPath),
			want: []string{"argo kustomize apps/a a ns=a cluster=X", "argo directory apps/b b ns=b cluster=X"}},
		"merge": {archive: appSet("",
			"  - merge: {mergeKeys: ['n'], generators: [{list: {elements: [{n: one, p: apps/a}, {n: two, p: apps/a}]}}, {list: {elements: [{n: two, p: apps/b}, {n: three, p: apps/c}]}}]}\n", `'{{n}}'}
    spec: {source: {path: '{{p}}'}}`), want: []string{"argo kustomize apps/a one ns= cluster=", "argo directory apps/b two ns= cluster="}},
		"generator template": {archive: appSet("",
			"  - list: {elements: [{n: one}], template: {spec: {source: {path: apps/b}}}}\n", `'{{n}}'}
    spec: {source: {path: apps/a}, destination: {name: d}}`), want: []string{"argo directory apps/b one ns= cluster=d"}},
		"template patch": {archive: strings.Replace(appSet("  goTemplate: true\n",
			"  - list: {elements: [{n: one, ns: q}]}\n", `'{{.n}}'}
    spec: {source: {path: apps/a}}`), "  template:\n", "  templatePatch: |\n    spec: {destination: {namespace: '{{.ns}}'}}\n  template:\n", 1), want: []string{"argo kustomize apps/a one ns=q cluster="}},
		"clusters, path known": {archive: appSet("",
			"  - matrix: {generators: [{clusters: {}}, {git: {directories: [{path: apps/a}]}}]}\n", `'{{name}}'}
    spec: {source: {path: '{{path}}'}, destination: {server: '{{server}}', namespace: fixed}}`), want: []string{"argo kustomize apps/a {{name}} ns=fixed cluster="},
			problem: "set.yaml:6: the clusters generator needs the cluster: which Applications"},
		"clusters, a value that nothing sets": {archive: appSet("", "  - clusters: {values: {env: a}}\n", `'{{name}}'}
    spec: {source: {repoURL: 'https://github.com/o/r', path: 'apps/{{values.dir}}'}}`), urls: []string{"o/r"}, problem: "set.yaml:9: the path has a template expression that no generator fills in & " +
			"set.yaml:6: the clusters generator needs the cluster: which Applications"},
		"clusters, a value of the cluster": {archive: appSet("", "  - clusters: {values: {dir: '{{metadata.labels.dir}}'}}\n", `'{{name}}'}
    spec: {source: {path: 'apps/{{values.dir}}'}}`), problem: "set.yaml:6: the clusters generator needs the cluster: the folders"},
		"clusters, a value of the cluster in a list": {archive: appSet("",
			"  - matrix: {generators: [{clusters: {}}, {list: {elements: [{values.dir: '{{name}}'}]}}]}\n", `'{{name}}'}
    spec: {source: {path: 'apps/{{values.dir}}'}}`), problem: "set.yaml:6: the clusters generator needs the cluster: the folders"},
		"clusters, a value of the cluster beside a folder": {archive: appSet("",
			"  - matrix: {generators: [{clusters: {}}, {git: {directories: [{path: apps/a}], values: {dir: '{{name}}'}}}]}\n", `'{{name}}'}
    spec: {source: {path: 'apps/{{values.dir}}'}}`), problem: "set.yaml:6: the clusters generator needs the cluster: the folders"},
		"clusters, a value of files elsewhere": {archive: appSet("",
			"  - matrix: {generators: [{clusters: {}}, {git: {repoURL: 'https://github.com/x/y', files: [{path: '*.json'}]}}]}\n", `'{{name}}'}
    spec: {source: {path: 'apps/{{values.dir}}'}}`), urls: []string{"o/r"}, problem: "set.yaml:6: the clusters generator needs the cluster: the folders"},
		"clusters, path unknown": {archive: appSet("  goTemplate: true\n", "  - clusters: {}\n", `'{{.name}}'}
    spec: {source: {path: 'apps/{{.name}}'}}`), problem: "set.yaml:7: the clusters generator needs the cluster"},
		"clusters overridden by name": {archive: appSet("",
			"  - merge: {mergeKeys: [name], generators: [{clusters: {values: {dir: a}}}, {list: {elements: [{name: east, values.dir: b}]}}]}\n", `'{{name}}'}
    spec: {source: {path: 'apps/{{values.dir}}'}}`), want: []string{"argo kustomize apps/a {{name}} ns= cluster=", "argo directory apps/b east ns= cluster="},
			problem: "set.yaml:6: the clusters generator needs the cluster: which Applications"},
		"clusters overridden by name, whose folders are not there": {archive: appSet("",
			"  - merge: {mergeKeys: [name], generators: [{clusters: {values: {dir: none}}}, {list: {elements: [{name: east, "+
				"values.dir: b}, {name: west, values.dir: gone}]}}, {list: {elements: [{name: east, values.ns: x}, {name: north, "+
				"values.dir: absent}]}}]}\n", `'{{name}}'}
    spec: {source: {path: 'apps/{{values.dir}}'}, destination: {namespace: '{{values.ns}}'}}`),
			want:    []string{"argo directory apps/b east ns=x cluster="},
			problem: "set.yaml:6: the clusters generator needs the cluster: which Applications"},
		"clusters twice": {archive: appSet("", "  - clusters: {selector: {matchLabels: {a: b}}}\n  - clusters: {}\n",
			`'{{name}}'}
    spec: {source: {path: apps/a}, destination: {server: '{{server}}'}}`),
			want:    []string{"argo kustomize apps/a {{name}} ns= cluster=", "argo kustomize apps/a {{name}} ns= cluster="},
			problem: "set.yaml:6: the clusters generator needs the cluster: which Applications"},
		"clusters that Secrets declare": {archive: appSet("  goTemplate: true\n",
			"  - clusters: {selector: {matchLabels: {env: prod}}, values: {dir: '{{ .metadata.annotations.dir }}'}}\n", `'{{ .values.dir }}-{{.nameNormalized}}'}
    spec: {source: {path: 'apps/{{.values.dir}}'}, destination: {server: '{{.server}}'}}`) + clusterSecrets,
			want:    []string{"argo kustomize apps/a a-east ns= cluster=https://east", "argo directory apps/b b-west.1 ns= cluster=https://west"},
			problem: "set.yaml:7: the clusters generator needs the cluster: the folders"},
		"clusters that Secrets declare, merged": {archive: appSet("",
			"  - merge: {mergeKeys: [name], generators: [{clusters: {selector: {matchExpressions: [{key: env, operator: Exists}]}, values: {dir: a}}}, "+
				"{list: {elements: [{name: East, values.dir: b}, {name: unknown, values.dir: c}]}}]}\n", `'{{name}}'}
    spec: {source: {path: 'apps/{{values.dir}}'}, destination: {name: '{{name}}'}}`) + clusterSecrets,
			want: []string{"argo kustomize apps/a West.1 ns= cluster=West.1", "argo kustomize apps/a dev ns= cluster=dev",
				"argo directory apps/b East ns= cluster=East", "helm apps/c unknown ns= cluster=unknown"},
			problem: "set.yaml:6: the clusters generator needs the cluster: which Applications"},
		"clusters that Secrets declare, and a list": {archive: appSet("",
			"  - matrix: {generators: [{list: {elements: [{dir: a}, {dir: b}]}}, {clusters: {selector: {matchLabels: {env: dev}}}}]}\n", `'{{dir}}-{{metadata.labels.env}}'}
    spec: {source: {path: 'apps/{{dir}}'}, destination: {name: '{{name}}'}}`) + clusterSecrets,
			want:    []string{"argo kustomize apps/a a-dev ns= cluster=dev", "argo directory apps/b b-dev ns= cluster=dev"},
			problem: "set.yaml:6: the clusters generator needs the cluster: which Applications"},
		"impure function": {archive: appSet("  goTemplate: true\n", "  - list: {elements: [{n: one}]}\n", `'{{ now }}'}
    spec: {source: {path: apps/a}}`), problem: `function "now" is not one that Lintel evaluates`},
		"flux": {archive: `
-- clusters/prod/apps.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1beta2
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: {path: ./apps/b, sourceRef: {kind: GitRepository, name: flux-system}}
` + apps, want: []string{"flux apps/b apps ns= cluster=prod"}},
		"flux, another repository": {archive: `
-- apps.yaml --
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: other, namespace: flux-system}
spec: {url: ssh://git@github.com/x/y}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: {path: ./apps/b, sourceRef: {kind: GitRepository, name: other}}
` + apps, urls: []string{"o/r"}, want: []string{"flux apps.yaml apps ns= cluster="}},
		"flux artifact": {archive: `
-- clusters/prod/all.yaml --
apiVersion: source.extensions.fluxcd.io/v1beta1
kind: ArtifactGenerator
metadata: {name: g}
spec:
  sources: [{alias: repo, kind: GitRepository, name: r}]
  artifacts: [{name: art, copy: [{from: '@repo/apps/**', to: '@artifact/in/'}]}]
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: k}
spec: {path: in/a, sourceRef: {kind: ExternalArtifact, name: art}}
` + apps, want: []string{"flux apps/a k ns= cluster=prod"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, list, problems := read(t, test.archive, test.urls...)
			if diff := cmp.Diff(test.want, summary(list)); diff != "" {
				t.Error(diff)
			}
			switch {
			case test.problem == "" && len(problems) > 0:
				t.Error(messages(problems))
			case test.problem != "":
				want := strings.Split(test.problem, " & ")
				for i := range max(len(want), len(problems)) {
					if i >= len(want) || i >= len(problems) || !strings.Contains(messages(problems[i:i+1]), want[i]) {
						t.Fatalf("problems %q, want %q", messages(problems), want)
					}
				}
			}
		})
	}
}

func TestPositions(t *testing.T) {
	_, d := one(t, `
-- app.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: web
spec:
  source:
    path: apps/a
  destination: {namespace: shop}
`+apps)
	if got := fmt.Sprint(d.Where, d.PathWhere, d.NamespaceWhere); got != "app.yaml:4:9 app.yaml:7:11 app.yaml:8:28" {
		t.Error(got)
	}
	other := *d
	other.Namespace = "x"
	if d.Digest() == other.Digest() || d.ID() != other.ID() || d.Unmodified() {
		t.Error("a namespace changes what is deployed, not which deployment it is")
	}
}

func TestSubstituteFrom(t *testing.T) {
	const archive = `
-- clusters/east/vars.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: vars}
data: {region: east, both: config}
-- clusters/west/vars.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: vars}
data: {region: west}
-- clusters/east/k.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: k, namespace: flux-system}
spec:
  path: apps/a
  postBuild:
    substitute: {both: "in\nline", 1x: bad}
    substituteFrom:
    - {kind: ConfigMap, name: vars}
    - {kind: Secret, name: hidden}
    - {kind: ConfigMap, name: gone}
    - {kind: ConfigMap, name: maybe, optional: true}
` + apps
	_, list, problems := read(t, archive)
	if len(list) != 1 {
		t.Fatal(len(list))
	}
	s := list[0].Substitute
	if diff := cmp.Diff(map[string]string{"region": "east", "both": "inline"}, texts(s.Variables)); diff != "" {
		t.Error(diff)
	}
	if s.Variables["region"].Where.Path != "clusters/east/vars.yaml" || len(s.Unread) != 3 {
		t.Error(s)
	}
	for _, want := range []string{`of Secret "hidden" are in the cluster`, `of ConfigMap "gone" are in the cluster`,
		`"1x" is not a valid name`} {
		if !strings.Contains(messages(problems), want) {
			t.Errorf("no problem says %q: %s", want, messages(problems))
		}
	}
}
