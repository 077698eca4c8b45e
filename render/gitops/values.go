package gitops

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/lintel-bot/lintel/render/remote"
)

// Unknown is something in the values that nobody knows before merge.
type Unknown struct {
	Path   []string // in the values; nil: any that no stronger layer sets
	Where  Position // what asks for it
	Reason string   // "the Secret app-secrets is encrypted"
}

// Values are values of a release, merged.
type Values struct {
	// Map is what Helm is given. Whoever reads it does not change it.
	Map     map[string]any
	Unknown []Unknown
	Layers  []Layer // those that there are: a pattern stands as the files that it matches

	tagged map[string]any // Map with a *leaf in place of each scalar; nil: it could not be made
	parts  []*part
}

// Values merges the layers as the release's controller does. t is this repository. An error is a *doc.Error, or what
// a source gives for a want (see remote.Sources.Get).
func (r *Release) Values(t Tree, sources *remote.Sources) (*Values, error) {
	return r.compose(r.Layers, t, sources)
}

// ChartValues merges Defaults. It returns nil where the chart's own values count.
func (r *Release) ChartValues(t Tree, sources *remote.Sources) (*Values, error) {
	if len(r.Defaults) == 0 {
		return nil, nil
	}
	return r.compose(r.Defaults, t, sources)
}

func (r *Release) compose(layers []Layer, t Tree, sources *remote.Sources) (*Values, error) {
	l := &loader{tree: t, sources: sources, limits: r.limits.withDefaults(), seen: map[layerFile]bool{},
		lines: map[string][]string{}}
	for _, layer := range layers {
		if err := l.load(layer); err != nil {
			return nil, err
		}
	}
	v := &Values{parts: l.parts}
	for _, p := range l.parts {
		v.Layers = append(v.Layers, p.Layer)
		if p.Unknown != "" && p.kind == mergeLayer {
			v.Unknown = append(v.Unknown, Unknown{Where: p.Where, Reason: p.Unknown})
		}
	}
	var err error
	if v.Map, err = r.rule.merge(l.parts, false); err != nil {
		return nil, err
	}
	if tagged, err := r.rule.merge(l.parts, true); err == nil {
		if unknown := v.settle(tagged, nil); alike(v.Map, tagged) {
			v.tagged, v.Unknown = tagged, append(v.Unknown, unknown...)
		}
	}
	if v.tagged == nil {
		v.anywhere()
	}
	return v, nil
}

// anywhere lists what nobody knows of each layer where it cannot be told which values that is.
func (v *Values) anywhere() {
	for _, p := range v.parts {
		if p.Unknown != "" && p.kind == mergeLayer {
			continue // it is listed already
		}
		if reason := cmp.Or(p.Unknown, p.unsure, p.anyReason(p.place())); reason != "" {
			v.Unknown = append(v.Unknown, Unknown{Where: p.Where, Reason: reason})
		}
	}
}

// settle puts a leaf in place of each null that is left: merging takes them for what is not there. It lists the leaves that
// nobody knows, in the order of their paths.
func (v *Values) settle(tagged any, path []string) (unknown []Unknown) {
	for key, value := range sorted(tagged) {
		here := append(slices.Clip(path), key)
		if value == nil {
			value = v.nothing(here)
			switch in := tagged.(type) {
			case map[string]any:
				in[key] = value
			case []any:
				i, _ := strconv.Atoi(key)
				in[i] = value
			}
		}
		if l, ok := value.(*leaf); ok && l.reason != "" {
			unknown = append(unknown, Unknown{Path: here, Where: l.where(), Reason: l.reason})
		}
		unknown = append(unknown, v.settle(value, here)...)
	}
	return unknown
}

// nothing is the leaf of such a null: of the strongest layer that has something there, or that made the list grow.
func (v *Values) nothing(path []string) *leaf {
	for i, p := range slices.Backward(v.parts) {
		if found := p.place().at(path); found != nil {
			return &leaf{field: found, reason: p.reason(found), layer: i, exact: true}
		}
	}
	return &leaf{field: &field{where: func() Position { return Position{} }}}
}

// alike reports whether a tagged value has the shape of the real one.
func alike(real, tagged any) bool {
	same := false
	switch real := real.(type) {
	case map[string]any:
		m, ok := tagged.(map[string]any)
		same = ok && len(m) == len(real)
	case []any:
		list, ok := tagged.([]any)
		same = ok && len(list) == len(real)
	default:
		_, same = tagged.(*leaf)
	}
	for key, v := range sorted(real) {
		tag, ok := step(tagged, key)
		same = same && ok && alike(v, tag)
	}
	return same
}

// look goes down a path as far as it leads.
func look(tagged any, path []string) (found any, steps int) {
	for i, key := range path {
		next, ok := step(tagged, key)
		if !ok {
			return tagged, i
		}
		tagged = next
	}
	return tagged, len(path)
}

func step(v any, key string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		next, ok := v[key]
		return next, ok
	case []any:
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(v) {
			return v[i], true
		}
	}
	return nil, false
}

// Origin returns where the value at a path of the merged values is written: keys of maps and indexes of lists. Where
// nothing is at the path, exact is false and the place is that of the nearest value around it; at the top that is the
// strongest layer. The zero Position stands for no values at all.
func (v *Values) Origin(path []string) (at Position, exact bool) {
	found, steps := look(v.tagged, path)
	if l, ok := found.(*leaf); ok {
		return l.where(), l.exact && steps == len(path)
	}
	if v.tagged == nil {
		steps = 0
	}
	for ; steps > 0; steps-- {
		container, _ := look(v.tagged, path[:steps])
		if i := v.layerOf(container, path[:steps]); i >= 0 {
			if p := v.parts[i].place().at(path[:steps]); p != nil {
				return p.where(), steps == len(path)
			}
		}
	}
	for _, p := range slices.Backward(v.parts) {
		if p.kind == mergeLayer && p.Unknown == "" {
			return p.Where, false
		}
	}
	if len(v.parts) > 0 {
		return v.parts[len(v.parts)-1].Where, false
	}
	return Position{}, false
}

// Around returns where this repository has a map that a value at a path can be put in: the deepest that there is, of the
// strongest layer that has it, and how many of the keys lead to it. With 0 keys it is the layer as a whole. It returns
// false where no values are written here.
func (v *Values) Around(path []string) (at Position, layer Layer, depth int, ok bool) {
	for depth = len(path); depth >= 0; depth-- {
		for _, p := range slices.Backward(v.parts) {
			if p.kind != mergeLayer || p.Want.Kind != "" || p.Unknown != "" || len(p.documents) != 1 {
				continue
			}
			if found := p.place().at(path[:depth]); found != nil && (found.fields != nil || depth == 0) {
				return found.where(), p.Layer, depth, true
			}
		}
	}
	return Position{}, Layer{}, 0, false
}

// layerOf returns the strongest layer that a map or a list is of, -1 where none is.
func (v *Values) layerOf(container any, path []string) int {
	best := -1
	var below func(any)
	below = func(value any) {
		if l, ok := value.(*leaf); ok && l.layer > best && v.parts[l.layer].place().at(path) != nil {
			best = l.layer
		}
		for _, next := range sorted(value) {
			below(next)
		}
	}
	if below(container); best >= 0 {
		return best
	}
	for i, p := range slices.Backward(v.parts) {
		if p.place().at(path) != nil {
			return i
		}
	}
	return -1
}

// Chain lists where the other layers have a value at a path, strongest first: what stands there does not count.
func (v *Values) Chain(path []string) (chain []Position) {
	found, steps := look(v.tagged, path)
	winner, ok := found.(*leaf)
	if !ok || steps < len(path) {
		return nil
	}
	for i, p := range slices.Backward(v.parts) {
		if one := p.place().at(path); one != nil && i != winner.layer {
			chain = append(chain, one.where())
		}
	}
	return chain
}

// Inside returns what a value comes from and where it stands there, if that is not this repository: Origin gives the
// place that names it.
func (v *Values) Inside(path []string) (want remote.Want, at Position, ok bool) {
	found, _ := look(v.tagged, path)
	l, isLeaf := found.(*leaf)
	if !isLeaf || l.inside == nil {
		return remote.Want{}, Position{}, false
	}
	return v.parts[l.layer].Want, l.inside(), true
}

// Unsure returns what nobody knows that may decide the value at a path, or one below it.
func (v *Values) Unsure(path []string) (Unknown, bool) {
	if v.tagged == nil && len(v.Unknown) > 0 {
		return v.Unknown[0], true
	}
	found, steps := look(v.tagged, path)
	l, isLeaf := found.(*leaf)
	for _, u := range v.Unknown {
		if u.Path != nil && steps <= len(u.Path) && slices.Equal(u.Path[:steps], path[:steps]) &&
			(steps == len(path) || isLeaf) {
			return u, true
		}
	}
	for i, p := range slices.Backward(v.parts) {
		if p.Unknown != "" && p.kind == mergeLayer && !(isLeaf && l.layer > i) {
			return Unknown{Where: p.Where, Reason: p.Unknown}, true
		}
	}
	return Unknown{}, false
}
