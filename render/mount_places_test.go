package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/roots"
)

// A field from a remote source has the place of the entry in the repository that names the source, followed by its
// place in the source. A field that the repository overwrites has its place in the repository.
func TestMountedFieldsHavePlacesInTheRepository(t *testing.T) {
	w := newWorld(t, host, `
-- app/kustomization.yaml --
resources:
- ../base
- HOST/o/nested//x
- HOST/raw/files/r.yaml
patches:
- path: patch.yaml
- path: HOST/raw/files/patch.yaml
  target: {name: base-d}
images:
- name: img
  newTag: "2"
configMapGenerator:
- name: generated
  files: [k=HOST/raw/files/data.txt]
-- app/patch.yaml --
apiVersion: apps/v1
kind: Deployment
metadata:
  name: base-d
spec:
  replicas: 7
-- base/kustomization.yaml --
resources:
- "HOST/o/base//deploy?ref=v1" # the base
`+mountsBase)
	_, out, problems := w.render("app")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	base := w.repos["o/base"].Rev("v1")
	nested := w.repos["o/nested"].Rev("v1")
	for _, c := range []struct{ resource, pointer, want string }{
		{"Deployment base-d", "/spec/template/spec/containers/0/name",
			"base/kustomization.yaml:2:3-50 writer < HOST/o/base@BASE//deploy/deployment.yaml:10"},
		{"Deployment base-d", "/spec/template/spec/containers/0/image",
			"app/kustomization.yaml:11:11-14 writer < HOST/o/base@BASE//deploy/deployment.yaml:11"},
		{"Deployment base-d", "/spec/replicas",
			"app/patch.yaml:6:13-14 identity < HOST/o/base@BASE//deploy/deployment.yaml:6"},
		{"Deployment base-d", "/spec/minReadySeconds",
			"app/kustomization.yaml:7:9-53 writer < HOST/raw/files/patch.yaml:6"},
		{"Deployment base-d", "/metadata/name",
			"base/kustomization.yaml:2:3-50 writer < HOST/o/base@BASE//deploy/kustomization.yaml:5 < " +
				"HOST/o/base@BASE//deploy/deployment.yaml:4"},
		{"Deployment base-d", "/spec/template/spec/hostNetwork",
			"base/kustomization.yaml:2:3-50 enclosing, missing /hostNetwork < HOST/o/base@BASE//deploy/deployment.yaml:8"},
		{"ServiceAccount base-sa", "/kind",
			"base/kustomization.yaml:2:3-50 writer < HOST/o/base@BASE//common/sa.yaml:2"},
		{"ConfigMap base-nested", "/data/a", "base/kustomization.yaml:2:3-50 writer < HOST/o/nested@NESTED//x/cm.yaml:6"},
		{"ConfigMap nested", "/data/a", "app/kustomization.yaml:3:3-38 writer < HOST/o/nested@NESTED//x/cm.yaml:6"},
		{"Service raw", "/metadata/name", "app/kustomization.yaml:4:3-43 writer < HOST/raw/files/r.yaml:4"},
		{"Thing thing", "/spec/ref/name", "app/kustomization.yaml:4:3-43 writer < HOST/raw/files/r.yaml:12"},
		{"ConfigMap generated", "/data/k", "app/kustomization.yaml:14:11-55 writer < HOST/raw/files/data.txt:1"},
	} {
		place := find(t, out, c.resource).Origin(c.pointer)
		got := describe(place)
		want := strings.NewReplacer("HOST", host, "BASE", base, "NESTED", nested).Replace(c.want)
		if got != want {
			t.Errorf("%s %s:\ngot  %s (%s)\nwant %s", c.resource, c.pointer, got, place.Role, want)
		}
	}
}

// A remote source that is missing or wrong is reported once, at the line of the entry that names it. Everything else is
// rendered.
func TestMissingRemoteSourcesAreProblems(t *testing.T) {
	for _, c := range []struct {
		name, files string
		fails       map[string]*remote.Failure
		resources   int      // -1: none can be rendered
		problems    []string // a leading "?" means that the problem is unknown rather than wrong
	}{
		{"repository that does not exist", "-- app/kustomization.yaml --\nresources:\n- own.yaml\n- HOST/o/gone//a?ref=v1\n", nil, 1,
			[]string{`app/kustomization.yaml:3: resources: "HOST/o/gone//a?ref=v1": there is no such thing`}},
		{"folder that does not exist", "-- app/kustomization.yaml --\nresources:\n- own.yaml\n- HOST/o/base//gone?ref=v1\n", nil, 1,
			[]string{`app/kustomization.yaml:3: resources: "HOST/o/base//gone?ref=v1" does not exist`}},
		{"folder without a kustomization", "-- app/kustomization.yaml --\nresources:\n- own.yaml\n- HOST/o/plain//a?ref=v1\n" +
			"-- git/o/plain/a/b --\n", nil, 1,
			[]string{`app/kustomization.yaml:3: resources: the folder "HOST/o/plain//a?ref=v1" has no kustomization file`}},
		{"path of a file", "-- app/kustomization.yaml --\nresources:\n- own.yaml\n- HOST/o/base//deploy/deployment.yaml?ref=v1\n", nil, 1,
			[]string{`app/kustomization.yaml:3: resources: "HOST/o/base//deploy/deployment.yaml?ref=v1": there is no such thing`}},
		{"repository without access", "-- app/kustomization.yaml --\nresources:\n- own.yaml\n- HOST/o/secret//a?ref=v1\n",
			map[string]*remote.Failure{"o/secret": {Message: "needs credentials"}}, 1,
			[]string{`?app/kustomization.yaml:3: resources: "HOST/o/secret//a?ref=v1": needs credentials`}},
		{"remote base of a remote base is not fetched", "-- app/kustomization.yaml --\nresources:\n- own.yaml\n- HOST/o/base//deploy?ref=v1\n",
			map[string]*remote.Failure{"o/nested": {Message: "needs credentials"}}, 3,
			[]string{`?app/kustomization.yaml:3: resources: what it includes has an error ` +
				`(HOST/o/base@BASE//deploy/kustomization.yaml, ` +
				`line 4): resources: "HOST/o/nested//x?ref=v1": needs credentials`}},
		{"file that is not YAML", "-- app/kustomization.yaml --\nresources:\n- own.yaml\n- HOST/o/bad\n" +
			"-- git/o/bad/kustomization.yaml --\nresources: [a.yaml]\n-- git/o/bad/a.yaml --\nkind: [\n", nil, 1,
			[]string{"app/kustomization.yaml:3: resources: what it includes has an error (HOST/o/bad@REV//a.yaml, " +
				"line 1): is not valid YAML"}},
		{"remote base that does not build", "-- app/kustomization.yaml --\nresources:\n- own.yaml\n- HOST/o/bad\n" +
			"-- git/o/bad/kustomization.yaml --\nresources: [a.yaml, b.yaml]\n" +
			"-- git/o/bad/a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" +
			"-- git/o/bad/b.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", nil, 1,
			[]string{"app/kustomization.yaml:3: resources: what it includes has an error (HOST/o/bad@REV//"}},
		{"path out of the remote repository", "-- app/kustomization.yaml --\nresources:\n- own.yaml\n- HOST/o/bad//a\n" +
			"-- git/o/bad/a/kustomization.yaml --\nresources: [../../x, ../../../repository/app/own.yaml]\n", nil, 1,
			[]string{"resources: \"../../x\" points outside the repository", "own.yaml\" points outside the repository"}},
		{"cycle of remote bases", "-- app/kustomization.yaml --\nresources:\n- own.yaml\n- HOST/o/a\n" +
			"-- git/o/a/kustomization.yaml --\nresources: [HOST/o/b]\n-- git/o/b/kustomization.yaml --\nresources: [HOST/o/a]\n",
			nil, -1, []string{`"HOST/o/a" includes itself: it is included by HOST/o/a`}},
		{"repository on disk", "-- app/kustomization.yaml --\nresources:\n- own.yaml\n- file:///tmp/x\n", nil, 1,
			[]string{`?app/kustomization.yaml:3: resources: "file:///tmp/x" is a repository on a local disk`}},
		{"remote patch that does not exist", "-- app/kustomization.yaml --\nresources:\n- own.yaml\npatches:\n- path: HOST/raw/gone.yaml\n", nil, 1,
			[]string{`app/kustomization.yaml:4: patches.path: "HOST/raw/gone.yaml": there is no such thing`}},
		{"remote schema that does not exist", "-- app/kustomization.yaml --\nresources:\n- own.yaml\ncrds:\n- HOST/raw/gone.json\n", nil, -1,
			[]string{`app/kustomization.yaml:4: crds: "HOST/raw/gone.json": there is no such thing`}},
		{"file with an alias bomb", "-- app/kustomization.yaml --\nresources:\n- own.yaml\n- HOST/raw/bomb.yaml\n" +
			"-- raw/bomb.yaml --\nkind: A\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n" +
			"c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n" +
			"f: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n", nil, 1, []string{"app/kustomization.yaml:3: resources: what it includes"}},
		{"HTML page in place of a manifest", "-- app/kustomization.yaml --\nresources:\n- own.yaml\n- HOST/raw/page\n" +
			"-- raw/page --\n<html><p>no: </p>\n", nil, 1, []string{`"HOST/raw/page": what is there is not YAML of resources`}},
		{"alias of a remote entry", "-- app/kustomization.yaml --\nresources:\n- own.yaml\n" +
			"- &base HOST/o/base//deploy?ref=v1\ncommonAnnotations: {from: *base}\n", nil, -1, []string{"?app/kustomization.yaml:1: has aliases"}},
		{"reserved folder name exists", "-- app/kustomization.yaml --\nresources:\n- own.yaml\n- HOST/raw/files/r.yaml\n" +
			"-- app/.lintel-outside/0/r.yaml --\n", nil, 1, []string{"?app/kustomization.yaml:3: resources: "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, host, c.files+"-- app/own.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\n"+mountsBase)
			w.fails = c.fails
			_, out, problems := w.render("app")
			if got := len(out.Resources); got != max(0, c.resources) || out.Partial != (c.resources >= 0) {
				t.Errorf("%d resources, partial: %v", got, out.Partial)
			}
			rev := ""
			if r := w.repos["o/bad"]; r != nil {
				rev = r.Rev("v1")
			}
			replace := strings.NewReplacer("HOST", host, "BASE", w.repos["o/base"].Rev("v1"), "REV", rev)
			for i, p := range problems {
				if p.Path != "app/kustomization.yaml" || p.Line == 0 {
					t.Errorf("it stands at %s:%d", p.Path, p.Line)
				}
				if i >= len(c.problems) {
					t.Errorf("more: %v", p)
					continue
				}
				want, unknown := strings.CutPrefix(replace.Replace(c.problems[i]), "?")
				if got := p.Error(); !strings.Contains(got, want) || p.Unknown != unknown {
					t.Errorf("got %v %s, want %s", p.Unknown, got, want)
				}
			}
			if len(problems) < len(c.problems) {
				t.Errorf("problems: %v", problems)
			}
		})
	}
}

// A cached rendering is used only while its remote sources are the same. A source that was not fetched is requested
// again.
func TestCachedRenderingHasMountPlaces(t *testing.T) {
	w := newWorld(t, host, "-- app/kustomization.yaml --\nresources:\n- own.yaml\n- HOST/o/whole.git\n"+
		"-- app/own.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\n"+mountsBase)
	disk, err := env.OpenDisk(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	kept := &render.Cache{Disk: disk}
	root := roots.Root{Path: "app"}
	try := func(s *remote.Sources, resources, recalled int) *render.Rendering {
		t.Helper()
		set, err := deploy.Open(w.repo.Tree("HEAD"), roots.Options{}, &graph.Cache{}, render.Config{Cache: kept, Sources: s})
		if err != nil {
			t.Fatal(err)
		}
		r := set
		out, _, err := r.Render(t.Context(), root)
		if err != nil {
			t.Fatal(err)
		}
		if _, got := r.Renderer.Counts(); got != recalled || len(out.Resources) != resources {
			t.Errorf("%d resources, %d recalled", len(out.Resources), got)
		}
		return out
	}
	try(nil, 1, 0)
	try(nil, 1, 1)
	for recalled := range 2 {
		s := w.sources()
		try(s, 1, recalled)
		if len(s.Wanted()) != 1 {
			t.Error("it was not asked for")
		}
	}
	w.fetch(w.wanted("app"))
	try(w.sources(), 2, 0)
	out := try(w.sources(), 2, 1)
	if got := describe(find(t, out, "ConfigMap whole").Origin("/kind")); !strings.HasPrefix(got, "app/kustomization.yaml:3:3-") {
		t.Error(got)
	}
	w.repos["o/whole"].Commit("-- w.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: w}\n---\n" +
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: w2}\n")
	w.lock = nil
	w.fetch(w.wanted("app"))
	other := w.renderer(w.sources())
	if other.Same(out) {
		t.Error("the same with another revision")
	}
	try(w.sources(), 3, 0)
	w.lock = nil
	w.fails = map[string]*remote.Failure{"whole": {Message: "no answer"}}
	w.fetch(w.wanted("app"))
	try(w.sources(), 1, 0)
	try(w.sources(), 1, 1)
}

// wanted returns the first remote source that a folder wants.
func (w *world) wanted(dir string) remote.Want {
	w.t.Helper()
	s := remote.New(nil, nil)
	if _, _, err := w.renderer(s).Render(w.t.Context(), roots.Root{Path: dir}); err != nil {
		w.t.Fatal(err)
	}
	return s.Wanted()[0]
}

// Mounted paths do not appear in places, chains or messages.
func TestMountsAreNotSeen(t *testing.T) {
	w := newWorld(t, host, `
-- app/kustomization.yaml --
resources:
- HOST/o/base//deploy?ref=v1
images:
- name: img
  newTag: v2
`+mountsBase)
	_, out, problems := w.render("app")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	p := find(t, out, "Deployment base-d").Origin("/spec/template/spec/containers/0/image")
	if len(p.Spans) == 0 || strings.Contains(fmt.Sprintf("%+v", p), "/outside/") {
		t.Errorf("%+v", p)
	}
	for words, files := range map[string]string{
		"includes itself: app -> HOST/o/b@REVISION//x -> HOST/o/b@REVISION//y -> HOST/o/b@REVISION//x": `
-- git/o/b/x/kustomization.yaml --
resources: [../y]
-- git/o/b/y/kustomization.yaml --
resources: [../x]
`, "must build at directory: 'HOST/o/b@REVISION//x/a.yaml'": `
-- git/o/b/x/kustomization.yaml --
resources: [a.yaml, a.yaml]
-- git/o/b/x/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
`} {
		w := newWorld(t, host, "-- app/kustomization.yaml --\nresources: ['HOST/o/b//x?ref=v1']\n"+files)
		_, _, problems := w.render("app")
		revision := w.repos["o/b"].Rev("v1")
		if want := strings.NewReplacer("HOST", host, "REVISION", revision).Replace(words); len(problems) != 1 ||
			!strings.Contains(problems[0].Message, want) || strings.Contains(problems[0].Message, "/outside/") {
			t.Errorf("got %v\nwant %s", problems, want)
		}
	}
}
