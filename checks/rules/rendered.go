package rules

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/engine/match"
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

// deployed replaces the rules in files by what objects of Argo CD and Flux deploy of them: an overlay may enforce a policy,
// and a Flux object may say its namespace. If the roots differ, or no object deploys them, the file counts as it is
// written: a kustomization that nothing deploys does not change what a cluster enforces. Only where no objects deploy anything,
// it says the namespace of what it includes.
func (out *Sources) deployed(ctx context.Context, c diff.Commit) error {
	d := &deployedRules{set: c.Roots.OfKind, names: map[string]bool{}, of: map[string]render.Declared{}, text: map[string]string{}}
	all := make([][]ruleNode, len(out.Policies))
	for i, s := range out.Policies {
		all[i] = rulesOf(s)
		for _, r := range all[i] {
			d.names[r.name()] = true
		}
	}
	isOther := out.Settings.Others(c.Roots)
	for i, s := range out.Policies {
		written := all[i]
		if len(written) == 0 || c.Roots.AsWritten(s.Path, slices.ContainsFunc(written, ruleNode.namespaced)) {
			continue
		}
		byHand := func(root roots.Root) bool { // it says the namespace of a Policy where no objects deploy anything
			return root.Kind == roots.Kustomization && !c.Roots.Deploying.Any() && slices.ContainsFunc(written, ruleNode.namespaced)
		}
		versions, names := map[string][]ruleNode{}, []string(nil)
		for _, root := range c.Roots.Reach([]string{s.Path}, nil) {
			if at := c.Roots.Placement(root); (len(at.Clusters) == 0 || at.Implied) && !byHand(root) || isOther(root) {
				continue
			}
			rules, err := d.as(ctx, root, written)
			if err != nil {
				return err
			}
			if byHand(root) {
				rules = inNamespaces(written, rules)
			}
			if len(rules) > 0 {
				versions[d.contents(rules)], names = rules, append(names, root.Name())
			}
		}
		for content, rules := range versions {
			if len(versions) == 1 && content != d.contents(written) {
				var err error
				if out.Policies[i], err = s.with(rules); err != nil {
					return err
				}
			}
		}
		if len(versions) > 1 {
			out.Warnings = append(out.Warnings, report.Problem{Path: s.Path, Message: report.Some(names, maxNames) + " deploy the " +
				"policies of this file differently, so they are in effect as written. Name the policies of each cluster " +
				"under clusters in " + settings.Path})
		}
	}
	return nil
}

// inNamespaces returns rules as they are written, with the namespaces that deployed ones of their names have.
func inNamespaces(written, deployed []ruleNode) []ruleNode {
	return report.Mapped(written, func(r ruleNode) ruleNode {
		i := slices.IndexFunc(deployed, func(d ruleNode) bool { return d.name() == r.name() && d.object["kind"] == r.object["kind"] })
		metadata, is := r.object["metadata"].(map[string]any)
		if i < 0 || !is || !r.namespaced() {
			return r
		}
		object, own := maps.Clone(r.object), maps.Clone(metadata)
		own["namespace"] = admission.IdentityOf(deployed[i].object).Namespace
		object["metadata"] = own
		return ruleNode{object: object, node: r.node}
	})
}

// maxNames is how many roots a warning names.
const maxNames = 5

// ruleNode is a rule of a source with its text, also one that a root deploys in another way.
type ruleNode struct {
	object map[string]any
	node   *yaml.Node
	digest string // of the object as a root deploys it; "" for one that is not known to equal others
}

func (r ruleNode) name() string { return admission.IdentityOf(r.object).Name }

func (r ruleNode) namespaced() bool {
	id := admission.IdentityOf(r.object)
	return !kinds.ClusterScoped(id.Group, id.Kind)
}

// rulesOf returns the rules in a source.
func rulesOf(s Source) (list []ruleNode) {
	documents, _ := doc.Parse(s.Path, s.Data, doc.Limits{})
	for _, node := range documents {
		object, _ := doc.Value(node, false).(map[string]any)
		if id := admission.IdentityOf(object); engine.IsRule(id.Group, id.Kind) {
			list = append(list, ruleNode{object: object, node: node})
		}
	}
	return list
}

// deployedRules knows which rules the roots of a commit deploy.
type deployedRules struct {
	set   func(context.Context, roots.Root, string) (render.Declared, error)
	names map[string]bool            // of all rules as they are written
	of    map[string]render.Declared // by root and kind
	text  map[string]string          // by digest: see content
}

// contents returns what decides about objects in some rules, equal for equal rules.
func (d *deployedRules) contents(list []ruleNode) string {
	var all []string
	for _, r := range list {
		text, known := d.text[r.digest]
		if !known {
			if text = r.content(); r.digest != "" {
				d.text[r.digest] = text
			}
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

func (r ruleNode) content() string {
	id := admission.IdentityOf(r.object)
	if !r.namespaced() {
		id.Namespace = ""
	}
	metadata, _ := r.object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	text, _ := json.Marshal([]any{id, annotations[match.AutogenAnnotation], r.object["spec"]})
	return string(text)
}

// as returns rules as a root deploys them; none if it deploys none of them. If it does not render, it deploys them as they
// are written.
func (d *deployedRules) as(ctx context.Context, root roots.Root, written []ruleNode) (list []ruleNode, err error) {
	some := false
	for _, r := range written {
		kind, _ := r.object["kind"].(string)
		key := root.Path + " " + root.Object + " " + kind
		found, known := d.of[key]
		if !known {
			if found, err = d.set(ctx, root, kind); err != nil {
				return nil, err
			}
			d.of[key] = found
		}
		if found.Problem != nil {
			return written, nil
		}
		var as []ruleNode
		for i, object := range found.Objects {
			deployed := ruleNode{object, r.node, found.Digests[i]}
			if id := admission.IdentityOf(object); !engine.IsRule(id.Group, id.Kind) {
				continue // another kind of that name
			}
			renamed := !d.names[deployed.name()] && strings.Contains(deployed.name(), r.name()) // with a prefix or suffix
			if deployed.name() == r.name() || renamed {
				as, some = append(as, deployed), true
			}
		}
		if len(as) == 0 {
			as = append(as, r)
		}
		list = append(list, as...)
	}
	if !some {
		return nil, nil
	}
	return list, nil
}

// with returns a source with the given rules in place of its own. Their lines are those of the fields in the file.
func (s Source) with(rules []ruleNode) (Source, error) {
	var text bytes.Buffer
	lines := map[int]int{}
	for _, r := range rules {
		data, err := doc.Print(r.object)
		if err != nil {
			return s, fmt.Errorf("read the rules of %s: %w", s.Path, err)
		}
		text.WriteString("---\n")
		before := bytes.Count(text.Bytes(), []byte("\n"))
		documents, _ := doc.Parse(s.Path, data, doc.Limits{Nodes: 1 << 30, Depth: 1 << 20})
		for _, node := range documents {
			follow(node, r.node, func(line, written int) { lines[before+line] = written })
		}
		text.Write(data)
	}
	s.Data, s.Line = text.Bytes(), func(line int) int {
		for ; line > 1 && lines[line] == 0; line-- { // a line of a text, or a field that the file does not have
		}
		return max(lines[line], 1)
	}
	return s, nil
}

// follow calls found with the lines of the fields that both nodes have.
func follow(n, other *yaml.Node, found func(line, other int)) {
	found(n.Line, other.Line)
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode {
			if key, v := doc.Field(other, child.Value); i%2 == 0 && v != nil {
				found(child.Line, key.Line)
				follow(n.Content[i+1], v, found)
			}
		} else if n.Kind == other.Kind && i < len(other.Content) {
			follow(child, other.Content[i], found)
		}
	}
}
