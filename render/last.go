package render

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/kustomization"
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
	// Sources are the digests of its remote sources, by the question for each. Files are the kustomization files that
	// name versions of such sources, by path.
	Sources map[string]string        `json:"sources"`
	Files   map[string]versionedFile `json:"files,omitempty"`
}

// versionedFile is the content of a file that names versions: its object id, and its digest without the versions.
type versionedFile struct{ Content, Without string }

// versions matches what chooses the version of a remote base or chart in a kustomization.
var versions = regexp.MustCompile(`([?&](?:ref|version)=|\bversion"?:\s*)[^\s&,}]+`)

// withoutVersions returns a digest of a kustomization that is the same for other versions of its remote sources.
func withoutVersions(data []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(versions.ReplaceAll(data, []byte("$1"))))
}

// LastDigest returns a digest of everything that LastOfKind reads.
func (c *Cache) LastDigest() string { return c.Memory().Digest(lastTable) }

// lastKey is the key of the last rendering of a target.
func (r *Renderer) lastKey(t Target) string {
	if t.By != nil {
		rest := strings.TrimPrefix(t.Digest, t.By.Digest())
		if t.By.Virtual != nil {
			rest = withoutVersions(t.By.Virtual.Data)
		}
		t.Digest = t.By.Unversioned() + rest
	}
	return r.ownKey(t)
}

// keepLast records a complete rendering of a target of the base branch as its last one.
func (r *Renderer) keepLast(out *Rendering) {
	if r.branch.IsZero() || len(out.wants) == 0 || out.asked == nil || r.kept() == nil || r.kept().Disk == nil {
		return
	}
	key, now := r.lastKey(out.target), lastRendering{Key: r.key(out.target), At: r.branch.UTC().Truncate(24 * time.Hour),
		Sources: map[string]string{}, Files: map[string]versionedFile{}}
	for q, digest := range out.asked {
		switch {
		case q.Kind == env.Source:
			now.Sources[q.Name] = digest
		case q.Kind == env.Content && kustomization.IsFileName(q.Name):
			if data, _, err := r.tree.ReadFile(q.Name); err == nil && versions.Match(data) {
				now.Files[q.Name] = versionedFile{digest, withoutVersions(data)}
			}
		}
	}
	if before, ok := env.Get[lastRendering](r.kept(), lastTable, key, nil); !ok || !reflect.DeepEqual(before, now) {
		env.Put(r.kept(), lastTable, key, nil, now)
	}
}

// LastOfKind returns the objects of a kind in the last complete rendering of a target of the base branch, with its day.
// That rendering may have used other versions of the target's remote sources, since one of them is unavailable now.
// Everything else that it depends on must be unchanged. ok is false where no such rendering is cached.
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
	for i := range k.Objects {
		if k.Kinds[i] == kind {
			found.Add(&Resource{Object: k.object(i), Issues: k.Issues[i]})
		}
	}
	return found, true
}

// lastAsker answers like asker, except that remote sources, and what chooses their versions, are as they were at the
// last rendering.
type lastAsker struct {
	asker
	last lastRendering
}

// Answer implements env.Answerer.
func (a lastAsker) Answer(q env.Question) string {
	switch q.Kind {
	case env.Source:
		return a.last.Sources[q.Name]
	case env.Content:
		if f, ok := a.last.Files[q.Name]; ok {
			if data, _, err := a.tree.ReadFile(q.Name); err == nil && withoutVersions(data) == f.Without {
				return f.Content
			}
		}
	case env.Deployed: // the version of a remote source does not count
		return a.last.Key
	}
	return a.asker.Answer(q)
}
