package env_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

const recorded = `
-- app/one.yaml --
1
-- app/two.yaml --
2
-- app/sub/three.yaml --
3
-- other/four.yaml --
4
-- other/one.yaml --
1
`

// treeAnswers answers questions about a tree.
type treeAnswers struct{ tree.Reader }

func (a treeAnswers) Answer(q env.Question) string { return env.Of(a.Reader, q) }

// An edit of the tree changes what was read if and only if it changes the answer to a recorded question.
func TestRecorderAsksForWhatIsRead(t *testing.T) {
	r := treetest.New(t)
	objects := r.Objects()
	// after returns the tree after one edit: the new text of a file, or empty to delete it, or the new target of a
	// link.
	after := func(t *testing.T, edit string) *tree.Tree {
		for _, name := range []string{"app", "other", "gone", "link"} {
			if err := os.RemoveAll(filepath.Join(r.Dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		r.Symlink("app", "link")
		for _, f := range txtar.Parse([]byte(recorded)).Files {
			r.Write(f.Name, string(f.Data))
		}
		r.Symlink("../gone/new.yaml", "app/dangling.yaml")
		p, text, _ := strings.Cut(edit, ":")
		target, isLink := strings.CutPrefix(text, " ->")
		if text == "" && p != "" {
			r.Remove(p)
		}
		switch {
		case isLink:
			r.Symlink(target, p)
		case text != "":
			r.Write(p, text)
		}
		at, err := objects.Tree(r.Snapshot())
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for name, c := range map[string]struct {
		read func(r *env.Recorder)
		asks string   // kinds and names
		good []string // edits that do not change what was read
		bad  []string // edits that change it
	}{
		"a file": {func(r *env.Recorder) { _, _, _ = r.ReadFile("app/one.yaml") }, "c app/one.yaml",
			[]string{"app/two.yaml: x", "app/new.yaml: x"}, []string{"app/one.yaml: x", "app/one.yaml:", "app/one.yaml: ->../other/one.yaml"}},
		"a file that does not exist": {func(r *env.Recorder) { _, _, _ = r.ReadFile("app/gone.yaml") }, "c app/gone.yaml",
			[]string{"app/one.yaml: x"}, []string{"app/gone.yaml: x", "app/gone.yaml: ->nowhere"}},
		"the names in a folder": {func(r *env.Recorder) { _, _ = r.ReadDir("app") }, "n app",
			[]string{"app/one.yaml: x", "app/sub/new.yaml: x"}, []string{"app/new.yaml: x", "app/one.yaml:", "app/sub/three.yaml:"}},
		"a folder that does not exist": {func(r *env.Recorder) { _, _ = r.ReadDir("gone") }, "n gone",
			[]string{"app/new.yaml: x"}, []string{"gone/new.yaml: x"}},
		"everything in a folder": {func(r *env.Recorder) {
			_, _, _ = r.Lookup("app")
			_, _, _ = r.ReadFile("app/sub/three.yaml")
		}, "c app", []string{"other/four.yaml: x"}, []string{"app/one.yaml: x", "app/sub/three.yaml: x", "app/sub/new.yaml: x"}},
		"a link to nowhere in a folder": {func(r *env.Recorder) {
			_, _, _ = r.Lookup("app")
			_, _, _ = r.ReadFile("app/dangling.yaml")
			_, _ = r.ReadDir("app/dangling.yaml")
		}, "c app, c app/dangling.yaml, n app/dangling.yaml", []string{"other/four.yaml: x", "gone/other.yaml: x"},
			[]string{"gone/new.yaml: x", "app/one.yaml: x", "gone/new.yaml/a: x"}},
		"through a link": {func(r *env.Recorder) { _, _, _ = r.ReadFile("link/one.yaml") }, "c link/one.yaml, l link/one.yaml",
			[]string{"app/two.yaml: x"}, []string{"app/one.yaml: x", "link: ->other"}},
		"the names in a linked folder": {func(r *env.Recorder) { _, _ = r.ReadDir("link") }, "l link, n link",
			[]string{"app/one.yaml: x"}, []string{"app/new.yaml: x", "link: ->other"}},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := env.Record(after(t, ""))
			c.read(recorder)
			var asks []string
			for _, q := range slices.SortedFunc(maps.Keys(recorder.Asked()), func(a, b env.Question) int {
				return strings.Compare(string(a.Kind)+a.Name, string(b.Kind)+b.Name)
			}) {
				asks = append(asks, string(q.Kind)+" "+q.Name)
			}
			if got := strings.Join(asks, ", "); got != c.asks {
				t.Errorf("it asks %s, want %s", got, c.asks)
			}
			for _, edit := range append(c.good, "") {
				if !recorder.Asked().Same(treeAnswers{after(t, edit)}) {
					t.Errorf("%q gives a question another answer", edit)
				}
			}
			for _, edit := range c.bad {
				if recorder.Asked().Same(treeAnswers{after(t, edit)}) {
					t.Errorf("%q gives no question another answer", edit)
				}
			}
		})
	}
}
