package review

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render/doc"
)

// wholeValues reports whether a place is the values of a chart as a whole, where a value is to be added: the values,
// what names them, or an object that deploys the chart without values.
func wholeValues(o *report.Origin) bool {
	return len(o.Set) > 0 && strings.HasPrefix(o.Missing, jsonpointer.Join(o.Set...))
}

// values returns the map into which a value is written, and the keys that it lacks above the value. The map is a values
// file, or a part of the object that deploys the chart.
func (p place) values() (in doc.Spot, above string, ok bool) {
	if p.editor.Len() != 1 {
		return doc.Spot{}, "", false
	}
	in = p.editor.Document(0)
	_, charts := doc.Field(in.Node, "helmCharts")
	switch kind := doc.Text(in.Node, "kind"); {
	case kind == "HelmRelease":
		in, above = below(in, "spec"), "/values"
	case kind == "Application", kind == "ApplicationSet":
		spec := below(in, "spec")
		if kind == "ApplicationSet" {
			spec = below(below(spec, "template"), "spec")
		}
		if in = p.element(below(spec, "sources")); in.Node == nil {
			in = below(spec, "source")
		}
		helm := below(in, "helm")
		if below(helm, "values").Node != nil {
			return doc.Spot{}, "", false // the added field would have no effect
		}
		if above = "/helm/valuesObject"; helm.Node != nil {
			in, above = helm, "/valuesObject"
		}
	case charts != nil:
		in, above = p.element(below(in, "helmCharts")), "/valuesInline"
	case kind != "" || p.line != 1:
		return doc.Spot{}, "", false
	}
	return in, above, in.Node != nil && in.Node.Kind == yaml.MappingNode
}

// below returns a field of a map; its node is nil if the field does not exist.
func below(s doc.Spot, name string) doc.Spot {
	s.Pointer += jsonpointer.Join(name)
	if s.Node != nil {
		_, s.Node = doc.Field(s.Node, name)
	}
	return s
}

// element returns the element of a list that contains the place; its node is nil if none does.
func (p place) element(list doc.Spot) (in doc.Spot) {
	if list.Node == nil {
		return list
	}
	for i, n := range list.Node.Content {
		if n.Line <= p.line {
			in = doc.Spot{Document: list.Document, Pointer: list.Pointer + jsonpointer.Join(strconv.Itoa(i)), Node: n}
		}
	}
	return in
}
