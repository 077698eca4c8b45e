package render

import (
	"maps"
	"slices"
	"strconv"

	"github.com/go-openapi/jsonpointer"

	"github.com/lintel-bot/lintel/render/gitops"
)

// placedObject is an object with where each of its fields is written.
type placedObject struct {
	Object map[string]any `json:"object"`
	Files  []string       `json:"files"`
	Places []int          `json:"places"` // of each field, in the order of visit: the index of its file, line, column, last line
}

// withPlaces returns the object of a resource with where its fields are written.
func withPlaces(res *Resource) placedObject {
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
	return out
}

// where returns where a field is written, by its number in the order of visit.
func (o placedObject) where(nth int) (at gitops.Position) {
	if i := 4 * nth; i+4 <= len(o.Places) && o.Places[i] < len(o.Files) {
		at = gitops.Position{Path: o.Files[o.Places[i]], Line: o.Places[i+1], Column: o.Places[i+2], EndLine: o.Places[i+3]}
	}
	return at
}

// visit calls see for a value and what is in it, in the order of its keys, as deep as gitops.FromRoot looks.
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
