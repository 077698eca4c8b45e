package render

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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

// KnownOfKind returns the objects of a kind that a target deploys, if the cache has them.
func (r *Renderer) KnownOfKind(t Target, kind string) (Declared, bool) {
	if t.Kind == roots.Folder {
		return Declared{}, false
	}
	return env.Get[Declared](r.kept(), declaredTable, kind+" "+r.ownKey(t), asker{r, t})
}

// OfKind returns the objects of a kind that a target deploys. It renders the target only if the cache has no answer.
// The error is that of Render.
func (r *Renderer) OfKind(ctx context.Context, t Target, kind string) (Declared, error) {
	if known, ok := r.KnownOfKind(t, kind); ok {
		return known, nil
	}
	out, problems, err := r.Render(ctx, t)
	if err != nil {
		return Declared{}, err
	}
	found := Declared{}
	if problems = append(problems, out.Broken()...); len(problems) > 0 {
		found.Problem = &problems[0]
	}
	for _, res := range out.Resources {
		if res.Object["kind"] == kind {
			found.Add(res)
		}
	}
	if out.asked != nil {
		env.Put(r.kept(), declaredTable, kind+" "+r.ownKey(t), r.askedWritten(out.target, out.asked), found)
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
