package trace

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"sort"
	"strconv"
	"text/template"
)

// deref follows pointers and interfaces to the end or to nil.
func deref(v reflect.Value) (reflect.Value, bool) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return v, true
		}
		v = v.Elem()
	}
	return v, false
}

// truth reports whether a value counts as true; a kind without a truth counts as false.
func truth(v reflect.Value) bool {
	if v = concrete(v); !v.IsValid() {
		return false
	}
	is, _ := template.IsTrue(v.Interface())
	return is
}

var (
	errorType    = reflect.TypeFor[error]()
	stringerType = reflect.TypeFor[fmt.Stringer]()
)

// sprint returns what an action prints of a value.
func sprint(v reflect.Value) (string, bool) {
	if v.Kind() == reflect.Pointer {
		v, _ = deref(v)
	}
	if !v.IsValid() {
		return noValue, true
	}
	t := v.Type()
	if !t.Implements(errorType) && !t.Implements(stringerType) {
		if p := reflect.PointerTo(t); v.CanAddr() && (p.Implements(errorType) || p.Implements(stringerType)) {
			v = v.Addr()
		} else if v.Kind() == reflect.Chan || v.Kind() == reflect.Func {
			return "", false
		}
	}
	return fmt.Sprint(v.Interface()), true
}

// sortedKeys returns the keys of a map of strings in order.
func sortedKeys(m reflect.Value) []string {
	if m.Type().Key().Kind() != reflect.String {
		return nil
	}
	keys := make([]string, 0, m.Len())
	for it := m.MapRange(); it.Next(); {
		keys = append(keys, it.Key().String())
	}
	sort.Strings(keys)
	return keys
}

// bridge is the data of a template of one action by which text/template itself does what only it can: call one of its own
// functions, or go through what is ranged over.
type bridge struct {
	args []value
	out  reflect.Value
	each func(key, elem reflect.Value) (stop bool)
}

// Arg returns an argument.
func (b *bridge) Arg(i int) reflect.Value { return b.args[i].rv }

// Take keeps what a function returned.
func (b *bridge) Take(v reflect.Value) string {
	b.out = v
	return ""
}

// Each executes one round of a loop.
func (b *bridge) Each(key, elem reflect.Value) (stop bool) { return b.each(key, elem) }

// across executes a template with a bridge.
func (f *frame) across(action string, b *bridge) {
	t := f.bridges[action]
	if t == nil {
		t = template.Must(template.New("").Parse(action))
		f.bridges[action] = t
	}
	if err := t.Execute(io.Discard, b); err != nil {
		if inner, ok := errors.AsType[failure](err); ok {
			panic(inner)
		}
		f.fail("%w", err)
	}
}

// builtin calls a function of text/template.
func (f *frame) builtin(name string, args []value) reflect.Value {
	action := "{{.Take (" + name
	for i := range args {
		action += " (.Arg " + strconv.Itoa(i) + ")"
	}
	b := &bridge{args: args}
	f.across(action+")}}", b)
	return b.out
}

// builtins are the functions that text/template has itself, and how the origins of their results are told.
var builtins = map[string]handler{
	"not": (*call).mixed, "eq": (*call).mixed, "ne": (*call).mixed, "lt": (*call).mixed, "le": (*call).mixed,
	"gt": (*call).mixed, "ge": (*call).mixed, "len": (*call).mixed, "index": indexed,
}

// dynamic returns the origin of a key that is not spelled in the template.
func (f *frame) dynamic(by value) *node {
	var m mixer
	by.sh.mix().leaves(func(n *node) {
		if n.kind != Text {
			m.add(n)
		}
	})
	return m.node()
}
