package gitops

import (
	"encoding/json"
	"strconv"
)

// part is a layer with what it holds.
type part struct {
	Layer
	index     int
	last      bool   // spec.values of Flux
	text      string // of a value that is set by itself, or of a file
	documents []document

	placed *place
}

// document is one object of values: as Helm reads it, and where its values are written.
type document struct {
	data  []byte // JSON
	place *place
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
func (p *part) tags(v any, around *place, key string) any {
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
	return &leaf{place: here, layer: p.index, exact: exact, null: v == nil}
}
