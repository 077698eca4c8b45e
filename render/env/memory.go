package env

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	kjson "sigs.k8s.io/json"
)

// Memory keeps answers in the process and, with a Disk, from one process to the next: in tables, by key, each with what it
// rests on. What is on disk is checked by its seal when it is read; every answer is checked by its questions before it
// counts. The nil Memory keeps nothing. It is safe for concurrent use.
type Memory struct {
	Disk  *Disk  // nil: only in the process
	Scope string // tells memories in one Disk apart

	mu     sync.Mutex
	tables map[string]*table
	read   atomic.Int64 // bytes of the values that are held as they were read
}

// Table is where answers of one kind are kept.
type Table struct {
	Name string // of letters, digits and dashes
	// Apart means that the answers are large: each key has an entry of its own on disk, which is read whenever somebody
	// asks for it and written at once, and nothing of it stays in the process. Else the table is read as a whole, and
	// written by Save.
	Apart bool
}

const (
	maxVersions = 4        // answers of one key: those of some pull requests and of their base
	maxTable    = 16 << 20 // bytes of one table on disk
	maxApart    = 32 << 20 // bytes of one entry of a table that is kept apart
	maxRecords  = 20_000   // keys of one table
	maxRead     = 4 << 20  // bytes, as written, of the values that are held as they were read: that takes many times more
)

type table struct {
	mu      sync.Mutex
	records map[string][]*record // the newest first
	changed bool
}

// record is one answer.
type record struct {
	asked, data []byte // data is nil for what cannot be written and stays in the process
	value       any    // data as it was read; nil: nobody has
	used        bool   // in this process
}

// table returns the table that has a key.
func (m *Memory) table(of Table, key string) *table {
	if of.Apart {
		return m.apart(of, key)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tables == nil {
		m.tables = map[string]*table{}
	}
	t := m.tables[of.Name]
	if t == nil {
		t = &table{records: map[string][]*record{}}
		m.tables[of.Name] = t
		if m.Disk != nil {
			data, _ := m.Disk.Get(m.scope(), of.Name)
			t.read(data)
		}
	}
	return t
}

func (m *Memory) scope() string { return m.Disk.Scope("memory", m.Scope) }

// apart reads the entry of a key into a table that has nothing else.
func (m *Memory) apart(of Table, key string) *table {
	t := &table{records: map[string][]*record{}}
	if m.Disk != nil {
		data, _ := m.Disk.Get(m.scope(), entryName(of, key))
		t.read(data)
	}
	return t
}

// entryName is the name of the entry of a key.
func entryName(of Table, key string) string {
	sum := sha256.Sum256([]byte(key))
	return of.Name + "-" + hex.EncodeToString(sum[:16])
}

// read takes in what save wrote.
func (t *table) read(data []byte) {
	for len(data) > 0 {
		key, rest, ok := cutText(data)
		asked, rest, okAsked := cutText(rest)
		value, rest, okValue := cutText(rest)
		if !ok || !okAsked || !okValue {
			return
		}
		data = rest
		t.records[string(key)] = append(t.records[string(key)], &record{asked: asked, data: value})
	}
}

// Get returns the answer that is kept under a key and rests on what is so now; false where there is none. Do not change
// it. Its type is that which it was kept with.
func Get[T any](m *Memory, of Table, key string, now Answerer) (value T, ok bool) {
	value, _, ok = find[T](m, of, key, now)
	return value, ok
}

// GetAsked is Get, and returns what the answer rests on, too.
func GetAsked[T any](m *Memory, of Table, key string, now Answerer) (value T, asked Asked, ok bool) {
	value, encoded, ok := find[T](m, of, key, now)
	return value, decode(encoded), ok
}

func find[T any](m *Memory, of Table, key string, now Answerer) (value T, asked []byte, ok bool) {
	if m == nil {
		return value, nil, false
	}
	t := m.table(of, key)
	t.mu.Lock()
	list := slices.Clone(t.records[key])
	t.mu.Unlock()
	for _, r := range list {
		if !same(r.asked, now) {
			continue
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		r.used = true
		if r.value == nil {
			if !read(r.data, &value) {
				return value, nil, false
			}
			if !of.Apart && m.hold(r.data) {
				r.value = value
			}
			return value, r.asked, true
		}
		value, ok = r.value.(T)
		return value, r.asked, ok
	}
	return value, nil, false
}

// Digest distinguishes what a table has.
func (m *Memory) Digest(of Table) string {
	if m == nil {
		return ""
	}
	t, h := m.table(of, ""), sha256.New()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(t.records)) {
		h.Write(appendText(appendText(nil, key), t.records[key][0].data))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Put keeps an answer under a key, from now on and on disk.
func Put[T any](m *Memory, of Table, key string, asked Asked, value T) {
	if m == nil || of.Apart && m.Disk == nil {
		return
	}
	data := written(value)
	r := &record{asked: asked.encode(), data: data, used: true}
	if of.Apart {
		if data != nil {
			m.keepApart(of, key, r)
		}
		return
	}
	if data == nil || m.hold(data) {
		r.value = value
	}
	m.table(of, key).keep(key, r)
}

// written returns a value as it is on disk: bytes as they are, else JSON; nil where it would not come back as it was.
func written(value any) []byte {
	if data, is := value.([]byte); is {
		return slices.Clip(data)
	}
	data, err := json.Marshal(value)
	if err != nil || bytes.Contains(data, []byte(`\ufffd`)) { // of what is not UTF-8
		return nil
	}
	return data
}

// read reads what written returned; false where it cannot.
func read[T any](data []byte, value *T) bool {
	if text, is := any(value).(*[]byte); is {
		*text = data
		return true
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(data, value) == nil
}

// PutHere is Put for an answer that cannot be written as JSON: it stays in the process.
func PutHere[T any](m *Memory, of Table, key string, asked Asked, value T) {
	if m != nil {
		m.table(of, key).keep(key, &record{asked: asked.encode(), value: value, used: true})
	}
}

// keepApart writes an answer to the entry of its key, with the earlier ones that there is room for.
func (m *Memory) keepApart(of Table, key string, r *record) {
	t := m.apart(of, key)
	t.keep(key, r)
	if data := t.save(maxApart); len(data) > 0 {
		_ = m.Disk.Put(m.scope(), entryName(of, key), data) // without it, it is worked out again
	}
}

// hold reports whether there is room to hold a value as it is read besides its data.
func (m *Memory) hold(data []byte) bool {
	size := int64(len(data))
	if m.read.Add(size) <= maxRead {
		return true
	}
	m.read.Add(-size)
	return false
}

func (t *table) keep(key string, r *record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.records) >= maxRecords {
		maps.DeleteFunc(t.records, func(_ string, list []*record) bool { return !list[0].used })
		if len(t.records) >= maxRecords {
			clear(t.records)
		}
	}
	list := slices.DeleteFunc(t.records[key], func(old *record) bool { return bytes.Equal(old.asked, r.asked) })
	list = slices.Insert(list, 0, r)
	t.records[key] = list[:min(len(list), maxVersions)]
	t.changed = t.changed || r.data != nil
}

// Save writes the tables that have something new to disk: what was used in this process first, and of the rest what there
// is room for.
func (m *Memory) Save() {
	if m == nil || m.Disk == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, t := range m.tables {
		if data := t.save(maxTable); data != nil {
			_ = m.Disk.Put(m.scope(), name, data) // without it, it is worked out again
		}
	}
}

// save returns what read takes in, as far as there is room for it; nil where nothing changed.
func (t *table) save(room int) (out []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.changed {
		return nil
	}
	t.changed = false
	used := func(list []*record) bool { return slices.ContainsFunc(list, func(r *record) bool { return r.used }) }
	keys := slices.SortedFunc(maps.Keys(t.records), func(a, b string) int {
		if first := used(t.records[a]); first != used(t.records[b]) {
			if first {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	for _, key := range keys {
		for _, r := range t.records[key] {
			if r.data != nil && len(out)+len(key)+len(r.asked)+len(r.data) < room {
				out = appendText(appendText(appendText(out, key), r.asked), r.data)
			}
		}
	}
	return out
}
