package trace

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// splitList gives each element of the result its place in the string.
func (c *call) splitList() taint {
	s, sh := c.subject()
	sep, ok := c.strArg(0)
	if !ok || c.out.Kind() != reflect.Slice || sep == "" {
		return c.mixed()
	}
	info := &sliceInfo{org: sh.mix()}
	at := 0
	for i := range c.out.Len() {
		n := len(concrete(c.out.Index(i)).String())
		if at+n > len(s) {
			return c.mixed()
		}
		info.elems = append(info.elems, sh.sub(len(s), at, at+n))
		at += n + len(sep)
	}
	c.setSlice(c.out, info)
	return taint{org: info.org, cond: sh.conds()}
}

// splitMap is splitList for split, whose result has keys _0, _1 ...
func (c *call) splitMap() taint {
	s, sh := c.subject()
	sep, ok := c.strArg(0)
	if !ok || c.out.Kind() != reflect.Map || sep == "" {
		return c.mixed()
	}
	info := &mapInfo{}
	at := 0
	for i, p := range strings.Split(s, sep) {
		info.set("_"+strconv.Itoa(i), entry{val: sh.sub(len(s), at, at+len(p))})
		at += len(p) + len(sep)
	}
	c.setMap(c.out, info)
	return taint{org: sh.mix(), cond: sh.conds()}
}

// joined follows join over a list of strings.
func (c *call) joined() taint {
	sep, ok := c.strArg(0)
	l := c.args[len(c.args)-1]
	rv := concrete(l.rv)
	if !ok || rv.Kind() != reflect.Slice {
		return c.mixed()
	}
	t := &text{}
	first := true
	for i := range rv.Len() {
		v := c.index(l, i)
		e := concrete(v.rv)
		if !e.IsValid() {
			continue
		}
		if !first {
			t.add(sep, c.args[0].sh, nil)
		}
		first = false
		c.literal(t, fmt.Sprint(e.Interface()), v)
	}
	sh := c.finish(t)
	sh.cond = join(sh.cond, l.sh.conds())
	return sh
}
