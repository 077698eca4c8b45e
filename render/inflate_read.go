package render

import (
	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
)

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
