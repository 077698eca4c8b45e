package tree_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// maker starts a process that writes tree objects from their entries ("<mode> <type> <id>\t<name>") and returns their
// ids.
func maker(t *testing.T, r *treetest.Repo) func(entries ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "-C", r.Dir, "mktree", "--missing", "--batch")
	in, wrong := cmd.StdinPipe()
	out, err := cmd.StdoutPipe()
	if err = errors.Join(wrong, err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	ids := bufio.NewReader(out)
	return func(entries ...string) string {
		t.Helper()
		_, wrong := io.WriteString(in, strings.Join(entries, "\n")+"\n\n")
		id, err := ids.ReadString('\n')
		if err = errors.Join(wrong, err); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(id)
	}
}

// A few objects can describe 10^12 files, or endlessly nested folders.
func TestTreesBeyondTheLimits(t *testing.T) {
	r := treetest.New(t)
	r.Commit("-- a.yaml --\na: b\n")
	blob, made := r.Rev("HEAD:a.yaml"), maker(t, r)
	bomb := made("100644 blob " + blob + "\ta.yaml")
	for range 12 {
		var entries []string
		for i := range 10 {
			entries = append(entries, fmt.Sprintf("040000 tree %s\td%d", bomb, i))
		}
		bomb = made(entries...)
	}
	deep, long := made("100644 blob "+blob+"\ta.yaml"), ""
	for i := range 1000 {
		deep = made("040000 tree " + deep + "\td")
		if i == 200 {
			long = deep
		}
	}
	for range 30 {
		long = made("040000 tree " + long + "\t" + strings.Repeat("x", 200))
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
