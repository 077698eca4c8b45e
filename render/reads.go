package render

import (
	"errors"
	"strings"

	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// Same reports whether another renderer would give the same for the root of this rendering, because all that was read
// is there and the same, all that was absent is absent, and the root is deployed the same way. It is not said of plain
// folders, nor of what lacks something that may come without a change of what was read: of these, Same is false.
func (r *Rendering) Same(other *Renderer) bool {
	if r.Root.Kind == roots.Folder || r.links == nil || other.set.Digest(r.Root) != r.digest {
		return false
	}
	if r.rendered != "" && other.capabilities(r.Root, r.asked) != r.rendered {
		return false
	}
	if !other.sameAnswers(r.told) || !r.wants.same(other.outside.sources) {
		return false
	}
	t := other.tree
	for p, id := range r.Reads {
		dir, isDir := strings.CutSuffix(p, "/")
		_, e, err := t.Lookup(dir)
		switch {
		case id == "":
			if !errors.Is(err, tree.ErrNotExist) {
				return false
			}
		case err != nil || e.ID != id || isDir != (e.Kind == tree.Dir):
			return false
		}
	}
	for p, real := range r.links {
		if at, _, err := t.Lookup(p); err != nil || at != real {
			return false
		}
	}
	return true
}
