package render

import (
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/render/gitops"
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
