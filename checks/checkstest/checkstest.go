// Package checkstest makes the trees of a change from a git repository of a test.
package checkstest

import (
	"testing"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// Trees opens the three commits of a change with the settings of the first, which it returns, too. base may be empty.
func Trees(t testing.TB, r *treetest.Repo, rules, base, head string) (*diff.Trees, *settings.Settings) {
	t.Helper()
	objects := r.Objects()
	out := &diff.Trees{Rules: diff.Commit{ID: rules}, Base: diff.Commit{ID: base}, Head: diff.Commit{ID: head}}
	for _, c := range []*diff.Commit{&out.Rules, &out.Base, &out.Head} {
		c.Tree = objects.Empty()
		if c.ID != "" {
			var err error
			if c.Tree, err = objects.Tree(c.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	own, problems, err := settings.Read(out.Rules.Tree)
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	for _, c := range []*diff.Commit{&out.Rules, &out.Base, &out.Head} {
		c.Roots = Roots(t, c.Tree, own)
	}
	if err := out.Compare(); err != nil {
		t.Fatal(err)
	}
	return out, own
}

// Roots finds the roots of a tree.
func Roots(t testing.TB, at *tree.Tree, s *settings.Settings) *deploy.Set {
	t.Helper()
	set, err := deploy.Open(at, s.RootOptions(nil, nil), &graph.Cache{}, render.Config{Namespaced: kinds.HasNamespace})
	if err != nil {
		t.Fatal(err)
	}
	return set
}
