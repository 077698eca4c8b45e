package trace

import "reflect"

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
		sh := taint{org: on.sh.mix(), cond: k}
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
			return value{on.rv.Index(i), taint{org: on.sh.mix(), cond: k, derived: true}}
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
	sh := taint{org: f.origin(on), cond: on.sh.conds(), derived: true}
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
