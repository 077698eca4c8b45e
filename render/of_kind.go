package render

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/roots"
)

// Declared are the objects of one kind, whatever its group, that a root deploys.
type Declared struct {
	Objects []map[string]any `json:"objects"` // do not change them
	Digests []string         `json:"digests"` // of each: equal ones have the same; empty: JSON has no such value (.nan)
	// Problem is what stood first in the way of rendering all of the root; nil: nothing did.
	Problem *doc.Error `json:"problem,omitempty"`
}

// OfKind returns the objects of a kind that a root deploys. The root is rendered only if that is not known. The error is
// that of Render.
func (r *Renderer) OfKind(ctx context.Context, root roots.Root, kind string) (Declared, error) {
	key := r.memoryKey(root, kind)
	if root.Kind != roots.Folder {
		r.askClusters(root)
		if known, ok := env.Find[Declared](r.answersKept(), "declared", key, r); ok {
			return known, nil
		}
	}
	out, problems, err := r.Render(ctx, root)
	if err != nil {
		return Declared{}, err
	}
	found := Declared{}
	if problems = append(problems, out.Broken()...); len(problems) > 0 {
		found.Problem = &problems[0]
	}
	for _, res := range out.Resources {
		if res.Object["kind"] == kind {
			found.Add(res.Object)
		}
	}
	if asked, ok := r.asked(out); ok {
		env.Keep(r.answersKept(), "declared", key, asked, found)
	}
	return found, nil
}

// Add adds an object.
func (d *Declared) Add(object map[string]any) {
	digest := ""
	if data, err := json.Marshal(object); err == nil {
		sum := sha256.Sum256(data)
		digest = hex.EncodeToString(sum[:16])
	}
	d.Objects, d.Digests = append(d.Objects, object), append(d.Digests, digest)
}
