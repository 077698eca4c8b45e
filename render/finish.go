package render

import (
	"context"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/source"
)

// Issue is what Argo CD or Flux would stumble over in one resource, or what only the cluster knows about it.
type Issue struct {
	source.Error
	Unsure bool // the answer is in the cluster, or it is deployed all the same
}

// finished is what a controller made of a built resource: the node that was built stays beside the one that is
// deployed, since its places are known.
type finished struct {
	built   *yaml.Node
	writes  []gitops.Write
	virtual *gitops.Virtual // the kustomization that was built in place of the folder's own
}

// deployed renders a root as an object of Argo CD or Flux deploys it.
func (r *Renderer) deployed(ctx context.Context, root roots.Root) (*Rendering, []source.Error, error) {
	one := r.set.Deployment(root)
	if one == nil {
		return &Rendering{Root: root, Reads: map[string]string{}}, []source.Error{{Path: root.Path, Message: "no object of Argo CD or Flux deploys this folder as " + root.Object}}, nil
	}
	var out *Rendering
	problems := slices.Clone(errorsOf(one.Problems))
	if len(problems) > 0 {
		return &Rendering{Root: root, Reads: map[string]string{}}, problems, nil
	}
	var err error
	switch {
	case one.Kind == gitops.ArgoDirectory:
		out, problems, err = r.files(ctx, root, one.Files)
	case one.Virtual != nil:
		out, problems, err = r.With(map[string][]byte{one.Virtual.Path: one.Virtual.Data}).built(root)
		for i, p := range problems {
			if p.Path == one.Virtual.Path {
				at := one.Virtual.Place(p.Line, p.Column)
				problems[i].Path, problems[i].Line, problems[i].Column = at.Path, at.Line, at.Column
			}
		}
		if one.Virtual.Generated && out != nil {
			out.links = nil // which files it lists is not among what was read
		}
	default:
		out, problems, err = r.built(root)
	}
	if err != nil || out == nil {
		return out, problems, err
	}
	out.digest = r.set.Digest(root)
	for _, res := range out.Resources {
		r.finish(res, one)
	}
	return out, problems, nil
}

func errorsOf(problems []gitops.Problem) []source.Error {
	var list []source.Error
	for _, p := range problems {
		if p.Cause == gitops.Broken {
			list = append(list, p.Error)
		}
	}
	return list
}

// finish does to a resource what its controller does between the build and the cluster.
func (r *Renderer) finish(res *Resource, one *roots.Deployment) {
	node := cloneNode(res.node)
	writes, issues := one.Finish(node, gitops.FinishOptions{Namespaced: r.namespaced, Limits: gitops.Limits{Source: r.limits.Source}})
	if len(writes) == 0 && len(issues) == 0 && one.Virtual == nil {
		return
	}
	res.finished = &finished{built: res.node, writes: writes, virtual: one.Virtual}
	if len(writes) > 0 {
		res.node = node
		if object, ok := toJSON(node, res.plain).(map[string]any); ok {
			res.Object = object
		}
	}
	for _, issue := range issues {
		at := res.Origin(issue.Pointer)
		res.Issues = append(res.Issues, Issue{source.Error{Path: at.Path, Line: at.StartLine, Column: at.StartColumn, Message: issue.Message}, issue.Cause != gitops.Broken})
	}
}

// origin answers the place of a field of the deployed resource.
func (f *finished) origin(res *Resource, pointer string) origin.Place {
	var by *gitops.Write
	for i, w := range f.writes {
		if pointer == w.Pointer || strings.HasPrefix(pointer, w.Pointer+"/") {
			by = &f.writes[i]
		}
	}
	own := f.real(res.build.Locate(f.built, pointer))
	if by == nil || len(by.By) == 0 {
		return own
	}
	links := make([]origin.Link, len(by.By))
	for i, at := range by.By {
		links[i] = origin.Link{Path: at.Path, StartLine: max(1, at.Line), EndLine: max(at.Line, at.EndLine, 1), Role: by.Role}
	}
	if by.Partly {
		own.Chain = append(links, own.Chain...)
		return own
	}
	place := origin.Place{Path: links[0].Path, StartLine: links[0].StartLine, EndLine: links[0].EndLine, How: origin.Writer, Role: by.Role}
	if own.Missing == "" { // it replaced something
		place.Chain = append([]origin.Link{{Path: own.Path, StartLine: own.StartLine, EndLine: own.EndLine, Role: own.Role}}, own.Chain...)
	}
	return place
}

// real turns a place in the kustomization that was built into one that a person can edit.
func (f *finished) real(p origin.Place) origin.Place {
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

// cloneNode copies a tree of nodes; aliases lead to the copies of what they led to.
func cloneNode(n *yaml.Node) *yaml.Node {
	copies := map[*yaml.Node]*yaml.Node{}
	var clone func(n *yaml.Node) *yaml.Node
	clone = func(n *yaml.Node) *yaml.Node {
		if n == nil {
			return nil
		}
		if c, ok := copies[n]; ok {
			return c
		}
		c := *n
		copies[n] = &c
		c.Alias = clone(n.Alias)
		c.Content = make([]*yaml.Node, len(n.Content))
		for i, child := range n.Content {
			c.Content[i] = clone(child)
		}
		return &c
	}
	return clone(n)
}
