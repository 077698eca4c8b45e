package trace

import (
	"reflect"
	"slices"
	"strings"
)

// key returns an argument as a string, as sprig does for keys.
func (c *call) key(i int) string {
	s, _ := asString(c.args[i].rv)
	return s
}

// chosen handles default and coalesce: the first value that is not empty replaces the values before it.
func chosen(c *call) taint {
	list := c.args
	if c.name == "default" && len(list) > 1 {
		list = []value{list[1], list[0]}
	}
	var k *cond
	for i, v := range list {
		if truth(v.rv) || i == len(list)-1 {
			v.sh.cond = join(v.sh.cond, k)
			return v.sh
		}
		k = join(k, v.sh.conds()).under(c.origin(v), Fallback)
	}
	return taint{}
}

func ternary(c *call) taint {
	sh, test := c.args[1].sh, c.args[2]
	if truth(test.rv) {
		sh = c.args[0].sh
	}
	sh.cond = join(sh.cond, test.sh.conds()).under(c.origin(test), Condition)
	return sh
}

func lookedUp(c *call) taint {
	sh := c.mixed()
	return taint{org: &node{kind: Lookup, key: c.name}, cond: sh.cond.under(sh.org, Condition)}
}

// follow follows keys and indexes into maps and lists.
func (f *frame) follow(on value, keys []value) value {
	for _, by := range keys {
		on.rv = deref(on.rv)
		key, k := concrete(by.rv), join(on.sh.conds(), by.sh.conds())
		switch {
		case key.Kind() == reflect.String && on.rv.Kind() != reflect.String:
			on = value{f.at(on, key.String()).rv, f.entry(on, key.String()).val}
			on.sh.cond = join(on.sh.cond, k).under(f.dynamic(by), Condition)
		case on.rv.Kind() == reflect.Slice && (key.CanInt() || key.CanUint()):
			on = f.index(on, int(key.Convert(reflect.TypeFor[int]()).Int()))
			on.sh.cond = join(on.sh.cond, k)
		default:
			on = value{sh: taint{org: on.sh.mix(), cond: k, derived: true}}
		}
	}
	return on
}

// indexed handles index, get and hasKey.
func indexed(c *call) taint {
	sh := c.follow(c.args[0], c.args[1:]).sh
	if c.name == "hasKey" {
		return taint{org: sh.mix(), cond: sh.conds(), derived: true}
	}
	return sh
}

// dug handles dig: its arguments are keys, then the default, then the map.
func dug(c *call) taint {
	n := len(c.args) - 2
	if n < 1 {
		return c.mixed()
	}
	found := c.follow(c.args[n+1], c.args[:n])
	if found.rv.IsValid() {
		return found.sh
	}
	sh := c.args[n].sh
	sh.cond = join(sh.cond, found.sh.conds()).under(found.sh.mix(), Fallback)
	return sh
}

// place returns the taint of a value that is put in a map or list, including the current conditions.
func (c *call) place(v value) taint {
	v.sh.cond = join(v.sh.cond, c.cond)
	if v.sh.org == nil && v.sh.segments == nil {
		v.sh.org = c.origin(v)
	}
	return v.sh
}

func listed(c *call) taint {
	info := &sliceInfo{}
	for _, a := range c.args {
		info.elems = append(info.elems, c.place(a))
	}
	c.setSlice(c.out, info)
	return taint{}
}

func dict(c *call) taint {
	info := &mapInfo{}
	for i := 0; i < len(c.args); i += 2 {
		e := entry{key: c.args[i].sh}
		if i+1 < len(c.args) {
			e.val = c.place(c.args[i+1])
		}
		info.set(c.key(i), e)
	}
	c.setMap(c.out, info)
	return taint{}
}

// setKey handles set and unset, which change the map and return it.
func setKey(c *call) taint {
	c.changes(c.args[0])
	if len(c.args) == 3 && concrete(c.args[0].rv).IsValid() {
		c.track(c.args[0]).set(c.key(1), entry{c.args[1].sh, c.place(c.args[2])})
	}
	return c.args[0].sh
}

// picked handles pick and omit: entries of the result have their origins in the first argument.
func picked(c *call) taint {
	info := &mapInfo{org: c.below(c.args[0])}
	for _, k := range sortedKeys(c.out) {
		info.set(k, c.entry(c.args[0], k))
	}
	c.setMap(c.out, info)
	return taint{org: info.org, cond: c.args[0].sh.cond}
}

// copied handles deepCopy: the copy has the origins that its argument has now.
func copied(c *call) taint { return c.copy(c.out, c.args[0], 0) }

// copy records the origins of a copied value and of all in it.
func (c *call) copy(out reflect.Value, from value, depth int) taint {
	c.step()
	switch out = concrete(out); {
	case depth > 100:
	case out.Kind() == reflect.Slice && concrete(from.rv).Kind() == reflect.Slice:
		info := &sliceInfo{org: from.sh.mix()}
		for i := range out.Len() {
			info.elems = append(info.elems, c.copy(out.Index(i), c.index(from, i), depth+1))
		}
		c.setSlice(out, info)
	case out.Kind() == reflect.Map && out.Type().Key().Kind() == reflect.String && !out.IsNil():
		info := &mapInfo{org: c.below(from)}
		if was := c.mapOf(from.rv); was != nil {
			info.like, info.feeds = was.like, was.feeds
		}
		for _, k := range sortedKeys(out) {
			e := c.entry(from, k)
			e.val = c.copy(c.at(value{rv: out}, k).rv, value{c.at(from, k).rv, e.val}, depth+1)
			info.set(k, e)
		}
		c.setMap(out, info)
		return taint{org: info.org, cond: from.sh.cond}
	}
	return from.sh
}

// below returns the origin of those entries of a map that have no origin of their own.
func (t *table) below(m value) *node {
	if info := t.mapOf(m.rv); info != nil {
		return info.org
	}
	return m.sh.mix()
}

// ended handles first and last.
func ended(c *call) taint {
	l := c.args[0]
	n := concrete(l.rv).Len()
	switch {
	case n == 0:
		return c.mixed()
	case strings.HasSuffix(c.name, "ast"):
		return c.elem(l, n-1)
	}
	return c.elem(l, 0)
}

const maxMatched = 2000

// gathered finds the elements of a result among the arguments and their elements, or as parts of the last argument.
// Each of them is used once, in order.
func gathered(c *call) taint {
	var from []value
	for _, a := range c.args {
		rv := concrete(a.rv)
		switch {
		case rv.Kind() == reflect.Slice:
			for i := range rv.Len() {
				from = append(from, c.index(a, i))
			}
		case rv.Kind() == reflect.Map:
			for _, k := range sortedKeys(rv) {
				if v := c.at(a, k); c.name == "keys" {
					from = append(from, value{reflect.ValueOf(k), c.entry(a, k).key})
				} else {
					from = append(from, v)
				}
			}
		}
		if c.name != "concat" {
			a.sh = c.place(a)
			from = append(from, a)
		}
	}
	out := concrete(c.out)
	if out.Kind() != reflect.Slice || out.Len()*len(from) > maxMatched*maxMatched {
		return c.mixed()
	}
	org := c.mixed().org
	info := &sliceInfo{org: org}
	used := make([]bool, len(from))
	start, behind := 0, 0
	whole, of := c.subject()
	for i := range out.Len() {
		e := out.Index(i)
		sh := taint{org: org, derived: true}
		if s, is := asString(e); is {
			if at := strings.Index(whole[behind:], s); at >= 0 {
				sh = of.sub(len(whole), behind+at, behind+at+len(s))
				behind += at + len(s)
			}
		}
		for k := range from {
			j := (start + k) % len(from)
			if !used[j] && identical(e, from[j].rv) {
				sh, used[j], start = from[j].sh, true, j+1
				break
			}
		}
		info.elems = append(info.elems, sh)
	}
	// A result that is an argument, or a part of one, keeps its origins.
	for _, a := range c.args {
		if out.Len() > 0 && identical(a.rv, out) {
			return a.sh
		}
	}
	c.setSlice(out, info)
	return taint{org: org}
}

// identical reports whether two values are the same scalar or the same container.
func identical(a, b reflect.Value) bool {
	a, b = concrete(a), concrete(b)
	if a.Kind() != b.Kind() {
		return false
	}
	switch a.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Map:
		return a.UnsafePointer() == b.UnsafePointer()
	case reflect.Slice:
		return a.Len() == b.Len() && (a.Len() == 0 || a.UnsafePointer() == b.UnsafePointer())
	}
	return a.Type() == b.Type() && a.Comparable() && a.Equal(b)
}

// before is a value of a map, and its origin, before a merge.
type before struct {
	v    reflect.Value
	e    entry
	kids map[string]before
	own  bool // it is a map
	org  *node
}

func (c *call) snapshot(v value, e entry, depth int) before {
	b := before{v: concrete(v.rv), e: e}
	if b.v.Kind() != reflect.Map || b.v.Type().Key().Kind() != reflect.String || depth > 100 {
		return b
	}
	c.step()
	b.own, b.org = true, c.below(v)
	b.kids = make(map[string]before, b.v.Len())
	for _, k := range sortedKeys(b.v) {
		ke := c.entry(v, k)
		b.kids[k] = c.snapshot(value{c.at(v, k).rv, ke.val}, ke, depth+1)
	}
	return b
}

// merging records the values in maps before a merge. It returns the handler that afterwards finds which of these each
// entry of the result came from.
func merging(c *call) handler {
	c.changes(c.args[0])
	var from []before
	var more feeds
	for _, a := range c.args {
		from = append(from, c.snapshot(a, entry{val: a.sh}, 0))
		more = more.instead(a.sh.cond)
		if info := c.mapOf(a.rv); info != nil {
			more = more.add(info.org).add(info.like).join(info.feeds)
		}
	}
	if c.name == "mergeOverwrite" || c.name == "mustMergeOverwrite" {
		slices.Reverse(from)
	}
	return func(c *call) taint {
		c.merged(value{c.out, taint{}}, from, 0)
		if info := c.mapOf(c.out); info != nil {
			info.feeds = more
		}
		return c.args[0].sh
	}
}

// merged records the origins of a merged map. from are the maps that were merged, the strongest first.
func (c *call) merged(v value, from []before, depth int) {
	rv := concrete(v.rv)
	if rv.Kind() != reflect.Map || rv.IsNil() || depth > 100 {
		return
	}
	c.step()
	info := &mapInfo{}
	for _, b := range from {
		if b.org != nil {
			info.org = b.org
			break
		}
	}
	for _, k := range sortedKeys(rv) {
		held := concrete(c.at(value{rv: rv}, k).rv)
		var with []before
		for _, b := range from {
			if kid, ok := b.kids[k]; ok {
				with = append(with, kid)
			}
		}
		if e, ok := c.winner(held, with, depth); ok {
			info.set(k, e)
		}
	}
	c.setMap(rv, info)
}

func (c *call) winner(held reflect.Value, with []before, depth int) (entry, bool) {
	if held.Kind() == reflect.Map {
		var maps []before
		for _, b := range with {
			if b.own {
				maps = append(maps, b)
			}
		}
		if len(maps) > 0 {
			c.merged(value{rv: held}, maps, depth+1)
			return maps[0].e, true
		}
	}
	for _, b := range with {
		if identical(held, b.v) {
			return b.e, true
		}
	}
	if len(with) > 0 {
		return with[0].e, true
	}
	return entry{}, false
}
