package render

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/lintel-bot/lintel/render/origin"
)

// found are the places of fields of one remembered rendering that somebody asked for. To find one, the root is rendered
// again, and of a chart, values are tried: so they are kept beside the rendering, for the next check of the same.
type found struct {
	beside *beside
	name   string

	mu      sync.Mutex
	read    bool
	changed bool
	places  map[int]map[string]origin.Place // by the index of the resource and by JSON Pointer (RFC 6901)
	count   int
}

// maxFound is how many places of one rendering are kept.
const maxFound = 20_000

// foundAt is a resource whose places are kept.
type foundAt struct {
	in    *found
	index int
}

// finds are those of the renderings of a renderer.
type finds struct {
	mu   sync.Mutex
	list []*found
}

// keepFound has the places of the resources of a rendering kept that is remembered.
func (r *Renderer) keepFound(out *Rendering) {
	f := &found{beside: out.beside, name: fmt.Sprintf("places-%d", r.steps), places: map[int]map[string]origin.Place{}}
	for i, res := range out.Resources {
		res.found = &foundAt{f, i}
	}
	r.finds.mu.Lock()
	defer r.finds.mu.Unlock()
	r.finds.list = append(r.finds.list, f)
}

// place returns a place that is kept, else finds it.
func (a *foundAt) place(pointer string, find func(string) origin.Place) origin.Place {
	f := a.in
	f.mu.Lock()
	if !f.read {
		f.read = true
		if data, ok := f.beside.get(f.name); ok && json.Unmarshal(data, &f.places) != nil {
			f.places = map[int]map[string]origin.Place{}
		}
	}
	known, ok := f.places[a.index][pointer]
	f.mu.Unlock()
	if ok {
		return known
	}
	place := find(pointer)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count++; f.count <= maxFound {
		f.changed = true
		if f.places[a.index] == nil {
			f.places[a.index] = map[string]origin.Place{}
		}
		f.places[a.index][pointer] = place
	}
	return place
}

// KeepPlaces writes to disk what was worked out about the renderings (see Cache.Save), and keeps where the fields are written that resources of this renderer were asked for. It is for the end of a
// check; of one that was canceled, nothing is kept.
func (r *Renderer) KeepPlaces(ctx context.Context) {
	if r.memory != nil && ctx.Err() == nil {
		r.memory.Save()
	}
	r.finds.mu.Lock()
	defer r.finds.mu.Unlock()
	for _, f := range r.finds.list {
		f.mu.Lock()
		if f.changed && ctx.Err() == nil {
			if data, err := json.Marshal(f.places); err == nil {
				f.beside.put(f.name, data)
			}
		}
		f.changed = false
		f.mu.Unlock()
	}
}
