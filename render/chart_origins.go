package render

import (
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/helm"
	"github.com/lintel-bot/lintel/render/helm/trace"
	"github.com/lintel-bot/lintel/render/origin"
)

// origin returns the place of an origin. sure means that an edit there changes the field. copied is the part of a line
// that is copied from it, if any.
func (c *chartPlaces) origin(o trace.Origin, copied string) (p origin.Place, sure bool) {
	switch o.Kind {
	case trace.Value:
		if p, sure = c.value(o.Path, false); sure && copied != "" {
			p = c.file(p.Path).Inside(p, o.Offset, copied)
		}
		return p, sure
	case trace.Key:
		return c.value(o.Path, true)
	case trace.Text:
		owner, file := c.trace.Source(o.Template)
		home, ok := c.homes[owner]
		if !ok || file == "" {
			return c.fixed(), false
		}
		if !home.here {
			p = c.fixed()
			p.Chain = []origin.Link{{Path: home.file(file), StartLine: o.Line, EndLine: o.Line, Role: "template"}}
			return p, false
		}
		return literalAt(home.file(file), c.trace.Text(o.Template), o), true
	case trace.Release:
		at := c.deployedBy
		switch {
		case slices.Equal(o.Path, []string{"Name"}) && c.name.Path != "":
			at = c.scalar(c.name, "name")
			at.Role = "release name"
		case slices.Equal(o.Path, []string{"Namespace"}) && c.space.Path != "":
			at = c.scalar(c.space, "namespace")
			at.Role = "release namespace"
		default:
			at.Role = "release"
			return at, false
		}
		return at, at.How == origin.Writer
	case trace.Chart:
		return c.metadata(o)
	case trace.File:
		return c.packed(o)
	}
	p = c.deployedBy
	p.Role = o.Kind.String()
	return p, false
}

// literalAt returns the place of text in a template of this repository.
func literalAt(name, text string, o trace.Origin) origin.Place {
	p := origin.Place{Path: name, StartLine: o.Line, EndLine: o.Line, How: origin.Writer, Role: "template"}
	if o.Offset+o.Length > len(text) || o.Length <= 0 {
		return p
	}
	literal := text[o.Offset : o.Offset+o.Length]
	begin := strings.LastIndexByte(text[:o.Offset], '\n') + 1
	trimmed := strings.TrimLeft(literal, "\r\n\t ")
	if lines := strings.Count(strings.TrimRight(trimmed, "\r\n\t "), "\n"); lines > 0 {
		p.EndLine += lines
		return p
	}
	if strings.Contains(literal[:len(literal)-len(trimmed)], "\n") {
		return p
	}
	from := len([]rune(text[begin : o.Offset+len(literal)-len(trimmed)]))
	p.StartColumn = from + 1
	p.EndColumn = p.StartColumn + len([]rune(strings.TrimRight(trimmed, "\r\n\t ")))
	if p.EndColumn == p.StartColumn {
		p.StartColumn, p.EndColumn = 0, 0
	}
	return p
}

// metadata returns the place of a field of Chart.yaml.
func (c *chartPlaces) metadata(o trace.Origin) (origin.Place, bool) {
	var home chartFolder
	ok := false
	sub := ""
	if c.trace != nil {
		home, sub, ok = c.homeOf(o.Template)
	}
	if ok && home.here && len(o.Path) > 0 && o.Path[0] != "" {
		key := strings.ToLower(o.Path[0][:1]) + o.Path[0][1:]
		if p, ok := c.alias(o); ok {
			return p, p.How == origin.Writer
		}
		p, depth := c.file(home.file(path.Join(sub, "Chart.yaml"))).Find([]string{key}, false)
		p.Role = "chart"
		return p, depth == 1
	}
	p := c.deployedBy
	if ok {
		p.Chain = []origin.Link{{Path: home.file(path.Join(sub, "Chart.yaml")), StartLine: 1, EndLine: 1, Role: "chart"}}
	}
	return p, false
}

// alias returns the place of the alias that a chart gave a subchart.
func (c *chartPlaces) alias(o trace.Origin) (origin.Place, bool) {
	if o.Path[0] != "Name" {
		return origin.Place{}, false
	}
	for i, d := range c.chart.Dependencies() {
		if d.Alias != "" && o.Template == c.chart.Name()+"/charts/"+d.Alias {
			p, _ := c.file(c.top.file(d.File)).Find([]string{"dependencies", strconv.Itoa(i), "alias"}, false)
			p.Role = "chart"
			return p, true
		}
	}
	return origin.Place{}, false
}

// homeOf returns the folder of the chart with a full name. For a chart that is packed in another one it returns the
// folder of that one, and the path in it.
func (c *chartPlaces) homeOf(full string) (home chartFolder, sub string, ok bool) {
	owner, file := c.trace.SourceOf(full)
	home, ok = c.homes[owner]
	if !ok || file == "" {
		return chartFolder{}, "", false
	}
	if i := strings.LastIndex("/"+file, "/templates/"); i >= 0 {
		return home, strings.Trim(file[:max(0, i)], "/"), true
	}
	return chartFolder{}, "", false
}

// packed returns the place of a file that a template read.
func (c *chartPlaces) packed(o trace.Origin) (origin.Place, bool) {
	home, sub, ok := c.homeOf(o.Template)
	if !ok || o.Name == "" {
		p := c.deployedBy
		p.Role = "file"
		return p, false
	}
	data, _, err := home.tree.ReadFile(path.Join(home.dir, sub, o.Name))
	if err != nil || !filepath.IsLocal(o.Name) {
		p := c.deployedBy // a template may ask for a file that does not exist
		p.Role = "file"
		return p, false
	}
	name, line := home.file(path.Join(sub, o.Name)), 1
	if o.Offset <= len(data) {
		line += strings.Count(string(data[:o.Offset]), "\n")
	}
	if home.here {
		return origin.Place{Path: name, StartLine: line, EndLine: line, How: origin.Writer, Role: "file"}, true
	}
	p := c.fixed()
	p.Chain = []origin.Link{{Path: name, StartLine: line, EndLine: line, Role: "file"}}
	return p, false
}

// position returns the place of a position in this repository.
func (c *chartPlaces) position(at gitops.Position, name string) origin.Place {
	p := placeAt(at, "values")
	if at.Line > 0 && at.Column > 0 {
		if found, ok := c.file(at.Path).Entry(at.Line, at.Column, name); ok {
			found.Role = p.Role
			return found
		}
	}
	if at.Line > 0 {
		p.How = origin.Writer
	}
	return p
}

// scalar is like position, but for a value that is written as a scalar. Where the position is that of a map or list
// around the value, the place is only near.
func (c *chartPlaces) scalar(at gitops.Position, name string) origin.Place {
	p := c.position(at, name)
	if at.Column > 0 && !c.file(at.Path).Scalar(at.Line, at.Column, name) {
		p.How = origin.Enclosing
	}
	return p
}

// verbatim returns the place of a field in a file of crds/, which Helm does not render.
func (c *chartPlaces) verbatim(s spot) origin.Place {
	if c.top.here && s.part.own {
		p := c.file(c.top.file(s.manifest.File)).Of(s.key, s.value)
		p.Role = "crds"
		return p
	}
	n := s.value
	if s.key != nil && n.Kind != yaml.ScalarNode {
		n = s.key
	}
	p := c.fixed()
	if s.manifest.File != "" {
		p.Chain = []origin.Link{{Path: c.top.file(s.manifest.File), StartLine: n.Line, EndLine: n.Line, Role: "crds"}}
	}
	return p
}

// nearest returns the place of a field whose origin is not known: the template, or the entry that deploys the chart.
func (c *chartPlaces) nearest(s spot) origin.Place {
	at, here := "", false
	if c.trace != nil {
		owner, file := c.trace.Source(s.manifest.Template)
		if home, ok := c.homes[owner]; ok && file != "" {
			at, here = home.file(file), home.here
		}
	} else if s.part.own {
		at, here = c.top.file(s.manifest.File), c.top.here
	}
	if here {
		return origin.Place{Path: at, StartLine: 1, EndLine: 1, How: origin.Enclosing, Role: "template"}
	}
	p := c.deployedBy
	if at != "" {
		p.Chain = []origin.Link{{Path: at, StartLine: 1, EndLine: 1, Role: "template"}}
	}
	return p
}

// How the suggested fix of fixed ends.
const (
	byNone    = ", as no value of the chart changes it"
	byNoFound = ", as no value was found that sets it"
	byNoTried = ", as no value that was tried sets it; not all values could be tried"
	bySome    = ", as the template contains this text; whether it is rendered depends on "
)

// fixed returns the place of text of a remote chart that no value changes.
func (c *chartPlaces) fixed() origin.Place {
	p := c.deployedBy
	p.SuggestedFix = c.fixWords + byNone
	return p
}

// reasoned replaces the reason in the suggested fix of fixed where "no value changes it" is not proven: for a missing
// field by what was tried, for a conditional one by the value that decides.
func (c *chartPlaces) reasoned(p *origin.Place, s spot, missing string, found []trace.Origin) {
	if p.SuggestedFix != c.fixWords+byNone {
		return
	}
	if s.missing != "" {
		p.SuggestedFix = c.fixWords + missing
		return
	}
	for _, o := range found {
		if o.Kind == trace.Value && o.Role >= trace.Fallback && len(o.Path) > 0 {
			p.SuggestedFix = c.fixWords + bySome + strings.Join(o.Path, ".")
			return
		}
	}
}

// deployer returns the place of the entry that deploys the chart which printed a manifest: that of the release, or the
// entry of a remote dependency in a chart of this repository.
func (c *chartPlaces) deployer(m helm.Manifest) origin.Place {
	inside, ok := strings.CutPrefix(m.Template, c.chart.Name()+"/charts/")
	if !ok || !c.top.here || c.trace == nil {
		return c.entry
	}
	if owner, _ := c.trace.Source(m.Template); c.homes[owner].here {
		return c.entry
	}
	key, _, _ := strings.Cut(inside, "/")
	for i, d := range c.chart.Dependencies() {
		if d.Key() != key {
			continue
		}
		for _, name := range []string{"version", "name"} {
			at := []string{"dependencies", strconv.Itoa(i), name}
			if p, depth := c.file(c.top.file(d.File)).Find(at, false); depth == len(at) {
				p.How, p.Role = origin.Enclosing, "chart"
				return p
			}
		}
	}
	return c.entry
}

// link adds the template to the chain of a place.
func (c *chartPlaces) link(p *origin.Place, s spot, found []trace.Origin) {
	for _, l := range p.Chain {
		if l.Role == "template" {
			return
		}
	}
	if p.Role == "template" {
		return
	}
	owner, file := c.trace.Source(s.manifest.Template)
	home, ok := c.homes[owner]
	if !ok || file == "" {
		return
	}
	for _, o := range found {
		if c.linkText(p, o) {
			return
		}
	}
	for _, key := range slices.Backward(s.keys) {
		at, length := s.part.text.scalar(key)
		for _, o := range c.at(s, at, length) {
			if c.linkText(p, o) {
				return
			}
		}
	}
	p.Chain = append(p.Chain, origin.Link{Path: home.file(file), StartLine: 1, EndLine: 1, Role: "template"})
}

// linkText adds the line of the template's text to the chain of a place.
func (c *chartPlaces) linkText(p *origin.Place, o trace.Origin) bool {
	if o.Kind != trace.Text || o.Role >= trace.Fallback {
		return false
	}
	owner, file := c.trace.Source(o.Template)
	home, ok := c.homes[owner]
	if ok = ok && file != ""; ok {
		p.Chain = append(p.Chain, origin.Link{Path: home.file(file), StartLine: o.Line, EndLine: o.Line, Role: "template"})
	}
	return ok
}
