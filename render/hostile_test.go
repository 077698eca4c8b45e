package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// Content that makes kustomize fetch something, leave the repository, use unlimited memory or crash is refused before
// kustomize runs, with a file and a line.
func TestHostileContentIsRefused(t *testing.T) {
	deployment := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n"
	for _, c := range []struct{ name, archive, want string }{
		{"missing file", "-- app/kustomization.yaml --\nresources:\n- gone.yaml\n",
			`app/kustomization.yaml:2: resources: "gone.yaml" does not exist`},
		{"missing patch", "-- app/kustomization.yaml --\nresources: [a.yaml]\npatches:\n- path: gone.yaml\n" +
			"-- app/a.yaml --\n" + deployment,
			`app/kustomization.yaml:3: patches.path: "gone.yaml" does not exist`},
		{"remote base", "-- app/kustomization.yaml --\nresources:\n- https://github.com/o/r//base?ref=v1\n",
			`app/kustomization.yaml:2: resources: "https://github.com/o/r//base?ref=v1" is not in this repository`},
		{"remote base without scheme", "-- app/kustomization.yaml --\nresources:\n- github.com/o/r/base\n",
			`app/kustomization.yaml:2: resources: "github.com/o/r/base" is not in this repository`},
		{"remote base over ssh", "-- app/kustomization.yaml --\nresources:\n- git@example.com:o/r.git\n",
			`app/kustomization.yaml:2: resources: "git@example.com:o/r.git" is not in this repository`},
		{"remote patch", "-- app/kustomization.yaml --\nresources: [a.yaml]\npatches:\n- path: http://127.0.0.1/p.yaml\n" +
			"-- app/a.yaml --\n" + deployment,
			`app/kustomization.yaml:3: patches.path: "http://127.0.0.1/p.yaml" is not in this repository`},
		{"remote generator file",
			"-- app/kustomization.yaml --\nconfigMapGenerator:\n- name: a\n  files: [k=http://127.0.0.1/f]\n",
			`app/kustomization.yaml:3: configMapGenerator.files: "http://127.0.0.1/f" is not in this repository`},
		{"out of the repository", "-- app/kustomization.yaml --\nresources:\n- ../../other\n",
			`app/kustomization.yaml:2: resources: "../../other" points outside the repository`},
		{"absolute", "-- app/kustomization.yaml --\nresources:\n- /etc\n",
			`app/kustomization.yaml:2: resources: "/etc" points outside the repository`},
		{"folder without kustomization", "-- app/kustomization.yaml --\nresources:\n- sub\n-- app/sub/a.yaml --\n" +
			deployment,
			`app/kustomization.yaml:2: resources: the folder "sub" has no kustomization file`},
		{"broken kustomization", "-- app/kustomization.yaml --\nresources:\n- a\n  b: c\n",
			`app/kustomization.yaml:3: is not valid YAML`},
		{"unknown field", "-- app/kustomization.yaml --\nresources: [a.yaml]\nresorces: [b.yaml]\n-- app/a.yaml --\n" +
			deployment,
			`app/kustomization.yaml:2: kustomize knows no field "resorces": did you mean "resources"?`},
		{"broken manifest", "-- app/kustomization.yaml --\nresources: [a.yaml]\n-- app/a.yaml --\nkind: A\n  b: c\n",
			`app/a.yaml:2: is not valid YAML`},
		{"two kustomizations", "-- app/kustomization.yaml --\nresources: []\n-- app/kustomization.yml --\nresources: []\n",
			`is in a folder with another kustomization file`},
		{"helm", "-- app/kustomization.yaml --\nhelmCharts:\n- name: x\n",
			`app/kustomization.yaml:2: helmCharts: `},
		{"exec plugin", "-- app/kustomization.yaml --\ngenerators: [g.yaml]\n-- app/g.yaml --\napiVersion: viaduct.ai/v1\n" +
			"kind: ksops\nmetadata: {name: x}\n",
			`app/g.yaml:1: configures the plugin "ksops", which is a program`},
		{"self-reference", "-- app/kustomization.yaml --\nresources: [a.yaml]\n-- app/a.yaml --\nspec: &a {b: *a}\n",
			`app/a.yaml:1: has an alias inside the value it stands for`},
		{"alias bomb", "-- app/kustomization.yaml --\nresources: [a.yaml]\n-- app/a.yaml --\n" + aliasBomb(),
			`is too large once its aliases are replaced`},
		{"NUL", "-- app/kustomization.yaml --\nresources: [a.yaml]\n-- app/a.yaml --\nkind: \x00\n",
			`app/a.yaml:1: holds a NUL byte`},
		{"invalid UTF-8", "-- app/kustomization.yaml --\nresources: [a.yaml]\n-- app/a.yaml --\na: 1\nkind: \xff\n",
			`app/a.yaml:2: is not valid UTF-8`},
		{"deep nesting", "-- app/kustomization.yaml --\nresources: [a.yaml]\n-- app/a.yaml --\na: " +
			strings.Repeat("[", 10000) + "\n",
			`app/a.yaml:1: is nested more than`},
		{"null replacement target",
			"-- app/kustomization.yaml --\nresources: [a.yaml]\nreplacements:\n- source: {kind: Deployment}\n" +
				"  targets: [null]\n-- app/a.yaml --\n" + deployment,
			`app/kustomization.yaml:4: replacements: this target selects nothing`},
		{"no name", "-- app/kustomization.yaml --\nresources: [a.yaml]\n-- app/a.yaml --\napiVersion: v1\nkind: Secret\n" +
			"stringData: {password: hunter2}\n",
			`app/a.yaml:1: this Secret has no name: write metadata.name`},
		{"doubling bases", doublingBases(20), `is one of more than 2000 kustomizations`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			_, problems := tryRoot(t, r, r.Commit(c.archive), "app")
			if len(problems) == 0 {
				t.Fatal("no problem")
			}
			all := ""
			for _, p := range problems {
				all += p.Error() + "\n"
			}
			if !strings.Contains(all, c.want) {
				t.Errorf("got  %swant %s", all, c.want)
			}
			if strings.Contains(all, "hunter2") || strings.Contains(all, "/repository") {
				t.Errorf("says too much: %s", all)
			}
		})
	}
}

func TestCycleOfBasesIsRefused(t *testing.T) {
	r := treetest.New(t)
	rev := r.Commit("-- a/kustomization.yaml --\nresources: [../b]\n-- b/kustomization.yaml --\nresources:\n- ../a\n")
	_, problems := tryRoot(t, r, rev, "a")
	if len(problems) != 1 || !strings.Contains(problems[0].Error(),
		"b/kustomization.yaml:2: resources: \"../a\" includes itself: a -> b -> a") {
		t.Errorf("got %v", problems)
	}
}

// Problems always come in the same order.
func TestProblemsComeInTheSameOrder(t *testing.T) {
	r := treetest.New(t)
	archive, want := "-- app/kustomization.yaml --\nresources: [h.yaml, g.yaml, f.yaml, e.yaml, d.yaml, c.yaml]\n", ""
	for _, name := range []string{"c", "d", "e", "f", "g", "h"} {
		archive += "-- app/" + name + ".yaml --\nkind: A\n  b: c\n"
		want += " app/" + name + ".yaml"
	}
	_, problems := tryRoot(t, r, r.Commit(archive), "app")
	got := ""
	for _, p := range problems {
		got += " " + p.Path
	}
	if got != want {
		t.Errorf("got%s, want%s", got, want)
	}
}

func TestSymlinks(t *testing.T) {
	r := treetest.New(t)
	r.Symlink("../shared/a.yaml", "app/a.yaml")
	r.Symlink("../../../etc", "app/out")
	rev := r.Commit("-- shared/a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" +
		"-- app/kustomization.yaml --\nresources: [a.yaml]\n-- bad/kustomization.yaml --\nresources: [../app/out]\n")
	if _, problems := tryRoot(t, r, rev, "bad"); len(problems) != 1 ||
		!strings.Contains(problems[0].Error(), "does not exist") {
		t.Errorf("a link out of the repository: %v", problems)
	}
	// Kustomize itself refuses files from outside the kustomization's folder, which includes symlinks to such files.
	if _, problems := tryRoot(t, r, rev, "app"); len(problems) != 1 ||
		!strings.Contains(problems[0].Message, "is outside the folder") {
		t.Errorf("a link out of the folder: %v", problems)
	}
}

func aliasBomb() string {
	var s strings.Builder
	s.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&s, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	return s.String()
}

// doublingBases makes n layers. Each includes two kustomizations that include the next layer.
func doublingBases(n int) string {
	var s strings.Builder
	s.WriteString("-- app/kustomization.yaml --\nresources: [../l0a, ../l0b]\n")
	for i := range n {
		for _, side := range []string{"a", "b"} {
			fmt.Fprintf(&s, "-- l%d%s/kustomization.yaml --\nresources: [../l%da, ../l%db]\n", i, side, i+1, i+1)
		}
	}
	fmt.Fprintf(&s, "-- l%da/kustomization.yaml --\nresources: [x.yaml]\n-- l%da/x.yaml --\nkind: A\n", n, n)
	return s.String()
}
