package render

import (
	"bytes"
	"encoding/json"
	"path"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/remote"
)

// places sets in c what depends on the entry, and returns c.
func (i *inflation) places(c *chartPlaces) *chartPlaces {
	c.entry = origin.Place{Path: i.shown.file, StartLine: max(1, i.shown.at.Line), EndLine: max(1, i.shown.at.Line),
		How: origin.Enclosing, Role: "helmCharts"}
	c.name, c.space = i.field("releaseName", "name"), i.field("namespace")
	c.fixWords = "patch it in the kustomization"
	c.load = func() *gitops.Values { return i.layers(c) }
	return c
}

// field returns the position of the first of some fields that the entry has.
func (i *inflation) field(names ...string) gitops.Position {
	for _, name := range names {
		if _, n := doc.Field(i.node, name); n != nil && n.Kind == yaml.ScalarNode {
			return gitops.Position{Path: i.shown.file, Line: n.Line, Column: n.Column}
		}
	}
	return gitops.Position{}
}

// layers merges the values again, with their places; nil where the result differs from the values that were rendered.
func (i *inflation) layers(c *chartPlaces) *gitops.Values {
	if i.node == nil {
		return nil
	}
	where := gitops.Position{Path: i.shown.file, Line: i.shown.at.Line, Column: i.shown.at.Column}
	at := func(name string) gitops.Position {
		if found := i.field(name); found.Path != "" {
			return found
		}
		return where
	}
	e := gitops.ChartEntry{Merge: i.ValuesMerge}
	switch address, ok := kustomization.FileURL(i.ValuesFile); {
	case ok && i.ValuesFile != "":
		e.File = gitops.FileLayer("valuesFile", at("valuesFile"), remote.Want{Kind: remote.File, URL: address}, remote.FileName)
	case i.ValuesFile != "":
		e.File = gitops.FileLayer("valuesFile", at("valuesFile"), remote.Want{}, path.Join(i.root, i.ValuesFile))
	case c.top.here:
		e.File = gitops.FileLayer("values.yaml", where, remote.Want{}, c.top.file("values.yaml"))
	default:
		e.File = gitops.FileLayer("values.yaml", where, c.top.from.Want, path.Join(c.top.dir, "values.yaml"))
	}
	for _, name := range []string{"valuesInline", "valuesLocal"} {
		if _, n := doc.Field(i.node, name); n != nil {
			e.Inline = gitops.NodeLayer(name, n, func(n *yaml.Node) gitops.Position {
				return gitops.Position{Path: i.shown.file, Line: n.Line, Column: n.Column}
			})
		}
	}
	for _, name := range i.AdditionalValuesFiles {
		e.More = append(e.More, gitops.FileLayer(name, at("additionalValuesFiles"), remote.Want{}, path.Join(i.root, name)))
	}
	r, err := e.Release()
	if err != nil {
		return nil
	}
	values, err := r.Values(i.builder.tree, i.builder.mounts.sources)
	if err != nil {
		return nil
	}
	one, err := json.Marshal(values.Map)
	other, failed := json.Marshal(c.options.Values)
	if err != nil || failed != nil || !bytes.Equal(one, other) {
		return nil
	}
	return values
}
