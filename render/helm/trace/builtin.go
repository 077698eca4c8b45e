package trace

import (
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// concrete1 takes off one interface, as text/template does before it looks at a kind.
func concrete1(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Interface {
		return v.Elem()
	}
	return v
}

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

// isTrue reports whether a value counts as true, and whether its kind has a truth at all.
func isTrue(v reflect.Value) (truth, ok bool) {
	switch v.Kind() {
	case reflect.Invalid:
		return false, true
	case reflect.Struct:
		return true, true
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() > 0, true
	case reflect.Chan, reflect.Func, reflect.Pointer, reflect.UnsafePointer, reflect.Interface:
		return !v.IsNil(), true
	}
	switch {
	case v.CanFloat(): // -0.0 is not reflect's zero, but it is false
		return v.Float() != 0, true
	case v.CanComplex():
		return v.Complex() != 0, true
	}
	return !v.IsZero(), true
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

// orderedKeys returns the keys of a map in the order in which range visits them; false if that order is not known.
func orderedKeys(m reflect.Value) ([]reflect.Value, bool) {
	keys := m.MapKeys()
	ok := true
	less := func(a, b reflect.Value) int {
		a, b = concrete1(a), concrete1(b)
		switch {
		case a.Kind() != b.Kind():
			ok = false
		case a.Kind() == reflect.String:
			return strings.Compare(a.String(), b.String())
		case a.CanInt():
			return compare(a.Int(), b.Int())
		case a.CanUint():
			return compare(a.Uint(), b.Uint())
		case a.CanFloat():
			return compare(a.Float(), b.Float())
		default:
			ok = false
		}
		return 0
	}
	slices.SortFunc(keys, less)
	return keys, ok || len(keys) < 2
}

func compare[T int64 | uint64 | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// builtins returns the functions that text/template has itself and that depend on reflect.Values.
func builtins() map[string]function {
	return map[string]function{
		"and":   {special: true},
		"or":    {special: true},
		"not":   {native: not},
		"eq":    {native: func(f *frame, a []value) value { return f.bool(a, f.equal(a)) }},
		"ne":    {native: func(f *frame, a []value) value { f.want(a, 2); return f.bool(a, !f.equal(a)) }},
		"lt":    {native: func(f *frame, a []value) value { return f.bool(a, f.less(a)) }},
		"le":    {native: func(f *frame, a []value) value { return f.bool(a, f.less(a) || f.equal(a)) }},
		"gt":    {native: func(f *frame, a []value) value { return f.bool(a, !(f.less(a) || f.equal(a))) }},
		"ge":    {native: func(f *frame, a []value) value { return f.bool(a, !f.less(a)) }},
		"index": {native: index},
		"slice": {native: sliced},
		"len":   {native: length},
		"call":  {native: func(f *frame, _ []value) value { f.fail("call is not supported"); return value{} }},
	}
}

func (f *frame) want(args []value, n int) {
	if len(args) != n {
		f.fail("wrong number of args: want %d got %d", n, len(args))
	}
}

// bool returns the result of a comparison.
func (f *frame) bool(args []value, b bool) value {
	var m mixer
	var k *cond
	for _, a := range args {
		f.collect(&m, a, 0)
		k = join(k, a.sh.conds())
	}
	return value{reflect.ValueOf(b), taint{org: m.node(), cond: k, derived: true}}
}

func not(f *frame, args []value) value {
	f.want(args, 1)
	t, _ := isTrue(concrete1(args[0].rv))
	return f.bool(args, !t)
}

// class groups the kinds that can be compared with each other.
func class(v reflect.Value) byte {
	switch k := v.Kind(); {
	case k == reflect.Bool:
		return 'b'
	case v.CanInt():
		return 'i'
	case v.CanUint():
		return 'u'
	case v.CanFloat():
		return 'f'
	case v.CanComplex():
		return 'c'
	case k == reflect.String:
		return 's'
	}
	return 0
}

func (f *frame) equal(args []value) bool {
	if len(args) < 2 {
		f.fail("missing argument for comparison")
	}
	a := concrete1(args[0].rv)
	for _, other := range args[1:] {
		if f.same(a, concrete1(other.rv)) {
			return true
		}
	}
	return false
}

func (f *frame) same(a, b reflect.Value) bool {
	ca, cb := class(a), class(b)
	switch {
	case ca == 'i' && cb == 'u':
		return a.Int() >= 0 && uint64(a.Int()) == b.Uint()
	case ca == 'u' && cb == 'i':
		return b.Int() >= 0 && uint64(b.Int()) == a.Uint()
	case ca != cb:
		if a.IsValid() && b.IsValid() {
			f.fail("incompatible types for comparison: %v and %v", a.Type(), b.Type())
		}
		return false
	case ca == 'b':
		return a.Bool() == b.Bool()
	case ca == 'i':
		return a.Int() == b.Int()
	case ca == 'u':
		return a.Uint() == b.Uint()
	case ca == 'f':
		return a.Float() == b.Float()
	case ca == 'c':
		return a.Complex() == b.Complex()
	case ca == 's':
		return a.String() == b.String()
	}
	if a.Kind() != b.Kind() && a.IsValid() && b.IsValid() {
		f.fail("non-comparable types")
	}
	if null(a) || null(b) {
		return null(a) == null(b)
	}
	if !b.Type().Comparable() {
		f.fail("non-comparable type %s", b.Type())
	}
	return a.Interface() == b.Interface()
}

func null(v reflect.Value) bool {
	return !v.IsValid() || v.Kind() != reflect.Struct && v.Kind() != reflect.Array && v.IsNil()
}

func (f *frame) less(args []value) bool {
	f.want(args, 2)
	a, b := concrete1(args[0].rv), concrete1(args[1].rv)
	switch string([]byte{class(a), class(b)}) {
	case "ii":
		return a.Int() < b.Int()
	case "uu":
		return a.Uint() < b.Uint()
	case "ff":
		return a.Float() < b.Float()
	case "ss":
		return a.String() < b.String()
	case "iu":
		return a.Int() < 0 || uint64(a.Int()) < b.Uint()
	case "ui":
		return b.Int() >= 0 && a.Uint() < uint64(b.Int())
	}
	f.fail("incompatible types for comparison")
	return false
}

func itoa(i int) string { return strconv.Itoa(i) }
