package render

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-openapi/jsonpointer"

	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/gitops"
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

// Objects returns the objects of some kinds in the rendering of a target. from names the target in the places of what
// these objects deploy in turn (see gitops.FromRoot). whole is false where the target does not render completely. A
// rendering that was made for this is in the memo for the next request of the target.
func (r *Renderer) Objects(ctx context.Context, t Target, from string, kinds []string) (list []gitops.Object, whole bool) {
	key := strings.Join(kinds, " ") + " " + r.ownKey(t)
	built, ok := env.Get[builtObjects](r.kept(), objectsTable, key, asker{r, t})
	if !ok {
		known := *r
		known.whatever = true // render what can be rendered, because the objects may want more sources
		out, problems, err := known.once(ctx, t)
		if err != nil {
			return nil, false
		}
		r.memo.put(r.ownKey(t), out, problems)
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
	sum := sha256.Sum256(data)
	return builtObject{Head: gitops.FromRoot("", out.Object, out.where).Head, Placed: data, Digest: hex.EncodeToString(sum[:])}, data != nil
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
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			visit(v[k], pointer+"/"+jsonpointer.Escape(k), depth+1, see)
		}
	case []any:
		for i, value := range v {
			visit(value, pointer+"/"+strconv.Itoa(i), depth+1, see)
		}
	}
}
