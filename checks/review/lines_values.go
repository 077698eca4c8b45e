package review

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render/doc"
)

// wholeValues reports whether a place is values of a chart as a whole, or what deploys the chart without any; a value is
// to be set there.
func wholeValues(o *report.Origin) bool {
	return o.StartColumn == 0 && len(o.Set) > 0 && strings.HasPrefix(o.Missing, jsonpointer.Join(o.Set...))
}

// values is the map into which values are written, with the keys that are missing above them: the document, if it is one
// of values, or a part of the object that deploys the chart.
func (p place) values() (in doc.Spot, above string, ok bool) {
	if p.editor.Len() != 1 {
		return doc.Spot{}, "", false
	}
	in = p.editor.Document(0)
	at := func(n *yaml.Node, keys ...string) *yaml.Node {
		for _, key := range keys {
			_, n = doc.Field(n, key)
		}
		return n
	}
	_, charts := doc.Field(in.Node, "helmCharts")
	switch kind := doc.Text(in.Node, "kind"); {
	case kind == "HelmRelease":
		in.Pointer, above = "/spec", "/values"
	case kind == "Application":
		in.Pointer, in.Node = "/spec/source", at(in.Node, "spec", "source")
		if sources := at(p.editor.Document(0).Node, "spec", "sources"); sources != nil {
			for i, source := range sources.Content {
				if source.Line <= p.line {
					in.Pointer, in.Node = "/spec/sources/"+strconv.Itoa(i), source
				}
			}
		}
		if at(in.Node, "helm", "values") != nil {
			return doc.Spot{}, "", false // it would count no more
		}
		if above = "/helm/valuesObject"; at(in.Node, "helm") != nil {
			in.Pointer, above = in.Pointer+"/helm", "/valuesObject"
		}
	case kind != "" || charts != nil || p.line != 1:
		return doc.Spot{}, "", false
	}
	return in, above, in.Node != nil && in.Node.Kind == yaml.MappingNode
}
