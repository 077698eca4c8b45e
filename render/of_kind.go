package render

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/roots"
)

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
