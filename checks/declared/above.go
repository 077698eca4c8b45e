package declared

import (
	"context"
	"maps"
	"sync"

	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/tree"
)

// Above are the manifests that an organisation's settings name as context. They answer look-ups in each of its
// repositories. A nil one has none. It is safe for concurrent use.
type Above struct {
	set     *deploy.Set
	context []string
	known   sync.Map // by group and kind: *namedObjects
}

// NewAbove returns the manifests in the named files and folders of the organisation's repository.
func NewAbove(set *deploy.Set, named []string) *Above {
	return &Above{set: set, context: named}
}

// Same reports whether both have the same files.
func (a *Above) Same(b *Above) (bool, error) {
	if a == b {
		return true, nil
	}
	files, err := a.files()
	if err != nil {
		return false, err
	}
	others, err := b.files()
	return maps.Equal(files, others), err
}

// files returns the ids of all files, by path.
func (a *Above) files() (map[string]string, error) {
	files := map[string]string{}
	if a == nil {
		return files, nil
	}
	err := a.set.Tree().Walk(func(p string, e tree.Entry) error {
		if settings.Under(p, a.context) {
			files[p] = e.ID
		}
		return nil
	})
	return files, err
}

// namedObjects are the objects of one kind.
type namedObjects struct {
	list   []entry
	unread string // why objects may be missing: a file that may contain some cannot be read; empty: none are missing
}

// find returns the objects of a kind. It caches them.
func (a *Above) find(ctx context.Context, group, kind string) *namedObjects {
	if a == nil {
		return &namedObjects{}
	}
	key := [2]string{group, kind}
	if known, ok := a.known.Load(key); ok {
		return known.(*namedObjects)
	}
	out := &namedObjects{}
	for _, p := range a.set.Mentions(kind) {
		if !settings.Under(p, a.context) {
			continue
		}
		resources, _, problem, err := a.set.Renderer.Manifest(p)
		if err != nil || problem != nil || ctx.Err() != nil {
			out.unread = p + ", a context file of the organisation's settings, cannot be read"
			continue
		}
		for _, r := range resources {
			if id := admission.IdentityOf(r.Object); id.Kind == kind && id.Group == group {
				out.list = append(out.list, entry{named: true, above: true}.of(r.Object))
			}
		}
	}
	if ctx.Err() == nil {
		a.known.Store(key, out)
	}
	return out
}
