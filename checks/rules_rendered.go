package checks

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// policyRoot is a folder with a kustomization that the settings name under policies, rendered from one tree: the
// policies in effect are those that it brings forth.
type policyRoot struct {
	path, tree string
	sources    []policy.Source
	reads      map[string]string // what the rendering read
}

// policySources answers the policies that count by the settings: folders with a kustomization are rendered, everything
// else is read as it is.
func (r *run) policySources(ctx context.Context, t *tree.Tree, g *roots.Set, settings *Settings) ([]policy.Source, error) {
	named := settings.Policies
	if len(named) == 0 {
		return ruleFiles(t, g, nil)
	}
	var rendered []policy.Source
	var plain []string
	for _, n := range named {
		dir := path.Clean(strings.TrimSuffix(n, "/"))
		if strings.ContainsAny(n, "*?") {
			plain = append(plain, n)
			continue
		}
		if k, err := g.Kustomization(dir); k == nil && err == nil {
			plain = append(plain, n)
			continue
		}
		root, err := r.policyRoot(ctx, t, g, settings, dir)
		if err != nil {
			return nil, err
		}
		rendered = append(rendered, root.sources...)
	}
	if len(plain) == 0 {
		return rendered, nil
	}
	files, err := ruleFiles(t, g, plain)
	return append(files, rendered...), err
}

// policyRoot renders a folder of policies, once for each tree. What stands in the way is a problem of the check: its
// policies are not in effect.
func (r *run) policyRoot(ctx context.Context, t *tree.Tree, g *roots.Set, settings *Settings, dir string) (*policyRoot, error) {
	i := slices.IndexFunc(r.policyRoots, func(p policyRoot) bool { return p.path == dir && p.tree == t.ID() })
	if i >= 0 {
		return &r.policyRoots[i], nil
	}
	renderer := render.New(g, render.Config{Limits: settings.Limits.render(), Namespaced: kinds.HasNamespace})
	out, problems, err := renderer.Render(ctx, roots.Root{Path: dir})
	if err != nil {
		return nil, err
	}
	root := policyRoot{path: dir, tree: t.ID(), reads: out.Reads}
	problems = append(problems, out.Broken()...)
	for _, p := range problems {
		r.problems(report.Problem{Path: p.Path, Line: p.Line, Column: p.Column,
			Message: fmt.Sprintf("the policies of %s are not in effect, since it does not render: %s", dir, p.Message)})
	}
	if len(problems) == 0 {
		for _, res := range out.Resources {
			if !isPolicy(res) {
				continue
			}
			s, err := policySource(res)
			if err != nil {
				return nil, fmt.Errorf("read the policies of %s: %w", dir, err)
			}
			root.sources = append(root.sources, s)
		}
	}
	r.policyRoots = append(r.policyRoots, root)
	return &r.policyRoots[len(r.policyRoots)-1], nil
}

// isPolicy says whether a rendered resource is a policy or a binding.
func isPolicy(res *render.Resource) bool {
	apiVersion, _ := res.Object["apiVersion"].(string)
	kind, _ := res.Object["kind"].(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	return strings.HasSuffix(group, "kyverno.io") || strings.Contains(kind, "AdmissionPolicy")
}

// policySource answers a rendered policy as a source.
func policySource(res *render.Resource) (policy.Source, error) {
	data, err := res.YAML()
	if err != nil {
		return policy.Source{}, err
	}
	at := res.Origin("")
	return policy.Source{Path: at.Path, Data: data, Line: renderedLines(res, data, at.Path, at.StartLine)}, nil
}

// placedDepth is how deep the fields of a rendered policy are placed by themselves; what is deeper stands where the
// field around it does.
const placedDepth = 4

// renderedLines answers where the lines of a rendered policy stand in the file that it is mostly from.
func renderedLines(res *render.Resource, data []byte, file string, start int) func(int) int {
	var document yaml.Node
	if yaml.Unmarshal(data, &document) != nil {
		return func(int) int { return start }
	}
	lines := map[int]int{}
	var walk func(n *yaml.Node, pointer string, depth, line int)
	set := func(n *yaml.Node, pointer string, depth, line int) int {
		if depth <= placedDepth {
			if at := res.Origin(pointer); at.Path == file && at.Missing == "" {
				line = at.StartLine
			}
		}
		if _, ok := lines[n.Line]; !ok {
			lines[n.Line] = line
		}
		return line
	}
	walk = func(n *yaml.Node, pointer string, depth, line int) {
		for i, c := range n.Content {
			switch {
			case n.Kind == yaml.MappingNode && i%2 == 0:
				at := pointer + "/" + escapeToken(c.Value)
				walk(n.Content[i+1], at, depth+1, set(c, at, depth+1, line))
			case n.Kind == yaml.SequenceNode:
				at := fmt.Sprintf("%s/%d", pointer, i)
				walk(c, at, depth+1, set(c, at, depth+1, line))
			case n.Kind == yaml.DocumentNode:
				walk(c, pointer, depth, line)
			}
		}
	}
	walk(&document, "", 0, start)
	return func(line int) int {
		for ; line > 0; line-- { // a text of several lines stands where it begins
			if at, ok := lines[line]; ok {
				return at
			}
		}
		return start
	}
}

// proposesRule says whether a policy or exception is as the change has it, and not as the base branch has it now.
func (r *run) proposesRule(s policy.Source) bool {
	if s.Line == nil {
		return r.proposes(s.Path)
	}
	return r.change.Base == "" || slices.ContainsFunc(r.policyRoots, func(root policyRoot) bool {
		return r.touchedRoot(root) && slices.ContainsFunc(root.sources, func(o policy.Source) bool { return o.Path == s.Path })
	})
}

// touchedRoot says whether the change touches anything that a folder of policies is rendered from, on either side.
func (r *run) touchedRoot(root policyRoot) bool {
	for _, side := range r.policyRoots {
		if side.path != root.path {
			continue
		}
		for p := range side.reads {
			if r.changed[strings.TrimSuffix(p, "/")] {
				return true
			}
		}
	}
	return false
}

// touchesPolicyRoots says whether the change touches any such folder.
func (r *run) touchesPolicyRoots() bool { return slices.ContainsFunc(r.policyRoots, r.touchedRoot) }
