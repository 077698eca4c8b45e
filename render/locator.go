package render

import (
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/origin"
)

// Locator returns the place that a person must edit to change the field at a JSON Pointer (RFC 6901), or the nearest
// place around it. The place is in the source files of the resource, or where a controller's change of the field is
// written. A locator may render again. It is not safe for concurrent use on resources of one rendering.
type Locator func(pointer string) origin.Place

// NewResource returns a resource that does not come from a rendering, with its issues.
func NewResource(object map[string]any, l Locator, issues ...Issue) *Resource {
	return &Resource{Object: object, Issues: issues, locator: l}
}

// Origin returns the place of a field of the resource: see Locator. A resource without a locator has no places.
func (r *Resource) Origin(pointer string) origin.Place {
	switch {
	case r.in != nil:
		return r.in.of(r.index, pointer, r.locator)
	case r.locator == nil:
		return origin.Place{How: origin.Enclosing, Missing: pointer}
	}
	return r.locator(pointer)
}

// through applies a function to every place that the resource's locator returns.
func (r *Resource) through(to func(origin.Place) origin.Place) {
	before := r.locator
	r.locator = func(pointer string) origin.Place { return to(before(pointer)) }
}

// Whole returns the rendering with the data that locators need. It renders again if the rendering came from the cache.
// It is for callers that need most places. The error is about the repository or the context.
func (r *Rendering) Whole() (*Rendering, error) {
	if r.whole == nil {
		return r, nil
	}
	return r.whole()
}

// written returns the place of a field after a controller changed some fields. own is its place before that, and file
// returns a file of the repository.
func written(writes []gitops.Write, file sources, pointer string, own origin.Place) origin.Place {
	var by *gitops.Write
	for i, w := range writes {
		if pointer == w.Pointer || strings.HasPrefix(pointer, w.Pointer+"/") {
			by = &writes[i]
		}
	}
	if by == nil || len(by.By) == 0 {
		return own
	}
	links := make([]origin.Link, len(by.By))
	for i, at := range by.By {
		links[i] = origin.Link{Path: at.Path, StartLine: max(1, at.Line), EndLine: max(at.Line, at.EndLine, 1), Role: by.Role}
	}
	own.Spans = nil
	of := func(at gitops.Position) origin.Place {
		place := origin.Place{Path: at.Path, StartLine: max(1, at.Line), EndLine: max(at.Line, at.EndLine, 1),
			How: origin.Writer, Role: by.Role}
		if at.Column > 0 && place.EndLine == place.StartLine {
			if p, ok := file(at.Path).Entry(at.Line, at.Column, ""); ok && p.StartLine == at.Line {
				place.StartColumn, place.EndColumn = p.StartColumn, p.EndColumn
			}
		}
		if own.Missing == "" { // it replaced a value
			place.Chain = append([]origin.Link{{Path: own.Path, StartLine: own.StartLine, EndLine: own.EndLine, Role: own.Role}},
				own.Chain...)
		}
		return place
	}
	if !by.Partly {
		return of(by.By[0])
	}
	place := own
	place.Chain = append(links, own.Chain...)
	for _, p := range by.Parts {
		place.Spans = append(place.Spans, origin.Span{From: p.From, To: p.To, Place: of(p.By)})
	}
	return place
}

// sources returns a parsed file of the repository; one that cannot be read is empty.
type sources func(name string) *origin.File

func (b *builder) sources() sources {
	var files parsedFiles
	return func(name string) *origin.File {
		return files.parsed(name, func() ([]byte, string, error) { return b.read(name) })
	}
}

// real converts a place in a kustomization that Lintel makes up into one that a person can edit. file returns a file of
// the repository.
func real(v *gitops.Virtual, file sources, p origin.Place) origin.Place {
	lines := func(start, end gitops.Position) (from, to int) {
		from, to = max(1, start.Line), max(1, start.Line)
		if end.Path == start.Path {
			to = max(to, end.Line)
		}
		return from, to
	}
	if p.Path == v.Path {
		start, end := v.Place(p.StartLine, p.StartColumn), v.Place(p.EndLine, p.EndColumn)
		copied, at := v.Copied(p.StartLine)
		p.Path = start.Path
		p.StartLine, p.EndLine = lines(start, end)
		p.EndLine = max(p.EndLine, start.EndLine)
		switch {
		case copied != "" && p.StartColumn > 0 && p.StartLine == p.EndLine:
			p.StartColumn, p.EndColumn = file(p.Path).Columns(p.StartLine, at, copied, p.StartColumn, p.EndColumn)
		case start.Column == 0 || end.Column == 0:
			p.StartColumn, p.EndColumn = 0, 0
		}
	}
	p.Spans = slices.Clone(p.Spans)
	for i, s := range p.Spans {
		p.Spans[i].Place = real(v, file, s.Place)
	}
	p.Chain = slices.Clone(p.Chain)
	for i, l := range p.Chain {
		if l.Path == v.Path {
			start, end := v.Place(l.StartLine, 0), v.Place(l.EndLine, 0)
			p.Chain[i].Path = start.Path
			p.Chain[i].StartLine, p.Chain[i].EndLine = lines(start, end)
		}
	}
	return p
}
