package render

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/helm/trace"
	"github.com/lintel-bot/lintel/render/source"
)

// maxConfirms is how often a chart is rendered again to find out whether values print fields that are not there, and
// maxConfirmSteps how many steps its templates may take for that in all, as the shadow counted them: no clock, so that
// a place is the same on any machine.
const (
	maxConfirms     = 24
	maxConfirmSteps = 2_000_000
)

// confirmed reports whether a field is there if a value is set, by rendering.
func (c *chartPlaces) confirmed(s spot, one trace.Candidate) bool {
	there := func(again spot) bool { return again.missing == "" }
	for _, value := range []any{"lintel", true, float64(7)} {
		if one.Switch {
			value = true
		}
		if c.tried(s, one, value, there) {
			return true
		}
		if one.Switch {
			break
		}
	}
	return false
}

// changes reports whether a field becomes another one if a value is set, by rendering.
func (c *chartPlaces) changes(s spot, path []string) bool {
	other := func(again spot) bool { return again.missing != "" || again.value.Value != s.value.Value }
	for _, value := range []any{"lintel", true, false, float64(7)} {
		if c.tried(s, trace.Candidate{Path: path}, value, other) {
			return true
		}
	}
	return false
}

// tried renders with a value, as long as that is not too much, and looks at the field.
func (c *chartPlaces) tried(s spot, one trace.Candidate, value any, good func(spot) bool) bool {
	if c.confirms >= maxConfirms || c.confirms*c.trace.Steps() >= maxConfirmSteps {
		return false
	}
	c.confirms++
	values := any(c.options.Values)
	for _, need := range one.Needs {
		values = with(values, need, true)
	}
	options := c.options
	options.Values, _ = with(values, one.Path, value).(map[string]any)
	options.SkipSchema = true
	out, err := c.chart.Render(context.WithoutCancel(c.ctx), options)
	if err != nil {
		return false
	}
	for _, m := range out.Manifests {
		if m.Template != s.manifest.Template {
			continue
		}
		documents, _ := manifestDocuments(m, c.renderer.limits.Source)
		for _, d := range documents {
			for _, object := range source.Unlist(d) {
				again := spot{value: object}
				if again.follow(s.pointer); sameObject(object, s.object) && good(again) {
					return true
				}
			}
		}
	}
	return false
}

func sameObject(a, b *yaml.Node) bool {
	name := func(n *yaml.Node) string {
		_, meta := source.Field(n, "metadata")
		return source.Text(n, "kind") + " " + source.Text(meta, "namespace") + " " + source.Text(meta, "name")
	}
	return name(a) == name(b)
}

// with returns values with another one at a path, in copies of what is on the way. What stands in its way goes.
func with(values any, at []string, value any) any {
	if len(at) == 0 {
		return value
	}
	if list, ok := values.([]any); ok {
		if i, err := strconv.Atoi(at[0]); err == nil && i >= 0 && i <= len(list) {
			out := append(slices.Clone(list), nil)[:max(len(list), i+1)]
			out[i] = with(out[i], at[1:], value)
			return out
		}
	}
	if i, err := strconv.Atoi(at[0]); err == nil && i == 0 {
		if _, isMap := values.(map[string]any); !isMap {
			return []any{with(nil, at[1:], value)}
		}
	}
	out := map[string]any{}
	if m, ok := values.(map[string]any); ok {
		out = maps.Clone(m)
	}
	out[at[0]] = with(out[at[0]], at[1:], value)
	return out
}
