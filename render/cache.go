package render

import (
	"context"
	"encoding/json"
	"hash/crc32"
	"strings"
	"sync"

	kjson "sigs.k8s.io/json"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/helm"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/roots"
)

// Cache is where answers about renderings are kept from one check to the next, each for as long as all that it rests on is
// the same (see env.Memory). It is safe for concurrent use.
type Cache struct {
	Disk       *env.Disk // nil: only in the process, and no renderings
	Repository string    // tells repositories apart, so that they do not push out each other's answers

	charts charts

	busy [64]sync.Mutex // see lock

	once   sync.Once
	memory *env.Memory
}

// Memory is what was worked out about the renderings, and about the repository; nil of a nil cache.
func (c *Cache) Memory() *env.Memory {
	if c == nil {
		return nil
	}
	c.once.Do(func() { c.memory = &env.Memory{Disk: c.Disk, Scope: c.Repository} })
	return c.memory
}

// Save writes to disk what was worked out about the renderings. It is for the end of a check.
func (c *Cache) Save() { c.Memory().Save() }

// lock locks what has a key while it is rendered and kept, so that it is not rendered twice at the same time, and returns
// what unlocks it. Others may wait, too.
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

// kept returns where answers are kept, nil where there is no such place, and where other contents of files are seen than
// those of the tree.
func (r *Renderer) kept() *env.Memory {
	if len(r.overlay) > 0 {
		return nil
	}
	return r.cache.Memory()
}

// asker answers the questions that an answer about a target rests on.
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
			_, _ = a.mounts.sources.Get(want) // it is wanted again
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
		return a.target.written(a.tree)
	}
	return env.Of(a.tree, q)
}

// asked returns the questions that a rendering rests on; nil where what it lacks may come without another answer to any, and
// where nobody needs to know: a folder of manifests is read as fast as what it rests on.
func (r *Renderer) asked(out *Rendering) env.Asked {
	if out.links == nil || out.Root.Kind == roots.Folder || len(r.overlay) > 0 {
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
		data, err := json.Marshal(name)
		if err != nil {
			return // names are texts and numbers
		}
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

// Same reports whether a target, as another renderer sees it, would come to this rendering, since all that it rests on is the
// same. It is not said of plain folders, nor of what lacks something that may come without a change of what was read.
func (r *Rendering) Same(other *Renderer, target Target) bool {
	return r.asked != nil && r.asked.Same(asker{other, target})
}

// remembered is a rendering as it is kept.
type remembered struct {
	Objects  []map[string]any        `json:"objects"`
	Issues   map[int][]Issue         `json:"issues,omitempty"` // by the index of the resource
	Made     map[int]json.RawMessage `json:"made,omitempty"`   // likewise, objects as Helm printed them, where that is not the same
	Noted    bool                    `json:"noted,omitempty"`  // there is something to say: see Rendering.Notes
	Partial  bool                    `json:"partial,omitempty"`
	Problems []doc.Error             `json:"problems,omitempty"` // of a partial one
	Wants    []placedWant            `json:"wants,omitempty"`    // those that a line of the repository asks for
}

// recall returns the rendering of a target that is kept; nil where there is none.
func (r *Renderer) recall(ctx context.Context, t Target) (*Rendering, []doc.Error) {
	k, asked, ok := env.GetAsked[remembered](r.kept(), renderingTable, r.key(t), asker{r, t})
	if !ok {
		return nil, nil
	}
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
	for i, object := range k.Objects {
		one := &Resource{Object: object, Issues: k.Issues[i]}
		if data, ok := k.Made[i]; ok {
			one.made = sync.OnceValue(func() (made map[string]any) {
				_ = kjson.UnmarshalCaseSensitivePreserveInts(data, &made) // it is sealed, so it can be read
				return made
			})
		}
		out.Resources = append(out.Resources, one)
	}
	again := sync.OnceValues(func() (*Rendering, error) { return r.again(ctx, t) })
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
	return out, k.Problems
}

// again renders a target whose rendering was recalled, for whoever asks for places.
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

// remember keeps a rendering. Of a partial one, no problem may go away without a change of what it rests on.
func (r *Renderer) remember(out *Rendering, problems []doc.Error) {
	if out.asked = r.asked(out); out.asked == nil || r.fresh || r.kept() == nil {
		return
	}
	r.placed(out)
	r.keepNotes(out)
	if r.kept().Disk == nil {
		return
	}
	k := remembered{Noted: out.notes != nil, Issues: map[int][]Issue{}, Made: map[int]json.RawMessage{}, Partial: out.Partial,
		Problems: problems, Objects: make([]map[string]any, len(out.Resources)), Wants: out.wants.placed()}
	for i, res := range out.Resources {
		k.Objects[i] = res.Object
		if len(res.Issues) > 0 {
			k.Issues[i] = res.Issues
		}
		if res.made != nil {
			data, err := json.Marshal(res.made())
			if err != nil {
				return
			}
			k.Made[i] = data
		}
	}
	asked := out.asked
	if len(problems) > 0 {
		asked = out.askedWritten(r) // where they stand counts
	}
	env.Put(r.kept(), renderingTable, r.key(out.target), asked, k)
}

// askedWritten are the questions of a rendering, and of where its fields are written.
func (r *Rendering) askedWritten(by *Renderer) env.Asked {
	asked := env.Asked{{Kind: env.Written}: r.target.written(by.tree)}
	for q, answer := range r.asked {
		asked[q] = answer
	}
	return asked
}

// Cached returns the text that was kept under a name of what a target comes to, for the same places; false where none is.
func (r *Renderer) Cached(t Target, name string) (text []byte, ok bool) {
	return env.Get[[]byte](r.kept(), printedTable, name+" "+r.ownKey(t), asker{r, t})
}

// CacheText keeps a text that follows from a rendering and its places and from nothing else, where the rendering is kept.
func (r *Renderer) CacheText(out *Rendering, name string, text []byte) {
	if out.asked != nil {
		env.Put(r.kept(), printedTable, name+" "+r.ownKey(out.target), out.askedWritten(r), text)
	}
}

// memo has the renderings that were made to find out what the objects in them deploy. The next request of a target takes
// its rendering out. The nil memo is empty.
type memo struct {
	mu    sync.Mutex
	byKey map[string]memoEntry
}

type memoEntry struct {
	rendering *Rendering
	problems  []doc.Error
}

// maxMemo is how many it has: with their nodes they take much room.
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

// take returns the rendering of a key, nil where there is none.
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
