package render

import (
	"sync"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/roots"
)

// held are renderings that were made to find out what a root's objects deploy: whoever asks for the root next gets them,
// once. nil holds none.
type held struct {
	mu     sync.Mutex
	byRoot map[roots.Root]heldRendering
}

type heldRendering struct {
	rendering *Rendering
	problems  []doc.Error
}

// maxHeld is how many are held: with their nodes they take much room.
const maxHeld = 32

func (h *held) put(root roots.Root, out *Rendering, problems []doc.Error) {
	if h == nil || out == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byRoot == nil {
		h.byRoot = map[roots.Root]heldRendering{}
	}
	if len(h.byRoot) < maxHeld {
		h.byRoot[root] = heldRendering{out, problems}
	}
}

// take returns what is held of a root; the rendering is nil where nothing is.
func (h *held) take(root roots.Root) (*Rendering, []doc.Error) {
	if h == nil {
		return nil, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.byRoot[root]
	delete(h.byRoot, root)
	return one.rendering, one.problems
}
