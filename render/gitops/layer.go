package gitops

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	charts "helm.sh/helm/v4/pkg/chart/v2/loader"

	"github.com/lintel-bot/lintel/render/remote"
)

// Layer is one source of values.
type Layer struct {
	// Name describes the source in messages: "spec.values", "ConfigMap app-values", "values-prod.yaml", "parameter
	// image.tag".
	Name string
	// Where is the field that contains the values, or that names what contains them.
	Where Position
	// File is the path of the file with the values. It is in this repository if Want has no kind, else in the source of
	// Want. It may be a pattern: see Values.
	File string
	Want remote.Want
	// Unknown is the reason why the values are not known; empty: they are known.
	Unknown string
	Lacks   bool // see doc.Error

	Kind      layerKind
	Set       string      // path of a single value, as for Helm's --set
	Value     *field      // the content of a field: an object or a text
	Optional  bool        // it may be missing
	Broken    string      // what is wrong with the layer
	Unsure    string      // why the value may be another one than what is written
	Variables bool        // Flux replaces ${} in its texts
	First     bool        // only the first of several documents is read
	Kustomize bool        // kustomize reads it, and not Helm
	Glob      bool        // File is a pattern
	Named     []layerFile // files that other layers name, which the pattern does not read
	Matched   string      // the files of this repository that the pattern matches
}

// layerKind says how a layer changes the values.
type layerKind int

const (
	mergeLayer   layerKind = iota // merge an object, or a text with an object
	setLayer                      // --set
	stringLayer                   // --set-string
	fileLayer                     // --set-file
	fluxLayer                     // targetPath: --set, or --set-string where the text is quoted
	literalLayer                  // targetPath with literal
)

// layerFile is a file of this repository or of another source.
type layerFile struct {
	Want remote.Want
	Path string
}

// shape lists what the values of a layer depend on, except the contents of files.
func (l Layer) shape() []any {
	return []any{l.Name, l.File, l.Want, l.Unknown, l.Kind, l.Set, l.Value.plain(), hasUnknown(l.Value), l.Optional,
		l.Broken, l.Unsure, l.Glob, l.Matched, l.Variables}
}

// unset matches a variable of Flux' postBuild that was not replaced.
var unset = regexp.MustCompile(`\$\{[_a-zA-Z]\w*`)

// part is a layer with its content.
type part struct {
	Layer
	index     int
	text      string // of a single value, or of a file
	documents []document

	placed *field
}

// leaf replaces a scalar while layers are merged.
type leaf struct {
	*field        // with the scalar's place
	reason string // why the value is not known; empty: it is known
	layer  int
	exact  bool // the place is that of the scalar itself
	null   bool
}

// document is one object of values: as Helm reads it, and with places.
type document struct {
	data  []byte // JSON
	place *field
}

// tree returns a new copy of the layer's values, because merging may change it.
func (p *part) tree(tagged bool) map[string]any {
	out := map[string]any{}
	for _, d := range p.documents {
		var m map[string]any
		if json.Unmarshal(d.data, &m) != nil { // not reached: the JSON was written by this package
			continue
		}
		if tagged {
			for k, v := range m {
				m[k] = p.tags(v, d.place, k)
			}
		}
		out = charts.MergeMaps(out, m)
	}
	return out
}

// tags replaces each scalar in a value by a leaf. around is the place of the parent.
func (p *part) tags(v any, around *field, key string) any {
	here := around.at([]string{key})
	exact := here != nil
	if !exact {
		here = around
	}
	switch v := v.(type) {
	case map[string]any:
		for k, value := range v {
			v[k] = p.tags(value, here, k)
		}
		return v
	case []any:
		for i, value := range v {
			if value != nil { // Helm takes a null in a list for a missing value: see Values.settle
				v[i] = p.tags(value, here, strconv.Itoa(i))
			}
		}
		return v
	}
	return &leaf{field: here, reason: p.reason(here), layer: p.index, exact: exact, null: v == nil}
}

// reason returns why the value of a scalar in the layer is not known; empty: it is known.
func (p *part) reason(f *field) string {
	switch text, _ := f.Scalar.(string); {
	case p.Kind != mergeLayer:
		return p.Unknown
	case f.Fields != nil || f.List:
	case f.Unknown:
		return "it depends on values that only the cluster has"
	case p.Variables:
		return variableIn(text)
	}
	return ""
}

// anyReason returns the reason for a value of the layer, or for the first value in it that is not known.
func (p *part) anyReason(f *field) string {
	if reason := p.reason(f); reason != "" {
		return reason
	}
	for _, k := range slices.Sorted(slices.Values(f.Keys)) {
		if reason := p.anyReason(f.Fields[k]); reason != "" {
			return reason
		}
	}
	for _, item := range f.Items {
		if reason := p.anyReason(item); reason != "" {
			return reason
		}
	}
	return ""
}

func variableIn(text string) string {
	if found := unset.FindString(text); found != "" {
		return fmt.Sprintf("nothing in this repository sets %.80s}", found)
	}
	return ""
}

// place returns the layer's values with their places.
func (p *part) place() *field {
	if p.placed != nil {
		return p.placed
	}
	p.placed = &field{Where: p.Where}
	if p.Kind != mergeLayer {
		out := map[string]any{}
		if p.set(out, true) == nil {
			p.placed = made(out, p.Where)
		}
	}
	for _, d := range p.documents {
		p.placed = d.place.over(p.placed)
	}
	return p.placed
}

// over returns f merged over another value.
func (f *field) over(under *field) *field {
	if under == nil || under.Fields == nil || f.Fields == nil {
		return f
	}
	out := under.clone()
	out.Where = f.Where
	for _, k := range f.Keys {
		out.put(k, f.Fields[k].over(out.Fields[k]))
	}
	return out
}
