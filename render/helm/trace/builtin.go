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
	return value{reflect.ValueOf(b), shade{org: m.node(), cond: k, derived: true}}
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

// index follows its arguments into maps and lists.
func index(f *frame, args []value) value {
	if len(args) == 0 {
		f.fail("wrong number of args for index: want at least 1 got 0")
	}
	on := args[0]
	on.rv = concrete1(on.rv)
	if !on.rv.IsValid() {
		f.fail("index of untyped nil")
	}
	for _, by := range args[1:] {
		var nothing bool
		if on.rv, nothing = deref(on.rv); nothing {
			f.fail("index of nil pointer")
		}
		on = f.indexBy(on, by)
	}
	return on
}

func (f *frame) indexBy(on, by value) value {
	key := concrete1(by.rv)
	k := join(on.sh.conds(), by.sh.conds())
	switch on.rv.Kind() {
	case reflect.Map:
		want := on.rv.Type().Key()
		switch {
		case !key.IsValid():
			if !nillable(want) {
				f.fail("value is nil; should be of type %s", want)
			}
			key = reflect.Zero(want)
		case key.Type().AssignableTo(want):
		case (key.CanInt() || key.CanUint()) && intLike(want):
			key = key.Convert(want)
		default:
			f.fail("value has type %s; should be %s", key.Type(), want)
		}
		out := on.rv.MapIndex(key)
		if !out.IsValid() {
			out = reflect.Zero(on.rv.Type().Elem())
		}
		sh := shade{org: on.sh.mix(), cond: k}
		if key = concrete1(key); key.Kind() == reflect.String {
			sh = f.entry(on, key.String()).val
			sh.cond = join(sh.cond, k).under(f.dynamic(by), false)
		}
		return value{out, sh}
	case reflect.Array, reflect.Slice, reflect.String:
		i := f.position(key, on.rv.Len())
		if i == on.rv.Len() {
			f.fail("index out of range: %d", i)
		}
		if on.rv.Kind() == reflect.String {
			return value{on.rv.Index(i), shade{org: on.sh.mix(), cond: k, derived: true}}
		}
		out := f.index(on, i)
		out.sh.cond = join(out.sh.cond, k)
		return out
	}
	f.fail("can't index item of type %s", on.rv.Type())
	return value{}
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

func intLike(t reflect.Type) bool {
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uintptr
}

func (f *frame) position(v reflect.Value, most int) int {
	x := int64(-1)
	switch {
	case v.CanInt():
		x = v.Int()
	case v.CanUint():
		x = int64(v.Uint())
	default:
		f.fail("cannot index with %v", v)
	}
	if x < 0 || x > int64(most) {
		f.fail("index out of range: %d", x)
	}
	return int(x)
}

// sliced is text/template's slice, which sprig's usually replaces.
func sliced(f *frame, args []value) value {
	if len(args) == 0 || len(args) > 3 {
		f.fail("slice with %d arguments is not supported", len(args))
	}
	on := args[0]
	on.rv, _ = deref(on.rv)
	if k := on.rv.Kind(); k != reflect.String && k != reflect.Slice {
		f.fail("can't slice item of type %v", k)
	}
	most := on.rv.Len()
	if on.rv.Kind() == reflect.Slice {
		most = on.rv.Cap()
	}
	at := [2]int{0, on.rv.Len()}
	for i, a := range args[1:] {
		at[i] = f.position(concrete1(a.rv), most)
	}
	if at[0] > at[1] {
		f.fail("invalid slice index: %d > %d", at[0], at[1])
	}
	sh := shade{org: f.origin(on), cond: on.sh.conds(), derived: true}
	if on.rv.Kind() == reflect.String {
		sh = on.sh.sub(on.rv.Len(), at[0], at[1])
	}
	return value{on.rv.Slice(at[0], at[1]), sh}
}

func length(f *frame, args []value) value {
	f.want(args, 1)
	rv, nothing := deref(args[0].rv)
	if nothing || !rv.IsValid() {
		f.fail("len of nil pointer")
	}
	switch rv.Kind() {
	case reflect.Array, reflect.Chan, reflect.Map, reflect.Slice, reflect.String:
		v := f.bool(args, true)
		v.rv = reflect.ValueOf(rv.Len())
		return v
	}
	f.fail("len of type %s", rv.Type())
	return value{}
}

func itoa(i int) string { return strconv.Itoa(i) }
