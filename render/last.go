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

// What comes from outside cannot always be had: a registry does not answer, or a version was not fetched. What a target of
// the base branch came to when it could be had the last time says what it most likely deploys now. No target is judged by
// that, but it answers look-ups.

// lastTable has, by how a target is deployed in any version of what it takes from outside, what it came to the last time.
var lastTable = env.Table{Name: "last"}

// lastRendering is one that is kept in the renderingTable.
type lastRendering struct {
	Key string    `json:"key"`
	At  time.Time `json:"at"` // when a check last saw it, to the day
	// Sources are the digests of what it took from outside, by the question for it.
	Sources map[string]string `json:"sources"`
}

// LastDigest distinguishes what LastOfKind rests on.
func (c *Cache) LastDigest() string { return c.Memory().Digest(lastTable) }

// lastKey is the key of the last rendering of a target.
func (r *Renderer) lastKey(t Target) string {
	if t.By != nil {
		t.Digest = t.By.Unversioned() + strings.TrimPrefix(t.Digest, t.By.Digest())
	}
	return r.ownKey(t)
}

// keepLast keeps which rendering of a target of the base branch is the last that is whole.
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

// LastOfKind returns the objects of a kind that a target of the base branch deployed when what it takes from outside could
// be had the last time, and on which day that was: of another version where there is nothing of this one. Everything else
// that the rendering rests on is the same now. ok is false where no such rendering is kept.
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

// lastAsker answers as it was at the last rendering where something cannot be had from outside now.
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
	case env.Deployed: // in whatever version
		return a.last.Key
	}
	return a.asker.Answer(q)
}
