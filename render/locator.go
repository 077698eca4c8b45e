package render

import (
	"context"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/roots"
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
	if r.locator == nil {
		return origin.Place{How: origin.Enclosing, Missing: pointer}
	}
	if r.found != nil {
		return r.found.place(pointer, r.locator.Locate)
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

// recalled are the fields of a resource whose rendering was recalled.
type recalled struct {
	again *again
	index int
}

// Locate implements Locator.
func (r recalled) Locate(pointer string) origin.Place {
	full, err := r.again.resource(r.index)
	if err != nil {
		return origin.Place{Path: r.again.root.Path, StartLine: 1, EndLine: 1, How: origin.Enclosing, Missing: pointer}
	}
	return full.Origin(pointer)
}

// again renders a root whose remembered rendering was recalled, when a place of one of its fields is asked for. It is
// part of that rendering, so it holds the context that it was recalled under.
type again struct {
	ctx       context.Context
	renderer  *Renderer
	root      roots.Root
	rendering *Rendering
}

// whole renders.
func (a *again) whole() error {
	if a.rendering != nil {
		return nil
	}
	out, problems, err := a.renderer.Fresh().Render(a.ctx, a.root)
	if err != nil {
		return err
	}
	if len(problems) > 0 && !out.Partial {
		return &problems[0]
	}
	a.rendering = out
	return nil
}

// Whole returns the rendering with all that is known of how it came about, for those who ask for most of its places: one
// that was recalled is rendered again. The error is about the repository or the context.
func (r *Rendering) Whole() (*Rendering, error) {
	if r.again == nil {
		return r, nil
	}
	err := r.again.whole()
	return r.again.rendering, err
}

func (a *again) notes(ctx context.Context) []doc.Error {
	if a.whole() != nil {
		return nil
	}
	return a.rendering.Notes(ctx)
}

// resource returns the rendered resource at an index.
func (a *again) resource(index int) (*Resource, error) {
	if err := a.whole(); err != nil {
		return nil, err
	}
	if index >= len(a.rendering.Resources) {
		return nil, &doc.Error{Path: a.root.Path, Message: "renders fewer resources than before"}
	}
	return a.rendering.Resources[index], nil
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
