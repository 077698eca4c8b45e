package render

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/origin"
)

// Locator knows where the fields of one resource are written: in the sources that it was built from, in what a
// controller wrote after that, or by rendering again.
type Locator interface {
	// Locate returns the place a person must edit to change the field at a JSON Pointer (RFC 6901), or the nearest
	// place around it. It is not safe for concurrent use on resources of one rendering.
	Locate(pointer string) origin.Place
}

// NewResource returns an object that no rendering made, with what is wrong with it.
func NewResource(object map[string]any, l Locator, issues ...Issue) *Resource {
	return &Resource{Object: object, Issues: issues, locator: l}
}

// Origin returns the place of a field of the resource: see Locator. What no rendering made has none.
func (r *Resource) Origin(pointer string) origin.Place {
	switch {
	case r.in != nil:
		return r.in.of(r.index, pointer, r.locator)
	case r.locator == nil:
		return origin.Place{How: origin.Enclosing, Missing: pointer}
	}
	return r.locator.Locate(pointer)
}

// written are the fields of a resource in the sources of a kustomize build (origin.Build), or in a file that is
// deployed as it is (origin.File).
type written struct {
	sources interface {
		Locate(resource *yaml.Node, pointer string) origin.Place
	}
	node *yaml.Node
}

// Locate implements Locator.
func (w written) Locate(pointer string) origin.Place { return w.sources.Locate(w.node, pointer) }

// Whole returns the rendering with all that is known of how it came about, for those who ask for most of its places: one
// that was recalled is rendered again. The error is about the repository or the context.
func (r *Rendering) Whole() (*Rendering, error) {
	if r.whole == nil {
		return r, nil
	}
	return r.whole()
}

// finished are the fields of a resource after a controller finished what was built.
type finished struct {
	before  Locator
	writes  []gitops.Write
	virtual *gitops.Virtual // the kustomization that was built in place of the folder's own
}

// Locate implements Locator.
func (f finished) Locate(pointer string) origin.Place {
	var by *gitops.Write
	for i, w := range f.writes {
		if pointer == w.Pointer || strings.HasPrefix(pointer, w.Pointer+"/") {
			by = &f.writes[i]
		}
	}
	own := f.real(f.before.Locate(pointer))
	if by == nil || len(by.By) == 0 {
		return own
	}
	links := make([]origin.Link, len(by.By))
	for i, at := range by.By {
		links[i] = origin.Link{Path: at.Path, StartLine: max(1, at.Line), EndLine: max(at.Line, at.EndLine, 1), Role: by.Role}
	}
	own.Spans = nil
	if by.Partly {
		own.Chain = append(links, own.Chain...)
		return own
	}
	place := origin.Place{Path: links[0].Path, StartLine: links[0].StartLine, EndLine: links[0].EndLine,
		How: origin.Writer, Role: by.Role}
	if own.Missing == "" { // it replaced something
		place.Chain = append([]origin.Link{{Path: own.Path, StartLine: own.StartLine, EndLine: own.EndLine, Role: own.Role}},
			own.Chain...)
	}
	return place
}

// real turns a place in the kustomization that was built into one that a person can edit.
func (f finished) real(p origin.Place) origin.Place {
	if f.virtual == nil {
		return p
	}
	if p.Path == f.virtual.Path {
		start, end := f.virtual.Place(p.StartLine, p.StartColumn), f.virtual.Place(p.EndLine, p.EndColumn)
		p.Path, p.StartLine, p.EndLine = start.Path, max(1, start.Line), max(1, start.Line, start.EndLine)
		if end.Path == start.Path {
			p.EndLine = max(p.EndLine, end.Line)
		}
		if start.Column == 0 || end.Column == 0 {
			p.StartColumn, p.EndColumn = 0, 0
		}
	}
	p.Spans = slices.Clone(p.Spans)
	for i, s := range p.Spans {
		p.Spans[i].Place = f.real(s.Place)
	}
	p.Chain = slices.Clone(p.Chain)
	for i, l := range p.Chain {
		if l.Path == f.virtual.Path {
			start, end := f.virtual.Place(l.StartLine, 0), f.virtual.Place(l.EndLine, 0)
			p.Chain[i].Path, p.Chain[i].StartLine, p.Chain[i].EndLine = start.Path, max(1, start.Line), max(1, start.Line)
			if end.Path == start.Path {
				p.Chain[i].EndLine = max(start.Line, end.Line)
			}
		}
	}
	return p
}
