package treetest

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// Walk is a repository that a test edits at random.
type Walk struct {
	*Repo
	Now map[string]string // the texts that Set has set, by path
}

// NewWalk returns a walk that starts with an empty repository.
func NewWalk(t testing.TB) *Walk { return &Walk{Repo: New(t), Now: map[string]string{}} }

// Set writes a file in place of what is there. A text that begins with "->" is the target of a symlink; an empty one
// deletes the file.
func (w *Walk) Set(p, text string) {
	w.t.Helper()
	if w.Now[p] != "" {
		w.Remove(p)
	}
	if target, isLink := strings.CutPrefix(text, "->"); isLink {
		w.Symlink(target, p)
	} else if text != "" {
		w.Write(p, text)
	}
	w.Now[p] = text
}

// Number returns the number in an environment variable, such as how long a walk is, or else another one.
func Number(t testing.TB, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(variable, err)
	}
	return n
}
