package render

import (
	"context"
	"encoding/json"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/helm"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/roots"
)

// Cache keeps results of rendering from one check to the next. A result is valid as long as everything that it depends
// on is unchanged (see env.Memory). It is safe for concurrent use.
type Cache struct {
	Disk       *env.Disk // nil: results are kept in the process only, and no renderings
	Repository string    // distinguishes repositories, so that they do not evict each other's results

	charts charts

	busy [64]sync.Mutex // see lock

	once   sync.Once
	memory *env.Memory
}

// Memory returns the results about renderings and about the repository; nil of a nil cache.
func (c *Cache) Memory() *env.Memory {
	if c == nil {
		return nil
	}
	c.once.Do(func() { c.memory = &env.Memory{Disk: c.Disk, Scope: c.Repository} })
	return c.memory
}

// Save writes the results to disk. It is called at the end of a check.
func (c *Cache) Save() { c.Memory().Save() }

// lock locks a key while its value is rendered and cached, so that it is not rendered twice at the same time. It
// returns the function that unlocks it. Keys may share a lock, so others may wait, too.
func (c *Cache) lock(key string) func() {
	if c == nil {
		return func() {}
	}
	one := &c.busy[crc32.ChecksumIEEE([]byte(key))%uint32(len(c.busy))]
	one.Lock()
	return one.Unlock
}

// The tables of answers about renderings.
var (
	renderingTable = env.Table{Name: "rendering", Apart: true}
	placesTable    = env.Table{Name: "places", Apart: true}
	printedTable   = env.Table{Name: "printed", Apart: true}
	objectsTable   = env.Table{Name: "objects"}
	declaredTable  = env.Table{Name: "declared"}
	inactiveTable  = env.Table{Name: "inactive"}
	notesTable     = env.Table{Name: "notes"}
	// The API versions that files of custom resource definitions declare, by object id.
	definitionsTable = env.Table{Name: "definitions"}
)

// kept returns the cache. It returns nil where there is none, and for a renderer with an overlay: its results are not
// those of the tree.
func (r *Renderer) kept() *env.Memory {
	if len(r.overlay) > 0 {
		return nil
	}
	return r.cache.Memory()
}

// asker answers the questions that the cached result of a target depends on.
type asker struct {
	*Renderer
	target Target
}

// Answer implements env.Answerer.
func (a asker) Answer(q env.Question) string {
	switch q.Kind {
	case env.Source:
		var want remote.Want
		if json.Unmarshal([]byte(q.Name), &want) != nil {
			return ""
		}
		digest := a.mounts.sources.Digest(want)
		if digest == "" {
			_, _ = a.mounts.sources.Get(want) // mark it as wanted again
		}
		return digest
	case env.Object:
		var l helm.Lookup
		if json.Unmarshal([]byte(q.Name), &l) != nil {
			return ""
		}
		return a.lookups.answer(l)
	case env.Versions:
		var v askedVersions
		if json.Unmarshal([]byte(q.Name), &v) != nil {
			return ""
		}
		return a.versionsDeclared(v)
	case env.Deployed:
		return a.key(a.target)
	case env.Written:
		return a.target.written()
	}
	return env.Of(a.tree, q)
}

// asked returns the questions that a rendering depends on. It returns nil where the rendering may change although every
// answer stays the same. It also returns nil for a folder of manifests, which is read as fast as the answers are.
func (r *Renderer) asked(out *Rendering) env.Asked {
	if out.links == nil || out.Root.Kind == roots.Folder || len(r.overlay) > 0 || out.Partial && r.damaged(out) {
		return nil
	}
	asked := env.Asked{{Kind: env.Deployed}: r.key(out.target)}
	for p, id := range out.Reads {
		dir, isDir := strings.CutSuffix(p, "/")
		if isDir {
			id = "/" + id
		}
		asked[env.Question{Kind: env.Content, Name: dir}] = id
	}
	for p, real := range out.links {
		asked[env.Question{Kind: env.Link, Name: p}] = real
	}
	note := func(kind env.Kind, name any, answer string) {
		data, _ := json.Marshal(name) // names are texts and numbers
		asked[env.Question{Kind: kind, Name: string(data)}] = answer
	}
	for want, one := range out.wants {
		note(env.Source, want, one.digest)
	}
	for _, l := range out.lookups {
		note(env.Object, l, r.lookups.answer(l))
	}
	if out.target.IsRelease() {
		note(env.Versions, out.versions, r.versionsDeclared(out.versions))
	}
	return asked
}

// damaged reports whether the repository or a source of a rendering could not be read completely: what the rendering lacks
// may be there the next time.
func (r *Renderer) damaged(out *Rendering) bool {
	for want := range out.wants {
		if source, err := r.mounts.sources.Get(want); err == nil && source.Tree.Err() != nil {
			return true
		}
	}
	return r.tree.Err() != nil
}

// Same reports whether the target has this rendering in the other renderer, too, because everything that the rendering
// depends on is the same there. It is false for plain folders, and for a rendering that may change although no file
// that it read changes.
func (r *Rendering) Same(other *Renderer, target Target) bool {
	return r.asked != nil && r.asked.Same(asker{other, target})
}

// remembered is the cached form of a rendering. Its objects are encoded one by one, as often only those of one kind are
// wanted.
type remembered struct {
	Kinds    []string        `json:"kinds"` // of the objects
	Objects  [][]byte        `json:"objects"`
	Issues   map[int][]Issue `json:"issues,omitempty"` // by the index of the resource
	Made     map[int][]byte  `json:"made,omitempty"`   // likewise: the object as Helm printed it, if it differs
	Noted    bool            `json:"noted,omitempty"`  // there are notes: see Rendering.Notes
	Partial  bool            `json:"partial,omitempty"`
	Problems []doc.Error     `json:"problems,omitempty"` // of a partial rendering
	Wants    []placedWant    `json:"wants,omitempty"`    // those that a line of the repository asks for
}

// recall returns the cached rendering of a target, and its problems; nil where none is cached. Where a kind is given, it
// has only the resources of that kind, and those that no tool can deploy.
func (r *Renderer) recall(ctx context.Context, t Target, kind string) (*Rendering, []doc.Error) {
	k, asked, ok := env.GetAsked[remembered](r.kept(), renderingTable, r.key(t), asker{r, t})
	if !ok {
		return nil, nil
	}
	r.counts.recalled.Add(1)
	delete(asked, env.Question{Kind: env.Written})
	out := &Rendering{Root: t.Root, Reads: map[string]string{}, Partial: k.Partial, target: t, asked: asked, wants: wantsOf(asked, k.Wants)}
	for q, answer := range asked {
		switch q.Kind {
		case env.Content:
			if id, isDir := strings.CutPrefix(answer, "/"); isDir {
				out.Reads[q.Name+"/"] = id
			} else {
				out.Reads[q.Name] = id
			}
		case env.Object:
			var l helm.Lookup
			if json.Unmarshal([]byte(q.Name), &l) == nil {
				out.lookups = append(out.lookups, l)
			}
		}
	}
	out.all = k.Kinds
	again := sync.OnceValues(func() (*Rendering, error) { return r.again(ctx, t) })
	for i := range k.Objects {
		if kind != "" && k.Kinds[i] != kind && !slices.ContainsFunc(k.Issues[i], Issue.Breaks) {
			continue
		}
		one := &Resource{Object: k.object(i), Issues: k.Issues[i], index: i, locator: func(pointer string) origin.Place {
			whole, err := again()
			if err != nil || i >= len(whole.Resources) {
				return origin.Place{Path: t.Path, StartLine: 1, EndLine: 1, How: origin.Enclosing, Missing: pointer}
			}
			return whole.Resources[i].Origin(pointer)
		}}
		if data, ok := k.Made[i]; ok {
			one.made = sync.OnceValue(func() (made map[string]any) {
				env.Decode(data, &made) // remember encoded it, and the disk cache verifies it
				return made
			})
		}
		out.Resources = append(out.Resources, one)
	}
	out.whole = again
	if k.Noted {
		out.notes = func(ctx context.Context) []doc.Error {
			whole, err := again()
			if err != nil || whole.notes == nil {
				return nil
			}
			return whole.notes(ctx)
		}
	}
	r.placed(out)
	r.keepNotes(out)
	if len(k.Problems) == 0 {
		r.keepLast(out)
	}
	return out, k.Problems
}

// kinds lists the kinds of all objects that a target deploys.
func (r *Rendering) kinds() []string {
	list := slices.Clone(r.all)
	if r.all == nil {
		for _, res := range r.Resources {
			list = append(list, res.kind())
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// object returns a cached object, which remember encoded, and the disk cache verifies.
func (k *remembered) object(i int) (object map[string]any) {
	env.Decode(k.Objects[i], &object)
	return object
}

// again renders a target whose rendering came from the cache, to find the places of its fields.
func (r *Renderer) again(ctx context.Context, t Target) (*Rendering, error) {
	fresh := *r
	fresh.fresh, fresh.memo = true, nil
	out, problems, err := fresh.Render(ctx, t)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 && !out.Partial {
		return nil, &problems[0]
	}
	return out, nil
}

// remember caches a rendering. A partial one is cached only if its problems stay as long as the answers stay the same.
func (r *Renderer) remember(out *Rendering, problems []doc.Error) {
	if out.asked = r.asked(out); out.asked == nil || r.fresh || r.kept() == nil {
		return
	}
	for i, res := range out.Resources {
		res.index = i
	}
	r.placed(out)
	r.keepNotes(out)
	if r.kept().Disk == nil {
		return
	}
	k := remembered{Noted: out.notes != nil, Issues: map[int][]Issue{}, Made: map[int][]byte{}, Partial: out.Partial,
		Problems: problems, Wants: out.wants.placed()}
	for i, res := range out.Resources {
		k.Kinds, k.Objects = append(k.Kinds, res.kind()), append(k.Objects, env.Encode(res.Object))
		if len(res.Issues) > 0 {
			k.Issues[i] = res.Issues
		}
		if res.made != nil {
			if k.Made[i] = env.Encode(res.made()); k.Made[i] == nil {
				return
			}
		}
	}
	asked := out.asked
	if len(problems) > 0 {
		asked = r.askedWritten(out.target, out.asked) // problems have places, so these must be the same, too
	}
	env.Put(r.kept(), renderingTable, r.key(out.target), asked, k)
}

// askedWritten returns the questions that a rendering of a target and the places of its fields depend on. asked are
// those of the rendering.
func (r *Renderer) askedWritten(t Target, asked env.Asked) env.Asked {
	written := env.Asked{{Kind: env.Written}: t.written()}
	maps.Copy(written, asked)
	return written
}

// Cached returns the text that CacheText kept under a name for a target with the same rendering and places; false where
// there is none.
func (r *Renderer) Cached(t Target, name string) (text []byte, ok bool) {
	return env.Get[[]byte](r.kept(), printedTable, name+" "+r.ownKey(t), asker{r, t})
}

// CacheText caches a text that depends only on a rendering and its places. It does nothing where the rendering itself
// is not cached.
func (r *Renderer) CacheText(out *Rendering, name string, text []byte) {
	if out.asked != nil {
		env.Put(r.kept(), printedTable, name+" "+r.ownKey(out.target), r.askedWritten(out.target, out.asked), text)
	}
}

// memo keeps the renderings that were made to find out what the objects in them deploy. The next request of such a
// target removes its rendering from the memo. The nil memo is empty.
type memo struct {
	mu    sync.Mutex
	byKey map[string]memoEntry
}

type memoEntry struct {
	rendering *Rendering
	problems  []doc.Error
}

// maxMemo is how many renderings the memo keeps: their nodes take much memory.
const maxMemo = 32

func (h *memo) put(key string, out *Rendering, problems []doc.Error) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byKey == nil {
		h.byKey = map[string]memoEntry{}
	}
	if len(h.byKey) < maxMemo {
		h.byKey[key] = memoEntry{out, problems}
	}
}

// take removes and returns the rendering of a key, nil where there is none.
func (h *memo) take(key string) (*Rendering, []doc.Error) {
	if h == nil {
		return nil, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	one := h.byKey[key]
	delete(h.byKey, key)
	return one.rendering, one.problems
}
