package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"sigs.k8s.io/kustomize/api/types"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/helm"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/tree"
)

// values merges the user's values. The values file comes first, by default that of the chart. valuesInline is merged
// with it, and additional values files override both.
func (i *inflation) values(from chartFolder) (map[string]any, error) {
	read := func() ([]byte, error) {
		if i.ValuesFile != "" {
			return i.load("valuesFile", i.ValuesFile)
		}
		home, ok := i.home()
		if !ok || home != i.root && i.root != "." && !strings.HasPrefix(home, i.root+"/") {
			return nil, refusal("the charts are not below the kustomization (chartHome), so kustomize does not read the " +
				"chart's values.yaml: name a valuesFile")
		}
		at := path.Join(from.dir, "values.yaml")
		if from.here { // a chart is only noted as a whole once its values are read
			real, e, err := from.tree.Lookup(at)
			i.noteRead(at, real, e, err)
		}
		data, _, err := from.tree.ReadFile(at)
		if errors.Is(err, tree.ErrNotExist) {
			return nil, refusal("the chart has no values.yaml, and no valuesFile is named: kustomize needs one")
		}
		return data, err
	}
	var data []byte
	var err error
	if len(i.ValuesInline) > 0 {
		data, err = i.inlined(read)
	} else {
		data, err = read()
	}
	if err != nil {
		return nil, err
	}
	values, err := helm.ParseValues(data)
	if err != nil {
		return nil, refusal("the values cannot be read as YAML of one map")
	}
	for _, file := range i.AdditionalValuesFiles {
		data, err := i.load("additionalValuesFiles", file)
		if err != nil {
			return nil, err
		}
		more, err := helm.ParseValues(data)
		if err != nil {
			return nil, refusal("additionalValuesFiles: %q cannot be read as YAML of one map", file)
		}
		values = loader.MergeMaps(values, more)
	}
	return values, nil
}

// inlined merges valuesInline of the kustomization with the values file.
func (i *inflation) inlined(read func() ([]byte, error)) ([]byte, error) {
	values := i.ValuesInline
	if i.ValuesMerge != "replace" {
		data, err := read()
		if err != nil {
			return nil, err
		}
		if err := doc.Vet("", data, i.builder.limits.Source); err != nil {
			return nil, refusal("the values file cannot be read: %s", message(err))
		}
		file, err := kyaml.Parse(string(data))
		if err != nil {
			return nil, refusal("the values file cannot be read as YAML")
		}
		inline, err := kyaml.FromMap(values)
		if err != nil {
			return nil, err
		}
		var merged *kyaml.RNode
		if i.ValuesMerge == "merge" {
			merged, err = merge2.Merge(file, inline.Copy(), kyaml.MergeOptions{})
		} else {
			merged, err = merge2.Merge(inline, file.Copy(), kyaml.MergeOptions{})
		}
		if err != nil {
			return nil, refusal("valuesInline and the values file cannot be merged")
		}
		if values, err = merged.Map(); err != nil {
			return nil, refusal("valuesInline and the values file do not make a map")
		}
	}
	return sigsyaml.Marshal(values)
}

// message returns an error about a file without the file's name.
func message(err error) string {
	if e, ok := errors.AsType[*doc.Error](err); ok {
		return e.Message
	}
	return err.Error()
}

// load reads a file as kustomize's loader does: below the kustomization, or over http.
func (i *inflation) load(field, name string) ([]byte, error) {
	if address, ok := kustomization.FileURL(name); ok && field == "valuesFile" {
		want := remote.Want{Kind: remote.File, URL: address}
		found, err := i.builder.fetched(i.reads, want, i.builder.mounts.requestedAt(i.shown))
		if err != nil {
			return nil, &sourceError{want: want, err: err}
		}
		data, _, err := found.Tree.ReadFile(remote.FileName)
		return data, err
	}
	at, ok := join(i.root, name)
	if !ok {
		return nil, refusal("%s: %q points outside the repository", field, name)
	}
	real, e, err := i.builder.find(at)
	switch {
	case errors.Is(err, tree.ErrNotExist) || err == nil && e.Kind != tree.File:
		if !isMounted(at) {
			i.reads.Reads[at] = ""
		}
		return nil, refusal("%s: %q does not exist", field, name)
	case err != nil:
		return nil, err
	}
	noteRead(i.reads.Reads, i.reads.links, at, real, e)
	if i.root != "." && !strings.HasPrefix(real, i.root+"/") {
		return nil, refusal("%s: %q is not below the kustomization, and kustomize reads no other files", field, name)
	}
	data, _, err := i.builder.read(real)
	if large, ok := errors.AsType[*tree.TooLargeError](err); ok {
		return nil, refusal("%s: %q %s", field, name, large.Error())
	}
	return data, err
}

// charts lists the charts in the fields helmCharts and helmChartInflationGenerator of a kustomization.
func (b *builder) charts(f *kustomization.File) ([]*inflation, error) {
	var list []*inflation
	var globals types.HelmGlobals
	_, n := doc.Field(f.Node, "helmGlobals")
	if err := decode(n, &globals); err != nil {
		return nil, err
	}
	for _, n := range doc.Items(f.Node, "helmCharts") {
		i := b.inflation(f, entryAt(f, n), f.Path, n)
		i.HelmGlobals = globals
		if err := decode(n, &i.HelmChart); err != nil {
			return nil, err
		}
		list = append(list, i)
	}
	var old []types.HelmChartArgs
	items := doc.Items(f.Node, "helmChartInflationGenerator")
	for _, n := range items {
		var args types.HelmChartArgs
		if err := decode(n, &args); err != nil {
			return nil, err
		}
		old = append(old, args)
	}
	converted, oldGlobals := types.SplitHelmParameters(old)
	for k, chart := range converted {
		i := b.inflation(f, entryAt(f, items[k]), f.Path, items[k])
		if i.HelmGlobals, i.HelmChart = globals, chart; n == nil {
			i.HelmGlobals = oldGlobals
		}
		list = append(list, i)
	}
	return list, nil
}

// generators lists the charts that a generator configuration inflates. It returns nil where the configuration has other
// generators, too.
func (b *builder) generators(f *kustomization.File, at entry, file string, documents []*yaml.Node,
) (list []*inflation) {
	for k, d := range documents {
		if doc.Text(d, "apiVersion") != "builtin" || doc.Text(d, "kind") != "HelmChartInflationGenerator" {
			return nil
		}
		i := b.inflation(f, at, file, d)
		if file == f.Path {
			i.shown, i.node = at, nil // the lines are those of an inline text
		}
		i.generator, i.nth = true, k
		if decode(d, &i.HelmGlobals) != nil || decode(d, &i.HelmChart) != nil {
			return nil
		}
		list = append(list, i)
	}
	return list
}

func decode(n *yaml.Node, into any) error {
	if n == nil {
		return nil
	}
	data, err := yaml.Marshal(doc.Bare(n))
	if err != nil {
		return err
	}
	return sigsyaml.Unmarshal(data, into)
}

func (b *builder) inflation(f *kustomization.File, at entry, file string, n *yaml.Node) *inflation {
	shown := entry{file, kustomization.Position{Line: n.Line, Column: n.Column}}
	for _, key := range []string{"name", "chartName", "version", "chartVersion"} {
		if _, value := doc.Field(n, key); value != nil {
			shown.at = kustomization.Position{Line: value.Line, Column: value.Column}
		}
	}
	return &inflation{builder: b, inflationKey: inflationKey{at: at, shown: shown}, root: f.Dir, node: n}
}

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
	values, err := e.Release().Values(i.builder.tree, i.builder.mounts.sources)
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
