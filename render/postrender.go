package render

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-openapi/jsonpointer"
	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

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

// postRun records what each post renderer did in one run through all of them.
type postRun []postStep

// postStep is a post renderer with its input; nil: it had none.
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

// inactive lists the entries of a post renderer that match nothing. Patches without a target are skipped, because
// kustomize refuses them if they match nothing.
func (step postStep) inactive(b *builder) (list []gitops.Position) {
	patches, images := step.of.Entries("patches"), step.of.Entries("images")
	if step.printed == nil {
		for _, e := range slices.Concat(patches, images) {
			list = append(list, e.Where)
		}
		return list
	}
	own, virtual, err := step.printed.kustomizing(b, step.of)
	if err != nil {
		return nil
	}
	f, err := own.kustomization(path.Dir(virtual.Path))
	l := &layered{file: f}
	if err != nil || sigsyaml.Unmarshal(virtual.Data, &l.fields) != nil {
		return nil
	}
	l.choose()
	signs := (&rebuilder{builder: own}).matchless(l, nil, true)
	for _, c := range l.choices {
		switch {
		case !signs[c.sign]:
		case c.field == "patches" && c.index < len(patches):
			list = append(list, patches[c.index].Where)
		case c.field == "images": // entries with one name are one
			for _, e := range images {
				if value, _ := e.Value.(map[string]any); value["name"] == c.at.Value {
					list = append(list, e.Where)
				}
			}
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
	p := &printed{resources: list, at: s.spec.Chart.Where}
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
				at := cmp.Or(s.spec.PostRender[0].Where(), p.at)
				return nil, &doc.Error{Path: at.Path, Line: at.Line, Message: "postRenderers: what comes out cannot be printed"}
			}
			node = documents[0]
			add(string(data))
		}
		p.nodes, p.of = append(p.nodes, node), append(p.of, len(p.starts)-1)
	}
	return p, nil
}

// kustomizing returns a builder that sees only the resources and the kustomization of a post renderer.
func (p *printed) kustomizing(b *builder, o gitops.Overrides) (*builder, *gitops.Virtual, error) {
	own := newBuilder(b.index, b.limits, &mounts{plain: true})
	m := own.mounts.mount(mountKey{}, func(m *mount) { m.inflated = &inflated{} })
	virtual, err := o.Kustomization(path.Join(m.prefix, printedKustomization), printedFile)
	if err != nil {
		return nil, nil, err
	}
	m.texts = map[string][]byte{printedFile: []byte(p.text.String()), printedKustomization: virtual.Data}
	own.virtual = virtual
	return &own, virtual, nil
}

// through applies one post renderer to the resources.
func (p *printed) through(b *builder, o gitops.Overrides) ([]*Resource, []doc.Error) {
	p.at = cmp.Or(o.Where(), p.at) // one without entries has no place
	own, virtual, err := p.kustomizing(b, o)
	if err != nil {
		return nil, []doc.Error{p.problem(doc.Error{Message: "cannot be written as a kustomization"})}
	}
	folder := path.Dir(virtual.Path)
	out, problems := own.build(roots.Root{Path: folder})
	for i, e := range problems {
		if e.Path != virtual.Path {
			e.Message = "what the chart prints: " + e.Message
			problems[i] = p.problem(e)
			continue
		}
		at := virtual.Place(e.Line, e.Column)
		if at.Path == virtual.Path { // no line of the post renderer
			problems[i] = p.problem(e)
			continue
		}
		problems[i] = doc.Error{Path: at.Path, Line: at.Line, Column: at.Column, Unknown: e.Unknown, Quotes: true,
			Message: "postRenderers: " + e.Message}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	for _, res := range out.Resources {
		res.through(p.before(folder + "/" + printedFile))
	}
	return out.Resources, nil
}

// problem returns a problem of the post renderer as a whole.
func (p *printed) problem(e doc.Error) doc.Error {
	return doc.Error{Path: p.at.Path, Line: p.at.Line, Column: p.at.Column, Unknown: e.Unknown, Quotes: true,
		Message: "postRenderers: " + e.Message}
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
	if best >= 0 && missing != "" {
		if holder, ok := pointerAt(p.nodes[best], line-p.starts[k]+1, column, true); ok { // of the field that is missing
			pointer = holder
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
		for key, value := range doc.Pairs(n) {
			enter(key.Value, key, value)
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			enter(strconv.Itoa(i), item, item)
		}
	}
	return at, pointer, true
}
