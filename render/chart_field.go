package render

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/helm/trace"
	"github.com/lintel-bot/lintel/render/origin"
)

// field returns the place of a field.
func (c *chartPlaces) field(s spot) origin.Place {
	if s.manifest.CRD {
		return c.verbatim(s)
	}
	near := c.nearest(s)
	if c.trace == nil || s.manifest.Offset < 0 || !c.trace.Accepted(s.manifest.Template) {
		return near
	}
	tried := ""
	if s.missing != "" {
		if p, ok := c.inElement(s); ok {
			return p
		}
		p, ok, all := c.absent(s)
		if ok {
			return p
		}
		if tried = byNoFound; !all {
			tried = byNoTried
		}
	}
	at, length := s.part.text.extent(s)
	found := c.at(s, at, length)
	if quotes := `""`; s.value.Value == "" && length == len(quotes) {
		if inside := c.at(s, at+1, 0); len(inside) > 0 {
			at, length, found = at+1, 0, inside
		}
	}
	text := s.part.text.Text[at : at+length]
	p, ok := c.decide(s, wordsFirst(found, text), text)
	if !ok {
		return near
	}
	if length == 0 && p.Set == nil && len(found) == 1 && found[0].Kind == trace.Value {
		p.Set = found[0].Path // any value there is printed
	}
	c.reasoned(&p, s, tried, found)
	if s.value.Kind == yaml.ScalarNode && s.missing == "" {
		p.Spans = c.spans(s, found, at, length)
	}
	c.link(&p, s, found)
	return p
}

func (c *chartPlaces) at(s spot, at, length int) []trace.Origin {
	return c.trace.At(s.manifest.Template, s.manifest.Offset+at, length)
}

// wordsFirst moves punctuation that the template wrote between values behind the values.
func wordsFirst(found []trace.Origin, text string) []trace.Origin {
	found = slices.Clone(found)
	sign := func(o trace.Origin) int {
		if o.Kind == trace.Text && o.Role == trace.Verbatim && o.At >= 0 && o.At+o.Length <= len(text) &&
			!strings.ContainsFunc(text[o.At:o.At+o.Length], isWord) {
			return 1
		}
		return 0
	}
	end := slices.IndexFunc(found, func(o trace.Origin) bool {
		return o.Role == trace.Condition || o.Role == trace.Fallback
	})
	if end < 0 {
		end = len(found)
	}
	slices.SortStableFunc(found[:end], func(a, b trace.Origin) int { return sign(a) - sign(b) })
	return found
}

// decide returns the place of the first origin that a person can edit in this repository, or else of the first origin.
// text is what they made.
func (c *chartPlaces) decide(s spot, found []trace.Origin, text string) (best origin.Place, ok bool) {
	if p, ok := c.unsure(found); ok {
		return p, true
	}
	var open *origin.Place
	for _, o := range found {
		if o.Role == trace.Condition {
			break
		}
		if o.Role == trace.Derived && found[0].Role == trace.Verbatim {
			continue // it affected the copied value, but another value of it may print the same
		}
		if o.Role == trace.Fallback && o.Kind != trace.Value {
			continue // a key or a release is not set to get a default
		}
		copied := ""
		if o.Role == trace.Verbatim && !strings.Contains(text, "\n") {
			copied = text[o.At:min(o.At+o.Length, len(text))]
		}
		p, sure := c.origin(o, copied)
		if o.Role == trace.Derived && (o.Kind == trace.Key || o.Kind == trace.Release) {
			p.How, sure = origin.Enclosing, false // a key or a release usually chose between values, and did not print the text itself
			p.StartColumn, p.EndColumn = 0, 0
		}
		if o.Role == trace.Fallback { // another value was tried first and is not set, so this one was used
			if p.Set == nil || open != nil && open.Set != nil || !c.changes(s, p.Set) {
				continue
			}
			sure = false
		}
		if sure {
			return p, true
		}
		if open == nil || open.Set == nil && p.Set != nil {
			open = &p
		}
	}
	if open == nil {
		return origin.Place{}, false
	}
	return *open, true
}

// unsure returns the place of a value that only the cluster knows, where a text contains one among others. A finding
// about the text is unsure because of that value.
func (c *chartPlaces) unsure(found []trace.Origin) (origin.Place, bool) {
	if c.values == nil || c.layers == nil {
		return origin.Place{}, false
	}
	for _, o := range found {
		if o.Kind != trace.Value || o.Role > trace.Derived {
			continue
		}
		set, _ := c.layers.At(o.Path)
		if u, ok := c.values.Unsure(userPath(set, o.Path)); ok {
			return placeAt(u.Where, "values"), true
		}
	}
	return origin.Place{}, false
}
