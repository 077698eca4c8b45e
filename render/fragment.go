package render

import (
	"path"
	"sync"

	"github.com/lintel-bot/lintel/render/roots"
)

// Fragment reports whether the resource may be part of another one: it stands in a folder from which a kustomization, be
// it part of a root or not, takes patches, or in one right below a kustomization, which may have taken some once, or in a
// comment, and nothing says that anybody deploys the folder as it is. Or it is of a kustomization that an object deploys
// which is not known, and which may patch it.
func (r *Resource) Fragment() bool { return r.fragment != nil && r.fragment() }

// fragments returns what Fragment says of the resources of a folder.
func (r *Renderer) fragments(root roots.Root) func() bool {
	return sync.OnceValue(func() bool {
		entries, err := r.set.Tree().ReadDir(root.Path)
		if err != nil || len(r.set.Deployers(root)) > 0 {
			return false
		}
		if f, err := r.set.Kustomization(path.Dir(root.Path)); f != nil && err == nil && root.Path != "." {
			return true
		}
		for _, e := range entries {
			if len(r.set.Patching(path.Join(root.Path, e.Name))) > 0 {
				return true
			}
		}
		return false
	})
}

// unclear returns whether an object that is not known may deploy a kustomization, and no other does.
func (r *Renderer) unclear(root roots.Root) func() bool {
	return sync.OnceValue(func() bool { return r.set.MayBeDeployed(root) && len(r.set.Deployers(root)) == 0 })
}
