package render

import (
	"context"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/origin"
)

// deployed renders a root as an object of Argo CD or Flux deploys it.
func (r *Renderer) deployed(ctx context.Context, t Target) (*Rendering, []doc.Error, error) {
	nothing := &Rendering{Reads: map[string]string{}}
	by := t.By
	if by == nil {
		return nothing, []doc.Error{
			{Path: t.Path, Message: "no object of Argo CD or Flux deploys this folder as " + t.Object}}, nil
	}
	var problems []doc.Error
	for _, p := range by.Problems {
		if p.Cause == gitops.Broken {
			problems = append(problems, p.Error)
		}
	}
	if len(problems) > 0 {
		return nothing, problems, nil
	}
	var out *Rendering
	var err error
	switch {
	case by.External != nil:
		out, problems, by, err = r.externalSource(ctx, t)
	case by.Release != nil:
		out, problems, err = r.release(ctx, t, by.Release)
	case by.Kind == gitops.ArgoDirectory:
		out, problems, err = r.files(ctx, t)
	case by.Virtual != nil:
		out, problems = r.instead(by.Virtual).build(t.Root)
		for i, p := range problems {
			if p.Path == by.Virtual.Path {
				at := by.Virtual.Place(p.Line, p.Column)
				problems[i].Path, problems[i].Line, problems[i].Column = at.Path, at.Line, at.Column
			}
		}
	default:
		out, problems = r.build(t.Root)
	}
	if err != nil {
		return nil, nil, err
	}
	file := r.sources()
	for _, res := range out.Resources {
		r.finish(res, by, file)
	}
	return out, problems, nil
}

// finish changes a resource as its controller does between the build and the cluster.
func (r *Renderer) finish(res *Resource, one *Deployment, file sources) {
	node := cloneNode(res.node)
	writes, issues := one.Finish(node, gitops.FinishOptions{
		Namespaced: r.namespaced, Limits: gitops.Limits{Source: r.limits.Source}, CRD: res.crd,
	})
	if len(writes) > 0 {
		before := res.locator
		res.locator = func(pointer string) origin.Place { return written(writes, file, pointer, before(pointer)) }
		res.node, res.packed = node, packed{}
		if one.Release != nil {
			printed := res.Object
			res.made = func() map[string]any { return printed }
		}
		if object, ok := doc.Value(node, res.plain).(map[string]any); ok {
			res.Object = object
		}
	}
	for _, issue := range issues {
		res.Issues = append(res.Issues, Issue{Check: checkOf(issue.Cause), Pointer: issue.Pointer, Message: issue.Message,
			Value: issue.Value})
	}
}

// checkOf returns the check that reports an issue with a cause.
func checkOf(cause gitops.Cause) Check {
	switch cause {
	case gitops.ClusterOnly:
		return ControllerUnknown
	case gitops.Suspicious:
		return ControllerSuspicious
	}
	return ControllerRejects
}

// cloneNode copies a tree of nodes. Aliases point to the copies of their targets.
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
		if n.Anchor != "" {
			copies[n] = &c
		}
		c.Alias = clone(n.Alias)
		c.Content = make([]*yaml.Node, len(n.Content))
		for i, child := range n.Content {
			c.Content[i] = clone(child)
		}
		return &c
	}
	return clone(n)
}
