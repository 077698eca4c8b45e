package render

import (
	"context"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/roots"
)

// deployed renders a root as an object of Argo CD or Flux deploys it.
func (r *Renderer) deployed(ctx context.Context, root roots.Root) (*Rendering, []doc.Error, error) {
	one := r.set.Deployment(root)
	if one == nil {
		return &Rendering{Root: root, Reads: map[string]string{}}, []doc.Error{
			{Path: root.Path, Message: "no object of Argo CD or Flux deploys this folder as " + root.Object}}, nil
	}
	var out *Rendering
	var problems []doc.Error
	for _, p := range one.Problems {
		if p.Cause == gitops.Broken {
			problems = append(problems, p.Error)
		}
	}
	if len(problems) > 0 {
		return &Rendering{Root: root, Reads: map[string]string{}}, problems, nil
	}
	var err error
	switch {
	case one.Elsewhere != nil:
		out, problems, one, err = r.elsewhere(ctx, root, one)
	case one.Release != nil:
		out, problems, err = r.release(ctx, root, one.Release)
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
	default:
		out, problems, err = r.built(root)
	}
	if err != nil || out == nil {
		return out, problems, err
	}
	out.digest = r.set.Digest(root) // with the kustomization that was built, and so with which files one lists
	for _, res := range out.Resources {
		r.finish(res, one)
	}
	return out, problems, nil
}

// finish does to a resource what its controller does between the build and the cluster.
func (r *Renderer) finish(res *Resource, one *roots.Deployment) {
	node := cloneNode(res.node)
	writes, issues := one.Finish(node, gitops.FinishOptions{
		Namespaced: r.namespaced, Limits: gitops.Limits{Source: r.limits.Source},
	})
	if len(writes) == 0 && len(issues) == 0 && one.Virtual == nil {
		return
	}
	res.locator = finished{before: res.locator, writes: writes, virtual: one.Virtual}
	if len(writes) > 0 {
		if res.node = node; one.Release != nil {
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

// checkOf returns the check that judges an issue of a cause.
func checkOf(cause gitops.Cause) Check {
	switch cause {
	case gitops.ClusterOnly:
		return ControllerUnknown
	case gitops.Advice:
		return ControllerAdvice
	}
	return ControllerRejects
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
