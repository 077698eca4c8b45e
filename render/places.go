package render

import (
	"context"
	"strconv"
	"sync"

	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/origin"
)

// places caches where the fields of one rendering are written, for those that were requested. Finding a place may need
// to render a target again, or to try values of a chart. The places are valid as long as the rendering is. They are
// safe for concurrent use. They do not hold the rendering, as its nodes take much memory.
type places struct {
	renderer *Renderer
	target   Target
	asked    env.Asked // of the rendering

	mu      sync.Mutex
	read    bool
	changed bool
	known   map[int]map[string]origin.Place // by the index of the resource and by JSON Pointer (RFC 6901)
	count   int
}

// maxPlaces is how many places of one rendering are cached.
const maxPlaces = 20_000

// placed has a rendering cache its places.
func (r *Renderer) placed(out *Rendering) {
	p := &places{renderer: r, target: out.target, asked: out.asked, known: map[int]map[string]origin.Place{}}
	for _, res := range out.Resources {
		res.in = p
	}
	r.asking.add(p)
}

// table returns the cache of the places, and their key.
func (p *places) table() (memory *env.Memory, key string, now env.Answerer) {
	r := p.renderer
	return r.kept(), strconv.Itoa(r.steps) + " " + r.ownKey(p.target), asker{r, p.target}
}

// of returns the place of a field of the resource at an index.
func (p *places) of(index int, pointer string, l Locator) origin.Place {
	p.mu.Lock()
	if !p.read {
		p.read = true
		memory, key, now := p.table()
		if known, ok := env.Get[map[int]map[string]origin.Place](memory, placesTable, key, now); ok {
			p.known = known
		}
	}
	known, ok := p.known[index][pointer]
	p.mu.Unlock()
	if ok {
		return known
	}
	place := l(pointer)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count++; p.count <= maxPlaces {
		p.changed = true
		if p.known[index] == nil {
			p.known[index] = map[string]origin.Place{}
		}
		p.known[index][pointer] = place
	}
	return place
}

// save writes the places to the cache.
func (p *places) save() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed {
		memory, key, _ := p.table()
		env.Put(memory, placesTable, key, p.renderer.askedWritten(p.target, p.asked), p.known)
	}
	p.changed = false
}

// asking are all places that a renderer's renderings cache.
type asking struct {
	mu   sync.Mutex
	list []*places
}

func (a *asking) add(p *places) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, p)
}

// SavePlaces writes the places that were requested to the cache, for later checks. It is called at the end of a check,
// and does nothing if the check was canceled.
func (r *Renderer) SavePlaces(ctx context.Context) {
	if r.cache == nil || ctx.Err() != nil {
		return
	}
	r.asking.mu.Lock()
	defer r.asking.mu.Unlock()
	for _, p := range r.asking.list {
		p.save()
	}
}
