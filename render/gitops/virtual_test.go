package gitops

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// build renders a deployment's kustomization with kustomize.
func build(t *testing.T, f files, d *Deployment, v *Virtual) string {
	t.Helper()
	fsys := filesys.MakeFsInMemory()
	for name, data := range f {
		if err := fsys.WriteFile("/"+name, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	if v != nil {
		if err := fsys.WriteFile("/"+v.Path, v.Data); err != nil {
			t.Fatal(err)
		}
	}
	result, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fsys, "/"+d.Path)
	if err != nil {
		t.Fatalf("%v\n%s", err, v.Data)
	}
	out, err := result.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

const web = `
-- web/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namePrefix: old-
images:
- {name: nginx, newTag: "1"} # pinned
- name: redis
  newName: cache
  digest: sha256:00
resources:
- deploy.yaml
commonAnnotations:
  a: b
-- web/deploy.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers:
      - {name: a, image: nginx}
      - {name: b, image: redis}
-- web/part/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
labels: [{pairs: {part: "yes"}}]
`

func TestEdit(t *testing.T) {
	argo := func(options string) string {
		return "-- app.yaml --\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec:\n  " +
			"source:\n    path: web\n    kustomize:\n" + options + web
	}
	flux := func(options string) string {
		return "-- k.yaml --\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: " +
			"web}\nspec:\n  path: web\n" + options + web
	}
	tests := map[string]struct {
		archive string
		want    []string // in the rendering
		absent  []string
	}{
		"argo replaces the prefix": {argo("      namePrefix: new-\n"), []string{"name: new-web"}, []string{"old-"}},
		"argo images replace by name": {argo("      images: ['nginx=web:2', 'redis:*', 'busybox:1']\n"),
			[]string{"image: web:2", "image: redis"}, []string{"cache"}},
		"argo replicas": {argo("      replicas: [{name: web, count: '3'}]\n"), []string{"replicas: 3"},
			nil},
		"argo labels in selectors": {argo("      commonLabels: {team: x, app: $ARGOCD_APP_NAME$NONE}\n"),
			[]string{"app: web\n", "matchLabels:"}, nil},
		"argo labels outside selectors": {argo("      commonLabels: {team: x}\n      labelWithoutSelector: true\n"),
			[]string{"team: x"}, []string{"matchLabels:"}},
		"argo annotations by force": {argo("      commonAnnotations: {a: c}\n      forceCommonAnnotations: true\n"),
			[]string{"a: c"}, []string{"a: b"}},
		"argo namespace": {argo("      namespace: shop\n"), []string{"namespace: shop"}, nil},
		"argo patches see the file's own": {argo("      patches:\n      - target: {name: web}\n        patch: |-\n         " +
			" - op: add\n            path: /spec/paused\n            value: true\n"), []string{"paused: true", "name: old-web"},
			nil},
		"argo components": {argo("      components: [part, gone]\n      ignoreMissingComponents: true\n"),
			[]string{`part: "yes"`}, nil},
		"flux": {flux("  targetNamespace: shop\n  nameSuffix: -x\n  components: [part]\n"),
			[]string{"namespace: shop", "name: old-web-x", `part: "yes"`}, nil},
		"flux images merge": {flux("  images: [{name: redis, newTag: '7'}, {name: nginx, newName: web}]\n"),
			[]string{"image: cache:7", "image: web:1"}, []string{"sha256"}},
		"flux patches": {beta(flux("  patches:\n  - patch: |\n      apiVersion: apps/v1\n      kind: Deployment\n      " +
			"metadata: {name: web}\n      spec: {paused: true}\n  patchesJson6902:\n  - target: {kind: Deployment, version: " +
			"v1, group: apps, name: web}\n    patch: [{op: add, path: /spec/minReadySeconds, value: 3}]\n" +
			"  patchesStrategicMerge:\n  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: " +
			"{progressDeadlineSeconds: 4}}\n")), []string{"paused: true", "minReadySeconds: 3", "progressDeadlineSeconds: 4"},
			nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f, d := one(t, test.archive)
			v, problems := Edit(f, d, Limits{})
			if len(problems) > 0 {
				t.Fatal(messages(problems))
			}
			out := build(t, f, d, v)
			for _, want := range test.want {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s\nof\n%s", want, out, v.Data)
				}
			}
			for _, absent := range test.absent {
				if strings.Contains(out, absent) {
					t.Errorf("%q in\n%s", absent, out)
				}
			}
		})
	}
}

func TestEditPlaces(t *testing.T) {
	f, d := one(t, `
-- k.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: web}
spec:
  path: web
  namePrefix: new-
  patches:
  - target: {kind: Deployment}
    patch: |
      - op: add
        path: /a
        value: 1
`+web)
	v, _ := Edit(f, d, Limits{})
	var got []string
	for i, text := range strings.Split(strings.TrimSuffix(string(v.Data), "\n"), "\n") {
		got = append(got, fmt.Sprintf("%v %s", v.Place(i+1, 3), text))
	}
	want := []string{
		"web/kustomization.yaml:1:3 apiVersion: kustomize.config.k8s.io/v1beta1",
		"web/kustomization.yaml:2:3 kind: Kustomization",
		"web/kustomization.yaml:4:3 images:", `web/kustomization.yaml:5:3 - {name: nginx, newTag: "1"} # pinned`,
		"web/kustomization.yaml:6:3 - name: redis",
		"web/kustomization.yaml:7:3   newName: cache", "web/kustomization.yaml:8:3   digest: sha256:00",
		"web/kustomization.yaml:9:3 resources:",
		"web/kustomization.yaml:10:3 - deploy.yaml", "web/kustomization.yaml:11:3 commonAnnotations:",
		"web/kustomization.yaml:12:3   a: b",
		"k.yaml:6:0 namePrefix: new-", "k.yaml:8:0 patches:", "k.yaml:9:0   - patch: |", "k.yaml:10:0       - op: add",
		"k.yaml:11:0         path: /a",
		"k.yaml:12:0         value: 1", "k.yaml:8:0     target:", "k.yaml:8:0       kind: Deployment",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEditRefusesWithoutForce(t *testing.T) {
	f, d := one(t, "-- app.yaml --\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec: "+
		"{source: {path: web, kustomize: {commonAnnotations: {a: c}}}}\n"+web)
	if _, problems := Edit(f, d, Limits{}); len(problems) != 1 || problems[0].Path != "app.yaml" || problems[0].Line != 4 {
		t.Error(messages(problems))
	}
}

func TestEditOtherStyles(t *testing.T) {
	tests := map[string]string{
		"flow":      `{"resources": ["deploy.yaml"], "namePrefix": "old-"}`,
		"indented":  "  namePrefix: old-\n  resources: [deploy.yaml]\n",
		"separated": "---\nnamePrefix: old-\nresources: [deploy.yaml]\n...\n",
		"followed":  "# a\nnamePrefix: old- # b\n# c\nresources: [deploy.yaml]\n--- # d\n# e\n",
		"last":      "resources: [deploy.yaml]\nnamePrefix: &unused\n  old-\n",
		"CRLF":      "namePrefix: old-\r\nresources:\r\n- deploy.yaml\r\n",
		"anchored":  "namePrefix: &p old-\nnameSuffix: *p\nresources: [deploy.yaml]\n",
		"merged":    "<<: {namePrefix: old-}\nresources: [deploy.yaml]\n",
	}
	for name, file := range tests {
		t.Run(name, func(t *testing.T) {
			f, d := one(t, "-- k.yaml --\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: "+
				"web}\nspec: {path: web, namePrefix: new-}\n"+web)
			f["web/kustomization.yaml"] = file
			v, problems := Edit(f, d, Limits{})
			if len(problems) > 0 {
				t.Fatal(messages(problems))
			}
			if out := build(t, f, d, v); !strings.Contains(out, "name: new-web") {
				t.Errorf("%s\n%s", v.Data, out)
			}
		})
	}
}

func TestGenerate(t *testing.T) {
	f, d := one(t, `
-- k.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: all}
spec: {path: all, targetNamespace: shop}
-- .sourceignore --
.sops.yaml
/all/skip/
*.tmp.yaml
!keep.tmp.yaml
-- all/cm.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: top}
-- all/deep/er/cm.yml --
apiVersion: v1
kind: ConfigMap
metadata: {name: deep}
-- all/skip/cm.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: skipped}
-- all/a.tmp.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: ignored}
-- all/keep.tmp.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: kept}
-- all/.sops.yaml --
not: a manifest
-- all/notes.json --
{}
-- all/own/kustomization.yaml --
namePrefix: own-
resources: [cm.yaml]
-- all/own/cm.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: base}
`)
	v, problems := Edit(f, d, Limits{})
	if len(problems) > 0 || !v.Generated || v.Path != "all/kustomization.yaml" {
		t.Fatal(messages(problems), v)
	}
	var names []string
	for line := range strings.SplitSeq(build(t, f, d, v), "\n") {
		if name, ok := strings.CutPrefix(line, "  name: "); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"deep", "kept", "own-base", "top"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestFiles(t *testing.T) {
	const tail = `
-- dir/a.yaml --
a: 1
-- dir/b.json --
{}
-- dir/skipped.yaml --
# +argocd:skip-file-rendering
-- dir/sub/c.yml --
a: 1
-- dir/sub/d.yaml --
a: 1
-- dir/readme.md --
-- dir/x.jsonnet --
`
	tests := map[string]struct{ directory, want string }{
		"flat":              {"{recurse: false}", "a.yaml b.json x.jsonnet!"},
		"recursive":         {"{recurse: true}", "a.yaml b.json sub/c.yml sub/d.yaml x.jsonnet!"},
		"include":           {"{recurse: true, include: '{*.yml,a*}'}", "a.yaml sub/c.yml"},
		"exclude":           {"{recurse: true, exclude: 'sub/*'}", "a.yaml b.json x.jsonnet!"},
		"star crosses":      {"{recurse: true, include: '*.yaml'}", "a.yaml sub/d.yaml"},
		"malformed include": {"{recurse: true, include: '[a'}", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f, list, _ := read(t,
				"-- app.yaml --\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\nspec: {source: "+
					"{path: dir, directory: "+test.directory+"}}\n"+tail)
			if len(list) != 1 {
				t.Fatal(len(list))
			}
			names, problems := Files(f, &list[0], Limits{})
			for i := range names {
				names[i] = strings.TrimPrefix(names[i], "dir/")
			}
			for _, p := range problems {
				names = append(names, strings.TrimPrefix(p.Path, "dir/")+"!")
			}
			if got := strings.Join(names, " "); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
