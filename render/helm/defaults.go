package helm

import (
	"cmp"
	"maps"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
)

// Defaults returns the default values of a chart. Those of its subcharts are below their keys, even if a condition
// turns them off. Do not change the result.
func (c *Chart) Defaults() map[string]any { return defaults(c.chart) }

func defaults(c *chart.Chart) map[string]any {
	out := maps.Clone(c.Values)
	if out == nil {
		out = map[string]any{}
	}
	for _, sub := range c.Dependencies() {
		keys := []string{}
		for _, d := range c.Metadata.Dependencies {
			if d.Name == sub.Name() {
				keys = append(keys, cmp.Or(d.Alias, d.Name))
			}
		}
		if len(keys) == 0 {
			keys = append(keys, sub.Name())
		}
		for _, key := range keys {
			own, _ := out[key].(map[string]any)
			out[key] = loader.MergeMaps(defaults(sub), own)
		}
	}
	return out
}

// Schema returns the text of a chart's values.schema.json, nil where it has none.
func (c *Chart) Schema() []byte { return c.chart.Schema }
