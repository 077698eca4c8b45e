package engine

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// place turns pointers into the value that a pattern checked into pointers into the object.
func (f *frame) place(fields []string) []string {
	if f.scoped == nil {
		return fields
	}
	at, ok := f.locate(f.elements[f.scopedBy])
	if !ok {
		return f.trace(nil)
	}
	out := make([]string, len(fields))
	for i, p := range fields {
		out[i] = at + p
	}
	return out
}

// maxTrace limits how far variables are followed to the values they were computed from.
const maxTrace = 5

// trace finds the fields of the object from which the variables that decided an outcome were computed. If there are
// none, it returns the current element.
func (f *frame) trace(reads []string) []string {
	var out []string
	for _, r := range reads {
		out = f.follow(r, out, 0)
	}
	if len(out) == 0 {
		for _, e := range slices.Backward(f.elements) {
			if at, ok := f.locate(e); ok && at != "" {
				return []string{at}
			}
		}
		return []string{""}
	}
	return jsonpointer.Distinct(out)
}

// follow adds the fields of the object from which one pointer into the variables was computed.
func (f *frame) follow(read string, out []string, depth int) []string {
	object, other := "/request/object", "/request/oldObject"
	if f.request.Object == nil {
		object, other = other, object // all that a deletion has is the old object, however it is called
	}
	if rest, ok := jsonpointer.Below(read, object); ok {
		return append(out, rest)
	}
	if rest, ok := jsonpointer.Below(read, other); ok {
		if f.request.Object == nil {
			return append(out, rest)
		}
		return out
	}
	switch read {
	case "/request/namespace", "/request/name":
		return append(out, "/metadata"+strings.TrimPrefix(read, "/request"))
	}
	name, rest, _ := strings.Cut(strings.TrimPrefix(read, "/"), "/")
	if rest != "" {
		rest = "/" + rest
	}
	if e, ok := f.elementNamed(name); ok {
		if at, ok := f.locate(e); ok {
			return append(out, at+rest)
		}
		return out
	}
	if name == "images" {
		return f.imageFields(rest, out)
	}
	if depth >= maxTrace {
		return out
	}
	for _, e := range slices.Backward(f.entries) {
		if e.name == jsonpointer.Unescape(name) {
			for _, r := range f.ofElement(name, rest, e.reads(f)) {
				out = f.follow(r, out, depth+1)
			}
			break
		}
	}
	return out
}

// elementNamed returns the element that "element", or "element" with the depth of its foreach, means.
func (f *frame) elementNamed(name string) (element, bool) {
	rest, ok := strings.CutPrefix(name, "element")
	if !ok || len(f.elements) == 0 {
		return element{}, false
	}
	if rest == "" {
		return f.elements[len(f.elements)-1], true
	}
	i, err := strconv.Atoi(rest)
	if err != nil || i < 0 || i >= len(f.elements) {
		return element{}, false
	}
	return f.elements[i], true
}

// imageFields adds the image fields below a pointer into the variable images.
func (f *frame) imageFields(rest string, out []string) []string {
	all, err := images(f.request.CurrentObject())
	if err != nil {
		return out
	}
	var add func(v any)
	add = func(v any) {
		m, ok := v.(map[string]any)
		if !ok {
			return
		}
		if p, ok := m["jsonPointer"].(string); ok {
			out = append(out, p)
			return
		}
		for _, e := range m {
			add(e)
		}
	}
	if parts := strings.Split(rest, "/"); len(parts) > 3 {
		rest = strings.Join(parts[:3], "/")
	}
	add(jsonpointer.At(all, rest))
	return out
}

// reads returns the pointers into the variables from which a context entry is computed.
func (e *entry) reads(f *frame) []string {
	if !e.variable {
		return nil
	}
	var out []string
	if e.value != nil {
		out = e.value.Reads(f.scope)
	} else if e.path != nil {
		if asked, err := e.path.expression(f.scope, e.name); err == nil {
			out = f.scope.Reads(asked)
		}
	}
	if e.path != nil && e.path.tree != nil && len(out) == 0 {
		out = append(out, e.path.tree.Reads(f.scope)...)
	}
	return out
}

// ofElement returns those of the pointers from which an element of a list was computed. If the list consists of just
// the values at the pointers, these are the pointers with the same value. rest is the pointer into the list.
func (f *frame) ofElement(name, rest string, reads []string) []string {
	list, _ := f.scope.Value(jsonpointer.Unescape(name))
	token, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
	all, isList := list.([]any)
	i, ok := jsonpointer.Index(token, len(all))
	if !isList || !ok {
		return reads
	}
	if len(reads) == 1 && reflect.DeepEqual(f.scope.At(reads[0]), list) {
		return []string{reads[0] + rest}
	}
	var out []string
	for _, r := range reads {
		value := f.scope.At(r)
		if !slices.ContainsFunc(all, func(e any) bool { return reflect.DeepEqual(e, value) }) {
			return reads // an expression changed what was read
		}
		if reflect.DeepEqual(value, all[i]) {
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		return reads
	}
	return out
}

// locate returns where in the object a list element is. A map is found by its identity, since expressions return the
// maps of the object themselves; any other value by its index in the list that a plain path reads.
func (f *frame) locate(e element) (pointer string, ok bool) {
	if m, ok := e.value().(map[string]any); ok && m != nil {
		if f.review.places == nil {
			f.review.places = map[uintptr]string{}
			jsonpointer.Walk(f.request.CurrentObject(), "", func(at string, v any) {
				if m, isMap := v.(map[string]any); isMap {
					f.review.places[reflect.ValueOf(m).Pointer()] = at
				}
			})
		}
		pointer, ok = f.review.places[reflect.ValueOf(m).Pointer()]
		return pointer, ok
	}
	var spots []string
	for _, r := range e.outer.scope.Reads(e.entry.list) {
		for _, p := range e.outer.follow(r, nil, 0) {
			if l, ok := jsonpointer.At(f.request.CurrentObject(), p).([]any); ok {
				for j := range l {
					spots = append(spots, p+"/"+strconv.Itoa(j))
				}
			} else {
				spots = append(spots, p)
			}
		}
	}
	if len(spots) == len(e.list) && reflect.DeepEqual(jsonpointer.At(f.request.CurrentObject(), spots[e.index]), e.value()) {
		return spots[e.index], true
	}
	return "", false
}
