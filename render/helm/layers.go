package helm

import (
	"cmp"
	"slices"
	"strconv"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"

	"github.com/lintel-bot/lintel/render/doc"
)

// Layers knows where each merged value of a release is set. Helm merges the values again, with a mark in place of each
// scalar and list. It is safe for concurrent use.
type Layers struct {
	user   map[string]any
	chart  *chart.Chart
	owner  *Chart
	merged map[string]any
	marks  map[string]Setting
}

// Setting is where a value is set.
type Setting struct {
	User  bool   // in the values of the user
	Chart *Chart // the chart that has the file; nil: the user's values, or a file in a packed subchart
	File  string // path below the folder of the chart
	Path  []string
	// List is the number of keys that lead to the list which contains the value; 0: no list. A list is set as a whole.
	List int
}

// Layers merges the values of a release. The error is an *Error.
func (c *Chart) Layers(o Options) (*Layers, error) {
	return guarded(func() (*Layers, error) {
		real := clone(c.chart)
		if err := chartutil.ProcessDependencies(real, o.Values); err != nil {
			return nil, mismatch(err)
		}
		l := &Layers{user: o.Values, chart: c.chart, owner: c, marks: map[string]Setting{}}
		values, _ := l.mark(o.Values, nil, Setting{User: true}).(map[string]any)
		marked := l.markChart(c.chart, real)
		err := chartutil.ProcessDependencies(marked, values)
		if err == nil {
			l.merged, err = util.CoalesceValues(marked, values)
		}
		if err != nil {
			return nil, mismatch(err)
		}
		return l, nil
	})
}

// mark replaces scalars and lists by marks. A null stays, because it removes values in a merge.
func (l *Layers) mark(v any, at []string, s Setting) any {
	switch v := v.(type) {
	case nil:
		return nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, value := range v {
			out[k] = l.mark(value, append(slices.Clip(at), k), s)
		}
		return out
	}
	name := "\x00" + strconv.Itoa(len(l.marks))
	s.Path = at
	l.marks[name] = s
	return name
}

// markChart copies a chart with marks for its values. The copy has the same dependencies as real, because Helm cannot
// evaluate their conditions with marks.
func (l *Layers) markChart(c, real *chart.Chart) *chart.Chart {
	out, metadata := *c, *c.Metadata
	out.Values, _ = l.mark(c.Values, nil, l.file(c)).(map[string]any)
	below := map[string]*chart.Chart{}
	for _, d := range real.Dependencies() {
		below[d.Name()] = d
	}
	metadata.Dependencies = nil
	from := map[string]*chart.Chart{} // by the chart's own name, without alias
	declared := map[string]bool{}
	for _, d := range c.Metadata.Dependencies {
		if d == nil {
			continue
		}
		declared[d.Name] = true
		key := cmp.Or(d.Alias, d.Name)
		if below[key] == nil {
			continue
		}
		if from[d.Name] == nil {
			from[d.Name] = below[key]
		}
		copied := *d
		copied.Condition, copied.Tags, copied.ImportValues = "", nil, slices.Clone(d.ImportValues)
		metadata.Dependencies = append(metadata.Dependencies, &copied)
	}
	out.Metadata = &metadata
	var charts []*chart.Chart
	for _, d := range c.Dependencies() {
		as := from[d.Name()]
		if !declared[d.Name()] {
			as = below[d.Name()]
		}
		if as != nil {
			charts = append(charts, l.markChart(d, as))
		}
	}
	out.SetDependencies(charts...)
	return &out
}

// file returns the file with the default values of a chart.
func (l *Layers) file(c *chart.Chart) Setting {
	for _, f := range c.Raw {
		if f.Name == "values.yaml" && len(f.Data) > 0 {
			from := l.owner.sources[&f.Data[0]]
			return Setting{Chart: from.owner, File: from.file}
		}
	}
	return Setting{}
}

// At returns where the value at a path of the merged values is set. A map counts as set by the user if the user's
// values have it, else by the topmost chart. It returns false where there is no value.
func (l *Layers) At(path []string) (Setting, bool) {
	var v any = l.merged
	for i, key := range path {
		if name, ok := v.(string); ok {
			s := l.marks[name]
			s.List = len(s.Path)
			s.Path = append(slices.Clip(s.Path), path[i:]...)
			return s, true
		}
		m, ok := AsMap(v)
		if !ok {
			return Setting{}, false
		}
		if v, ok = m[key]; !ok {
			return Setting{}, false
		}
	}
	if name, ok := v.(string); ok {
		return l.marks[name], true
	}
	return l.within(path)
}

// within returns where a map is set: by the user, or by the topmost chart.
func (l *Layers) within(path []string) (Setting, bool) {
	if has(l.user, path) {
		return Setting{User: true, Path: path}, true
	}
	return l.Default(path)
}

// Default returns where the topmost chart sets the default of the value at a path, even if another value replaces it.
func (l *Layers) Default(path []string) (Setting, bool) {
	c, rest := l.chart, path
	for c != nil {
		if has(c.Values, rest) {
			s := l.file(c)
			s.Path = rest
			return s, true
		}
		if len(rest) == 0 {
			break
		}
		c, rest = below(c, rest[0]), rest[1:]
	}
	return Setting{}, false
}

// below returns the subchart whose values are at a key.
func below(c *chart.Chart, key string) *chart.Chart {
	name := key
	for _, d := range c.Metadata.Dependencies {
		if d != nil && d.Alias == key {
			name = d.Name
		}
	}
	for _, d := range c.Dependencies() {
		if d.Name() == name {
			return d
		}
	}
	return nil
}

// AsMap returns values as a map, also those of a chart, for which Helm has a type of its own.
func AsMap(v any) (map[string]any, bool) {
	switch m := v.(type) {
	case map[string]any:
		return m, true
	case common.Values:
		return m, true
	}
	return nil, false
}

// has reports whether values have a path.
func has(values map[string]any, path []string) bool {
	_, steps := doc.Look(values, path)
	return steps == len(path)
}
