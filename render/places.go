package render

import (
	"strconv"

	"github.com/go-openapi/jsonpointer"

	"github.com/lintel-bot/lintel/render/gitops"
)

// places returns where the fields of a resource are written, by JSON Pointer (RFC 6901).
func places(res *Resource) map[string]gitops.Position {
	found := map[string]gitops.Position{}
	locateAll(res, res.Object, "", found, 0)
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
