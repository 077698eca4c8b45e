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

// Declared are the objects of one kind, whatever its group, that a target deploys.
type Declared struct {
	Objects []map[string]any `json:"objects"` // do not change them
	Digests []string         `json:"digests"` // of each: equal ones have the same; empty: JSON has no such value (.nan)
	Unsure  []string         `json:"unsure"`  // of each, why not all of it is known; empty: it is
	// Problem is what stood first in the way of rendering all of the root; nil: nothing did.
	Problem *doc.Error `json:"problem,omitempty"`
	// Last is the day of the rendering, where it is the last that is known; see LastOfKind.
	Last time.Time `json:"-"`
}

// KnownOfKind returns the objects of a kind that a target deploys, if that is known without rendering it.
func (r *Renderer) KnownOfKind(t Target, kind string) (Declared, bool) {
	if t.Kind == roots.Folder {
		return Declared{}, false
	}
	return env.Get[Declared](r.kept(), declaredTable, kind+" "+r.ownKey(t), asker{r, t})
}

// OfKind returns the objects of a kind that a target deploys. The target is rendered only if that is not known. The error is
// that of Render.
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
		env.Put(r.kept(), declaredTable, kind+" "+r.ownKey(t), out.askedWritten(r), found)
	}
	return found, nil
}

// Add adds an object, as a resource has it.
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
