package gitops

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/lintel-bot/lintel/render/remote"
)

// Layer is one source of values.
type Layer struct {
	// Name is its name for people: "spec.values", "ConfigMap app-values", "values-prod.yaml", "parameter
	// image.tag".
	Name string
	// Where is the field that holds the values, or that names what holds them.
	Where Position
	// File is the path of the file that holds them, in this repository where Want has no kind, else in what that comes
	// to. It may be a pattern: see Values.
	File string
	Want remote.Want
	// Unknown is the reason why nobody knows what it holds; empty: it is known.
	Unknown string

	kind      layerKind
	path      string      // of a value that is set by itself, as Helm's --set has it
	value     *field      // what a field holds: an object, or a text
	optional  bool        // it may be missing
	broken    string      // what is wrong with it
	unsure    string      // why what it sets is not known as it is written
	variables bool        // Flux puts values in for ${} in its texts
	first     bool        // only the first of several documents counts
	kustomize bool        // it is kustomize that reads it
	glob      bool        // File is a pattern
	named     []layerFile // what other layers name and the pattern leaves to them
	matched   string      // the files of this repository that a pattern matches
}

// layerKind is what a layer does to the values.
type layerKind int

const (
	mergeLayer   layerKind = iota // an object, or a text that is read as one, is merged into them
	setLayer                      // --set
	stringLayer                   // --set-string
	fileLayer                     // --set-file
	fluxLayer                     // targetPath: --set, or --set-string where the text is quoted
	literalLayer                  // targetPath with literal
)

// layerFile is a file of this repository or of another source.
type layerFile struct {
	want remote.Want
	path string
}

// shape lists what the values of a layer depend on and no file has.
func (l Layer) shape() []any {
	return []any{l.Name, l.File, l.Want, l.Unknown, l.kind, l.path, l.value.plain(), hasUnknown(l.value), l.optional,
		l.broken, l.unsure, l.glob, l.matched, l.variables}
}

// unset matches a variable of Flux' postBuild that nobody has put a value in for.
var unset = regexp.MustCompile(`\$\{[_a-zA-Z]\w*`)

// part is a layer with what it holds.
type part struct {
	Layer
	index     int
	text      string // of a value that is set by itself, or of a file
	documents []document

	placed *field
}

// leaf stands in for a scalar while layers are merged.
type leaf struct {
	*field        // at the scalar's place
	reason string // why nobody knows the value; empty: it is known
	layer  int
	exact  bool // the place is the scalar's own
	null   bool
}

// document is one object of values: as Helm reads it, and the same with where its values are written.
type document struct {
	data  []byte // JSON
	place *field
}

// tree returns what the layer holds, made anew: merging may change it.
func (p *part) tree(tagged bool) map[string]any {
	out := map[string]any{}
	for _, d := range p.documents {
		var m map[string]any
		if json.Unmarshal(d.data, &m) != nil { // it was made here
			continue
		}
		if tagged {
			for k, v := range m {
				m[k] = p.tags(v, d.place, k)
			}
		}
		out = mergeMaps(out, m)
	}
	return out
}

// tags returns a value with a leaf in place of each scalar. around is the place of what the value is in.
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
			if value != nil { // Helm takes null in a list for what is not there yet: see Values.settle
				v[i] = p.tags(value, here, strconv.Itoa(i))
			}
		}
		return v
	}
	return &leaf{field: here, reason: p.reason(here), layer: p.index, exact: exact, null: v == nil}
}

// reason returns why the value of a scalar of the layer is not known; empty: it is known.
func (p *part) reason(f *field) string {
	switch text, _ := f.scalar.(string); {
	case p.kind != mergeLayer:
		return p.Unknown
	case f.fields != nil || f.list:
	case f.unknown:
		return "it depends on values that only the cluster has"
	case p.variables:
		return variableIn(text)
	}
	return ""
}

// anyReason is such a reason of a value of the layer, or of one in it.
func (p *part) anyReason(f *field) string {
	if reason := p.reason(f); reason != "" {
		return reason
	}
	for _, k := range slices.Sorted(slices.Values(f.keys)) {
		if reason := p.anyReason(f.fields[k]); reason != "" {
			return reason
		}
	}
	for _, item := range f.items {
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

// place returns the layer's values with where they are written.
func (p *part) place() *field {
	if p.placed != nil {
		return p.placed
	}
	where := func() Position { return p.Where }
	p.placed = &field{where: where}
	if p.kind != mergeLayer {
		out := map[string]any{}
		if p.set(out, true) == nil {
			p.placed = made(out, where)
		}
	}
	for _, d := range p.documents {
		p.placed = d.place.over(p.placed)
	}
	return p.placed
}

// over returns a value over another one.
func (f *field) over(under *field) *field {
	if under == nil || under.fields == nil || f.fields == nil {
		return f
	}
	out := under.clone()
	out.where = f.where
	for _, k := range f.keys {
		out.put(k, f.fields[k].over(out.fields[k]))
	}
	return out
}
