package checks_test

import (
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// The changes of testdata/conclusions get the same reports with a cache as without, in any order, and with edits of their
// files in between. Those of one archive share a repository and a cache. This checks a sample, and with LINTEL_SEED all
// of them, with edits that the seed chooses.
func TestCacheChangesNoConclusion(t *testing.T) {
	t.Parallel()
	seed, err := strconv.ParseUint(os.Getenv("LINTEL_SEED"), 10, 64)
	every := 1
	if testing.Short() {
		every = 100
	} else if err != nil {
		every = 8
	}
	byFile := map[string][]conclusion{}
	for i, c := range conclusions(t) {
		if i%every == 0 {
			byFile[c.file] = append(byFile[c.file], c)
		}
	}
	for file, list := range byFile {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, uint64(crc32.ChecksumIEEE([]byte(file)))))
			w := &warmed{Repo: treetest.New(t), t: t, random: random, cache: t.TempDir()}
			var all []report.Change
			for _, c := range list {
				all = append(all, w.check(c)...)
				other := all[w.random.IntN(len(all))]
				w.same(other, c.name, "another change")
				switch w.random.IntN(4) {
				case 0:
					other.All = true
				case 1:
					other.User = report.User{Login: "jane", Teams: []string{"acme/ops"}}
				case 2:
					other.Repository = []string{"https://github.com/acme/another.git"}
				default:
					other.Branches = []string{"other"}
				}
				w.same(other, c.name, "another change with another setting")
			}
		})
	}
}

// warmed compares reports of checkers that keep results with those of new ones.
type warmed struct {
	*treetest.Repo
	t            *testing.T
	random       *rand.Rand
	cache        string
	both, inside checks.Checker // keep results in the process; both also on disk
}

// check checks a change, the reverse of it, the change again, and then edits of its head. It returns the first two.
func (w *warmed) check(c conclusion) []report.Change {
	entries, _ := os.ReadDir(w.Dir)
	for _, e := range entries {
		if e.Name() != ".git" {
			w.Remove(e.Name())
		}
	}
	change := c.commit(w.t, w.Repo)
	back := change
	back.Rules, back.Base, back.Head = change.Head, change.Head, change.Base
	for _, one := range []report.Change{change, back, change} {
		w.same(one, c.name)
	}
	edits, edited := []string{c.name}, change
	for range 3 {
		edits = append(edits, w.edit())
		parent := edited.Head
		if edited.Head = w.Snapshot(); w.random.IntN(4) == 0 {
			edited.Rules, edited.Base = parent, parent
		}
		w.same(edited, edits...)
	}
	return []report.Change{change, back}
}

// same requires that the report of a change does not depend on what was kept.
func (w *warmed) same(change report.Change, edits ...string) {
	w.t.Helper()
	change.GitDir, change.Now = w.GitDir, now
	want := reportText(w.t, &checks.Checker{PreviewTime: time.Hour}, change)
	kind := w.random.IntN(3)
	checker := []*checks.Checker{&w.both, {}, &w.inside}[kind]
	if kind < 2 {
		change.Cache = w.cache
	}
	checker.PreviewTime = time.Hour + time.Duration(w.random.IntN(1e9)) // otherwise the report itself would be kept
	if got := reportText(w.t, checker, change); got != want {
		w.t.Errorf("%q\ngot, with what was kept:\n%s\nwant:\n%s", edits, got, want)
	}
}

// edit edits a file of the work tree: removes it or a line, makes it a link, adds a comment, or replaces a word.
func (w *warmed) edit() string {
	list := slices.DeleteFunc(files(w.t, w.Dir), func(p string) bool { return strings.HasPrefix(p, w.GitDir+"/") })
	if len(list) == 0 {
		return ""
	}
	name, other := list[w.random.IntN(len(list))], list[w.random.IntN(len(list))]
	data, err := os.ReadFile(name)
	if err != nil {
		w.t.Fatal(err)
	}
	link, _ := filepath.Rel(filepath.Dir(name), other)
	at, _ := filepath.Rel(w.Dir, name)
	text, words := string(data), regexp.MustCompile(`[A-Za-z0-9./_-]+`).FindAllStringIndex(string(data), -1)
	lines := strings.SplitAfter(text, "\n")
	i, kind := w.random.IntN(len(lines)), w.random.IntN(9)
	switch {
	case kind == 0:
		w.Remove(at)
		return at + " is removed"
	case kind == 1:
		w.Symlink(link, at)
		return at + " leads to " + link
	case kind == 2 || len(words) == 0:
		text = strings.Join(slices.Delete(lines, i, i+1), "")
	case kind == 3:
		text = strings.Join(slices.Insert(lines, i, "# a comment\n"), "")
	default:
		from, to := words[w.random.IntN(len(words))], words[w.random.IntN(len(words))]
		text = text[:from[0]] + text[to[0]:to[1]] + strings.Repeat("x", kind%2) + text[from[1]:]
	}
	w.Write(at, text)
	return at + ":\n" + text
}
