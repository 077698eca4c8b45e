package graph

import (
	"bytes"
	"encoding/binary"
	"errors"
	"iter"
	"maps"
	"slices"
	"sort"
	"strings"
)

// relation is one of the tables of an index. It maps keys to paths.
type relation int

const (
	readers  relation = iota // a file or folder -> the folders whose kustomization names it
	parents                  // a file or folder -> those that include it as a resource, a base or a component
	patches                  // a file -> those that use it as a patch
	plugins                  // a file or folder -> those that configure a plugin with it
	folders                  // a trait of a kustomization (see the trait keys) -> the folders with that trait
	mentions                 // a word -> the files that contain it as a value; and traits of files
	noted                    // a key of Options.Notes, prefixed with the notes' name -> the noted files
	naming                   // a name -> the files that may give it; and the keys below
	relations
)

// Traits of folders, and of files in mentions.
const (
	component = "component" // kind: Component
	broken    = "broken"    // it cannot be read
	plugin    = "plugin"    // it configures plugins or charts, which may read further files
	linked    = "linked"    // what it names depends on symlinks
	odd       = "odd"       // patches change the kinds of its objects
	bringing  = "bringing"  // it includes a remote source or a chart

	configured = "configured" // configurations of its plugins are in files of their own
	reading    = "reading "   // before a path outside of the folder: its plugins or charts read it
	inflating  = "inflating " // before the folder of a chart: it inflates the chart
	generating = "generating" // generators use files below it that have the names of manifests

	marked = "\x00marked" // the file contains one of Options.Marks
	link   = "\x00link"   // a symlink with the name of a manifest or kustomization
	links  = "\x00links"  // a symlink of any name
)

// byFolder reports whether the values of a relation are folders, which are hidden if their kustomization changed.
func (r relation) byFolder() bool { return r < mentions }

// facts collects pairs of the relations while files are read.
type facts [relations]map[string][]string

func (f *facts) add(r relation, key string, values ...string) {
	if f[r] == nil {
		f[r] = map[string][]string{}
	}
	f[r][key] = append(f[r][key], values...)
}

// limited returns a function that adds a path to each key once, and to the key beyond for those above maxWords.
func (f *facts) limited(r relation, beyond, p string) func(key string) {
	seen := map[string]bool{}
	return func(key string) {
		if seen[key] || len(seen) > maxWords {
			return
		}
		if seen[key] = true; len(seen) > maxWords {
			key = beyond
		}
		f.add(r, key, p)
	}
}

func (f *facts) merge(other *facts) {
	for r, m := range other {
		for key, values := range m {
			f.add(relation(r), key, values...)
		}
	}
}

// snapshot is the index of a whole tree in one block of memory, in the format on disk: a sorted table of names, and
// relations as numbers of names. Nothing is decoded in advance. It is immutable. The zero value is the index of a tree
// without files.
type snapshot struct {
	data    []byte
	offsets []byte // of the names, count+1 numbers
	count   int
	text    string
	tables  [relations]table
}

// table is one relation: keys are sorted, and the values of key i are values[starts[i]:starts[i+1]], sorted.
type table struct {
	keys, starts, values []byte
	count                int
}

const magic = "lintel graph 8\x00\x00"

func number(b []byte, i int) int { return int(binary.LittleEndian.Uint32(b[4*i:])) }

// encode encodes facts as a snapshot. The same facts give the same bytes.
func encode(f *facts) []byte {
	seen := map[string]uint32{}
	for _, m := range f {
		for key, values := range m {
			seen[key] = 0
			for _, v := range values {
				seen[v] = 0
			}
		}
	}
	names := slices.Sorted(maps.Keys(seen))
	text := strings.Join(names, "")
	out := append(make([]byte, 0, len(text)+16*len(names)), magic...)
	put := func(n int) { out = binary.LittleEndian.AppendUint32(out, uint32(n)) }
	put(len(names))
	at := 0
	for i, name := range names {
		seen[name] = uint32(i)
		put(at)
		at += len(name)
	}
	put(at)
	for _, m := range f {
		keys := slices.Sorted(maps.Keys(m))
		var values []uint32
		starts := []int{0}
		for _, key := range keys {
			first := len(values)
			for _, v := range m[key] {
				values = append(values, seen[v])
			}
			slices.Sort(values[first:])
			values = append(values[:first], slices.Compact(values[first:])...)
			starts = append(starts, len(values))
		}
		put(len(keys))
		put(len(values))
		for _, key := range keys {
			put(int(seen[key]))
		}
		for _, s := range starts {
			put(s)
		}
		for _, v := range values {
			put(int(v))
		}
	}
	return append(out, text...)
}

var errSnapshot = errors.New("the index cannot be read")

// decode returns an encoded snapshot. It checks the bytes, so that later look-ups never read outside of them.
func decode(data []byte) (*snapshot, error) {
	if !bytes.HasPrefix(data, []byte(magic)) {
		return nil, errSnapshot
	}
	at := len(magic)
	failed := false
	take := func(n int) []byte { // n numbers
		if failed || n < 0 || n > (len(data)-at)/4 {
			failed = true
			return nil
		}
		at += 4 * n
		return data[at-4*n : at]
	}
	one := func() int {
		if b := take(1); b != nil {
			return number(b, 0)
		}
		return 0
	}
	s := &snapshot{data: data, count: one()}
	s.offsets = take(s.count + 1)
	for r := range s.tables {
		t := &s.tables[r]
		t.count = one()
		values := one()
		t.keys, t.starts, t.values = take(t.count), take(t.count+1), take(values)
		if failed || !below(t.keys, s.count) || !below(t.values, s.count) || !rising(t.starts, values) {
			return nil, errSnapshot
		}
	}
	if failed || !rising(s.offsets, len(data)-at) {
		return nil, errSnapshot
	}
	s.text = string(data[at:])
	return s, nil
}

func below(numbers []byte, limit int) bool {
	for i := range len(numbers) / 4 {
		if number(numbers, i) >= limit {
			return false
		}
	}
	return true
}

func rising(numbers []byte, end int) bool {
	last := 0
	for i := range len(numbers) / 4 {
		n := number(numbers, i)
		if n < last {
			return false
		}
		last = n
	}
	return last == end && number(numbers, 0) == 0
}

func (s *snapshot) name(i int) string {
	return s.text[number(s.offsets, i):number(s.offsets, i+1)]
}

// find returns the index of the first name that is not less than the given one.
func (s *snapshot) find(name string) int {
	return sort.Search(s.count, func(i int) bool { return s.name(i) >= name })
}

func (t *table) find(id int) int {
	return sort.Search(t.count, func(i int) bool { return number(t.keys, i) >= id })
}

// values lists the paths that a relation has for a key.
func (s *snapshot) values(r relation, key string) iter.Seq[string] {
	return func(yield func(string) bool) {
		t := &s.tables[r]
		for first, end := s.row(r, key); first < end; first++ {
			if !yield(s.name(number(t.values, first))) {
				return
			}
		}
	}
}

// row returns the range of a key's values in the table of a relation.
func (s *snapshot) row(r relation, key string) (first, end int) {
	id := s.find(key)
	if id == s.count || s.name(id) != key {
		return 0, 0
	}
	t := &s.tables[r]
	k := t.find(id)
	if k == t.count || number(t.keys, k) != id {
		return 0, 0
	}
	return number(t.starts, k), number(t.starts, k+1)
}

// has reports whether a key has a path in a relation.
func (s *snapshot) has(r relation, key, value string) bool {
	first, end := s.row(r, key)
	want, t := s.find(value), &s.tables[r]
	i := first + sort.Search(end-first, func(i int) bool { return number(t.values, first+i) >= want })
	return i < end && s.name(number(t.values, i)) == value
}

// keys lists the keys of a relation that start with a prefix.
func (s *snapshot) keys(r relation, prefix string) iter.Seq[string] {
	return func(yield func(string) bool) {
		t := &s.tables[r]
		for k := t.find(s.find(prefix)); k < t.count; k++ {
			key := s.name(number(t.keys, k))
			if !strings.HasPrefix(key, prefix) || !yield(key) {
				return
			}
		}
	}
}
