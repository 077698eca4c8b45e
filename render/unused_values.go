package render

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
)

// UnusedValue is the check of the issues that UnusedValues returns.
const UnusedValue Check = "unused-values"

// UnusedValues returns the object that deploys a release, with an issue for each of the user's values that no template
// reads. It returns nil where there are none. A value is unused if all of these hold: the chart has no default and no
// schema for it; no file of the chart contains its name; templates read the values around it by name; the release
// renders to the same bytes without it. Values in files that other charts use, too, are skipped, and so are files with
// YAML anchors.
//
// shared reports whether a file has values of another chart, too.
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
		pointer := "/values" + doc.Pointer(path...)
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

// put sets the value at a path to true.
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

// unsaid lists the outermost values of the user that the chart does not know and that no file of it names.
func (s *release) unsaid() (list [][]string) {
	known := newKnownValues(s.chart)
	var tries []candidate
	unread(s.values.Map, known, known, nil, &tries)
	for _, try := range tries {
		name, around := try.path[len(try.path)-1], try.path[:len(try.path)-1]
		value, _ := at(s.values.Map, around)
		spoken := func(v any) bool { // a template in the values contains the name
			text, _ := v.(string)
			return strings.Contains(text, "{{") && strings.Contains(text, name)
		}
		if value[name] == nil || strings.HasPrefix(name, "x-") || strings.ContainsAny(name[:min(1, len(name))], "._&*<") ||
			s.chart.Mentions(name, true) || doc.HasLeaf(s.values.Map, spoken) || !s.oneByOne(known, around) {
			continue
		}
		list = append(list, try.path)
	}
	return list
}

// oneByOne reports whether templates read the values of a map by name. Every default in the map must be named in a
// template, and no template may use the map, or one that contains it, as a whole.
func (s *release) oneByOne(known knownValues, path []string) bool {
	defaults, _ := at(known.defaults, path)
	if node := known.property(path); node != nil && (node["additionalProperties"] != nil || node["patternProperties"] != nil) {
		return false
	}
	if slices.ContainsFunc(append([]string{"Values"}, path...), s.chart.UsesWhole) {
		return false
	}
	for key := range defaults { // the top level has the values of subcharts, too
		if len(path) > 0 && !s.chart.Mentions(key, false) {
			return false
		}
	}
	return len(defaults) > 0
}

// anchor matches an anchor of YAML. A value with one may only exist to be used by an alias.
var anchor = regexp.MustCompile(`(?m)(^|[\s:,\[{-])&[A-Za-z0-9_-]+`)

func (r *Renderer) anchored(file string) bool {
	data, _, err := r.read(file)
	return err != nil || anchor.Match(data)
}
