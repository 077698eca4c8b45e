package render

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/source"
	"github.com/lintel-bot/lintel/render/tree"
)

// Keeps says whether what was a root before is still there, though it may be none any more: included by another
// kustomization, made a component, named as data, declared a part of a chart. Whoever deploys the folder does not
// know, and a change must not take out of sight what it edits.
func (r *Renderer) Keeps(before *Renderer, root graph.Root) bool {
	switch {
	case root.Deploy != "" || !r.graph.Selects(root):
		return false
	case root.Plain:
		return len(r.keptFiles(before, root)) > 0
	}
	f, err := r.graph.Kustomization(root.Path)
	return f != nil || err != nil
}

// RenderKept renders a root with all that it had before and that is still there. See Keeps and Render.
func (r *Renderer) RenderKept(ctx context.Context, before *Renderer, root graph.Root) (*Rendering, []source.Error, error) {
	if root.Plain {
		return r.files(ctx, root, r.keptFiles(before, root))
	}
	if r.Has(root) {
		return r.Render(ctx, root)
	}
	out, problems, err := r.built(root)
	for i := range problems {
		problems[i].Message += "; this folder was a root at the base, so it is also checked by itself"
	}
	return out, problems, err
}

// keptFiles lists the manifests of a plain root now, and those it had before that are still files. Where the folder has
// a kustomization by now, that says what is deployed.
func (r *Renderer) keptFiles(before *Renderer, root graph.Root) []string {
	if f, err := r.graph.Kustomization(root.Path); f != nil || err != nil {
		return nil
	}
	files := r.graph.Plain(root.Path)
	entries, err := r.tree.ReadDir(root.Path)
	if err != nil {
		return files // the folder is gone
	}
	for _, p := range before.graph.Plain(root.Path) {
		at, found := slices.BinarySearchFunc(entries, path.Base(p), func(e tree.Entry, name string) int { return strings.Compare(e.Name, name) })
		if found && entries[at].Kind == tree.File {
			files = append(files, p)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}
