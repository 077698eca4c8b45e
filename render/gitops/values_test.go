package gitops

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// leavesOf lists the paths of the scalars and the empty maps and lists in a value.
func leavesOf(v any, path []string) (list [][]string) {
	inner := false
	for key, value := range doc.Sorted(v) {
		inner = true
		list = append(list, leavesOf(value, append(slices.Clip(path), key))...)
	}
	if !inner && len(path) > 0 {
		list = append(list, path)
	}
	return list
}

func valueAt(v any, path []string) any {
	found, steps := doc.Look(v, path)
	if steps < len(path) {
		return nil
	}
	return found
}

// told lists the values with their places, with "?" after those that are unknown.
func told(v *Values) string {
	var b strings.Builder
	for _, path := range leavesOf(v.Map, nil) {
		at, exact := v.Origin(path)
		data, _ := json.Marshal(valueAt(v.Map, path))
		fmt.Fprintf(&b, "%s=%s %s:%d", strings.Join(path, "."), data, at.Path, at.Line)
		if !exact {
			b.WriteString("~")
		}
		if _, unsure := v.Unsure(path); unsure {
			b.WriteString("?")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Optional values that no object of the repository has count as absent, and a warning says so.
func TestOptionalFluxValues(t *testing.T) {
	f, list, problems := read(t, helmValues("valuesFrom:\n- {kind: ConfigMap, name: gone, optional: true}\n"+
		"- {kind: Secret, name: gone, targetPath: p, optional: true}\nvalues: {a: b}", fluxMaps), "o/r")
	v, err := list[0].Release.Values(f, nil)
	if got := told(v); err != nil || got != "a=\"b\" k.yaml:9\n" {
		t.Errorf("%q, %v", got, err)
	}
	if len(problems) != 2 || problems[0].Cause != Suspicious || problems[0].Line != 7 || problems[1].Line != 8 {
		t.Errorf("%+v", problems)
	}
}

func helmValues(spec string, more string) string {
	return helmRelease("chartRef: {kind: OCIRepository, name: tag}\n"+spec) + more
}

func argoValuesOf(helm string, more string) string {
	return argoApp("destination: {namespace: shop}\nsource:\n  repoURL: o/r\n  path: apps/c\n  helm:\n    "+
		strings.ReplaceAll(helm, "\n", "\n    ")) + more
}

const fluxMaps = `
-- maps.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: flux}
data:
  values.yaml: |
    # a comment
    image:
      tag: one
      pull: Always
    list:
    - x
  other: "image: {tag: two}"
  flat: quick
  quoted: "'5'"
  number: "5"
  many: "{a,b}"
  odd: a,b={c}
  folded: >
    image:

      tag: three
---
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: flux}
stringData:
  plain.yaml: |
    secret: plain
data:
  values.yaml: c2VjcmV0OiBiYXNlNjQK
  key: aHVudGVyMg==
---
apiVersion: v1
kind: Secret
metadata: {name: sealed, namespace: flux}
data: {values.yaml: ENC}
sops: {mac: x}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: headed, namespace: flux}
data:
  values.yaml: |
    # what it is about
    ---
    a: 1
    ---
    a: 2
`

func TestFluxValues(t *testing.T) {
	for name, test := range map[string]struct{ spec, want string }{
		"in place": {"values:\n  a: 1\n  b: {c: [x, {d: null}], e: {}}\n  f: 10000000",
			"a=1 k.yaml:7\nb.c.0=\"x\" k.yaml:8\nb.c.1.d=null k.yaml:8\nb.e={} k.yaml:8\nf=10000000 k.yaml:9\n"},
		"one reference": {"valuesFrom: [{kind: ConfigMap, name: a}]",
			"image.pull=\"Always\" maps.yaml:9\nimage.tag=\"one\" maps.yaml:8\nlist.0=\"x\" maps.yaml:11\n"},
		"later references win, and values over all": {"valuesFrom:\n- {kind: ConfigMap, name: a}\n- {kind: ConfigMap, " +
			"name: a, valuesKey: other}\nvalues:\n  list: [z]",
			"image.pull=\"Always\" maps.yaml:9\nimage.tag=\"two\" maps.yaml:12\nlist.0=\"z\" k.yaml:10\n"},
		"folded": {"valuesFrom: [{kind: ConfigMap, name: a, valuesKey: folded}]", "image.tag=\"three\" maps.yaml:21\n"},
		"a flat value": {"valuesFrom: [{kind: ConfigMap, name: a, valuesKey: flat, targetPath: 'x.y[1].z\\.w'}]",
			"x.y.0=null maps.yaml:13\nx.y.1.z.w=\"quick\" maps.yaml:13\n"},
		"types": {"valuesFrom:\n- {kind: ConfigMap, name: a, valuesKey: quoted, targetPath: a}\n- {kind: ConfigMap, name: " +
			"a, valuesKey: number, targetPath: b}\n- {kind: ConfigMap, name: a, valuesKey: many, targetPath: c}",
			"a=\"5\" maps.yaml:14\nb=5 maps.yaml:15\nc.0=\"a\" maps.yaml:16\nc.1=\"b\" maps.yaml:16\n"},
		"literal": {"valuesFrom: [{kind: ConfigMap, name: a, valuesKey: odd, targetPath: a.b, literal: true}]",
			"a.b=\"a,b={c}\" maps.yaml:17\n"},
		"values override a target path": {"valuesFrom: [{kind: ConfigMap, name: a, valuesKey: flat, targetPath: " +
			"x}]\nvalues: {x: mine}", "x=\"mine\" k.yaml:7\n"},
		// spec.values is shared with the result, so the value is written into it.
		"nested target path overrides values": {"valuesFrom: [{kind: ConfigMap, name: a, valuesKey: flat, targetPath: x.y}]\nvalues: {x: {y: " +
			"mine}}",
			"x.y=\"quick\" maps.yaml:13\n"},
		"values override a nested target path after maps are merged": {"valuesFrom:\n- {kind: ConfigMap, name: a}\n- {kind: ConfigMap, " +
			"name: a, valuesKey: flat, targetPath: image.tag}\nvalues: {image: {tag: mine}}",
			"image.pull=\"Always\" maps.yaml:9\nimage.tag=\"mine\" k.yaml:9\nlist.0=\"x\" maps.yaml:11\n"},
		// Lists are shared with the result, too.
		"target path of a list element in values": {"valuesFrom:\n- {kind: ConfigMap, name: a, valuesKey: flat, targetPath: " +
			"'list[0]'}\n- {kind: ConfigMap, name: a, valuesKey: other}\nvalues: {list: [p, q]}",
			"image.tag=\"two\" maps.yaml:12\nlist.0=\"quick\" maps.yaml:13\nlist.1=\"q\" k.yaml:9\n"},
		"Secrets": {"valuesFrom:\n- {kind: Secret, name: s, valuesKey: plain.yaml}\n- {kind: Secret, name: s, valuesKey: " +
			"key, targetPath: password}", "password=\"hunter2\" maps.yaml:31\nsecret=\"plain\" maps.yaml:28\n"},
		"base64":           {"valuesFrom: [{kind: Secret, name: s}]", "secret=\"base64\" maps.yaml:30\n"},
		"encrypted, below": {"valuesFrom: [{kind: Secret, name: sealed}]\nvalues: {a: b}", "a=\"b\" k.yaml:7\n"},
		"encrypted, above": {"valuesFrom:\n- {kind: ConfigMap, name: a, valuesKey: other}\n- {kind: Secret, name: " +
			"sealed}\nvalues: {a: b}", "a=\"b\" k.yaml:9\nimage.tag=\"two\" maps.yaml:12\n"},
		"encrypted, one value": {"valuesFrom: [{kind: Secret, name: sealed, targetPath: db.password}]\nvalues: {a: b}",
			"a=\"b\" k.yaml:7\ndb.password=\"lintel-unknown-secret-sealed\" k.yaml:6?\n"},
		"absent": {"valuesFrom: [{kind: Secret, name: gone, targetPath: p}]", "p=\"lintel-unknown-secret-gone\" k.yaml:6?\n"},
		"optional": {"valuesFrom: [{kind: ConfigMap, name: a, valuesKey: gone, optional: true}]\nvalues: {a: b}",
			"a=\"b\" k.yaml:7\n"},
		"variable": {"values: {a: 'x-${HOST}', b: z}", "a=\"x-${HOST}\" k.yaml:6?\nb=\"z\" k.yaml:6\n"},
		"null": {"valuesFrom: [{kind: ConfigMap, name: a, valuesKey: other}]\nvalues: {image: null}",
			"image=null k.yaml:7\n"},
		"a map over a scalar": {"valuesFrom: [{kind: ConfigMap, name: a, valuesKey: other}]\nvalues: {image: {tag: {x: 1}}}",
			"image.tag.x=1 k.yaml:7\n"},
		"a comment above the document": {"valuesFrom: [{kind: ConfigMap, name: headed}]", "a=1 maps.yaml:46\n"},
		"nothing":                      {"valuesFrom: []", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f, d := oneRelease(t, helmValues(test.spec, fluxMaps))
			v, err := d.Release.Values(f, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(test.want, told(v)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

const argoFiles = `
-- apps/c/values.yaml --
default: 1
-- apps/c/prod.yaml --
image:
  tag: prod
  pull: Always
---
more: yes
-- apps/c/env/b.yaml --
env: b
from: b
-- apps/c/env/a.yaml --
env: a
-- apps/c/env/deep/c.yaml --
env: c
-- shared/all.yaml --
shared: {x: 1}
-- apps/c/note.txt --
a note, with {signs}
`

func TestArgoValues(t *testing.T) {
	for name, test := range map[string]struct{ helm, want string }{
		"files": {"valueFiles: [prod.yaml, /shared/all.yaml, ../../shared/all.yaml]",
			"image.pull=\"Always\" apps/c/prod.yaml:3\nimage.tag=\"prod\" apps/c/prod.yaml:2\nmore=true apps/c/prod.yaml:5\n" +
				"shared.x=1 shared/all.yaml:1\n"},
		"pattern": {"valueFiles: ['env/*.yaml']", "env=\"b\" apps/c/env/b.yaml:1\nfrom=\"b\" apps/c/env/b.yaml:2\n"},
		"deep pattern": {"valueFiles: ['env/**/*.yaml']",
			"env=\"c\" apps/c/env/deep/c.yaml:1\nfrom=\"b\" apps/c/env/b.yaml:2\n"},
		"named files keep their place": {"valueFiles: ['env/*.yaml', env/a.yaml]",
			"env=\"a\" apps/c/env/a.yaml:1\nfrom=\"b\" apps/c/env/b.yaml:2\n"},
		"missing": {"ignoreMissingValueFiles: true\nvalueFiles: [gone.yaml, 'gone/*.yaml']\nvalues: 'a: b'",
			"a=\"b\" app.yaml:12\n"},
		"values": {"valueFiles: [prod.yaml]\nvalues: |\n  image:\n    tag: mine\n  # more\n  list: [a]",
			"image.pull=\"Always\" apps/c/prod.yaml:3\nimage.tag=\"mine\" app.yaml:13\nlist.0=\"a\" app.yaml:15\nmore=true " +
				"apps/c/prod.yaml:5\n"},
		"an object in place of values": {"values: 'a: 1'\nvaluesObject: {b: 2, c: 3}", "b=2 app.yaml:11\nc=3 app.yaml:11\n"},
		"parameters": {"values: 'a: {b: 1, c: [x, y]}'\nparameters:\n- {name: a.b, value: '2'}\n- name: a.c[1]\n  value: " +
			"'z,w'\n- {name: m, value: '5'}\n- {name: s, value: '5', forceString: true}\n- {name: l, value: '{p,q}'}\n- " +
			"{name: e, value: ''}",
			"a.b=2 app.yaml:12\na.c.0=\"x\" app.yaml:10\na.c.1=\"z,w\" app.yaml:14\ne=\"\" app.yaml:18\nl.0=\"p\" " +
				"app.yaml:17\nl.1=\"q\" app.yaml:17\nm=5 app.yaml:15\ns=\"5\" app.yaml:16\n"},
		"forced texts come last, and the last of a name counts": {"parameters:\n- {name: a, value: '1', forceString: true}\n- {name: a, " +
			"value: '2'}\n- {name: b, value: '1'}\n- {name: b, value: '2'}", "a=\"1\" app.yaml:11\nb=2 app.yaml:14\n"},
		"file parameters": {"fileParameters: [{name: a.note, path: note.txt}]",
			"a.note=\"a note, with {signs}\\n\" apps/c/note.txt:1\n"},
		"variables": {"valueFiles: ['${ARGOCD_APP_NAMESPACE}.yaml', 'env/$NONE/a.yaml']\nignoreMissingValueFiles: " +
			"true\nparameters:\n- {name: a, value: '$ARGOCD_APP_NAME-$$x-$NONE'}\n- {name: b, value: $ARGOCD_APP_REVISION}",
			"a=\"web-$x-\" app.yaml:13\nb=\"lintel-unknown-parameter-b\" app.yaml:14?\nenv=\"a\" apps/c/env/a.yaml:1\n"},
		"null": {"values: 'a: {b: null}'\nparameters: [{name: c, value: 'null'}]",
			"a.b=null app.yaml:10\nc=null app.yaml:11\n"},
		// Unknown values are also found if their places are not known.
		"a list in place of null": {"parameters:\n- {name: a, value: '{null}'}\n- {name: 'a[0][0]', value: '1'}\n- {name: " +
			"c, value: $ARGOCD_APP_REVISION}",
			"a.0.0=1 app.yaml:13~?\nc=\"lintel-unknown-parameter-c\" app.yaml:13~?\n"},
	} {
		t.Run(name, func(t *testing.T) {
			f, d := oneRelease(t, argoValuesOf(test.helm, argoFiles))
			v, err := d.Release.Values(f, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(test.want, told(v)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBrokenValues(t *testing.T) {
	for name, test := range map[string]struct{ archive, want string }{
		"no file": {argoValuesOf("valueFiles: "+
			"[gone.yaml]", ""), `app.yaml:10: the values file "apps/c/gone.yaml" is not there`},
		"pattern without a match": {argoValuesOf("valueFiles: ['gone/*.yaml']", ""), `app.yaml:10: no file matches "apps/c/gone/*.yaml"`},
		"file outside the repository": {argoValuesOf("valueFiles: [../../../x.yaml]", ""),
			`app.yaml:10: the values file ../../../x.yaml points outside`},
		"ref that does not exist": {argoApp("sources:\n- repoURL: o/r\n  path: apps/c\n  helm:\n    ignoreMissingValueFiles: true\n" +
			"    valueFiles: [$vlues/prod.yaml]\n- {repoURL: o/r, ref: values}"),
			"app.yaml:10: the values file $vlues/prod.yaml: no source of this Application has the ref vlues"},
		"empty name":                {argoValuesOf("valueFiles: ['']", ""), `app.yaml:10: the values file "apps/c" is not there`},
		"protocol":                  {argoValuesOf("valueFiles: ['s3://x/y']", ""), `app.yaml:10: Argo CD does not read values files over s3`},
		"not YAML":                  {argoValuesOf("values: |\n  a: b\n  c: [", ""), "app.yaml:12: the values of helm.values: "},
		"values that are not a map": {argoValuesOf("values: a", ""), "app.yaml:10: the values of helm.values are not a map"},
		"parameter": {argoValuesOf("values: 'a: b'\nparameters: [{name: a.b.c, value: d}]", ""),
			`app.yaml:11: the values cannot set "a.b.c"`},
		"index over the limit": {argoValuesOf("parameters: [{name: 'a[99999999]', value: d}]", ""),
			`app.yaml:10: the values cannot set`},
		"comma in a value": {helmValues("valuesFrom: [{kind: ConfigMap, name: a, valuesKey: commas, targetPath: a}]",
			strings.Replace(fluxMaps, "data:\n", "data:\n  commas: '[x,y,z]'\n", 1)), "maps.yaml:5: the values cannot set"},
		"list over the limit": {argoValuesOf("parameters: [{name: 'a[60000][60000][60000][60000][60000]', value: d}]", ""),
			"app.yaml:10: the values are larger than the limit"},
		"key that does not exist": {helmValues("valuesFrom: [{kind: ConfigMap, name: a, valuesKey: x}]", fluxMaps),
			`k.yaml:6: the ConfigMap "a" has no key "x"`},
		"source of an unknown kind": {helmValues("valuesFrom: [{kind: Thing, name: a}]", ""),
			`k.yaml:6: Flux takes values from a ConfigMap or a Secret`},
		"not base64": {helmValues("valuesFrom: [{kind: Secret, name: b}]",
			"-- b.yaml --\nkind: Secret\nmetadata: {name: b}\ndata: {values.yaml: '?'}\n"), "not written in base64"},
	} {
		t.Run(name, func(t *testing.T) {
			f, d := oneRelease(t, test.archive)
			_, err := d.Release.Values(f, nil)
			var at *doc.Error
			if !errors.As(err, &at) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestRemoteValues has values files in other repositories.
func TestRemoteValues(t *testing.T) {
	r := treetest.New(t)
	git := r.Commit(
		"-- env/a.yaml --\na: git\n-- env/b.yaml --\nb: git\n-- values.yaml --\nc: chart\n-- content --\nd: file\n",
	)
	chart := remote.Want{Kind: remote.Chart, URL: "https://charts.example.com", Name: "redis", Ref: "1.0.0"}
	repository := remote.Want{Kind: remote.Git, URL: "https://example.com/x/y", Ref: "v1", Submodules: true}
	file := remote.Want{Kind: remote.File, URL: "https://example.com/v.yaml"}
	lock := remote.Lock{{Want: chart, Tree: git}, {Want: repository, Tree: git}}
	archive := argoApp(`sources:
- repoURL: https://charts.example.com
  chart: redis
  targetRevision: 1.0.0
  helm:
    valueFiles:
    - values.yaml
    - $other/env/*.yaml
    - $ours/shared/all.yaml
    - https://example.com/v.yaml
- {repoURL: https://example.com/x/y, targetRevision: v1, ref: other}
- {repoURL: https://example.com/o/r, targetRevision: main, ref: ours}`) + argoFiles
	f, d := oneRelease(t, archive)
	if diff := gocmp.Diff([]string{"shared/all.yaml"}, d.Release.Reads); diff != "" {
		t.Error(diff)
	}
	sources := remote.New(lock, r.Objects().Tree)
	if _, err := d.Release.Values(f, sources); !errors.Is(err, remote.ErrWanted) {
		t.Fatalf("got %v", err)
	}
	if diff := gocmp.Diff([]remote.Want{file}, sources.Wanted()); diff != "" {
		t.Error(diff)
	}
	v, err := d.Release.Values(f, remote.New(append(lock, remote.Entry{Want: file, Tree: git}), r.Objects().Tree))
	if err != nil {
		t.Fatal(err)
	}
	const want = "a=\"git\" app.yaml:12\nb=\"git\" app.yaml:12\nc=\"chart\" app.yaml:11\nd=\"file\" app.yaml:14\n" +
		"shared.x=1 shared/all.yaml:1\n"
	if diff := gocmp.Diff(want, told(v)); diff != "" {
		t.Error(diff)
	}
	if w, at, ok := v.Inside([]string{"b"}); !ok || w != repository || at.String() != "env/b.yaml:1:4" {
		t.Errorf("%v %v %v", w, at, ok)
	}
	if _, _, ok := v.Inside([]string{"shared", "x"}); ok {
		t.Error("a value of this repository is elsewhere")
	}
}

// TestChartValues has valuesFiles of Flux.
func TestChartValues(t *testing.T) {
	archive := helmRelease(
		"chart:\n  spec:\n    chart: apps/c\n    valuesFile: apps/c/values.yaml\n    valuesFiles: [shared/all.yaml, "+
			"gone.yaml]\n    ignoreMissingValuesFiles: true\n    sourceRef: {kind: GitRepository, name: ours}",
	) + argoFiles
	f, d := oneRelease(t, archive)
	v, err := d.Release.ChartValues(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff("default=1 apps/c/values.yaml:1\nshared.x=1 shared/all.yaml:1\n", told(v)); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff([]string{"apps/c/values.yaml", "shared/all.yaml", "gone.yaml", "apps/c"},
		d.Release.Reads); diff != "" {
		t.Error(diff)
	}
	f, d = oneRelease(t, strings.NewReplacer("gone.yaml", "''", "Files: true", "Files: false").Replace(archive))
	if v, err := d.Release.ChartValues(f, nil); err == nil || !strings.Contains(err.Error(), "is not there") {
		t.Errorf("a values file without a name: %v, %v", v, err)
	}
	var large *doc.Error
	if _, err := d.Release.ChartValues(largeFiles{f}, nil); !errors.As(err, &large) || !large.Unknown || !strings.Contains(err.Error(), "more than the limit") {
		t.Errorf("a values file that is too large: %v", err)
	}
	if v, err := (&Release{}).ChartValues(f, nil); v != nil || err != nil {
		t.Error("a chart's own values do not count")
	}
}

func TestOrigin(t *testing.T) {
	f, d := oneRelease(
		t,
		helmValues("valuesFrom:\n- {kind: ConfigMap, name: a}\n- {kind: ConfigMap, name: a, valuesKey: other}\n- "+
			"{kind: Secret, name: sealed}\nvalues:\n  image:\n    tag: mine\n  host: ${X}\n", fluxMaps),
	)
	v, err := d.Release.Values(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"image.tag": "k.yaml:12 true", "image": "k.yaml:12 true", "image.digest": "k.yaml:12 false",
		"list":   "maps.yaml:11 true",
		"list.0": "maps.yaml:11 true", "list.1": "maps.yaml:11 false", "gone.x": "k.yaml:11 false",
		"image.tag.x": "k.yaml:12 false",
	} {
		at, exact := v.Origin(strings.Split(path, "."))
		if got := fmt.Sprintf("%s:%d %v", at.Path, at.Line, exact); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	var chain []string
	for _, at := range v.Chain([]string{"image", "tag"}) {
		chain = append(chain, at.String())
	}
	if diff := gocmp.Diff([]string{"maps.yaml:12:10", "maps.yaml:8:12"}, chain); diff != "" {
		t.Error(diff)
	}
	for path, want := range map[string]string{"image.tag": "", "image.pull": "", "gone": "",
		"host": "${X}"} {
		if u, unsure := v.Unsure(strings.Split(path, ".")); unsure != (want != "") || !strings.Contains(u.Reason, want) {
			t.Errorf("%s: %+v", path, u)
		}
	}
	if len(v.Unknown) != 2 || v.Unknown[0].Path != nil || gocmp.Diff([]string{"host"}, v.Unknown[1].Path) != "" {
		t.Errorf("%+v", v.Unknown)
	}
	if at, exact := (&Values{}).Origin([]string{"a"}); exact || at != (Position{}) {
		t.Error("no values are somewhere")
	}
}

// An element of a list keeps its place where a template prints the list of a file as elementsYaml, and so does the cluster.
func TestPlacesOfElementsThatATemplatePrints(t *testing.T) {
	for text, want := range map[string]string{
		"{{ .clusters | toJson }}": "fleet.yaml:3:8 fleet.yaml:2:9", "{{ toYaml .clusters }}": "fleet.yaml:3:8 fleet.yaml:2:9",
		"{{ rest .clusters | toJson }}": "set.yaml:17:33 :0:0",
	} {
		_, list, problems := read(t, appSet("  goTemplate: true\n", "  - matrix:\n      generators:\n"+
			"      - git: {repoURL: 'https://example.com/o/r', files: [{path: fleet.yaml}]}\n      - list: {elementsYaml: '"+text+"'}\n",
			"'{{.name}}{{.n}}'}\n    spec:\n      source:\n        repoURL: https://example.com/o/r\n        path: apps/a\n"+
				"        kustomize: {namePrefix: '{{ .tag }}'}\n      destination: {name: '{{ .name }}', namespace: x}")+
			"-- fleet.yaml --\nclusters:\n- name: one\n  tag: x\n  n: 1\n- name: one\n  tag: x\n  n: 2\n-- apps/a/kustomization.yaml --\nresources: []\n")
		if len(list) == 0 || len(problems) > 0 {
			t.Fatalf("%s: %v %s", text, list, messages(problems))
		}
		if got := fmt.Sprint(list[0].Overrides.Where(), " ", list[0].ToValue); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestPlacesInTextsOfFields has texts in fields, with the places that renderings give them.
func TestPlacesInTextsOfFields(t *testing.T) {
	f := files{"values.yaml": "a: 1\nb:\n  c: 2\n", "quoted.yaml": "x: \"a: 1\\nb: 2\"\n",
		"block.yaml": "x:\n  y: |- # text\n    a: 1\n    b: ${Z}\n", "one.yaml": "a: 1\n"}
	for name, test := range map[string]struct {
		at           Position
		text         string
		line, column int
		want         string
	}{
		"the file that a generator takes": {Position{Path: "values.yaml", Line: 1, EndLine: 3}, "a: 1\nb:\n  c: 2\n", 3, 6,
			"values.yaml:3:6"},
		"a file of one line": {Position{Path: "one.yaml", Line: 1, EndLine: 1}, "a: 1\n", 1, 4, "one.yaml:1:4"},
		"another text": {Position{Path: "values.yaml", Line: 1, EndLine: 3}, "a: 1\nb:\n  c: 3\n", 3, 6,
			"values.yaml:1:0"},
		"a quoted text": {Position{Path: "quoted.yaml", Line: 1, Column: 4}, "a: 1\nb: 2", 2, 4,
			"quoted.yaml:1:4"},
		"a block": {Position{Path: "block.yaml", Line: 2, Column: 6, EndLine: 4}, "a: 1\nb: z", 1, 4,
			"block.yaml:3:8"},
		"a block with a variable": {Position{Path: "block.yaml", Line: 2, Column: 6, EndLine: 4}, "a: 1\nb: z", 2, 4,
			"block.yaml:4:0"},
		"no file": {Position{Path: "gone", Line: 3}, "a", 1, 1, "gone:3:0"},
		"no line": {Position{Path: "one.yaml", Line: 9}, "a", 1, 1, "one.yaml:9:0"},
		"outside": {Position{Path: "one.yaml", Line: 1}, "a", 7, 1, "one.yaml:1:0"},
	} {
		l := &loader{tree: f}
		if got := l.inside(test.at, test.text)(test.line, test.column).String(); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
