package gitops

import (
	"maps"
	"strconv"
	"strings"
)

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
