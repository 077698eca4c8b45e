package rules

import (
	"context"
	"fmt"
	"maps"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/roots"
)

// render renders a folder of policies. Errors of rendering are problems, since its policies are then not in effect.
func (out *Sources) render(ctx context.Context, c diff.Commit, dir string) ([]Source, error) {
	list, problems, err := out.renderRoot(ctx, c, roots.Root{Path: dir})
	words := "the policies of " + dir + " are not in effect, since it does not render: "
	out.Problems = append(out.Problems, diff.Problems(words, problems...)...)
	return list, err
}

// renderRoot renders the rules of a root; it returns none if there are problems.
func (out *Sources) renderRoot(ctx context.Context, c diff.Commit, root roots.Root) (list []Source,
	problems []doc.Error, _ error) {
	config := render.Config{Limits: out.Settings.Limits.Render(), Namespaced: kinds.HasNamespace, Cache: c.Renderings}
	rendering, problems, err := c.Roots.With(config).Render(ctx, root)
	if err != nil {
		return nil, nil, err
	}
	if out.reads[root.Path] == nil {
		out.reads[root.Path] = map[string]string{}
	}
	maps.Copy(out.reads[root.Path], rendering.Reads)
	if problems = append(problems, rendering.Broken()...); len(problems) > 0 {
		return nil, problems, nil
	}
	list, err = rulesIn(rendering, root.Path)
	return list, nil, err
}

// rulesIn returns the rules in a rendering as sources of a folder.
func rulesIn(rendering *render.Rendering, folder string) (list []Source, _ error) {
	for _, res := range rendering.Resources {
		if id := admission.IdentityOf(res.Object); !engine.IsRule(id.Group, id.Kind) {
			continue
		}
		data, err := res.YAML()
		if err != nil {
			return nil, fmt.Errorf("read the rules of %s: %w", folder, err)
		}
		at := res.Origin("")
		list = append(list, Source{Folder: folder,
			File: File{Path: at.Path, Data: data, Line: renderedLines(res, data, at.Path, at.StartLine)}})
	}
	return list, nil
}

// placedDepth is the depth down to which fields of a rendered policy have their own place; deeper fields get that of
// their parent.
const placedDepth = 4

// renderedLines returns a function that maps the lines of a rendered policy to those of its main source file.
func renderedLines(res *render.Resource, data []byte, file string, start int) func(int) int {
	documents, err := doc.Parse(file, data, doc.Limits{Nodes: 1 << 30, Depth: 1 << 20})
	if err != nil || len(documents) != 1 {
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
				at := pointer + "/" + jsonpointer.Escape(c.Value)
				walk(n.Content[i+1], at, depth+1, set(c, at, depth+1, line))
			case n.Kind == yaml.SequenceNode:
				at := fmt.Sprintf("%s/%d", pointer, i)
				walk(c, at, depth+1, set(c, at, depth+1, line))
			}
		}
	}
	walk(documents[0], "", 0, start)
	return func(line int) int {
		for ; line > 0; line-- { // a line inside a string of several lines gets the place of its first line
			if at, ok := lines[line]; ok {
				return at
			}
		}
		return start
	}
}
