package render

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/go-openapi/jsonpointer"

	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/gitops"
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
	for i, res := range out.Resources {
		res.in, res.index = p, i
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

// placedObject is an object with the place of each of its fields.
type placedObject struct {
	Object map[string]any `json:"object"`
	Files  []string       `json:"files"`
	Places []int          `json:"places"` // four numbers per field, in the order of visit: index of the file, line, column, last line
	Digest string         `json:"digest"` // of all the fields above
}

// withPlaces returns the object of a resource with the place of each of its fields.
func withPlaces(res *Resource) placedObject {
	out := placedObject{Object: res.Object}
	files := map[string]int{}
	visit(res.Object, "", 0, func(pointer string) {
		p := res.Origin(pointer)
		file, known := files[p.Path]
		if !known {
			file = len(out.Files)
			files[p.Path], out.Files = file, append(out.Files, p.Path)
		}
		out.Places = append(out.Places, file, p.StartLine, p.StartColumn, p.EndLine)
	})
	if data, err := json.Marshal(out); err == nil {
		sum := sha256.Sum256(data)
		out.Digest = hex.EncodeToString(sum[:])
	}
	return out
}

// where returns the place of the nth field in the order of visit.
func (o placedObject) where(nth int) (at gitops.Position) {
	if i := 4 * nth; i+4 <= len(o.Places) && o.Places[i] < len(o.Files) {
		at = gitops.Position{Path: o.Files[o.Places[i]], Line: o.Places[i+1], Column: o.Places[i+2], EndLine: o.Places[i+3]}
	}
	return at
}

// visit calls see for a value and everything in it, with keys sorted, as deep as gitops.FromRoot reads.
func visit(v any, pointer string, depth int, see func(pointer string)) {
	see(pointer)
	if depth > gitops.MaxDepth {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			visit(v[k], pointer+"/"+jsonpointer.Escape(k), depth+1, see)
		}
	case []any:
		for i, value := range v {
			visit(value, pointer+"/"+strconv.Itoa(i), depth+1, see)
		}
	}
}
