package checks

import (
	"strconv"
	"strings"

	"github.com/go-openapi/jsonpointer"
	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/mask"
	"github.com/lintel-bot/lintel/checks/rendered"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/origin"
)

// blamed returns the place of every scalar and of every printed line of some resources.
func blamed(resources []*render.Resource) ([]report.BlamedResource, error) {
	out := []report.BlamedResource{}
	for _, res := range resources {
		places := map[string]origin.Place{} // a cache, since most lines are those of a scalar
		originOf := func(pointer string) origin.Place {
			p, ok := places[pointer]
			if !ok {
				p = res.Origin(pointer)
				places[pointer] = p
			}
			return p
		}
		lines, err := blameLines(res, originOf)
		if err != nil {
			return nil, err
		}
		one := report.BlamedResource{Resource: resourceOf(res), Fields: []report.BlamedField{}, Lines: lines}
		for _, f := range res.Fields() {
			if f.Scalar() {
				p := originOf(f.Pointer)
				one.Fields = append(one.Fields, report.BlamedField{Field: f.Pointer, Value: f.Value(),
					Origin: blamedPlace(p, f.Node.Value)})
			}
		}
		out = append(out, one)
	}
	return out, nil
}

// blamedPlace returns the place of a scalar. The text selects the parts of a scalar that have several places.
func blamedPlace(p origin.Place, text string) report.BlamedPlace {
	out := report.BlamedPlace{Path: p.Path, StartLine: p.StartLine, EndLine: p.EndLine, StartColumn: p.StartColumn,
		EndColumn: p.EndColumn, How: string(p.How), Role: p.Role, Missing: p.Missing, Set: p.Set, Advice: p.SuggestedFix,
		Chain: blameLinks(p)}
	for _, s := range p.Spans {
		if s.To <= len(text) {
			out.Parts = append(out.Parts, report.BlamedPart{Text: text[s.From:s.To], BlamedPlace: blamedPlace(s.Place, "")})
		}
	}
	return out
}

func blameLinks(p origin.Place) []report.BlamedLink {
	return report.Mapped(p.Chain, func(l origin.Link) report.BlamedLink { return report.BlamedLink(l) })
}

// resourceOf returns the identity of a resource as its text has it.
func resourceOf(res *render.Resource) report.Resource {
	meta, _ := res.Object["metadata"].(map[string]any)
	text := func(m map[string]any, key string) string { s, _ := m[key].(string); return s }
	return report.Resource{APIVersion: text(res.Object, "apiVersion"), Kind: text(res.Object, "kind"),
		Namespace: text(meta, "namespace"), Name: text(meta, "name")}
}

// blameLines prints one resource and finds the place of each line, which is that of the last field that starts on it.
func blameLines(res *render.Resource, originOf func(pointer string) origin.Place) ([]report.BlamedLine, error) {
	data, err := res.YAML()
	if err != nil {
		return nil, err
	}
	text, secret := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"), mask.IsSecret(res.Object)
	if secret {
		text = mask.Read("", data, mask.Plain).Lines()[:len(text)]
	}
	documents, err := doc.Parse("the rendered resource", data, doc.Limits{Nodes: 1 << 30, Depth: 1 << 20})
	if err != nil {
		return nil, err
	}
	starts := map[int]string{} // line -> pointer
	blocks := map[int]bool{}   // lines that a block scalar begins on
	for _, d := range documents {
		markLines(d, "", starts, blocks)
	}
	lines := make([]report.BlamedLine, len(text))
	var place origin.Place
	first, at := 0, ""
	for i, t := range text {
		if pointer, ok := starts[i+1]; ok {
			place, first, at = originOf(pointer), i, pointer
		}
		l := report.BlamedLine{Text: t, Path: place.Path, Line: place.StartLine, Near: place.How == origin.Enclosing}
		if n := i - first; n > 0 && blocks[first+1] {
			l.Line = rendered.LineOf(place, n).StartLine
		} else if n == 0 {
			if l.Chain = blameLinks(place); secret && mask.InData(resourceOf(res).APIVersion, at) {
				hideLinks(l.Chain)
			}
		}
		lines[i] = l
	}
	return lines, nil
}

// hideLinks masks the former values in the chain of a Secret's field. Readers of the lines need places only; values are
// in the output of "lintel render" and in the JSON.
func hideLinks(links []report.BlamedLink) {
	for i := range links {
		if links[i].Value != "" {
			links[i].Value = report.Hidden
		}
	}
}

// markLines notes which field starts last on each line below a node, and which lines begin a block scalar.
func markLines(n *yaml.Node, pointer string, starts map[int]string, blocks map[int]bool) {
	switch n.Kind {
	case yaml.MappingNode:
		for key, value := range doc.Pairs(n) {
			p := pointer + "/" + jsonpointer.Escape(key.Value)
			starts[key.Line] = p
			if value.Kind == yaml.ScalarNode && value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
				blocks[key.Line] = true
			}
			markLines(value, p, starts, blocks)
		}
	case yaml.SequenceNode:
		for i, c := range n.Content {
			p := pointer + "/" + strconv.Itoa(i)
			if n.Style&yaml.FlowStyle == 0 {
				starts[c.Line] = p
				if c.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
					blocks[c.Line] = true
				}
			}
			markLines(c, p, starts, blocks)
		}
	}
}
