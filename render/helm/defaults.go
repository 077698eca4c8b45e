package helm

import (
	"maps"

	chart "helm.sh/helm/v4/pkg/chart/v2"
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
				keys = append(keys, Dependency{Name: d.Name, Alias: d.Alias}.Key())
			}
		}
		if len(keys) == 0 {
			keys = append(keys, sub.Name())
		}
		for _, key := range keys {
			own, _ := out[key].(map[string]any)
			out[key] = over(defaults(sub), own)
		}
	}
	return out
}

// over returns a map with the values of another one merged over it.
func over(under, above map[string]any) map[string]any {
	out := maps.Clone(under)
	for key, value := range above {
		was, isMap := out[key].(map[string]any)
		now, both := value.(map[string]any)
		if isMap && both {
			value = over(was, now)
		}
		out[key] = value
	}
	return out
}

// Schema returns the text of a chart's values.schema.json, nil where it has none.
func (c *Chart) Schema() []byte { return c.chart.Schema }
