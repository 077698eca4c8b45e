package render

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/roots"
)

// A remote source may be unavailable: a registry does not answer, or a version was not fetched. The last complete
// rendering of a target on the base branch then shows what it most likely deploys. It answers look-ups, but no target
// is judged by it.

// lastTable maps a target, without the versions of its remote sources, to its last complete rendering.
var lastTable = env.Table{Name: "last"}

// lastRendering refers to a rendering in the renderingTable.
type lastRendering struct {
	Key string    `json:"key"`
	At  time.Time `json:"at"` // the day on which a check last saw it
	// Sources are the digests of its remote sources, by the question for each.
	Sources map[string]string `json:"sources"`
}

// LastDigest returns a digest of everything that LastOfKind reads.
func (c *Cache) LastDigest() string { return c.Memory().Digest(lastTable) }

// lastKey is the key of the last rendering of a target.
func (r *Renderer) lastKey(t Target) string {
	if t.By != nil {
		t.Digest = t.By.Unversioned() + strings.TrimPrefix(t.Digest, t.By.Digest())
	}
	return r.ownKey(t)
}

// keepLast records a complete rendering of a target of the base branch as its last one.
func (r *Renderer) keepLast(out *Rendering) {
	if r.branch.IsZero() || len(out.wants) == 0 || out.asked == nil || r.kept() == nil || r.kept().Disk == nil {
		return
	}
	key, now := r.lastKey(out.target), lastRendering{r.key(out.target), r.branch.UTC().Truncate(24 * time.Hour), map[string]string{}}
	for q, digest := range out.asked {
		if q.Kind == env.Source {
			now.Sources[q.Name] = digest
		}
	}
	if before, ok := env.Get[lastRendering](r.kept(), lastTable, key, nil); !ok || !reflect.DeepEqual(before, now) {
		env.Put(r.kept(), lastTable, key, nil, now)
	}
}

// LastOfKind returns the objects of a kind in the last complete rendering of a target of the base branch, with its day.
// If a remote source is unavailable now, that rendering may have used another version of it. Everything else that it
// depends on must be unchanged. ok is false where no such rendering is cached.
func (r *Renderer) LastOfKind(t Target, kind string) (found Declared, ok bool) {
	if r.branch.IsZero() || t.Kind == roots.Folder || r.kept() == nil || r.kept().Disk == nil {
		return Declared{}, false
	}
	last, ok := env.Get[lastRendering](r.kept(), lastTable, r.lastKey(t), nil)
	if !ok {
		return Declared{}, false
	}
	k, ok := env.Get[remembered](r.kept(), renderingTable, last.Key, lastAsker{asker{r, t}, last})
	if !ok || k.Partial || len(k.Problems) > 0 {
		return Declared{}, false
	}
	found.Last = last.At
	for i, object := range k.Objects {
		if object["kind"] == kind {
			found.Add(&Resource{Object: object, Issues: k.Issues[i]})
		}
	}
	return found, true
}

// lastAsker answers like asker, except that an unavailable remote source has the digest that it had at the last
// rendering.
type lastAsker struct {
	asker
	last lastRendering
}

// Answer implements env.Answerer.
func (a lastAsker) Answer(q env.Question) string {
	switch q.Kind {
	case env.Source:
		var want remote.Want
		if json.Unmarshal([]byte(q.Name), &want) == nil && a.mounts.sources.Lacks(want) {
			return a.last.Sources[q.Name]
		}
	case env.Deployed: // the version of a remote source does not count
		return a.last.Key
	}
	return a.asker.Answer(q)
}
