package trace

import "reflect"

// key returns an argument as the key that sprig makes of it.
func (c *call) key(i int) string {
	s, _ := c.strArg(i)
	return s
}

// place returns the taint of a value that is put in a map or list: with the conditions that it is put there under.
func (c *call) place(v value) taint {
	v.sh.cond = join(v.sh.cond, c.cond)
	if v.sh.org == nil && v.sh.segments == nil {
		v.sh.org = c.origin(v)
	}
	return v.sh
}

func (c *call) dict() taint {
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

func (c *call) got() taint {
	sh := c.entry(c.args[0], c.key(1)).val
	sh.cond = join(sh.cond, c.args[1].sh.conds()).under(c.dynamic(c.args[1]), false)
	return sh
}

func (c *call) setKey() taint {
	if concrete(c.args[0].rv).IsValid() {
		c.track(c.args[0]).set(c.key(1), entry{c.args[1].sh, c.place(c.args[2])})
	}
	return c.args[0].sh
}

func (c *call) unsetKey() taint { return c.args[0].sh }

func (c *call) hasKey() taint {
	e := c.entry(c.args[0], c.key(1)).val
	m := mixer{}
	m.add(e.mix())
	m.add(c.dynamic(c.args[1]))
	return taint{org: m.node(), cond: join(e.conds(), c.args[1].sh.conds()), derived: true}
}

// dug follows dig: keys, then the default, then the map.
func (c *call) dug() taint {
	n := len(c.args) - 2
	if n < 1 {
		return c.mixed()
	}
	on := c.args[n+1]
	for i := range n {
		next := c.at(on, c.key(i))
		if !next.rv.IsValid() {
			e := c.entry(on, c.key(i)).val
			org := e.mix()
			for j := i + 1; j < n; j++ {
				org = org.child(c.key(j))
			}
			sh := c.args[n].sh
			sh.cond = join(sh.cond, e.conds()).under(org, true)
			return sh
		}
		on = next
	}
	return on.sh
}

func (c *call) plucked() taint {
	info := &sliceInfo{}
	for _, m := range c.args[1:] {
		if v := c.at(m, c.key(0)); v.rv.IsValid() {
			info.elems = append(info.elems, v.sh)
		}
	}
	c.setSlice(c.out, info)
	return taint{}
}

// keysOf and valuesOf find the entries of a result again: their order is not defined.
func (c *call) keysOf() taint {
	by := map[string]taint{}
	for _, m := range c.args {
		for _, k := range c.keyNames(m) {
			by[k] = c.entry(m, k).key
		}
	}
	info := &sliceInfo{org: c.mixed().org}
	for i := range c.out.Len() {
		info.elems = append(info.elems, by[concrete(c.out.Index(i)).String()])
	}
	c.setSlice(c.out, info)
	return taint{org: info.org}
}

func (c *call) keyNames(m value) []string {
	rv := concrete(m.rv)
	if rv.Kind() != reflect.Map {
		return nil
	}
	return sortedKeys(rv)
}

func (c *call) valuesOf() taint {
	var from []value
	for _, m := range c.args {
		for _, k := range c.keyNames(m) {
			from = append(from, c.at(m, k))
		}
	}
	return c.matched(from)
}

// picked gives the entries of pick's or omit's result the origins that they have in the first argument.
func (c *call) picked() taint {
	info := &mapInfo{org: c.origin(c.args[0])}
	if src := c.mapOf(c.args[0].rv); src != nil {
		info.org = src.org
	}
	for _, k := range c.keyNames(value{rv: c.out}) {
		info.set(k, c.entry(c.args[0], k))
	}
	c.setMap(c.out, info)
	return taint{org: info.org, cond: c.args[0].sh.cond}
}

func (c *call) deepCopied() taint {
	c.copied(value{c.out, c.args[0].sh}, c.args[0], 0)
	return c.args[0].sh
}

// copied gives a copy and what is in it the origins of the original.
func (c *call) copied(to, from value, depth int) {
	a, b := concrete(to.rv), concrete(from.rv)
	if a.Kind() != b.Kind() || depth > 100 {
		return
	}
	c.step()
	switch a.Kind() {
	case reflect.Map:
		if a.IsNil() || b.IsNil() || a.UnsafePointer() == b.UnsafePointer() {
			return
		}
		info := &mapInfo{org: c.origin2(from)}
		if src := c.mapOf(b); src != nil {
			for k, e := range src.over {
				info.set(k, e)
			}
		}
		c.setMap(a, info)
		for _, k := range sortedKeys(a) {
			x, y := c.at(to, k), c.at(from, k)
			if container(x.rv) && y.rv.IsValid() {
				c.copied(x, y, depth+1)
			}
		}
	case reflect.Slice:
		if a.Len() == 0 || a.Len() != b.Len() || a.UnsafePointer() == b.UnsafePointer() {
			return
		}
		info := &sliceInfo{org: from.sh.mix()}
		if src := c.sliceOf(b); src != nil {
			info.org, info.elems = src.org, src.elems
		}
		c.setSlice(a, info)
		for i := range a.Len() {
			if container(a.Index(i)) {
				c.copied(c.index(to, i), c.index(from, i), depth+1)
			}
		}
	}
}

// origin2 returns the origin below which the entries of a map lie that have none of their own.
func (c *call) origin2(m value) *node {
	if info := c.mapOf(m.rv); info != nil {
		return info.org
	}
	return m.sh.mix()
}

func container(v reflect.Value) bool {
	k := concrete(v).Kind()
	return k == reflect.Map || k == reflect.Slice
}

func (c *call) listed() taint {
	info := &sliceInfo{}
	for _, a := range c.args {
		info.elems = append(info.elems, c.place(a))
	}
	c.setSlice(c.out, info)
	return taint{}
}

// chosen follows first and last.
func (c *call) chosen() taint {
	l := c.args[0]
	rv := concrete(l.rv)
	if rv.Kind() != reflect.Slice || rv.Len() == 0 {
		return c.mixed()
	}
	i := 0
	if c.name == "last" || c.name == "mustLast" {
		i = rv.Len() - 1
	}
	return c.elem(l, i)
}

// elements finds the elements of a result among the arguments and their elements.
func (c *call) elements() taint {
	var from []value
	for _, a := range c.args {
		rv := concrete(a.rv)
		if rv.Kind() == reflect.Slice {
			for i := range rv.Len() {
				from = append(from, c.index(a, i))
			}
		}
		if c.name != "concat" {
			a.sh = c.place(a)
			from = append(from, a)
		}
	}
	return c.matched(from)
}

const maxMatched = 2000

// matched gives the elements of a result the origins of equal values, each of which is used once, in order.
func (c *call) matched(from []value) taint {
	out := concrete(c.out)
	if out.Kind() != reflect.Slice || out.Len()*len(from) > maxMatched*maxMatched {
		return c.mixed()
	}
	org := c.mixed().org
	info := &sliceInfo{org: org}
	used := make([]bool, len(from))
	start := 0
	for i := range out.Len() {
		e := out.Index(i)
		sh := taint{org: org, derived: true}
		for k := range from {
			j := (start + k) % len(from)
			if !used[j] && identical(e, from[j].rv) {
				sh, used[j], start = from[j].sh, true, j+1
				break
			}
		}
		info.elems = append(info.elems, sh)
	}
	if out.Len() > 0 {
		// A result that is an argument itself, or a part of it, keeps what it has.
		for _, a := range c.args {
			if rv := concrete(a.rv); rv.Kind() == reflect.Slice && rv.Len() == out.Len() && rv.Len() > 0 &&
				rv.UnsafePointer() == out.UnsafePointer() {
				return a.sh
			}
		}
	}
	c.setSlice(out, info)
	return taint{org: org}
}

// identical reports whether two values are one scalar or one container.
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

// stringsOf is for lists of strings made of a list's elements: sorted, or spelled.
func (c *call) stringsOf() taint {
	l := c.args[0]
	rv := concrete(l.rv)
	if rv.Kind() != reflect.Slice {
		return c.mixed()
	}
	var from []value
	for i := range rv.Len() {
		v := c.index(l, i)
		s, _ := sprint(concrete(v.rv))
		v.rv = reflect.ValueOf(s)
		from = append(from, v)
	}
	return c.matched(from)
}
