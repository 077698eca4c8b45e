package mirror

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	s := newServer(t)
	old := s.commit("main", mainRef, "a.yaml", "kind: Deployment")
	mid := s.commit("main", mainRef, "b c.yaml", "apiVersion: kyverno.io/v1")
	tip := s.commit("main", mainRef, "*.yaml", "plain")
	m := s.mirrors()
	state, err := m.Fetch(t.Context(), testRepo, Want{BaseRef: "main", BaseSHA: tip, HeadSHA: tip})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.Changed(t.Context(), state.GitDir, old, tip); err != nil ||
		!slices.Equal(got, []string{"*.yaml", "b c.yaml"}) {
		t.Errorf("Changed: %q, %v", got, err)
	}
	if got, err := m.Changed(t.Context(), state.GitDir, tip, tip); err != nil || len(got) != 0 {
		t.Errorf("nothing changed: %q, %v", got, err)
	}
	if got, err := m.Commits(t.Context(), state.GitDir, old, tip); err != nil || !slices.Equal(got, []string{tip, mid}) {
		t.Errorf("Commits: %q, %v", got, err)
	}
	var gone *Vanished
	absent := strings.Repeat("1", 40)
	if _, err := m.Changed(t.Context(), state.GitDir, absent, tip); !errors.As(err, &gone) || gone.SHA != absent {
		t.Errorf("a commit that is not there: %v", err)
	}
	if _, err := m.Changed(t.Context(), state.GitDir, "--output=x", tip); !errors.As(err, &gone) {
		t.Errorf("no commit at all: %v", err)
	}
}
