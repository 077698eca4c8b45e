package store

import (
	"strings"
	"testing"
)

// A request for drafts is stored across restarts, for its commit and repository only.
func TestDraftsAreRemembered(t *testing.T) {
	config := Config{Dir: t.TempDir()}
	head, other := strings.Repeat("a", 40), strings.Repeat("b", 40)
	q, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := q.AskDrafts(t.Context(), 7, head); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.AskDrafts(t.Context(), 7, "HEAD.>"); err == nil {
		t.Error("what is no object id was taken")
	}
	q.Close()
	if q, err = Open(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	for _, c := range []struct {
		repository int64
		head       string
		want       bool
	}{{7, head, true}, {7, other, false}, {8, head, false}} {
		if got, err := q.DraftsAsked(t.Context(), c.repository, c.head); err != nil || got != c.want {
			t.Errorf("%d %.4s: %v, %v; want %v", c.repository, c.head, got, err, c.want)
		}
	}
}
