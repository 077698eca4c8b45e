package render

import (
	"errors"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"sigs.k8s.io/kustomize/api/types"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/helm"
	"github.com/lintel-bot/lintel/render/kustomization"
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
		data, _, err := from.tree.ReadFile(path.Join(from.dir, "values.yaml"))
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
	case i.root != "." && !strings.HasPrefix(real, i.root+"/"):
		return nil, refusal("%s: %q is not below the kustomization, and kustomize reads no other files", field, name)
	}
	noteRead(i.reads.Reads, i.reads.links, at, real, e)
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
	return &inflation{builder: b, file: f, inflationKey: inflationKey{at: at, shown: shown}, root: f.Dir, node: n}
}
