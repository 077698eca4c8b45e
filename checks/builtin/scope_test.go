package builtin

import (
	"context"
	"slices"
	"testing"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// area renders files as one root: the kustomization at the top, or the folder.
func area(t *testing.T, files string) *Scope {
	t.Helper()
	repo := treetest.New(t)
	set, err := deploy.Open(repo.Tree(repo.Commit(files)), roots.Options{}, &graph.Cache{}, render.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return areaOf(t, set, set.All()[0])
}

func areaOf(t *testing.T, set *deploy.Set, root roots.Root) *Scope {
	t.Helper()
	r := set
	out, problems, err := r.Render(context.Background(), root)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	return &Scope{Root: root, Set: set, Resources: out.Resources, Head: true,
		Reached: &Reached{Sides: &diff.Sides{}}}
}

// sights lists the violations of a root check in an area as "pointer: message", sorted.
func sights(t *testing.T, s RootCheck, a *Scope) (list []string) {
	t.Helper()
	found, err := s.Violations(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		list = append(list, f.Pointer+": "+f.Message)
	}
	slices.Sort(list)
	return list
}
