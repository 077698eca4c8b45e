package jmespath

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// Reads returns the fields of data that the expression reads for its result: RFC 6901 pointers,
// sorted and unique, as deep as the expression goes.
//
//   - Projections give one pointer for each element that exists, filters only those of elements that
//     pass, together with what the condition read of them. Where nothing exists the list is named.
//   - A key that does not exist stays in the pointer: /metadata/labels/app of an object without labels.
//     Of a projection such pointers are given only where no element has the key.
//   - Of a || b both are given where a is null or empty, else only those of a.
//   - A pointer that lies above another one is left out.
//
// Reads never fails: what cannot be evaluated contributes what was found before. It evaluates with the zero Env.
func (e *Expression) Reads(data any) []string {
	r := &reader{m: &machine{ctx: context.Background()}, found: map[string]bool{}}
	r.record(r.walk(e.root, place{known: true, value: data}))
	return deepest(sortedKeys(r.found))
}

// deepest drops pointers that lie above others of the sorted list.
func deepest(pointers []string) []string {
	set := make(map[string]bool, len(pointers))
	for _, p := range pointers {
		for i := strings.LastIndexByte(p, '/'); i >= 0; i = strings.LastIndexByte(p[:i], '/') {
			set[p[:i]] = true
		}
	}
	return slices.DeleteFunc(pointers, func(p string) bool { return set[p] })
}

// place is a value together with where in the data it stands.
type place struct {
	value   any
	pointer string
	known   bool             // pointer is set; a computed value has none
	items   []place          // of a list that the expression made
	list    bool             // items holds
	fields  map[string]place // of an object that the expression made
	instead []string         // what to name where items is empty
}

// reader evaluates symbolically: it keeps places beside the values.
type reader struct {
	m     *machine
	found map[string]bool
}

func (r *reader) record(p place) {
	switch {
	case p.list:
		for _, item := range p.items {
			r.record(item)
		}
		if len(p.items) == 0 {
			for _, pointer := range p.instead {
				r.found[pointer] = true
			}
		}
	case p.fields != nil:
		for _, f := range p.fields {
			r.record(f)
		}
	case p.known:
		r.found[p.pointer] = true
	}
}

// field is the place of a key.
func (p place) field(name string) place {
	if p.fields != nil {
		return p.fields[name]
	}
	object, isObject := p.value.(map[string]any)
	if !isObject && p.value != nil {
		return place{pointer: p.pointer, known: p.known} // a list or scalar has no fields
	}
	return place{value: object[name], pointer: p.pointer + "/" + jsonpointer.Escape(name), known: p.known}
}

// elements are the places of a list.
func (p place) elements() ([]place, bool) {
	if p.list {
		return p.items, true
	}
	values, ok := p.value.([]any)
	if !ok {
		return nil, false
	}
	out := make([]place, len(values))
	for i, v := range values {
		out[i] = place{value: v, pointer: p.pointer + "/" + strconv.Itoa(i), known: p.known}
	}
	return out, true
}

// newList is a list that the expression made; of is what it was made from.
func newList(items []place, of place, instead []string) place {
	values := make([]any, len(items))
	for i, item := range items {
		values[i] = item.value
	}
	if len(items) == 0 && len(instead) == 0 {
		if of.list {
			instead = of.instead
		} else if of.known {
			instead = []string{of.pointer}
		}
	}
	return place{value: values, list: true, items: items, instead: instead}
}

// computed is the plain value of a node, without a place.
func (r *reader) computed(n *node, at place) place {
	v, err := r.m.evalSoft(n, at.value)
	if err != nil {
		return place{}
	}
	return place{value: v}
}

func (r *reader) walk(n *node, at place) place {
	if r.m.tick() != nil {
		return place{}
	}
	switch n.op {
	case opCurrent:
		return at
	case opField:
		return at.field(n.name)
	case opSub, opPipe:
		return r.walk(n.kids[1], r.walk(n.kids[0], at))
	case opIndex:
		return index(at, n.index)
	case opSlice:
		list, ok := at.elements()
		if !ok {
			return place{pointer: at.pointer, known: at.known}
		}
		var items []place
		for _, i := range sliceIndexes(n.slice, len(list)) {
			items = append(items, list[i])
		}
		return newList(items, at, nil)
	case opOr, opAnd:
		left := r.walk(n.kids[0], at)
		if falsy(left.value) == (n.op == opAnd) {
			return left
		}
		r.record(left)
		return r.walk(n.kids[1], at)
	case opList:
		if at.value == nil {
			return place{pointer: at.pointer, known: at.known}
		}
		items := make([]place, len(n.kids))
		for i, kid := range n.kids {
			items[i] = r.walk(kid, at)
		}
		return newList(items, place{}, nil)
	case opHash:
		fields, values := make(map[string]place, len(n.kids)), make(map[string]any, len(n.kids))
		for i, kid := range n.kids {
			p := r.walk(kid, at)
			fields[n.keys[i]], values[n.keys[i]] = p, p.value
		}
		return place{fields: fields, value: values}
	case opFlatten, opProject, opFilter, opValues:
		return r.project(n, at)
	case opCall:
		return r.call(n, at)
	case opLiteral, opExpref:
		return r.computed(n, at)
	default: // not and the comparisons
		for _, kid := range n.kids {
			r.record(r.walk(kid, at))
		}
		return r.computed(n, at)
	}
}

// index is the place of one element; one that does not exist keeps its place unless counted from the end.
func index(at place, i int) place {
	list, ok := at.elements()
	if i < 0 {
		i += len(list)
	}
	switch {
	case ok && i >= 0 && i < len(list):
		return list[i]
	case at.list || i < 0:
		return place{pointer: at.pointer, known: at.known, instead: at.instead, list: at.list}
	}
	return place{pointer: at.pointer + "/" + strconv.Itoa(i), known: at.known}
}

func (r *reader) project(n *node, at place) place {
	left := r.walk(n.kids[0], at)
	if n.op == opValues {
		object, ok := left.value.(map[string]any)
		if !ok {
			return place{pointer: left.pointer, known: left.known}
		}
		items := make([]place, 0, len(object))
		for _, key := range sortedKeys(object) {
			items = append(items, left.field(key))
		}
		return r.take(n, newList(items, left, nil))
	}
	list, ok := left.elements()
	if !ok {
		return place{pointer: left.pointer, known: left.known}
	}
	switch n.op {
	case opFlatten:
		var flat []place
		for _, item := range list {
			inner, ok := item.elements()
			if !ok {
				inner = []place{item}
			}
			flat = append(flat, inner...)
		}
		return newList(flat, left, nil)
	case opFilter:
		var passed []place
		for _, item := range list {
			verdict, err := r.m.evalSoft(n.kids[2], item.value)
			if err != nil || falsy(verdict) {
				continue
			}
			r.record(r.walk(n.kids[2], item))
			passed = append(passed, item)
		}
		return r.take(n, newList(passed, left, nil))
	}
	return r.take(n, newList(list, left, nil))
}

// take applies the right side of a projection to its elements and drops null.
func (r *reader) take(n *node, left place) place {
	var present []place
	var absent []string
	for _, item := range left.items {
		p := item
		if item.value != nil {
			p = r.walk(n.kids[1], item)
		}
		if p.value != nil {
			present = append(present, p)
		} else if p.known {
			absent = append(absent, p.pointer)
		}
	}
	return newList(present, left, absent)
}

// call records what the arguments read; functions that return a part of an argument keep its place.
func (r *reader) call(n *node, at place) place {
	if n.fn.name == "not_null" {
		var p place
		for _, kid := range n.kids {
			if p = r.walk(kid, at); p.value != nil {
				return p
			}
			r.record(p)
		}
		return p
	}
	args := make([]place, len(n.kids))
	for i, kid := range n.kids {
		args[i] = r.walk(kid, at)
	}
	if n.fn.name == "lookup" {
		r.record(args[1])
		if key, ok := args[1].value.(string); ok {
			return args[0].field(key)
		}
		if i, ok := asNumber(args[1].value); ok {
			if i, ok := i.toInt(); ok && i >= 0 {
				return index(args[0], i)
			}
		}
	}
	for i, arg := range args {
		if n.kids[i].op != opExpref {
			r.record(arg)
			continue
		}
		list, _ := args[1-i].elements() // the functions with a reference take it and a list
		for _, item := range list {
			r.record(r.walk(n.kids[i].kids[0], item))
		}
	}
	return r.computed(n, at)
}
