package trace

import (
	"reflect"
	"slices"
)

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
