package trace

import (
	"cmp"
	"reflect"
	"strconv"
	"unsafe"
)

// table has the origins of maps and slices, by identity. Its keys keep the maps and slices alive, so that no address is
// used again.
type table struct {
	maps     map[unsafe.Pointer]*mapInfo
	slices   map[unsafe.Pointer]*sliceInfo
	assuming bool // see assume: what could add entries to a map counts as its origin
	changed  bool // a template changed a map that other templates see
}

// mapInfo has the origins of a map's entries. Entries that are not in over come from below org.
type mapInfo struct {
	org   *node
	given bool // part of the data of templates, which they all share
	over  map[string]entry
	feeds feeds // what could add entries
	like  *node // of a decoded map: the value whose keys its keys are
}

type entry struct{ key, val taint }

// sliceInfo has the origins of a slice's elements. Elements that are not in elems come from below org.
type sliceInfo struct {
	org   *node
	elems []taint
}

func newTable() *table {
	return &table{maps: map[unsafe.Pointer]*mapInfo{}, slices: map[unsafe.Pointer]*sliceInfo{}}
}

// concrete follows interfaces to a concrete value; invalid for nil.
func concrete(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}

func (t *table) mapOf(v reflect.Value) *mapInfo {
	v = concrete(v)
	if v.Kind() != reflect.Map || v.IsNil() {
		return nil
	}
	return t.maps[v.UnsafePointer()]
}

func (t *table) sliceOf(v reflect.Value) *sliceInfo {
	v = concrete(v)
	if v.Kind() != reflect.Slice || v.Len() == 0 {
		return nil
	}
	return t.slices[v.UnsafePointer()]
}

// changes records that a template changes a map.
func (t *table) changes(m value) {
	if info := t.mapOf(m.rv); info != nil && info.given {
		t.changed = true
	}
}

// track returns the record of a map. If there is none, it makes one with the origin of the value.
func (t *table) track(v value) *mapInfo {
	rv := concrete(v.rv)
	if rv.Kind() != reflect.Map || rv.IsNil() {
		return &mapInfo{org: v.sh.org}
	}
	p := rv.UnsafePointer()
	info := t.maps[p]
	if info == nil {
		info = &mapInfo{org: v.sh.org}
		t.maps[p] = info
	}
	return info
}

func (m *mapInfo) set(key string, e entry) {
	if m.over == nil {
		m.over = map[string]entry{}
	}
	m.over[key] = e
}

func (t *table) setMap(v reflect.Value, info *mapInfo) {
	if v = concrete(v); v.Kind() == reflect.Map && !v.IsNil() {
		t.maps[v.UnsafePointer()] = info
	}
}

func (t *table) setSlice(v reflect.Value, info *sliceInfo) {
	if v = concrete(v); v.Kind() == reflect.Slice && v.Len() > 0 {
		t.slices[v.UnsafePointer()] = info
	}
}

// seed records that a tree of values comes from below an origin. Maps that have a record keep it.
func (t *table) seed(v any, org *node) {
	type item struct {
		v   any
		org *node
	}
	queue := []item{{v, org}}
	for len(queue) > 0 {
		it := queue[0]
		queue = queue[1:]
		rv := reflect.ValueOf(it.v)
		switch rv.Kind() {
		case reflect.Map:
			if rv.IsNil() || t.maps[rv.UnsafePointer()] != nil {
				continue
			}
			t.maps[rv.UnsafePointer()] = &mapInfo{org: it.org, given: true}
			for _, k := range rv.MapKeys() {
				e := concrete(rv.MapIndex(k))
				if (e.Kind() == reflect.Map || e.Kind() == reflect.Slice) && k.Kind() == reflect.String {
					queue = append(queue, item{e.Interface(), it.org.child(k.String())})
				}
			}
		case reflect.Slice:
			if rv.Len() == 0 || t.slices[rv.UnsafePointer()] != nil || rv.Type().Elem().Kind() == reflect.Uint8 {
				continue
			}
			t.slices[rv.UnsafePointer()] = &sliceInfo{org: it.org}
			for i := range rv.Len() {
				e := concrete(rv.Index(i))
				if e.Kind() == reflect.Map || e.Kind() == reflect.Slice {
					queue = append(queue, item{e.Interface(), it.org.child(strconv.Itoa(i))})
				}
			}
		}
	}
}

// entry returns the taints of a map's key and of its value, even if the key does not exist.
func (t *table) entry(m value, key string) entry {
	info := t.mapOf(m.rv)
	if info != nil {
		if e, ok := info.over[key]; ok {
			return e
		}
		org := cmp.Or(info.like, info.org)
		return entry{taint{org: org.keyNode(key), cond: m.sh.cond}, taint{org: org.child(key), cond: m.sh.cond}}
	}
	org := m.sh.mix()
	return entry{taint{org: org.keyNode(key), cond: m.sh.cond, derived: org != nil && org.kind != Value},
		taint{org: org.child(key), cond: m.sh.cond, derived: org != nil && org.kind == 0}}
}

// elem returns the taint of an element of a slice.
func (t *table) elem(l value, i int) taint {
	info := t.sliceOf(l.rv)
	if info != nil {
		if i < len(info.elems) {
			return info.elems[i]
		}
		return taint{org: info.org.child(strconv.Itoa(i)), cond: l.sh.cond}
	}
	org := l.sh.mix()
	return taint{org: org.child(strconv.Itoa(i)), cond: l.sh.cond, derived: org != nil && org.kind == 0}
}

// at returns the entry of a map as a value; the zero Value if there is none.
func (t *table) at(m value, key string) value {
	rv := concrete(m.rv)
	if rv.Kind() != reflect.Map || rv.Type().Key().Kind() != reflect.String {
		return value{}
	}
	return value{rv.MapIndex(reflect.ValueOf(key).Convert(rv.Type().Key())), t.entry(m, key).val}
}

// index returns an element of a slice as a value.
func (t *table) index(l value, i int) value {
	return value{concrete(l.rv).Index(i), t.elem(l, i)}
}

// origin returns the origin of a value as a whole. For a map that a template made it is that of its entries.
func (t *table) origin(v value) *node {
	var m mixer
	t.collect(&m, v, 0)
	return m.node()
}

const maxCollect = 6

func (t *table) collect(m *mixer, v value, depth int) {
	if len(m.parts) >= maxParts || depth > maxCollect {
		return
	}
	rv := concrete(v.rv)
	switch rv.Kind() {
	case reflect.Map:
		info := t.mapOf(rv)
		if info == nil {
			break
		}
		m.add(info.org)
		for _, k := range sortedKeys(rv) {
			if e, ok := info.over[k]; ok {
				t.collect(m, value{rv.MapIndex(reflect.ValueOf(k).Convert(rv.Type().Key())), e.val}, depth+1)
			}
		}
		for _, h := range info.feeds {
			if t.assuming {
				m.add(h.feed)
			}
		}
		return
	case reflect.Slice:
		info := t.sliceOf(rv)
		if info == nil {
			break
		}
		m.add(info.org)
		for i := range min(len(info.elems), rv.Len()) {
			t.collect(m, value{rv.Index(i), info.elems[i]}, depth+1)
		}
		return
	}
	m.add(v.sh.mix())
}
