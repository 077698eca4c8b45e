package tree_test

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// made writes a tree object by its entries ("<mode> <type> <id>\t<name>") and returns its id.
func made(t *testing.T, r *treetest.Repo, entries ...string) string {
	t.Helper()
	cmd := exec.Command("git", "-C", r.Dir, "mktree", "--missing")
	cmd.Stdin = strings.NewReader(strings.Join(entries, "\n") + "\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// A few objects can say that there are 10^12 files, or folders without end.
func TestTreesBeyondTheLimits(t *testing.T) {
	r := treetest.New(t)
	r.Commit("-- a.yaml --\na: b\n")
	blob := r.Rev("HEAD:a.yaml")
	bomb := made(t, r, "100644 blob "+blob+"\ta.yaml")
	for range 12 {
		var entries []string
		for i := range 10 {
			entries = append(entries, fmt.Sprintf("040000 tree %s\td%d", bomb, i))
		}
		bomb = made(t, r, entries...)
	}
	deep, long := made(t, r, "100644 blob "+blob+"\ta.yaml"), ""
	for i := range 1000 {
		deep = made(t, r, "040000 tree "+deep+"\td")
		if i == 200 {
			long = deep
		}
	}
	for range 30 {
		long = made(t, r, "040000 tree "+long+"\t"+strings.Repeat("x", 200))
	}
	o := r.Objects()
	o.SetFileLimit(20_000)
	var many *tree.TooManyError
	var nested *tree.TooDeepError
	for _, c := range []struct {
		name, id string
		want     any
	}{{"bomb", bomb, &many}, {"deep", deep, &nested}, {"long", long, &nested}} {
		t.Run(c.name, func(t *testing.T) {
			at, err := o.Tree(c.id)
			if err != nil {
				t.Fatal(err)
			}
			if err := at.Walk(func(string, tree.Entry) error { return nil }); !errors.As(err, c.want) {
				t.Errorf("walk: %v", err)
			}
			if _, err := tree.Diff(o.Empty(), at); !errors.As(err, c.want) {
				t.Errorf("difference to nothing: %v", err)
			}
			if _, err := tree.Diff(at, o.Empty()); !errors.As(err, c.want) {
				t.Errorf("difference from something: %v", err)
			}
		})
	}
	at, err := o.Tree("HEAD")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tree.Diff(o.Empty(), at); err != nil {
		t.Error(err)
	}
}
