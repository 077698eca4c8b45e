package render

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lintel-bot/lintel/render/doc"
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
func at(values map[string]any, path []string) (m map[string]any, ok bool) {
	found, _, _ := unstructured.NestedFieldNoCopy(values, path...)
	m, ok = found.(map[string]any)
	return m, ok
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
		_ = unstructured.SetNestedField(values, true, path...) // no path leads through the value at another one
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

// ReadsFiles reports whether a template of the chart, or of one that it depends on, reads files of the chart (.Files).
func (c *Charted) ReadsFiles() bool {
	return c.release.chart.AnyTemplate(func(text []byte) bool { return bytes.Contains(text, []byte(".Files")) })
}

// Unshown lists those files in instead that do not affect what the templates print. instead has other contents of files
// of this repository by path; nil is a file that does not exist. The list is empty where the chart does not render.
func (c *Charted) Unshown(ctx context.Context, instead map[string][]byte) []string {
	whole, err := c.manifests(ctx, nil)
	if err != nil {
		return nil
	}
	tries := maxShown
	var among func(files []string) []string
	among = func(files []string) []string {
		some := map[string][]byte{}
		for _, p := range files {
			some[p] = instead[p]
		}
		tries--
		other, err := c.manifests(ctx, some)
		switch {
		case err == nil && slices.Equal(whole, other):
			return files
		case len(files) == 1 || tries <= 0:
			return nil
		}
		half := len(files) / 2
		return append(among(files[:half:half]), among(files[half:])...)
	}
	if len(instead) == 0 {
		return nil
	}
	return among(slices.Sorted(maps.Keys(instead)))
}

// maxShown is how often a chart is rendered to find the files that affect it. Files that are not decided by then count
// as affecting it.
const maxShown = 64

// manifests returns what the templates print with other contents of some files.
func (c *Charted) manifests(ctx context.Context, instead map[string][]byte) ([]helm.Manifest, error) {
	s := c.release
	tried := s.trial
	if instead != nil && s.from.here {
		from, reader := s.from, &chartReader{builder: &s.renderer.builder, out: &Rendering{Reads: map[string]string{},
			links: map[string]string{}, wants: wants{}}}
		from.instead = maps.Clone(instead)
		maps.Copy(from.instead, s.from.instead)
		chart, err := reader.chart(from, s.instead)
		if err != nil {
			return nil, err
		}
		tried = trial.New(chart, s.options, s.renderer.limits.Source, s.renderer.steps)
	}
	out, err := tried.Render(ctx)
	if err != nil {
		return nil, err
	}
	return out.Manifests, nil
}
