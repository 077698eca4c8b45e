package checks_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// No state of the caches in memory and on disk, damaged or not, changes a report.
func TestCacheChangesNothing(t *testing.T) {
	m := newMonorepo(t, 12, 6)
	cache := t.TempDir()
	var warm checks.Checker
	run := func(c *checks.Checker, head, cache string, user ...string) string {
		t.Helper()
		rep, err := c.Run(t.Context(), report.Change{GitDir: m.gitDir, Cache: cache, Rules: m.base, Base: m.base, Head: head,
			Now: time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC), User: report.User{Login: strings.Join(user, "")}})
		if err != nil {
			t.Fatal(err)
		}
		rep.Work = nil
		text, err := json.Marshal(rep)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	damage := []struct {
		name string
		hurt func(file string) error
	}{
		{"intact file", func(string) error { return nil }},
		{"truncated file", func(file string) error { return os.Truncate(file, 40) }},
		{"empty file", func(file string) error { return os.Truncate(file, 0) }},
		{"removed file", os.Remove},
		{"a folder in its place", func(file string) error { _ = os.Remove(file); return os.Mkdir(file, 0o700) }},
	}
	heads := append(m.edits, m.shared[10])
	if testing.Short() {
		heads = heads[len(heads)-len(damage):]
	}
	for i, head := range heads {
		want := run(&checks.Checker{}, head, "")
		if got := run(&warm, head, ""); got != want {
			t.Errorf("warm differs:\n%s\nwant:\n%s", got, want)
		}
		if got := run(&checks.Checker{}, head, cache); got != want {
			t.Errorf("with a cache differs:\n%s\nwant:\n%s", got, want)
		}
		if run(&checks.Checker{}, head, cache, "jane") != run(&checks.Checker{}, head, "", "jane") {
			t.Error("the check of another user differs with what the first one left")
		}
		entries := files(t, cache)
		if i == 0 && len(entries) == 0 {
			t.Fatal("nothing is kept")
		}
		d := damage[i%len(damage)]
		for _, file := range entries {
			if err := d.hurt(file); err != nil {
				t.Fatal(err)
			}
		}
		if got := run(&checks.Checker{}, head, cache); got != want {
			t.Errorf("after %s differs:\n%s\nwant:\n%s", d.name, got, want)
		}
	}
	nowhere := filepath.Join(cache, "file")
	if err := os.WriteFile(nowhere, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if run(&checks.Checker{}, m.edits[0], nowhere) != run(&checks.Checker{}, m.edits[0], "") {
		t.Error("a folder that cannot be used changes the report")
	}
}

func files(tb testing.TB, dir string) (list []string) {
	tb.Helper()
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			list = append(list, p)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

// The second check of a repository reads from disk the renderings that the first one built.
func TestRenderingsAreKept(t *testing.T) {
	m := newMonorepo(t, 12, 6)
	cache := t.TempDir()
	run := func(head, user string) report.Work {
		rep, err := (&checks.Checker{}).Run(t.Context(),
			report.Change{GitDir: m.gitDir, Cache: cache, Rules: m.base, Base: m.base, Head: head, Now: time.Now(),
				User: report.User{Login: user}})
		if err != nil {
			t.Fatal(err)
		}
		return *rep.Work
	}
	first, again, other := run(m.shared[10], ""), run(m.shared[10], "jane"), run(m.edits[0], "")
	if first.Recalled != 0 || first.Rendered < 20 {
		t.Errorf("first %+v", first)
	}
	if again.Rendered != 0 || again.Recalled != first.Rendered {
		t.Errorf("again %+v", again)
	}
	if same := run(m.shared[10], "jane"); same.Rendered+same.Recalled != 0 {
		t.Errorf("the report of the same check is not used: %+v", same)
	}
	if other.Recalled == 0 || other.Rendered >= first.Rendered {
		t.Errorf("another change %+v", other)
	}
}

// A change of settings that decide what the index holds is not answered from an index made before.
func TestCacheFollowsSettings(t *testing.T) {
	r := treetest.New(t)
	base := r.Commit(`
-- app/kustomization.yaml --
resources: [a.yaml]
-- app/a.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}
`)
	head := r.Commit("-- app/a.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: w}}\n")
	strict := r.Commit("-- .lintel.yaml --\nlimits: {fileBytes: 20}\n")
	cache := t.TempDir()
	for _, c := range []struct {
		rules  string
		errors bool
	}{{base, false}, {strict, true}, {base, false}} {
		rep, err := (&checks.Checker{}).Run(t.Context(),
			report.Change{GitDir: r.GitDir, Cache: cache, Rules: c.rules, Base: base, Head: head,
				Now: time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC)})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(rep.NotChecked)+len(rep.Errors) > 0; got != c.errors {
			t.Errorf("not checked: %v", rep.NotChecked)
		}
	}
}

// What an ApplicationSet deploys is not answered from a check with another limit of the size of files that it reads.
func TestCacheFollowsFileLimit(t *testing.T) {
	r := treetest.New(t)
	base := r.Commit("-- deploys/set.yaml --\n" + strings.Replace(generatedFrom("x"), "directories: [{path: 'x'}]", "files: [{path: one.json}]", 1) +
		"-- one.json --\n" + `{"a": "` + strings.Repeat("a", 1000) + `"}` + `
-- kustomization.yaml --
resources: [cm.yaml]
-- cm.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}
`)
	head := r.Commit("-- cm.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: w}}\n")
	strict := r.Commit("-- .lintel.yaml --\nlimits: {fileBytes: 900}\n")
	cache, seen := t.TempDir(), map[string]bool{}
	for _, rules := range []string{base, strict, base, strict} {
		change := report.Change{GitDir: r.GitDir, Rules: rules, Base: base, Head: head, All: true,
			Repository: []string{"https://git.example.com/fleet"}, Now: time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC)}
		want := reportText(t, &checks.Checker{}, change)
		seen[want] = true
		change.Cache = cache
		if got := reportText(t, &checks.Checker{}, change); got != want {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
	}
	if len(seen) != 2 {
		t.Error("the limit changes nothing")
	}
}

// A repository that lacks objects is never checked as if it held nothing, and nothing of that is kept, in the process or on
// disk.
func TestDamagedRepository(t *testing.T) {
	r := treetest.New(t)
	base := r.Commit(`
-- apps/a/b/kustomization.yaml --
resources: [x.yaml]
-- apps/a/b/x.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
-- deploys/app.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: app, namespace: argocd}
spec:
  source: {repoURL: 'https://git.example.com/fleet', path: apps/a/b, targetRevision: HEAD}
  destination: {server: 'https://kubernetes.default.svc', namespace: shop}
-- apps/a/b/.argocd-source.yaml --
kustomize: {namePrefix: x-}
-- deploys/flux.yaml --
` + strings.Replace(fluxKustomization("./apps/a", "one"), "{substitute:", "{substituteFrom: [{kind: ConfigMap, name: vars}], substitute:", 1) + `
-- deploys/source.yaml --
` + fleet + `
-- deploys/vars.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: vars, namespace: ops}, data: {a: b}}
`)
	head := r.Commit("-- apps/a/b/x.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}\n")
	for _, path := range []string{"apps", "apps/a", "apps/a/b", "apps/a/b/kustomization.yaml", "apps/a/b/x.yaml", "deploys", "deploys/app.yaml",
		"apps/a/b/.argocd-source.yaml", "deploys/flux.yaml", "deploys/source.yaml", "deploys/vars.yaml"} {
		for _, before := range []bool{false, true} {
			change := report.Change{GitDir: r.GitDir, Cache: t.TempDir(), Rules: base, Base: base, Head: head, All: true}
			query := report.Query{Change: report.Change{GitDir: r.GitDir, Cache: change.Cache, Head: head}, Show: report.ShowRoots}
			if before { // the heads of the objects are known, and what they deploy is not
				first := change
				first.Repository = []string{"https://git.example.com/another"}
				_ = reportText(t, &checks.Checker{}, first)
			}
			var warm checks.Checker
			file, data := r.Lose(r.Rev(head + ":" + path))
			rep, err := warm.Run(t.Context(), change)
			if err == nil && rep.Conclusion != report.Failure && !before {
				t.Errorf("without %s: %s", path, rep.Title)
			}
			_, _ = warm.Show(t.Context(), query)
			if err := os.WriteFile(file, data, 0o444); err != nil {
				t.Fatal(err)
			}
			whole := change
			whole.Cache = ""
			want := reportText(t, &checks.Checker{}, whole)
			for name, c := range map[string]*checks.Checker{"in the process": &warm, "on disk": {}} {
				if got := reportText(t, c, change); got != want {
					t.Errorf("with what was kept %s without %s (%t):\n%s\nwant:\n%s", name, path, before, got, want)
				}
				if got, want := showing(t, c, query), showing(t, &checks.Checker{}, report.Query{Change: report.Change{GitDir: r.GitDir, Head: head}, Show: report.ShowRoots}); got != want {
					t.Errorf("with what was kept %s without %s (%t):\n%s\nwant:\n%s", name, path, before, got, want)
				}
			}
		}
	}
}

func showing(t *testing.T, c *checks.Checker, q report.Query) string {
	t.Helper()
	q.Output = "json"
	answer, err := c.Show(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer.Text)
}

// What a check works out before something has to be fetched is not worked out again in the next round, whoever does that.
func TestRoundsBeforeAFetchAreKept(t *testing.T) {
	r := treetest.New(t)
	base := r.Commit(`
-- deploys/kustomization.yaml --
resources: [app.yaml]
patches:
- target: {kind: Application}
  patch: '[{"op": "replace", "path": "/spec/source/path", "value": "app"}]'
-- deploys/app.yaml --
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: app, namespace: argocd}
spec:
  source: {repoURL: 'https://git.example.com/fleet', path: other, targetRevision: HEAD}
  destination: {server: 'https://kubernetes.default.svc', namespace: shop}
-- app/kustomization.yaml --
resources: [cm.yaml, 'https://git.example.com/base.git?ref=v1']
-- app/cm.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: v}}
`)
	head := r.Commit("-- app/cm.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: w}}\n")
	var lock remote.Lock
	for _, want := range []remote.Want{{Kind: remote.File, URL: "https://git.example.com/base.git?ref=v1"},
		{Kind: remote.Git, URL: "https://git.example.com/base.git", Ref: "v1", Submodules: true}} {
		lock = append(lock, remote.Entry{Want: want, Failure: &remote.Failure{Message: "needs credentials"}})
	}
	fetched, err := json.Marshal(lock)
	if err != nil {
		t.Fatal(err)
	}
	run := func(cache, lock string) *report.Report {
		rep, err := (&checks.Checker{}).Run(t.Context(), report.Change{GitDir: r.GitDir, Cache: cache, Rules: base,
			Base: base, Head: head, Now: time.Now(), Repository: []string{"https://git.example.com/fleet"},
			Sources: &report.Sources{GitDir: r.GitDir, Lock: []byte(lock)}})
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
	cache := t.TempDir()
	if first := run(cache, "[]"); first.Wanted == nil {
		t.Fatalf("nothing is wanted: %+v", first)
	}
	again, alone := run(cache, string(fetched)), run("", string(fetched))
	if again.Wanted != nil || alone.Wanted != nil || again.Work.Rendered >= alone.Work.Rendered {
		t.Errorf("%+v is worked out in the second round, and %+v without the first; wanted: %s", again.Work, alone.Work, again.Wanted)
	}
}
