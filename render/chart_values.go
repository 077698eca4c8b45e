package render

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/helm"
	"github.com/lintel-bot/lintel/render/helm/trace"
	"github.com/lintel-bot/lintel/render/origin"
)

// value returns the place of a merged value, or of its key. sure means that it is set in this repository.
func (c *chartPlaces) value(at []string, key bool) (origin.Place, bool) {
	if c.layers == nil {
		return c.deployedBy, false
	}
	set, ok := c.layers.At(at)
	if ok && set.User && c.values != nil {
		if p, ok := c.user(c.values, set.Path, key, "values"); ok {
			c.weaker(&p, at, set)
			return p, true
		}
	}
	if !ok || set.User {
		return c.settable(at), false
	}
	p, here := c.byDefault(set, key)
	if here {
		return p, true
	}
	open := c.settable(at)
	open.Chain = append(open.Chain, origin.Link{Path: p.Path, StartLine: p.StartLine, EndLine: p.EndLine, Role: p.Role})
	return open, false
}

func userPath(s helm.Setting, at []string) []string {
	if s.User {
		return s.Path
	}
	return at
}

// user returns the place of a value that is set in values of this repository.
func (c *chartPlaces) user(values *gitops.Values, at []string, key bool, role string) (origin.Place, bool) {
	pos, exact := values.Origin(at)
	if !exact || pos.Path == "" || isMounted(pos.Path) {
		return origin.Place{}, false
	}
	if _, _, outside := values.Inside(at); outside {
		return origin.Place{}, false
	}
	name := ""
	if len(at) > 0 {
		name = at[len(at)-1]
	}
	p := c.position(pos, name)
	if key {
		if found, ok := c.file(pos.Path).Key(pos.Line, pos.Column, name); ok {
			p = found
		}
	}
	p.Role = role
	return p, true
}

// byDefault returns the place of a value that a chart sets, and whether it is in this repository.
func (c *chartPlaces) byDefault(set helm.Setting, key bool) (origin.Place, bool) {
	home, ok := c.homes[set.Chart]
	if !ok || set.File == "" {
		return c.deployedBy, false
	}
	if c.defaults != nil && set.Chart == c.owner() && set.File == "values.yaml" {
		if p, ok := c.user(c.defaults, set.Path, key, "values"); ok {
			return p, true
		}
		return c.deployedBy, false
	}
	file := c.files.of(home, set.File, c.file)
	p, depth := file.Find(set.Path, key && home.here)
	p.Role = "defaults"
	return p, home.here && depth == len(set.Path)
}

// owner returns the chart of the top folder.
func (c *chartPlaces) owner() *helm.Chart {
	for chart, home := range c.homes {
		if home.tree == c.top.tree && home.dir == c.top.dir {
			return chart
		}
	}
	return nil
}

// weaker adds to the place of a value the values that it replaced.
func (c *chartPlaces) weaker(p *origin.Place, at []string, set helm.Setting) {
	seen := map[origin.Link]bool{{Path: p.Path, StartLine: p.StartLine}: true}
	add := func(one origin.Place, role string) {
		if id := (origin.Link{Path: one.Path, StartLine: one.StartLine}); !seen[id] {
			seen[id] = true
			p.Chain = append(p.Chain, origin.Link{Path: one.Path, StartLine: one.StartLine, EndLine: one.EndLine, Role: role})
		}
	}
	for _, pos := range c.values.Chain(set.Path) {
		add(c.position(pos, ""), "values")
	}
	if by, ok := c.layers.Default(at); ok {
		if d, _ := c.byDefault(by, false); d.Role == "defaults" || d.Role == "values" {
			add(d, "defaults")
		}
	}
}

// settable returns the place where a value can be set that this repository does not set. It is the nearest parent in
// the values of the user, or else in those of a chart of this repository.
func (c *chartPlaces) settable(at []string) origin.Place {
	if set, ok := c.layers.At(at); ok && set.List > 0 && len(at)-(len(set.Path)-set.List) > 0 {
		at = at[:len(at)-(len(set.Path)-set.List)] // a list is replaced as a whole
	}
	if p, ok := c.nulled(at); ok {
		return p
	}
	p, depth := c.around(at)
	if set, ok := c.layers.At(at); ok && set.User && c.values != nil {
		if own, ok := c.user(c.values, set.Path, false, "values"); ok { // it is set, and the template needs another value
			p, depth = own, len(at)
		}
	}
	p.How, p.Set = origin.Enclosing, at
	p.Missing = doc.Pointer(at[min(depth, len(at)):]...)
	p.SuggestedFix = "set " + strings.Join(at, ".") + " in the values"
	return p
}

// nulled returns the place of a null in the values of the user that takes away what the chart sets at a path or above it
// (https://helm.sh/docs/chart_template_guide/values_files/#deleting-a-default-key).
func (c *chartPlaces) nulled(at []string) (origin.Place, bool) {
	if c.values == nil {
		return origin.Place{}, false
	}
	var in any = c.values.Map
	for n, key := range at {
		m, _ := in.(map[string]any)
		value, has := m[key]
		if in = value; has && value == nil {
			p, ok := c.user(c.values, at[:n+1], false, "values")
			p.How, p.Missing = origin.Enclosing, doc.Pointer(at[n+1:]...)
			p.SuggestedFix = "set " + strings.Join(at, ".") + " in the values: null takes away what the chart has there"
			return p, ok
		}
	}
	return origin.Place{}, false
}

func (c *chartPlaces) around(at []string) (origin.Place, int) {
	p, depth, ok := c.inValues(c.values, at)
	if c.defaults != nil { // in place of the chart's values.yaml
		if found, n, has := c.inValues(c.defaults, at); has && (!ok || n > depth) {
			return found, n
		}
	} else if file := c.top.file("values.yaml"); c.top.here && c.builder.has(file) {
		if found, n := c.file(file).Find(at, false); !ok || n > depth {
			found.Role = "defaults"
			return found, n
		}
	}
	if !ok {
		return c.deployedBy, 0
	}
	return p, depth
}

// inValues returns the place of the nearest parent of a value in values in this repository.
func (c *chartPlaces) inValues(values *gitops.Values, at []string) (origin.Place, int, bool) {
	if values == nil {
		return origin.Place{}, 0, false
	}
	pos, layer, depth, ok := values.Around(at)
	if !ok || pos.Path == "" || isMounted(pos.Path) {
		return origin.Place{}, 0, false
	}
	if depth == 0 && layer.File != "" {
		return origin.Place{Path: layer.File, StartLine: 1, EndLine: 1, Role: "values"}, 0, true
	}
	if depth == 0 {
		return c.position(layer.Where, "values"), 0, true
	}
	return c.position(pos, at[depth-1]), depth, true
}

// absent returns the place for a missing field: that of the value that would print it. all reports whether every value
// was tried that may print it.
func (c *chartPlaces) absent(s spot) (p origin.Place, ok, all bool) {
	at, length := s.part.text.mapping(s.value)
	if length == 0 {
		return origin.Place{}, false, true
	}
	best, all := c.best(s, c.trace.Absent(s.manifest.Template, s.manifest.Offset+at, length, s.missingKeys))
	if best == nil {
		return origin.Place{}, false, all
	}
	p = c.settable(best.Path)
	if to, ok := best.value.(bool); ok && best.Switch {
		word := map[bool]string{true: " on", false: " off"}[to]
		p.Switch, p.SuggestedFix = &to, "turn "+strings.Join(best.Path, ".")+word+" in the values"
	}
	for i, need := range best.Needs {
		word := " and "
		if i == 0 {
			word = ", with "
		}
		p.SuggestedFix += word + strings.Join(need, ".")
	}
	if best.harms != "" {
		p.SuggestedFix += "; it also changes " + best.harms
	}
	found := c.at(s, at, length)
	c.link(&p, s, found[:0])
	return p, true, all
}

// inElement returns the place for a field that is missing in an element of a list in the values, which the template prints as
// it is: a field beside it, or beside one of its parents, is from that element.
func (c *chartPlaces) inElement(s spot) (origin.Place, bool) {
	var below []string
	for k := len(s.steps) - 1; k >= 0; k-- {
		for key, value := range doc.Pairs(s.steps[k].value) {
			if value.Kind != yaml.ScalarNode {
				continue
			}
			at, length := s.part.text.scalar(value)
			for _, o := range c.at(s, at, length) {
				last := len(o.Path) - 1
				if o.Kind != trace.Value || o.Role != trace.Verbatim || last < 1 || o.Path[last] != key.Value {
					continue
				}
				path := append(slices.Clone(o.Path[:last]), below...)
				if !slices.ContainsFunc(path, func(key string) bool { _, err := strconv.Atoi(key); return err == nil }) {
					return origin.Place{}, false
				}
				p, ok := c.value(path, false)
				p.How, p.Set, p.Missing = origin.Enclosing, nil, s.missing
				p.SuggestedFix = "add " + strings.Join(s.missingKeys, ".") + " to this element of the values"
				c.link(&p, s, nil)
				return p, ok
			}
		}
		below = append([]string{s.steps[k].token}, below...)
	}
	return origin.Place{}, false
}

// spans returns the places of the parts of a text that has several origins.
func (c *chartPlaces) spans(s spot, found []trace.Origin, at, length int) (spans []origin.Span) {
	text := s.part.text.Text[at : at+length]
	from := strings.Index(text, s.value.Value)
	if from < 0 || s.value.Value == "" {
		return nil
	}
	var pieces []trace.Origin
	for _, o := range found {
		if o.Role == trace.Verbatim && o.Length > 0 {
			pieces = append(pieces, o)
		}
	}
	if len(pieces) < 2 {
		return nil
	}
	slices.SortStableFunc(pieces, func(a, b trace.Origin) int { return a.At - b.At })
	for i, o := range pieces {
		begin, end := o.At-from, o.At-from+o.Length
		if i+1 < len(pieces) {
			end = min(end, pieces[i+1].At-from)
		}
		begin, end = max(begin, 0), min(end, len(s.value.Value))
		if begin >= end || !strings.ContainsFunc(s.value.Value[begin:end], origin.IsWord) {
			continue
		}
		p, _ := c.origin(o, s.value.Value[begin:end])
		c.link(&p, s, []trace.Origin{o})
		spans = append(spans, origin.Span{From: begin, To: end, Place: p})
	}
	return spans
}
