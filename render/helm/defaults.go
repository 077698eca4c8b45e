package helm

import (
	"maps"

	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// Defaults returns the values that a chart has by itself, those of its subcharts below their keys, whether or not a
// condition turns them off. Whoever reads them does not change them.
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

// over returns a map with another one laid over it.
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

// Schema returns values.schema.json of a chart as it is written, nil where there is none.
func (c *Chart) Schema() []byte { return c.chart.Schema }
