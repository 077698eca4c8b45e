package render

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/helm"
	"github.com/lintel-bot/lintel/render/helm/trace"
	"github.com/lintel-bot/lintel/render/origin"
)

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
