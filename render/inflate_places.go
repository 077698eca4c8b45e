package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/helm"
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

// printedChart is the output of a chart as one file, whose lines lead back to templates.
type printedChart struct {
	shown   *mount
	from    string // the folder or the address of the chart
	here    bool   // it is a folder of this repository
	output  *helm.Output
	text    []byte
	places  *chartPlaces // nil: places are not known
	starts  []int        // the first line of each manifest
	indexes []int        // the index of each manifest in Helm's output
}

// print sets the text to what `helm template` prints.
func (c *printedChart) print() {
	var out bytes.Buffer
	line := 1
	for _, hooks := range []bool{false, true} {
		for k, m := range c.output.Manifests {
			if m.Hook == hooks {
				text := fmt.Sprintf("---\n# Source: %s\n%s\n", m.Template, m.Text)
				c.starts, c.indexes = append(c.starts, line+2), append(c.indexes, k)
				line += strings.Count(text, "\n")
				out.WriteString(text)
			}
		}
	}
	c.text = out.Bytes()
}

// locate returns the place that a person must edit to change the field at a place of the text.
func (c *printedChart) locate(p origin.Place) origin.Place {
	if c.places != nil {
		if k, line := c.manifest(p.StartLine); k >= 0 {
			if found, ok := c.places.printed(k, line, p.StartColumn, p.Missing); ok {
				return found
			}
		}
	}
	out := c.shown.local().place(origin.Enclosing)
	out.Missing = p.Missing
	if at := c.template(p.StartLine); at != "" {
		out.Chain = []origin.Link{{Path: at, StartLine: 1, EndLine: 1, Role: "template"}}
	}
	return out
}

// manifest returns the number of the manifest that contains a line, and the line in it.
func (c *printedChart) manifest(line int) (index, in int) {
	k, found := slices.BinarySearch(c.starts, line)
	if !found {
		k--
	}
	if k < 0 {
		return -1, 0
	}
	return c.indexes[k], line - c.starts[k] + 1
}

// template returns the template that printed a line: its path in this repository, or its address (see origin.Link). It
// is empty where it is not known.
func (c *printedChart) template(line int) string {
	k, _ := c.manifest(line)
	if k < 0 {
		return ""
	}
	switch m := c.output.Manifests[k]; {
	case m.File == "":
		return c.from
	case c.here:
		return path.Join(c.from, m.File)
	case c.from != "":
		return c.from + "//" + m.File
	}
	return ""
}
