package gitops

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

// field is a JSON value with its place. It is not changed once it is made. Its fields are exported because evaluations are
// cached.
type field struct {
	_       struct{}          `cbor:",toarray"`  // there are many in the cache
	Scalar  any               `json:",omitzero"` // nil, string, bool, int64 or float64; not used for a map or a list
	Keys    []string          `json:",omitzero"` // of a map, in order
	Fields  map[string]*field `json:",omitzero"` // not nil: a map
	Items   []*field          `json:",omitzero"`
	List    bool              `json:",omitzero"`
	Unknown bool              `json:",omitzero"` // result of a template that depends on values which only the cluster has
	Where   Position          `json:",omitzero"`
	Inside  *Position         `json:",omitzero"` // place in the source of Layer.Want, if the value is not in this repository
	Value   *Position         `json:",omitzero"` // where the value is written that a template of an ApplicationSet prints here; nil: unknown, or here
	Lines   []printed         `json:",omitzero"` // of a block of several lines that such a template prints: where its lines are from
	// Below is where the scalars in a value are written that such a template prints as JSON or YAML, by their names in it.
	Below map[string]Position `json:",omitzero"`
}

// MaxDepth limits the nesting of values. Deeper values are left out.
const MaxDepth = 100

// made returns a field for a computed value. Its place is that of the field it was computed from.
func made(v any, where Position) *field {
	return fieldOf(v, 0, func() Position { return where })
}

// fieldOf converts a JSON value. next returns the place of the next value: parents come before their values, and keys
// are sorted.
func fieldOf(v any, depth int, next func() Position) *field {
	f := &field{Where: next()}
	if depth > MaxDepth {
		return f
	}
	switch v := v.(type) {
	case map[string]any:
		f.Fields = make(map[string]*field, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			f.put(k, fieldOf(v[k], depth+1, next))
		}
	case []any:
		f.List = true
		for _, item := range v {
			f.Items = append(f.Items, fieldOf(item, depth+1, next))
		}
	default:
		f.Scalar = v
	}
	return f
}

// nodes converts YAML nodes. doc.Parse has checked that their aliases do not form a cycle.
type nodes struct {
	where   func(*yaml.Node) Position
	namedBy *Position // the field that names the file of another source; nil: where is in this repository
	truths  bool      // a key that kubectl reads as a boolean is also stored as "true" or "false"
	json    bool      // keys are stored only as kubectl reads them
}

// fieldOfNode converts a node of a file of this repository.
func fieldOfNode(path string, n *yaml.Node) *field {
	return nodes{where: func(n *yaml.Node) Position { return nodePosition(path, n) }}.field(n, 0)
}

func (r nodes) field(n *yaml.Node, depth int) *field {
	n = doc.Deref(n)
	f := &field{Where: r.where(n)}
	if r.namedBy != nil {
		inside := f.Where
		f.Where, f.Inside = *r.namedBy, &inside
	}
	if n == nil || depth > MaxDepth {
		return f
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) > 0 {
			return r.field(n.Content[0], depth)
		}
	case yaml.MappingNode:
		f.Fields = map[string]*field{}
		for key, value := range doc.Fields(n) {
			below := r.field(value, depth+1)
			if truth, ok := doc.Bool(key); ok && r.truths {
				f.put(strconv.FormatBool(truth), below)
			}
			if !r.json {
				f.put(doc.Key(key), below)
			} else {
				f.put(doc.KeyName(key), below)
			}
		}
	case yaml.SequenceNode:
		f.List = true
		for _, c := range n.Content {
			f.Items = append(f.Items, r.field(c, depth+1))
		}
	default:
		f.Scalar = doc.Value(n, true)
	}
	return f
}

// clone returns a map with the same fields.
func (f *field) clone() *field {
	out := &field{Fields: make(map[string]*field, len(f.Fields)), Keys: slices.Clone(f.Keys), Where: f.Where}
	maps.Copy(out.Fields, f.Fields)
	return out
}

func (f *field) put(key string, v *field) {
	if f.Fields[key] == nil {
		f.Keys = append(f.Keys, key)
	}
	f.Fields[key] = v
}

func nodePosition(path string, n *yaml.Node) Position {
	if n == nil {
		return Position{Path: path}
	}
	p := Position{Path: path, Line: n.Line, Column: n.Column}
	if n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		p.EndLine = n.Line + strings.Count(strings.TrimRight(n.Value, "\n"), "\n") + 1
	}
	return p
}

// get returns a field by its keys, nil where it is missing.
func (f *field) get(keys ...string) *field {
	for _, k := range keys {
		if f == nil {
			return nil
		}
		f = f.Fields[k]
	}
	return f
}

// at returns the value at a path of keys and indexes, nil where there is none.
func (f *field) at(path []string) *field {
	for _, key := range path {
		switch i, err := strconv.Atoi(key); {
		case f == nil:
			return nil
		case f.Fields != nil:
			f = f.Fields[key]
		case err != nil || i < 0 || i >= len(f.Items):
			return nil
		default:
			f = f.Items[i]
		}
	}
	return f
}

// text returns a scalar as text, empty where it is missing or null.
func (f *field) text(keys ...string) string {
	f = f.get(keys...)
	if f == nil || f.Fields != nil || f.List || f.Scalar == nil {
		return ""
	}
	return doc.Spell(f.Scalar)
}

// or returns f, or another field where f has no text.
func (f *field) or(other *field) *field {
	if f.text() == "" {
		return other
	}
	return f
}

func (f *field) truth(keys ...string) bool {
	f = f.get(keys...)
	return f != nil && f.Scalar == true
}

// elements lists the items of a list, none where the field is missing.
func (f *field) elements(keys ...string) []*field {
	if f = f.get(keys...); f == nil {
		return nil
	}
	return f.Items
}

// present reports whether a field is written and not null.
func (f *field) present(keys ...string) bool {
	f = f.get(keys...)
	return f != nil && (f.Fields != nil || f.List || f.Scalar != nil)
}

// zero reports whether a value is missing, an empty text, list or map, zero or false.
func (f *field) zero() bool {
	return f == nil || !f.Unknown && len(f.Items)+len(f.Keys) == 0 && slices.Contains([]any{nil, "", false, int64(0), 0.0}, f.Scalar)
}

// each returns a map or a list with change applied to each value. A value that becomes nil is removed.
func (f *field) each(change func(*field) *field) *field {
	if f == nil {
		return nil
	}
	out := &field{List: f.List, Where: f.Where}
	if f.Fields != nil {
		out.Fields = map[string]*field{}
	}
	for _, k := range f.Keys {
		if v := change(f.Fields[k]); v != nil {
			out.put(k, v)
		}
	}
	for _, item := range f.Items {
		if v := change(item); v != nil {
			out.Items = append(out.Items, v)
		}
	}
	return out
}

// settled returns f without the fields that depend on values which only the cluster has.
func (f *field) settled() *field {
	if f.Fields == nil {
		return f
	}
	return f.each(func(v *field) *field {
		if v.Fields == nil && hasUnknown(v) {
			return nil
		}
		return v.settled()
	})
}

// position returns the place of a field, or of its nearest parent that exists.
func (f *field) position(keys ...string) Position {
	at := f
	for _, k := range keys {
		next := at.get(k)
		if next == nil {
			break
		}
		at = next
	}
	if at == nil {
		return Position{}
	}
	return at.Where
}

// MarshalJSON encodes the value without its places.
func (f *field) MarshalJSON() ([]byte, error) { return json.Marshal(f.plain()) }

// plain returns the JSON value.
func (f *field) plain() any {
	switch {
	case f == nil:
		return nil
	case f.Fields != nil:
		m := make(map[string]any, len(f.Keys))
		for _, k := range f.Keys {
			m[k] = f.Fields[k].plain()
		}
		return m
	case f.List:
		list := make([]any, len(f.Items))
		for i, item := range f.Items {
			list[i] = item.plain()
		}
		return list
	}
	return f.Scalar
}

// merge returns f with a JSON merge patch (RFC 7386) applied. A strategic merge patch of an Application differs only in the
// directive "$patch", because none of its lists has a merge key.
func (f *field) merge(patch *field, strategic bool) *field {
	empty := &field{Fields: map[string]*field{}, Where: patch.Where}
	switch directive := patch.text("$patch"); {
	case patch.Fields == nil || strategic && directive == "replace":
		return patch
	case strategic && directive == "delete":
		return empty
	case f == nil || f.Fields == nil:
		f = empty
	}
	out := f.clone()
	for _, k := range patch.Keys {
		old, v := f.Fields[k], patch.Fields[k]
		if !v.present() || strategic && v.present("$patch") && (old == nil || old.Fields == nil) {
			delete(out.Fields, k)
			out.Keys = slices.DeleteFunc(out.Keys, func(key string) bool { return key == k })
		} else {
			out.put(k, old.merge(v, strategic))
		}
	}
	return out
}

// with returns f with one field set.
func (f *field) with(v *field, key string) *field {
	if f == nil {
		f = &field{Where: v.Where}
	}
	out := f.clone()
	out.put(key, v)
	return out
}

// over returns f merged over another value. With fill, what is empty in f is taken from that value, too.
func (f *field) over(under *field, fill bool) *field {
	switch {
	case under == nil:
		return f
	case fill && (!f.present() || f.Scalar == ""):
		return under
	case under.Fields == nil || f.Fields == nil:
		return f
	}
	out := under.clone()
	out.Where = f.Where
	for _, k := range f.Keys {
		out.put(k, f.Fields[k].over(out.Fields[k], fill))
	}
	return out
}

// written returns where the scalars in a value are written, by the names that templates of an ApplicationSet have for
// them, after a prefix.
func (f *field) written(prefix string) map[string]Position {
	at := map[string]Position{}
	var add func(name string, f *field)
	add = func(name string, f *field) {
		for _, k := range f.Keys {
			add(name+"."+k, f.Fields[k])
		}
		for i, item := range f.Items {
			add(name+"."+strconv.Itoa(i), item)
		}
		if f.Fields == nil && !f.List && name != "" {
			at[name[1:]] = f.Where
		}
	}
	if f != nil {
		for _, k := range f.Keys {
			add("."+prefix+k, f.Fields[k])
		}
	}
	return at
}

// placesIn returns the places of the scalars in one of several values, by their names in it.
func placesIn(at map[string]Position, name string) map[string]Position {
	out := map[string]Position{}
	for k, where := range at {
		if rest, ok := strings.CutPrefix(k, name+"."); ok {
			out[rest] = where
		}
	}
	return out
}

// overridden returns places with those of an override.
func overridden(at, by map[string]Position) map[string]Position {
	out := maps.Clone(at)
	if out == nil {
		return by
	}
	maps.Copy(out, by)
	return out
}

// atValues returns an Application of an ApplicationSet whose values for Helm and kustomize have the places where they are
// written: in an element of a generator, or in a file that it reads. A person must edit these. All else keeps its place in
// the template, which says what the Application is.
func (f *field) atValues() *field {
	spec := f.get("spec")
	if spec == nil {
		return f
	}
	source := func(s *field) *field {
		for _, tool := range []string{"helm", "kustomize"} {
			if v := s.get(tool); v != nil {
				s = s.with(v.atValue(), tool)
			}
		}
		return s
	}
	if s := spec.get("source"); s != nil {
		spec = spec.with(source(s), "source")
	}
	if s := spec.get("sources"); s != nil {
		spec = spec.with(s.each(source), "sources")
	}
	return f.with(spec, "spec")
}

// atValue returns a value whose scalars have the places in Value.
func (f *field) atValue() *field {
	switch {
	case f.Fields != nil || f.List:
		return f.each((*field).atValue)
	case f.Value == nil:
		return f
	}
	out := *f
	out.Where = *f.Value
	return &out
}
