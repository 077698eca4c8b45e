package render

import (
	"slices"
	"strconv"

	"github.com/go-openapi/jsonpointer"

	"github.com/lintel-bot/lintel/render/gitops"
)

// places are where the fields of resources are written that Argo CD and Flux look at: by the index of the resource
// among those of a rendering, and by JSON Pointer (RFC 6901). What these objects deploy is asked for in every check,
// so a rendering that is remembered knows them.
type places map[int]map[string]gitops.Position

// places returns the places of a resource.
func (out *Rendering) places(i int) map[string]gitops.Position {
	if out.located != nil {
		if known, ok := out.located()[i]; ok {
			return known
		}
	}
	found := map[string]gitops.Position{}
	locateAll(out.Resources[i], out.Resources[i].Object, "", found, 0)
	return found
}

// placesToRemember returns the places that somebody may ask for. Most repositories have many ConfigMaps, and none that
// Flux takes variables from.
func (r *Renderer) placesToRemember(out *Rendering) places {
	kinds := slices.Concat(gitops.Kinds())
	if !r.set.Substitutes() {
		kinds = slices.DeleteFunc(kinds, func(kind string) bool { return kind == "ConfigMap" })
	}
	found := places{}
	for i, res := range out.Resources {
		if kind, _ := res.Object["kind"].(string); slices.Contains(kinds, kind) {
			found[i] = out.places(i)
		}
	}
	return found
}

// locateAll finds the places of a value of a resource and of what is in it, as deep as anybody looks.
func locateAll(res *Resource, v any, pointer string, found map[string]gitops.Position, depth int) {
	p := res.Origin(pointer)
	found[pointer] = gitops.Position{Path: p.Path, Line: p.StartLine, Column: p.StartColumn, EndLine: p.EndLine}
	if depth > gitops.MaxDepth {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for k, value := range v {
			locateAll(res, value, pointer+"/"+jsonpointer.Escape(k), found, depth+1)
		}
	case []any:
		for i, value := range v {
			locateAll(res, value, pointer+"/"+strconv.Itoa(i), found, depth+1)
		}
	}
}
