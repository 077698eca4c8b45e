package render

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-openapi/jsonpointer"

	"github.com/lintel-bot/lintel/render/gitops"
)

// UnusedValue is the check of the resources that UnusedValues returns.
const UnusedValue Check = "unused-values"

// UnusedValues returns the object that deploys a release with an issue for each of the user's values that no template
// reads, nil where there are none. The chart has no such value and no schema of it, none of its files says its name,
// the values around it are read one by one, and the release renders to the same bytes without it. Nothing is said of
// values that other charts are given, too, and of what is written for the rest of its file to use (anchors).
//
// shared reports whether a file gives values to another chart, too.
func (r *Renderer) UnusedValues(ctx context.Context, t Target, shared func(file string) bool) *Resource {
	one := t.By
	if one == nil || one.Release == nil || one.External != nil || len(one.Problems) > 0 {
		return nil
	}
	c := r.Charted(t)
	if c == nil || len(c.release.values.Unknown) > 0 {
		return nil
	}
	s := c.release
	values, places, issues := map[string]any{}, map[string]gitops.Position{}, []Issue(nil)
	for _, path := range s.unsaid() {
		at, _ := s.values.Origin(path)
		if at.Path == "" || isMounted(at.Path) || r.anchored(at.Path) || shared(at.Path) {
			continue
		}
		whole := s.printed(ctx, nil)
		if whole == nil || !maps.Equal(whole, s.printed(ctx, path)) {
			continue
		}
		put(values, path)
		pointer := "/values"
		for _, key := range path {
			pointer += "/" + jsonpointer.Escape(key)
		}
		places[pointer] = at
		issues = append(issues, Issue{Check: UnusedValue, Pointer: pointer, Message: fmt.Sprintf("no template of the chart "+
			"%s reads the value %.200s", s.chart.Name(), strings.Join(path, "."))})
	}
	if len(issues) == 0 {
		return nil
	}
	object := map[string]any{"apiVersion": one.Object.APIVersion(), "kind": one.Object.Kind,
		"metadata": map[string]any{"name": one.Object.Name, "namespace": one.Object.Namespace}, "values": values}
	return NewResource(object, pointed(places, one.Where.Path), issues...)
}

// put notes a path in a map.
func put(values map[string]any, path []string) {
	for _, key := range path[:len(path)-1] {
		below, ok := values[key].(map[string]any)
		if !ok {
			below = map[string]any{}
			values[key] = below
		}
		values = below
	}
	values[path[len(path)-1]] = true
}

// unsaid lists the user's values that a chart does not know of and no file of it names, the outermost ones.
func (s *release) unsaid() (list [][]string) {
	known := newKnownValues(s.chart)
	var tries []candidate
	unread(s.values.Map, known, known, nil, &tries)
	for _, try := range tries {
		name, around := try.path[len(try.path)-1], try.path[:len(try.path)-1]
		value, _ := at(s.values.Map, around)
		if value[name] == nil || strings.HasPrefix(name, "x-") || strings.ContainsAny(name[:min(1, len(name))], "._&*<") ||
			s.chart.Mentions(name, true) || spoken(s.values.Map, name) || !s.oneByOne(known, around) {
			continue
		}
		list = append(list, try.path)
	}
	return list
}

// oneByOne reports whether templates read the values in a map by their names: they name all that the chart has there,
// and take neither the map nor one around it as a whole.
func (s *release) oneByOne(known knownValues, path []string) bool {
	defaults, _ := at(known.defaults, path)
	if node := known.property(path); node != nil && (node["additionalProperties"] != nil || node["patternProperties"] != nil) {
		return false
	}
	if slices.ContainsFunc(append([]string{"Values"}, path...), s.chart.UsesWhole) {
		return false
	}
	for key := range defaults { // at the top are those of subcharts, too
		if len(path) > 0 && !s.chart.Mentions(key, false) {
			return false
		}
	}
	return len(defaults) > 0
}

// spoken reports whether a text in values says a word: it may be a template.
func spoken(v any, word string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, "{{") && strings.Contains(v, word)
	case map[string]any:
		for _, below := range v {
			if spoken(below, word) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(below any) bool { return spoken(below, word) })
	}
	return false
}

// anchor matches one of YAML: what has it is there to be used elsewhere in the file.
var anchor = regexp.MustCompile(`(?m)(^|[\s:,\[{-])&[A-Za-z0-9_-]+`)

func (r *Renderer) anchored(file string) bool {
	data, _, err := r.read(file)
	return err != nil || anchor.Match(data)
}
