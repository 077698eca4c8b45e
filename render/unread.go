package render

import (
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/helm"
	"github.com/lintel-bot/lintel/render/trial"
)

// ValueNote is a value of the user that the new version of a chart no longer reads, or that its schema deprecates.
type ValueNote struct {
	Path    []string
	Where   gitops.Position
	Unread  bool   // no template reads it any more
	Message string // the description in the chart's schema
}

// Charted is a loaded release: its chart and its values.
type Charted struct{ release *release }

// Charted loads the chart and the values of a target. It returns nil if the target is no release, or if loading fails:
// rendering the target reports why.
func (r *Renderer) Charted(t Target) *Charted {
	spec := t.release()
	if spec == nil {
		return nil
	}
	s := &release{renderer: r, target: t, spec: spec}
	out := &Rendering{Reads: map[string]string{}, links: map[string]string{}, wants: wants{}}
	if s.load(out) != nil {
		return nil
	}
	return &Charted{s}
}

// maxUntried is how many values are tried to find out whether a template reads them. Each needs two renderings.
const maxUntried = 8

// ValueNotes returns notes about the user's values after a chart replaces an earlier version. A value is unread if the
// release renders to the same bytes without it, and if the earlier chart rendered differently without it or had a
// default for it.
func (c *Charted) ValueNotes(ctx context.Context, before *Charted) (list []ValueNote) {
	s := c.release
	now := newKnownValues(s.chart)
	was := newKnownValues(before.release.chart)
	list = now.schemaNotes(s.values, was)
	var tries []candidate
	unread(s.values.Map, was, now, nil, &tries)
	rank := map[bool]int{true: -1} // known ones first
	slices.SortStableFunc(tries, func(a, b candidate) int { return rank[a.known] - rank[b.known] })
	if len(tries) == 0 {
		return list
	}
	whole := s.printed(ctx, nil)
	if whole == nil {
		return list
	}
	for _, try := range tries[:min(len(tries), maxUntried)] {
		if !maps.Equal(whole, s.printed(ctx, try.path)) {
			continue
		}
		if !try.known {
			old := before.release
			full := old.printed(ctx, nil)
			if full == nil || maps.Equal(full, old.printed(ctx, try.path)) {
				continue
			}
		}
		at, _ := s.values.Origin(try.path)
		list = append(list, ValueNote{Path: try.path, Where: at, Unread: true, Message: now.schemaNote(try.path)})
	}
	return list
}

// printed returns what the templates print without the value at a path, nil where they fail.
func (s *release) printed(ctx context.Context, path []string) map[string]string {
	out, err := s.trial.Render(ctx)
	if len(path) > 0 {
		out, err = s.trial.Try(ctx, trial.Edit{Without: path})
	}
	if err != nil {
		return nil
	}
	return out.Files
}

// knownValues are the defaults and the schema of a chart.
type knownValues struct {
	defaults map[string]any
	schema   map[string]any
}

func newKnownValues(c *helm.Chart) knownValues {
	k := knownValues{defaults: c.Defaults()}
	_ = json.Unmarshal(c.Schema(), &k.schema) // rendering reports an invalid schema
	return k
}

// candidate is a value that the chart may not read.
type candidate struct {
	path  []string
	known bool // the earlier chart had a default or a schema for it
}

// unread adds the outermost values that are in neither the defaults nor the schema of a chart. Keys below an empty map
// of the defaults are free, so they are skipped.
func unread(values map[string]any, was, now knownValues, path []string, list *[]candidate) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		here := append(slices.Clip(path), key)
		around, _ := at(now.defaults, path)
		if value, ok := around[key]; ok {
			below, isMap := values[key].(map[string]any)
			if _, deeper := value.(map[string]any); deeper && isMap {
				unread(below, was, now, here, list)
			}
			continue
		}
		if len(path) > 0 && len(around) == 0 || now.property(here) != nil {
			continue
		}
		before, _ := at(was.defaults, path)
		_, had := before[key]
		*list = append(*list, candidate{here, had || was.property(here) != nil})
	}
}

// at returns the map at a path.
func at(values map[string]any, path []string) (map[string]any, bool) {
	for _, key := range path {
		below, ok := values[key].(map[string]any)
		if !ok {
			return nil, false
		}
		values = below
	}
	return values, true
}

// property returns the schema of the value at a path, nil where there is none.
func (k knownValues) property(path []string) map[string]any {
	node := k.schema
	for _, key := range path {
		properties, _ := k.resolve(node)["properties"].(map[string]any)
		below, ok := properties[key].(map[string]any)
		if !ok {
			return nil
		}
		node = below
	}
	return k.resolve(node)
}

// resolve follows references within the schema.
func (k knownValues) resolve(node map[string]any) map[string]any {
	for range 8 {
		ref, _ := node["$ref"].(string)
		in, ok := strings.CutPrefix(ref, "#/")
		if !ok {
			break
		}
		next, ok := at(k.schema, strings.Split(in, "/"))
		if !ok {
			break
		}
		node = next
	}
	return node
}

// moved matches descriptions of values that are deprecated or have another name now.
var moved = regexp.MustCompile(`(?i)\b(deprecated|renamed|no longer|moved to|replaced by|use .+ instead)\b`)

// schemaNote returns the description of a value that the schema deprecates, empty for others.
func (k knownValues) schemaNote(path []string) string {
	node := k.property(path)
	if node == nil {
		return ""
	}
	text, _ := node["description"].(string)
	deprecated, _ := node["deprecated"].(bool)
	switch {
	case !deprecated && !moved.MatchString(text):
		return ""
	case text == "":
		return "deprecated"
	}
	return text
}

// schemaNotes lists the user's values that the schema deprecates and the earlier schema did not.
func (k knownValues) schemaNotes(v *gitops.Values, was knownValues) (list []ValueNote) {
	var walk func(values map[string]any, path []string)
	walk = func(values map[string]any, path []string) {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			here := append(slices.Clip(path), key)
			if text := k.schemaNote(here); text != "" && was.schemaNote(here) != text {
				where, _ := v.Origin(here)
				list = append(list, ValueNote{Path: here, Where: where, Message: text})
				continue
			}
			if below, ok := values[key].(map[string]any); ok {
				walk(below, here)
			}
		}
	}
	if k.schema != nil {
		walk(v.Map, nil)
	}
	return list
}
