package render

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-openapi/jsonpointer"
	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/origin"
)

// Locator returns the place that a person must edit to change the field at a JSON Pointer (RFC 6901), or the nearest
// place around it. The place is in the source files of the resource, or where a controller's change of the field is
// written. A locator may render again. It is not safe for concurrent use on resources of one rendering.
type Locator func(pointer string) origin.Place

// NewResource returns a resource that does not come from a rendering, with its issues.
func NewResource(object map[string]any, l Locator, issues ...Issue) *Resource {
	return &Resource{Object: object, Issues: issues, locator: l}
}

// Origin returns the place of a field of the resource: see Locator. A resource without a locator has no places.
func (r *Resource) Origin(pointer string) origin.Place {
	switch {
	case r.in != nil:
		return r.in.of(r.index, pointer, r.locator)
	case r.locator == nil:
		return origin.Place{How: origin.Enclosing, Missing: pointer}
	}
	return r.locator(pointer)
}

// through applies a function to every place that the resource's locator returns.
func (r *Resource) through(to func(origin.Place) origin.Place) {
	before := r.locator
	r.locator = func(pointer string) origin.Place { return to(before(pointer)) }
}

// Whole returns the rendering with the data that locators need. It renders again if the rendering came from the cache.
// It is for callers that need most places. The error is about the repository or the context.
func (r *Rendering) Whole() (*Rendering, error) {
	if r.whole == nil {
		return r, nil
	}
	return r.whole()
}

// written returns the place of a field after a controller changed some fields. own is its place before that, and file
// returns a file of the repository.
func written(writes []gitops.Write, file sources, pointer string, own origin.Place) origin.Place {
	var by *gitops.Write
	for i, w := range writes {
		if pointer == w.Pointer || strings.HasPrefix(pointer, w.Pointer+"/") {
			by = &writes[i]
		}
	}
	if by == nil || len(by.By) == 0 {
		return own
	}
	links := make([]origin.Link, len(by.By))
	for i, at := range by.By {
		links[i] = origin.Link{Path: at.Path, StartLine: max(1, at.Line), EndLine: max(at.Line, at.EndLine, 1), Role: by.Role}
	}
	own.Spans = nil
	of := func(at gitops.Position) origin.Place {
		place := origin.Place{Path: at.Path, StartLine: max(1, at.Line), EndLine: max(at.Line, at.EndLine, 1),
			How: origin.Writer, Role: by.Role}
		if at.Column > 0 && place.EndLine == place.StartLine {
			if p, ok := file(at.Path).Entry(at.Line, at.Column, ""); ok && p.StartLine == at.Line {
				place.StartColumn, place.EndColumn = p.StartColumn, p.EndColumn
			}
		}
		if own.Missing == "" { // it replaced a value
			place.Chain = append([]origin.Link{{Path: own.Path, StartLine: own.StartLine, EndLine: own.EndLine, Role: own.Role}},
				own.Chain...)
		}
		return place
	}
	if !by.Partly {
		return of(by.By[0])
	}
	place := own
	place.Chain = append(links, own.Chain...)
	for _, p := range by.Parts {
		place.Spans = append(place.Spans, origin.Span{From: p.From, To: p.To, Place: of(p.By)})
	}
	return place
}

// former returns a pointer as it was before the variables in its keys were replaced.
func former(writes []gitops.Write, pointer string) string {
	for _, w := range slices.Backward(writes) { // keys of a map follow the key that the map is at
		if w.Former == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(pointer, w.Pointer); ok && (rest == "" || rest[0] == '/') {
			pointer = w.Former + rest
		}
	}
	return pointer
}

// sources returns a parsed file of the repository; one that cannot be read is empty.
type sources func(name string) *origin.File

func (b *builder) sources() sources {
	var files parsedFiles
	return func(name string) *origin.File {
		return files.parsed(name, func() ([]byte, string, error) { return b.read(name) })
	}
}

// real converts a place in a kustomization that Lintel makes up into one that a person can edit. file returns a file of
// the repository.
func real(v *gitops.Virtual, file sources, p origin.Place) origin.Place {
	lines := func(start, end gitops.Position) (from, to int) {
		from, to = max(1, start.Line), max(1, start.Line)
		if end.Path == start.Path {
			to = max(to, end.Line)
		}
		return from, to
	}
	if p.Path == v.Path {
		start, end := v.Place(p.StartLine, p.StartColumn), v.Place(p.EndLine, p.EndColumn)
		copied, at := v.Copied(p.StartLine)
		p.Path = start.Path
		p.StartLine, p.EndLine = lines(start, end)
		p.EndLine = max(p.EndLine, start.EndLine)
		switch {
		case copied != "" && p.StartColumn > 0 && p.StartLine == p.EndLine:
			p.StartColumn, p.EndColumn = file(p.Path).Columns(p.StartLine, at, copied, p.StartColumn, p.EndColumn)
		case start.Column == 0 || end.Column == 0:
			p.StartColumn, p.EndColumn = 0, 0
		}
	}
	p.Spans = slices.Clone(p.Spans)
	for i, s := range p.Spans {
		p.Spans[i].Place = real(v, file, s.Place)
	}
	p.Chain = slices.Clone(p.Chain)
	for i, l := range p.Chain {
		if l.Path == v.Path {
			start, end := v.Place(l.StartLine, 0), v.Place(l.EndLine, 0)
			p.Chain[i].Path = start.Path
			p.Chain[i].StartLine, p.Chain[i].EndLine = lines(start, end)
		}
	}
	return p
}

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

// Field is one field of a rendered resource: a map's entry or a list's element.
type Field struct {
	Pointer string     // RFC 6901, into the resource
	Node    *yaml.Node // the value, with aliases resolved. Do not change it.
	plain   bool       // see doc.Value
}

// Scalar reports whether the field holds neither a map nor a list.
func (f Field) Scalar() bool { return f.Node.Kind == yaml.ScalarNode }

// Fields lists every field of the resource in the order it is printed; a map or list comes before its content. In a
// resource from the cache, the fields of a map are in the order of their keys.
func (r *Resource) Fields() []Field {
	n := r.tree()
	if n == nil {
		n = &yaml.Node{}
		_ = n.Encode(r.Object) // it is JSON
	}
	var list []Field
	collect(n, "", r.plain, &list)
	return list
}

func collect(n *yaml.Node, pointer string, plain bool, list *[]Field) {
	add := func(token string, value *yaml.Node) {
		value = doc.Deref(value)
		p := pointer + "/" + jsonpointer.Escape(token)
		*list = append(*list, Field{Pointer: p, Node: value, plain: plain})
		collect(value, p, plain, list)
	}
	switch n = doc.Deref(n); n.Kind {
	case yaml.DocumentNode:
		for _, c := range n.Content {
			collect(c, pointer, plain, list)
		}
	case yaml.MappingNode:
		seen := map[string]bool{}
		for _, key := range doc.Keys(n) {
			if !seen[key] {
				seen[key] = true
				if _, value := doc.Field(n, key); value != nil {
					add(key, value)
				}
			}
		}
	case yaml.SequenceNode:
		for i, c := range n.Content {
			add(strconv.Itoa(i), c)
		}
	}
}

// DuplicateKeys lists the pointers of keys that a map of the resource has more than once. It finds none in a resource
// that kustomize built, which refuses such files, nor in one from the cache.
func (r *Resource) DuplicateKeys() (pointers []string) {
	duplicateKeys(r.node, "", &pointers)
	return pointers
}

func duplicateKeys(n *yaml.Node, pointer string, list *[]string) {
	n = doc.Deref(n)
	if n == nil {
		return
	}
	seen := map[string]int{}
	for i, c := range n.Content {
		switch {
		case n.Kind == yaml.DocumentNode:
			duplicateKeys(c, pointer, list)
		case n.Kind == yaml.SequenceNode:
			duplicateKeys(c, pointer+"/"+strconv.Itoa(i), list)
		case n.Kind == yaml.MappingNode && i%2 == 1:
			key := doc.Deref(n.Content[i-1])
			if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
				continue
			}
			p := pointer + "/" + jsonpointer.Escape(key.Value)
			if seen[key.Value]++; seen[key.Value] == 2 {
				*list = append(*list, p)
			}
			duplicateKeys(c, p, list)
		}
	}
}

// Value returns the value of the field as JSON: whole numbers as int64, others as float64.
func (f Field) Value() any { return doc.Value(f.Node, f.plain) }
