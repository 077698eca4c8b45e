package trace

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"sort"
	"text/template"
)

// deref follows pointers and interfaces to their end or to nil.
func deref(v reflect.Value) reflect.Value {
	for (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && !v.IsNil() {
		v = v.Elem()
	}
	return v
}

// truth reports whether a value is true for text/template. A kind that cannot be true or false counts as false.
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

// sprint returns what an action prints for a value.
func sprint(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		v = deref(v)
	}
	if !v.IsValid() {
		return noValue
	}
	t := v.Type()
	p := reflect.PointerTo(t)
	if !t.Implements(errorType) && !t.Implements(stringerType) && v.CanAddr() &&
		(p.Implements(errorType) || p.Implements(stringerType)) {
		v = v.Addr()
	}
	return fmt.Sprint(v.Interface())
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

// bridge passes values to a template with a single action. There text/template does what only it can do: call a
// function, or range over a value.
type bridge struct {
	args []value
	out  reflect.Value
	each func(key, elem reflect.Value) (stop bool)
}

// bridging returns the functions of such templates.
func (e *exec) bridging() template.FuncMap {
	return template.FuncMap{
		"arg": func(i int) reflect.Value { return e.bridge.args[i].rv },
		"take": func(v reflect.Value) string {
			e.bridge.out = v
			return ""
		},
		"each": func(key, elem reflect.Value) bool { return e.bridge.each(key, elem) },
	}
}

// across executes a template with a bridge. The error is that of the called function.
func (f *frame) across(action string, b *bridge) error {
	t := f.bridges[action]
	if t == nil {
		t = template.Must(f.calls.New("").Parse(action))
		f.bridges[action] = t
	}
	defer func(outer *bridge) { f.bridge = outer }(f.bridge)
	f.bridge = b
	err := t.Execute(io.Discard, nil)
	if inner, ok := errors.AsType[failure](err); ok {
		panic(inner)
	}
	return err
}

// dynamic returns the origin of a key that is not a literal in the template.
func (f *frame) dynamic(by value) *node {
	var m mixer
	by.sh.mix().leaves(func(n *node) {
		if n.kind != Text {
			m.add(n)
		}
	})
	return m.node()
}
