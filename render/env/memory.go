package env

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fxamacker/cbor/v2"
	"github.com/klauspost/compress/s2"
)

// Memory caches results in the process and, with a Disk, between processes. Results are in tables, by key, each with
// its questions. Data from disk are checked by their checksum. A result is used only if its questions have the same
// answers. The nil Memory caches nothing. It is safe for concurrent use.
type Memory struct {
	Disk  *Disk  // nil: only in the process
	Scope string // distinguishes memories in one Disk

	mu     sync.Mutex
	tables map[string]*table
	read   atomic.Int64 // encoded size of the decoded values in memory
}

// Table names a table for results of one kind.
type Table struct {
	Name string // consists of letters, digits and dashes
	// Apart is for large results. Each key has its own entry on disk, which is read on each request and written at
	// once, and nothing is kept in the process. Otherwise the table is read as a whole, and written by Save.
	Apart bool
}

const (
	maxVersions = 4        // results per key: for some pull requests and their base
	maxTable    = 64 << 20 // compressed bytes of a table on disk
	maxApart    = 32 << 20 // compressed bytes of an entry of a table with Apart
	maxRecords  = 100_000  // keys per table
	maxDecoded  = 24 << 20 // encoded bytes of decoded values in memory, which take many times as much
	maxLeft     = 12 << 20 // of those that stay in memory after a job
)

type table struct {
	mu      sync.Mutex
	records map[string][]*record // the newest first
	changed bool
}

// record is one result.
type record struct {
	asked, data []byte // data is compressed (S2), and nil for a result that stays in the process
	value       any    // decoded data; nil: not decoded
	used        bool   // in this process
}

// table returns the table that may contain a key.
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

// apart returns a table with only the entry of a key.
func (m *Memory) apart(of Table, key string) *table {
	t := &table{records: map[string][]*record{}}
	if m.Disk != nil {
		data, _ := m.Disk.Get(m.scope(), entryName(of, key))
		t.read(data)
	}
	return t
}

// entryName returns the name of a key's entry on disk.
func entryName(of Table, key string) string {
	sum := sha256.Sum256([]byte(key))
	return of.Name + "-" + hex.EncodeToString(sum[:16])
}

// read adds the records that save encoded.
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

// Get returns a valid cached result for a key; false where there is none. T must be the type with which it was cached.
// Do not change the value.
func Get[T any](m *Memory, of Table, key string, now Answerer) (value T, ok bool) {
	value, _, ok = find[T](m, of, key, now)
	return value, ok
}

// GetAsked is Get, and also returns the questions of the result.
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
			data, err := s2.Decode(nil, r.data)
			if err != nil || !Decode(data, &value) {
				return *new(T), nil, false // value may have parts
			}
			if !of.Apart && m.hold(data) {
				r.value = value
			}
			return value, r.asked, true
		}
		value, ok = r.value.(T)
		return value, r.asked, ok
	}
	return value, nil, false
}

// Digest returns a digest of the newest results in a table.
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

// Put caches a result under a key. Save writes it to disk, or Put itself for a table with Apart.
func Put[T any](m *Memory, of Table, key string, asked Asked, value T) {
	if m == nil || of.Apart && m.Disk == nil {
		return
	}
	data := Encode(value)
	r := &record{asked: asked.encode(), used: true}
	if data != nil { // places repeat paths
		r.data = s2.Encode(nil, data)
	}
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

// modes returns how values are encoded: CBOR (RFC 8949), which unlike JSON tells whole floats from integers, and keeps
// texts that are not UTF-8. Equal values have equal bytes.
var modes = sync.OnceValues(func() (cbor.EncMode, cbor.DecMode) {
	encode, errEncode := cbor.EncOptions{Sort: cbor.SortBytewiseLexical, Time: cbor.TimeRFC3339Nano}.EncMode()
	decode, errDecode := cbor.DecOptions{
		DefaultMapType: reflect.TypeFor[map[string]any](), IntDec: cbor.IntDecConvertSignedOrFail, UTF8: cbor.UTF8DecodeInvalid,
		FieldNameMatching: cbor.FieldNameMatchingCaseSensitive,
		MaxNestedLevels:   1 << 14, MaxArrayElements: math.MaxInt32, MaxMapPairs: math.MaxInt32,
	}.DecMode()
	if err := errors.Join(errEncode, errDecode); err != nil {
		panic(err) // the options are constants
	}
	return encode, decode
})

// Encode encodes a value as CBOR, or returns bytes unchanged; nil for a value with functions or channels.
func Encode(value any) []byte {
	if data, is := value.([]byte); is {
		return slices.Clip(data)
	}
	encode, _ := modes()
	data, _ := encode.Marshal(value)
	return data
}

// Decode decodes what Encode returned; false where that fails. It keeps parts of data.
func Decode[T any](data []byte, value *T) bool {
	if text, is := any(value).(*[]byte); is {
		*text = data
		return true
	}
	_, decode := modes()
	return decode.Unmarshal(data, value) == nil
}

// keepApart writes a result to the entry of its key, with earlier ones that fit.
func (m *Memory) keepApart(of Table, key string, r *record) {
	t := m.apart(of, key)
	t.keep(key, r)
	if data := t.save(maxApart); len(data) > 0 {
		_ = m.Disk.Put(m.scope(), entryName(of, key), data) // if it fails, the result is computed again
	}
}

// hold reports whether there is memory for a decoded value, and reserves it.
func (m *Memory) hold(data []byte) bool {
	size := int64(len(data))
	if m.read.Add(size) <= maxDecoded {
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

// Save writes changed tables to disk, where there is one. Results that were used in this process come first; others are
// written if they fit. If decoded values take too much memory, they are decoded again when they are requested again: call
// Save at the end of each job.
func (m *Memory) Save() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, t := range m.tables {
		if m.Disk == nil {
			break
		}
		if data := t.save(maxTable); len(data) > 0 {
			_ = m.Disk.Put(m.scope(), name, data) // if it fails, the results are computed again
		}
	}
	if m.read.Load() > maxLeft {
		m.read.Store(0)
		for _, t := range m.tables {
			t.forget()
		}
	}
}

// forget drops the decoded values that can be decoded again.
func (t *table) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, list := range t.records {
		for _, r := range list {
			if r.data != nil {
				r.value = nil
			}
		}
	}
}

// save encodes the records for read, as far as they fit; nil where nothing changed.
func (t *table) save(room int) (out []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.changed {
		return nil
	}
	t.changed = false
	size := 0
	for key, list := range t.records {
		for _, r := range list {
			size += len(key) + len(r.asked) + len(r.data) + 3*binary.MaxVarintLen32
		}
	}
	out = make([]byte, 0, min(size, room))
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
