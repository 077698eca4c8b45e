package render

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/helm"
	"github.com/lintel-bot/lintel/render/helm/trace"
)

// attempts are renderings of a chart with other values. Each is made once, and what is known of a field does not depend
// on what was asked before.
type attempts struct {
	made  map[string]*attempt
	alone map[string]bool             // templates that, executed by themselves, print what they print among the others
	joint map[string]map[string]joint // by template and path
	order map[string][]string         // the names of a template's objects
	asked map[string]int              // in how many templates a value was tried
	spent int                         // steps
}

// attempt is what a chart prints with another value.
type attempt struct {
	known  bool // it was rendered, or failed to be
	failed bool
	was    map[string]*yaml.Node // the objects that are gone or others, as they were without the value
	now    map[string]*yaml.Node // these and new ones as they are with it
}

// attemptSteps is Config.AttemptSteps where nothing is said. A template by itself counts as a part of all.
const (
	attemptSteps = 20_000_000
	aloneShare   = 8
)

// manyTemplates is of how many templates a value is tried by themselves before it is tried in all at once.
const manyTemplates = 3

// tried renders the template of a field with a value; or all of them where others ask the same, which comes to the same
// unless another one fails.
func (c *chartPlaces) tried(s spot, one trace.Candidate, value any) *attempt {
	if !c.isAlone(s.manifest.Template) {
		return c.whole(one, value)
	}
	if t := c.attempts.made[c.key(s.manifest.Template, one, value)]; t != nil {
		return t
	}
	if all := c.key("", one, value); c.attempts.asked[all] < manyTemplates {
		if c.attempts.asked == nil {
			c.attempts.asked = map[string]int{}
		}
		c.attempts.asked[all]++
	} else if t := c.whole(one, value); !t.failed && t.known {
		return t
	}
	return c.attempt(s.manifest.Template, one, value)
}

// whole renders the chart with a value.
func (c *chartPlaces) whole(one trace.Candidate, value any) *attempt {
	return c.attempt("", one, value)
}

func (c *chartPlaces) key(only string, one trace.Candidate, value any) string {
	key, _ := json.Marshal([]any{only, one.Path, one.Needs, value}) // of strings and plain values, which have a form
	return string(key)
}

func (c *chartPlaces) attempt(only string, one trace.Candidate, value any) *attempt {
	key := c.key(only, one, value)
	if t := c.attempts.made[key]; t != nil {
		return t
	}
	values := any(c.options.Values)
	for _, need := range one.Needs {
		values = with(values, need, true)
	}
	values = with(values, one.Path, value)
	t := &attempt{}
	if c.attempts.spent < c.renderer.steps {
		t = c.compared(only, values)
	}
	if c.attempts.made == nil {
		c.attempts.made = map[string]*attempt{}
	}
	c.attempts.made[key] = t
	return t
}

// compared renders with values and compares with what was printed.
func (c *chartPlaces) compared(only string, values any) *attempt {
	out, err := c.again(only, values)
	var failed *helm.Error
	t := &attempt{known: err == nil || errors.As(err, &failed) && failed.Cause != helm.CauseLimit, failed: err != nil}
	if err != nil {
		return t
	}
	type printed struct{ template, text string }
	before, after := map[printed]bool{}, map[printed]bool{}
	for _, m := range c.output.Manifests {
		if only == "" || m.Template == only {
			before[printed{m.Template, m.Text}] = true
		}
	}
	for _, m := range out.Manifests {
		after[printed{m.Template, m.Text}] = true
	}
	t.was = c.objectsOf(c.output, func(m helm.Manifest) bool {
		return !after[printed{m.Template, m.Text}] && (only == "" || m.Template == only)
	})
	t.now = c.objectsOf(out, func(m helm.Manifest) bool { return !before[printed{m.Template, m.Text}] })
	return t
}

// again renders once more.
func (c *chartPlaces) again(only string, values any) (*helm.Output, error) {
	options := c.options
	options.Values, _ = values.(map[string]any)
	options.SkipSchema, options.Only = true, only
	steps := c.trace.Steps()
	if only != "" {
		options.SkipCRDs = true
		steps /= aloneShare
	}
	c.attempts.spent += steps
	return c.chart.Render(context.WithoutCancel(c.ctx), options)
}

// isAlone reports whether a template prints by itself what it prints among the others: some charts change values on the
// way.
func (c *chartPlaces) isAlone(template string) bool {
	known, ok := c.attempts.alone[template]
	if !ok {
		out, err := c.again(template, c.options.Values)
		known = err == nil && out.Files[template] == c.output.Files[template]
		if c.attempts.alone == nil {
			c.attempts.alone = map[string]bool{}
		}
		c.attempts.alone[template] = known
	}
	return known
}

// objectsOf returns the objects of some manifests by their names.
func (c *chartPlaces) objectsOf(out *helm.Output, of func(helm.Manifest) bool) map[string]*yaml.Node {
	objects := map[string]*yaml.Node{}
	for _, m := range out.Manifests {
		if !of(m) {
			continue
		}
		for _, object := range c.objects(m) {
			objects[objectName(object)] = object
		}
	}
	return objects
}

func objectName(n *yaml.Node) string {
	_, meta := doc.Field(n, "metadata")
	return doc.Text(n, "kind") + " " + doc.Text(meta, "namespace") + " " + doc.Text(meta, "name")
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
