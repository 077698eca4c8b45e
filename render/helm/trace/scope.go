package trace

import (
	"path"
	"reflect"
	"slices"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/lintel-bot/lintel/render/helm"
)

// seedScopes records the origins of the data of all templates. A map that several scopes share has the origin of the
// topmost one.
func (e *exec) seedScopes(in *helm.Input) {
	dots := map[string]map[string]any{}
	for _, t := range in.Templates {
		if t.Dot != nil {
			dots[strings.TrimSuffix(t.Base, "/templates")] = t.Dot
		}
	}
	e.seedScope(in.Chart, dots, &node{kind: Value})
}

func (e *exec) seedScope(c *chart.Chart, dots map[string]map[string]any, values *node) {
	full := c.ChartFullPath()
	if dot := dots[full]; dot != nil {
		e.seed(dot["Values"], values)
		e.seedDot(full, dot, values)
	}
	for _, d := range c.Dependencies() {
		e.seedScope(d, dots, values.child(d.Name()))
	}
}

// seedDot records the origins of the data besides the values.
func (e *exec) seedDot(full string, dot map[string]any, values *node) {
	roots := map[string]*node{
		"Chart": {kind: Chart, chart: full}, "Release": {kind: Release}, "Capabilities": {kind: Capabilities},
		"Files": {kind: File, chart: full}, "Template": {kind: Template}, "Values": values,
	}
	info := &mapInfo{given: true}
	for name, org := range roots {
		info.set(name, entry{val: taint{org: org}})
		if name != "Values" && name != "Files" && dot[name] != nil {
			e.seed(dot[name], org)
		}
	}
	if fs := reflect.ValueOf(dot["Files"]); fs.IsValid() {
		e.setMap(fs, &mapInfo{org: roots["Files"]})
	}
	e.setMap(reflect.ValueOf(dot), info)
}

// isFiles reports whether a value is .Files, which has a type of Helm.
func isFiles(v reflect.Value) bool {
	return v.Kind() == reflect.Map && v.Type().Elem().Kind() == reflect.Slice && v.MethodByName("AsSecrets").IsValid()
}

// method returns the taint of a method's result, for .Files and other values.
func method(c *call) taint {
	fs := c.args[0].rv
	if !isFiles(fs) {
		return c.mixed()
	}
	var all *node
	if info := c.mapOf(fs); info != nil {
		all = info.org
	}
	one := all
	var k *cond
	if len(c.args) > 1 {
		one = all.child(c.key(1))
		k = join(c.args[1].sh.conds(), nil).under(c.dynamic(c.args[1]), Condition)
	}
	switch c.name {
	case "Get", "GetBytes":
		return taint{org: one, cond: k}
	case "Glob":
		c.setMap(c.out, &mapInfo{org: all})
		return taint{org: all, cond: k}
	case "Lines":
		return c.fileLines(one, k)
	case "AsConfig", "AsSecrets":
		flat := map[string]string{}
		info := &mapInfo{}
		for _, name := range sortedKeys(fs) {
			base := path.Base(name)
			flat[base] = string(fs.MapIndex(reflect.ValueOf(name)).Bytes())
			org := all.child(name)
			info.set(base, entry{taint{org: org, derived: true}, taint{org: org}})
		}
		m := reflect.ValueOf(flat)
		c.setMap(m, info)
		return c.written(c.out.String(), value{rv: m})
	}
	return taint{org: all, cond: k, derived: true}
}

func (c *call) fileLines(org *node, k *cond) taint {
	info := &sliceInfo{org: org}
	at := 0
	for i := range c.out.Len() {
		n := len(c.out.Index(i).String())
		sh := taint{org: org, cond: k}
		if n > 0 {
			sh = taint{segments: []segment{{n: int32(n), off: int32(at), org: org, cond: k}}}
		}
		info.elems = append(info.elems, sh)
		at += n + 1
	}
	c.setSlice(c.out, info)
	return taint{org: org, cond: k}
}

// scopeTree has the charts of a release by the keys of their values, to find where a chart's globals are set.
type scopeTree struct {
	values map[string]any
	sub    map[string]scopeTree
}

func newScopes(c *chart.Chart, values map[string]any) scopeTree {
	s := scopeTree{values: values, sub: map[string]scopeTree{}}
	for _, d := range c.Dependencies() {
		below, _ := helm.AsMap(values[d.Name()])
		s.sub[d.Name()] = newScopes(d, below)
	}
	return s
}

// canonical returns the path at which a value is set: globals are set in the topmost chart that has them.
func (s scopeTree) canonical(path []string) []string {
	i := slices.Index(path, "global")
	if i <= 0 || !s.isChart(path[:i]) {
		return path
	}
	charts, rest := path[:i], path[i:]
	for i := 0; i < len(charts); i++ {
		if has(s.values, rest) {
			return append(slices.Clone(charts[:i]), rest...)
		}
		s = s.sub[charts[i]]
	}
	return path
}

func (s scopeTree) isChart(path []string) bool {
	for _, k := range path {
		sub, ok := s.sub[k]
		if !ok {
			return false
		}
		s = sub
	}
	return true
}

// has reports whether a path exists. A path into a list exists if the list does.
func has(m map[string]any, path []string) bool {
	for i, k := range path {
		v := m[k]
		if v == nil {
			return false
		}
		if i == len(path)-1 {
			break
		}
		var ok bool
		if m, ok = helm.AsMap(v); !ok {
			break
		}
	}
	return true
}
