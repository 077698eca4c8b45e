package render

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-openapi/jsonpointer"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/roots"
)

// builtObjects are the objects of some kinds in a rendering.
type builtObjects struct {
	Objects []builtObject `json:"objects"`
	Whole   bool          `json:"whole"`
}

// builtObject is an object with its places. Most are never decoded, because what they deploy is cached, too.
type builtObject struct {
	Head   gitops.Head `json:"head"`
	Placed []byte      `json:"placed"` // placedObject
	Digest string      `json:"digest"` // of Placed
}

func (o builtObject) read(from string) gitops.Object {
	var placed placedObject
	env.Decode(o.Placed, &placed) // builtFrom encoded it
	return gitops.FromRoot(from, placed.Object, placed.where)
}

// Objects returns the objects of gitops.Kinds in the rendering of a target. from names the target in the places of what
// these objects deploy in turn (see gitops.FromRoot). whole is false where the target does not render completely. A
// rendering that was made for this is in the memo for the next request of the target.
func (r *Renderer) Objects(ctx context.Context, t Target, from string) (list []gitops.Object, whole bool) {
	key := r.ownKey(t)
	built, ok := env.Get[builtObjects](r.kept(), objectsTable, key, asker{r, t})
	if !ok {
		known := *r
		known.whatever = true // render what can be rendered, because the objects may want more sources
		out, problems, err := known.once(ctx, t, "")
		if err != nil {
			return nil, false
		}
		r.memo.put(r.ownKey(t), out, problems)
		deploying, context := gitops.Kinds()
		kinds := append(deploying, context...)
		built = builtObjects{Whole: !out.Partial && len(problems) == 0}
		for _, res := range out.Resources {
			if slices.Contains(kinds, res.kind()) {
				one, ok := builtFrom(res)
				if built.Whole = built.Whole && ok; ok {
					built.Objects = append(built.Objects, one)
				}
			}
		}
		if out.asked != nil {
			env.Put(r.kept(), objectsTable, key, r.askedWritten(out.target, out.asked), built)
		}
	}
	for _, o := range built.Objects {
		list = append(list, gitops.Later(o.Head, func() gitops.Object { return o.read(from) }).In(from).Identified(o.Digest))
	}
	return list, built.Whole
}

// placedObject is an object with the place of each of its fields.
type placedObject struct {
	Object map[string]any `json:"object"`
	Files  []string       `json:"files"`
	Places []int          `json:"places"` // four numbers per field, in the order of visit: index of the file, line, column, last line
}

// builtFrom returns the object of a resource with the place of each of its fields; false where it cannot be encoded.
func builtFrom(res *Resource) (builtObject, bool) {
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
	data := env.Encode(out)
	return builtObject{Head: gitops.FromRoot("", out.Object, out.where).Head, Placed: data, Digest: fmt.Sprintf("%x", sha256.Sum256(data))}, data != nil
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
	for key, value := range doc.Sorted(v) {
		visit(value, pointer+"/"+jsonpointer.Escape(key), depth+1, see)
	}
}

// Declared are the objects of one kind, in any group, that a target deploys.
type Declared struct {
	Objects []map[string]any `json:"objects"` // do not change them
	Digests []string         `json:"digests"` // of each object, equal for equal objects; empty: JSON cannot represent it (.nan)
	Unsure  []string         `json:"unsure"`  // of each object, why part of it is not known; empty: all is known
	// Problem is the first problem that kept part of the root from being rendered; nil: there was none.
	Problem *doc.Error `json:"problem,omitempty"`
	// Last is the day of the rendering, if LastOfKind returned it; else zero.
	Last time.Time `json:"-"`
}

// declares is what a target deploys of the kinds that were asked for so far.
type declares struct {
	Kinds   []string          `json:"kinds"` // of all its objects
	Of      map[string][]byte `json:"of"`    // by kind, encoded: Declared
	Problem *doc.Error        `json:"problem,omitempty"`
}

// kind returns the objects of a kind; false where nobody asked for them.
func (d declares) kind(kind string) (found Declared, ok bool) {
	if !slices.Contains(d.Kinds, kind) {
		return Declared{Problem: d.Problem}, true
	}
	data, ok := d.Of[kind]
	return found, ok && env.Decode(data, &found)
}

// KnownOfKind returns the objects of a kind that a target deploys, if the cache has them.
func (r *Renderer) KnownOfKind(t Target, kind string) (found Declared, ok bool) {
	if known, has := r.declares(t); has {
		return known.kind(kind)
	}
	return Declared{}, false
}

func (r *Renderer) declares(t Target) (declares, bool) {
	if t.Kind == roots.Folder {
		return declares{}, false
	}
	return env.Get[declares](r.kept(), declaredTable, r.ownKey(t), asker{r, t})
}

// OfKind returns the objects of a kind that a target deploys. It renders the target only if the cache has no answer.
// The error is that of Render.
func (r *Renderer) OfKind(ctx context.Context, t Target, kind string) (Declared, error) {
	known, ok := r.declares(t)
	if found, has := known.kind(kind); ok && has {
		return found, nil
	}
	out, problems := r.recall(ctx, t, kind)
	if out == nil {
		var err error
		if out, problems, err = r.Render(ctx, t); err != nil {
			return Declared{}, err
		}
	}
	found := Declared{}
	if problems = append(problems, out.Broken()...); len(problems) > 0 {
		found.Problem = &problems[0]
	}
	for _, res := range out.Resources {
		if res.kind() == kind {
			found.Add(res)
		}
	}
	if out.asked != nil {
		of := map[string][]byte{kind: env.Encode(found)}
		maps.Copy(of, known.Of)
		env.Put(r.kept(), declaredTable, r.ownKey(t), r.askedWritten(out.target, out.asked), declares{out.kinds(), of, found.Problem})
	}
	return found, nil
}

// Add adds the object of a resource.
func (d *Declared) Add(res *Resource) {
	digest, unsure := "", ""
	if data, err := json.Marshal(res.Object); err == nil {
		sum := sha256.Sum256(data)
		digest = hex.EncodeToString(sum[:16])
	}
	if i := slices.IndexFunc(res.Issues, func(i Issue) bool { return i.Value }); i >= 0 {
		unsure = res.Issues[i].Message
	}
	d.Objects, d.Digests, d.Unsure = append(d.Objects, res.Object), append(d.Digests, digest), append(d.Unsure, unsure)
}

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
