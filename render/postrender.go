package render

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-openapi/jsonpointer"
	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/roots"
)

// printedFile is the file from which a post renderer reads the objects of a release. printedKustomization is its
// kustomization.
const (
	printedFile          = "helm-output.yaml"
	printedKustomization = "kustomization.yaml"
)

// postRender applies the post renderers of a release to its resources, in order. As in Flux, they do not see crds/, and
// see hooks as postRenderStrategy says (https://fluxcd.io/flux/components/helm/helmreleases/). If a build fails, there
// are no resources.
func (s *release) postRender(list []*Resource) (out []*Resource, problems []doc.Error) {
	if len(s.spec.PostRender) == 0 {
		return list, nil
	}
	var crds, objects, hooks []*Resource
	for _, res := range list {
		m := s.output.Manifests[res.manifest-1]
		switch {
		case m.CRD:
			crds = append(crds, res)
		case m.Hook && (!s.spec.PostRenderHooks || s.spec.HooksApart):
			hooks = append(hooks, res)
		default:
			objects = append(objects, res)
		}
	}
	var runs []postRun
	objects, problems = s.postRendered(objects, &runs)
	if s.spec.PostRenderHooks && s.spec.HooksApart && len(problems) == 0 {
		hooks, problems = s.postRendered(hooks, &runs)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	s.runs = runs
	return slices.Concat(crds, objects, hooks), nil
}

// postRun records the input of each post renderer in one run through all of them.
type postRun []postStep

// postStep is a post renderer and its input; nil: it had none.
type postStep struct {
	of      gitops.Overrides
	printed *printed
}

// postRendered applies all post renderers to resources, and adds the run to runs.
func (s *release) postRendered(list []*Resource, runs *[]postRun) ([]*Resource, []doc.Error) {
	var run postRun
	for _, o := range s.spec.PostRender {
		if len(list) == 0 {
			run = append(run, postStep{of: o})
			continue
		}
		p, err := newPrinted(list, s)
		if err != nil {
			return nil, []doc.Error{*err}
		}
		out, problems := p.through(&s.renderer.builder, o)
		if len(problems) > 0 {
			return nil, problems
		}
		run = append(run, postStep{o, p})
		list = out
	}
	*runs = append(*runs, run)
	return list, nil
}

// inactive lists the entries that match nothing in a run.
func (run postRun) inactive(b *builder) (list []gitops.Position) {
	for _, step := range run {
		if step.printed != nil {
			list = append(list, step.printed.inactive(b, step.of)...)
			continue
		}
		for _, e := range slices.Concat(step.of.Entries("patches"), step.of.Entries("images")) {
			list = append(list, e.Where)
		}
	}
	return list
}

// printed is a list of resources as a file that kustomize reads.
type printed struct {
	resources []*Resource
	text      strings.Builder
	starts    []int        // the first line of each document
	nodes     []*yaml.Node // of each resource, with lines of its document
	of        []int        // the document of each resource
	at        gitops.Position
}

// newPrinted writes resources to the file: as Helm printed them, or as kustomize prints what a post renderer made.
func newPrinted(list []*Resource, s *release) (*printed, *doc.Error) {
	p := &printed{resources: list}
	line, last := 1, -1
	add := func(text string) {
		text = "---\n" + strings.TrimSuffix(text, "\n") + "\n"
		p.starts = append(p.starts, line+1)
		line += strings.Count(text, "\n")
		p.text.WriteString(text)
	}
	for _, res := range list {
		node := res.node
		if res.manifest > 0 {
			if res.manifest != last { // several resources are from one manifest if it prints a list
				last = res.manifest
				add(s.output.Manifests[last-1].Text)
			}
		} else {
			data, err := nodeYAML(res.node)
			var documents []*yaml.Node
			if err == nil {
				documents, err = doc.Parse(printedFile, data, s.renderer.limits.Source)
			}
			if err != nil || len(documents) != 1 {
				at := s.spec.PostRender[0].Where()
				return nil, &doc.Error{Path: at.Path, Line: at.Line, Message: "postRenderers: what comes out cannot be printed"}
			}
			node = documents[0]
			add(string(data))
		}
		p.nodes, p.of = append(p.nodes, node), append(p.of, len(p.starts)-1)
	}
	return p, nil
}

// kustomizing returns a builder that sees only the resources, and the mount to which the caller adds a kustomization.
func (p *printed) kustomizing(b *builder) (*builder, *mount) {
	own := newBuilder(b.index, b.limits, &mounts{plain: true})
	m := own.mounts.mount(mountKey{}, func(m *mount) { m.inflated = &inflated{} })
	m.texts = map[string][]byte{printedFile: []byte(p.text.String())}
	return &own, m
}

// through applies one post renderer to the resources.
func (p *printed) through(b *builder, o gitops.Overrides) ([]*Resource, []doc.Error) {
	p.at = o.Where()
	own, m := p.kustomizing(b)
	virtual, err := o.Kustomization(path.Join(m.prefix, printedKustomization), printedFile)
	if err != nil {
		return nil, []doc.Error{p.problem(doc.Error{Message: "cannot be written as a kustomization"})}
	}
	m.texts[printedKustomization] = virtual.Data
	own.virtual = virtual
	out, problems := own.build(roots.Root{Path: m.prefix})
	for i, e := range problems {
		if e.Path != virtual.Path {
			e.Message = "what the chart prints: " + e.Message
			problems[i] = p.problem(e)
			continue
		}
		at := virtual.Place(e.Line, e.Column)
		problems[i] = doc.Error{Path: at.Path, Line: at.Line, Column: at.Column, Unknown: e.Unknown, Quotes: true,
			Message: "postRenderers: " + e.Message}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	for _, res := range out.Resources {
		res.through(p.before(m.prefix + "/" + printedFile))
	}
	return out.Resources, nil
}

// problem returns a problem of the post renderer as a whole.
func (p *printed) problem(e doc.Error) doc.Error {
	return doc.Error{Path: p.at.Path, Line: p.at.Line, Column: p.at.Column, Unknown: e.Unknown, Quotes: true,
		Message: "postRenderers: " + e.Message}
}

// Marks that entries leave where they match.
const (
	patchMark = "lintel-mark-"
	imageMark = "lintel.invalid/mark-"
)

// inactive lists the entries of a post renderer that match none of the resources. Patches without a target are skipped,
// because kustomize refuses them if they match nothing. Kustomize runs with marking entries in place of the real ones.
func (p *printed) inactive(b *builder, o gitops.Overrides) (list []gitops.Position) {
	patches, images := o.Entries("patches"), o.Entries("images")
	mark := func(i int) any {
		value, _ := patches[i].Value.(map[string]any)
		if value["target"] == nil {
			return nil
		}
		return map[string]any{"target": value["target"],
			"patch": fmt.Sprintf(`[{"op": "add", "path": "/%s%d", "value": ""}]`, patchMark, i)}
	}
	var marks, named []any
	for i := range patches {
		if one := mark(i); one != nil {
			marks = append(marks, one)
		}
	}
	for i, e := range images {
		value, _ := e.Value.(map[string]any)
		named = append(named, map[string]any{"name": value["name"], "newName": fmt.Sprint(imageMark, i), "newTag": "x"})
	}
	if len(marks)+len(named) == 0 {
		return nil
	}
	text, ok := p.marked(b, map[string]any{"patches": marks, "images": named})
	for i, e := range images {
		if ok && !strings.Contains(text, fmt.Sprint(imageMark, i, ":x")) {
			list = append(list, e.Where)
		}
	}
	for i, e := range patches {
		if !ok || mark(i) == nil || strings.Contains(text, fmt.Sprint(patchMark, i, ":")) {
			continue
		}
		before := []any{} // an earlier patch may create the match
		for _, other := range patches[:i] {
			before = append(before, other.Value)
		}
		again, ok := p.marked(b, map[string]any{"patches": append(before, mark(i))})
		if ok && !strings.Contains(again, fmt.Sprint(patchMark, i, ":")) {
			list = append(list, e.Where)
		}
	}
	return list
}

// marked returns the resources after the fields of a kustomization are applied.
func (p *printed) marked(b *builder, fields map[string]any) (string, bool) {
	fields["apiVersion"], fields["kind"] = "kustomize.config.k8s.io/v1beta1", "Kustomization"
	fields["resources"] = []any{printedFile}
	data, err := json.Marshal(fields)
	if err != nil {
		return "", false
	}
	own, m := p.kustomizing(b)
	m.texts[printedKustomization] = data
	nodes, err := own.plainly(roots.Root{Path: m.prefix}, false)
	if err != nil {
		return "", false
	}
	text, err := stream(nodes, nodeYAML)
	return string(text), err == nil
}

// before returns a function that converts a place in the input file of a post renderer into the place of that field
// before the post renderer ran. Other places are kept.
func (p *printed) before(file string) func(origin.Place) origin.Place {
	var place func(at origin.Place) origin.Place
	place = func(at origin.Place) origin.Place {
		var links []origin.Link
		for _, link := range at.Chain {
			if link.Path != file {
				links = append(links, link)
				continue
			}
			real := p.origin(link.StartLine, 0, "")
			links = append(append(links, origin.Link{Path: real.Path, StartLine: real.StartLine, EndLine: real.EndLine, Role: real.Role,
				Value: link.Value}), real.Chain...)
		}
		at.Spans = slices.Clone(at.Spans)
		for i, s := range at.Spans {
			at.Spans[i].Place = place(s.Place)
		}
		if at.Path != file {
			at.Chain = links
			return at
		}
		out := p.origin(at.StartLine, at.StartColumn, at.Missing)
		out.Chain = append(slices.Clip(out.Chain), links...)
		return out
	}
	return place
}

// origin returns the place of the field at a position of the printed file.
func (p *printed) origin(line, column int, missing string) origin.Place {
	k, found := slices.BinarySearch(p.starts, line)
	if !found {
		k--
	}
	best, at, pointer := -1, 0, ""
	for i, n := range p.nodes {
		if p.of[i] != k {
			continue
		}
		if here, inside, ok := nodeAt(n, line-p.starts[k]+1, column); best < 0 || ok && here > at {
			best, at, pointer = i, here, inside
		}
	}
	if best < 0 {
		return placeAt(p.at, "postRenderers")
	}
	return p.resources[best].Origin(pointer + missing)
}

// nodeAt returns the pointer of the last field that starts at or before a position, and its line. Column 0 is the end
// of the line.
func nodeAt(n *yaml.Node, line, column int) (at int, pointer string, ok bool) {
	before := func(n *yaml.Node) bool {
		return n.Line < line || n.Line == line && (column == 0 || n.Column <= column)
	}
	at, ok = n.Line, before(n)
	if !ok {
		return 0, "", false
	}
	enter := func(token string, start, value *yaml.Node) {
		if !before(start) || value.Kind == yaml.AliasNode {
			return
		}
		here, inside, ok := nodeAt(value, line, column)
		if !ok {
			here, inside = start.Line, ""
		}
		if here >= at {
			at, pointer = here, "/"+jsonpointer.Escape(token)+inside
		}
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			enter(n.Content[i].Value, n.Content[i], n.Content[i+1])
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			enter(strconv.Itoa(i), item, item)
		}
	}
	return at, pointer, true
}
