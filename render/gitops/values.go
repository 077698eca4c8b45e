package gitops

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/remote"
)

// Unknown is a part of the values that is not known before merge.
type Unknown struct {
	Path   []string // in the values; nil: any value that no stronger layer sets
	Where  Position // the field that names its source
	Reason string   // "the Secret app-secrets is encrypted"
	Lacks  bool     // see doc.Error
}

// Values are the merged values of a release.
type Values struct {
	// Map is the input of Helm. Do not change it.
	Map     map[string]any
	Unknown []Unknown
	Layers  []Layer // the layers that were read; a pattern is replaced by the files that it matches

	tagged map[string]any // Map with a *leaf in place of each scalar; nil: it could not be merged
	parts  []*part
}

// Values merges the layers like the release's controller. t is this repository. The error is a *doc.Error, or that of
// remote.Sources.Get.
func (r *Release) Values(t Tree, sources *remote.Sources) (*Values, error) {
	return r.compose(r.Layers, t, sources)
}

// ChartValues merges Defaults. It returns nil where the chart's own values are used.
func (r *Release) ChartValues(t Tree, sources *remote.Sources) (*Values, error) {
	if len(r.Defaults) == 0 {
		return nil, nil
	}
	return r.compose(r.Defaults, t, sources)
}

func (r *Release) compose(layers []Layer, t Tree, sources *remote.Sources) (*Values, error) {
	l := &loader{tree: t, sources: sources, limits: r.Limits.withDefaults(), seen: map[layerFile]bool{}}
	for _, layer := range layers {
		if err := l.load(layer); err != nil {
			return nil, err
		}
	}
	v := &Values{parts: l.parts}
	for _, p := range l.parts {
		v.Layers = append(v.Layers, p.Layer)
		if p.Unknown != "" && p.Kind == mergeLayer {
			v.Unknown = append(v.Unknown, Unknown{Where: p.Where, Reason: p.Unknown, Lacks: p.Lacks})
		}
	}
	var err error
	if v.Map, err = r.Rule.merge(l.parts, false); err != nil {
		return nil, err
	}
	if tagged, err := r.Rule.merge(l.parts, true); err == nil {
		if unknown := v.settle(tagged, nil); alike(v.Map, tagged) {
			v.tagged, v.Unknown = tagged, append(v.Unknown, unknown...)
		}
	}
	if v.tagged == nil {
		v.anywhere()
	}
	return v, nil
}

// anywhere adds an Unknown without a path for each layer with unknown values. It is used if values could not be tagged.
func (v *Values) anywhere() {
	for _, p := range v.parts {
		if p.Unknown != "" && p.Kind == mergeLayer {
			continue // it is already in the list
		}
		if reason := cmp.Or(p.Unknown, p.Unsure, p.anyReason(p.place())); reason != "" {
			v.Unknown = append(v.Unknown, Unknown{Where: p.Where, Reason: reason})
		}
	}
}

// settle replaces each remaining null by a leaf, because merging took it for a missing value. It returns the unknown
// values, in the order of their paths.
func (v *Values) settle(tagged any, path []string) (unknown []Unknown) {
	for key, value := range doc.Sorted(tagged) {
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
			unknown = append(unknown, Unknown{Path: here, Where: l.Where, Reason: l.reason})
		}
		unknown = append(unknown, v.settle(value, here)...)
	}
	return unknown
}

// nothing returns the leaf for a null: that of the strongest layer with a value at the path, which may be the null or a
// longer list.
func (v *Values) nothing(path []string) *leaf {
	for i, p := range slices.Backward(v.parts) {
		if found := p.place().at(path); found != nil {
			return &leaf{field: found, reason: p.reason(found), layer: i, exact: true}
		}
	}
	return &leaf{field: &field{}}
}

// alike reports whether a tagged value has the same shape as the real one.
func alike(real, tagged any) bool {
	isLeaf := func(v any) any { _, is := v.(*leaf); return is }
	return reflect.DeepEqual(doc.MapLeaves(real, func(any) any { return true }), doc.MapLeaves(tagged, isLeaf))
}

// Origin returns the place of the value at a path of the merged values. The path consists of keys of maps and indexes
// of lists. If there is no value, exact is false and the place is that of the nearest parent, or of the strongest
// layer. The zero Position means that there are no values at all.
func (v *Values) Origin(path []string) (at Position, exact bool) {
	found, steps := doc.Look(v.tagged, path)
	if l, ok := found.(*leaf); ok {
		return l.Where, l.exact && steps == len(path)
	}
	if v.tagged == nil {
		steps = 0
	}
	for ; steps > 0; steps-- {
		container, _ := doc.Look(v.tagged, path[:steps])
		if i := v.layerOf(container, path[:steps]); i >= 0 {
			if p := v.parts[i].place().at(path[:steps]); p != nil {
				return p.Where, steps == len(path)
			}
		}
	}
	for _, p := range slices.Backward(v.parts) {
		if p.Kind == mergeLayer && p.Unknown == "" {
			return p.Where, false
		}
	}
	if len(v.parts) > 0 {
		return v.parts[len(v.parts)-1].Where, false
	}
	return Position{}, false
}

// Around returns the deepest map in this repository that a value at a path can be added to, in the strongest layer that
// has it. depth is the number of keys that lead to the map; 0 means the whole layer. ok is false where this repository
// has no values.
func (v *Values) Around(path []string) (at Position, layer Layer, depth int, ok bool) {
	for depth = len(path); depth >= 0; depth-- {
		for _, p := range slices.Backward(v.parts) {
			if p.Kind != mergeLayer || p.Want.Kind != "" || p.Unknown != "" || len(p.documents) != 1 {
				continue
			}
			if found := p.place().at(path[:depth]); found != nil && (found.Fields != nil || depth == 0) {
				return found.Where, p.Layer, depth, true
			}
		}
	}
	return Position{}, Layer{}, 0, false
}

// layerOf returns the strongest layer that contributes to a map or a list, -1 where none does.
func (v *Values) layerOf(container any, path []string) int {
	best := -1
	var below func(any)
	below = func(value any) {
		if l, ok := value.(*leaf); ok && l.layer > best && v.parts[l.layer].place().at(path) != nil {
			best = l.layer
		}
		for _, next := range doc.Sorted(value) {
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

// Chain lists the places of overridden values at a path in other layers, strongest first.
func (v *Values) Chain(path []string) (chain []Position) {
	found, steps := doc.Look(v.tagged, path)
	winner, ok := found.(*leaf)
	if !ok || steps < len(path) {
		return nil
	}
	for i, p := range slices.Backward(v.parts) {
		if one := p.place().at(path); one != nil && i != winner.layer {
			chain = append(chain, one.Where)
		}
	}
	return chain
}

// Inside returns the remote source of a value and its place there. ok is false where the value is in this repository.
// Origin returns the place in this repository that names the source.
func (v *Values) Inside(path []string) (want remote.Want, at Position, ok bool) {
	found, _ := doc.Look(v.tagged, path)
	l, isLeaf := found.(*leaf)
	if !isLeaf || l.Inside == nil {
		return remote.Want{}, Position{}, false
	}
	return v.parts[l.layer].Want, *l.Inside, true
}

// Unsure returns an unknown that decides the value at a path, or a value below it. A whole layer that is not known may set any
// value, and is none.
func (v *Values) Unsure(path []string) (Unknown, bool) {
	if v.tagged == nil && len(v.Unknown) > 0 {
		return v.Unknown[0], true
	}
	found, steps := doc.Look(v.tagged, path)
	_, isLeaf := found.(*leaf)
	for _, u := range v.Unknown {
		if u.Path != nil && steps <= len(u.Path) && slices.Equal(u.Path[:steps], path[:steps]) &&
			(steps == len(path) || isLeaf) {
			return u, true
		}
	}
	return Unknown{}, false
}
