package schema

import (
	_ "embed"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:generate sh -c "go run github.com/lintel-bot/lintel/checks/checkstest/generate types 25 37 > table.txt"

//go:embed table.txt
var tableText string

// table has the types of all known versions of Kubernetes. It is immutable, about 2 MB in size, and parsed in some
// milliseconds on first use.
type table struct {
	first, last int // minor versions
	kinds       map[kindName]variants[*record]
	groups      map[string]bool
}

// kindName identifies a kind in a version of its group.
type kindName struct{ apiVersion, kind string }

// versions is a set of minor versions: bit 0 is the first version of the table.
type versions uint32

// variants are the values of something, each in some versions.
type variants[T any] []struct {
	in versions
	is T
}

// record is a type with fields.
type record struct {
	name     string // as people call it: PodSpec
	fields   map[string]variants[property]
	required []string // fields that some version requires, sorted
}

type property struct {
	form     *form
	required bool
}

// form describes the allowed values.
type form struct {
	is     base
	of     *form    // the elements of a list or map
	object *record  // the type, of an object with fields
	enum   []string // allowed values; nil: any
}

type base byte

const (
	isAny base = iota
	isString
	isInt32
	isInt64
	isNumber
	isBool
	isQuantity
	isIntOrString
	isTime
	isBytes
	isMap    // of values of form of; without it, of anything
	isList   // of elements of form of
	isObject // with the fields of a record
)

// bases are the names of the bases in the table.
var bases = map[string]base{"any": isAny, "string": isString, "int32": isInt32, "int64": isInt64, "number": isNumber,
	"bool": isBool, "quantity": isQuantity, "intstr": isIntOrString, "time": isTime, "bytes": isBytes, "object": isMap}

var all = sync.OnceValue(func() *table { return parseTable(tableText) })

// parseTable parses the table. It panics for an error, which can only be one of the generator; a test parses the table.
func parseTable(text string) *table {
	t := &table{kinds: map[kindName]variants[*record]{}, groups: map[string]bool{}}
	objects, forms := map[string]*record{}, map[string]*form{}
	objectOf := func(name string) *record {
		if objects[name] == nil {
			objects[name] = &record{name: name[strings.LastIndexByte(name, '.')+1:], fields: map[string]variants[property]{}}
		}
		return objects[name]
	}
	var formOf func(string) *form
	formOf = func(s string) *form {
		if f := forms[s]; f != nil {
			return f
		}
		f := &form{}
		forms[s] = f
		if name, ok := strings.CutPrefix(s, "&"); ok {
			f.is, f.object = isObject, objectOf(name)
		} else if of, ok := strings.CutPrefix(s, "[]"); ok {
			f.is, f.of = isList, formOf(of)
		} else if of, ok := strings.CutPrefix(s, "{}"); ok {
			f.is, f.of = isMap, formOf(of)
		} else {
			name, enum, some := strings.Cut(strings.TrimSuffix(s, ")"), "(")
			if f.is, ok = bases[name]; !ok {
				panic(fmt.Sprintf("the table has the type %q", s))
			}
			if some {
				f.enum = strings.Split(strings.ReplaceAll(enum, "+", " "), "|")
			}
		}
		return f
	}
	var into *record
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		words := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, " "):
			required := strings.HasPrefix(words[1], "!")
			into.add(words[0], t.ranges(words[2:]), property{formOf(strings.TrimPrefix(words[1], "!")), required})
		case words[0] == "type":
			into = objectOf(words[1])
		case words[0] == "kind":
			k := kindName{words[1], words[2]}
			t.kinds[k] = append(t.kinds[k], struct {
				in versions
				is *record
			}{t.ranges(words[4:]), objectOf(words[3])})
			t.groups[groupOf(words[1])] = true
		case words[0] == "versions":
			t.first, t.last = number(words[1]), number(words[2])
		default:
			panic(fmt.Sprintf("the table has the line %q", line))
		}
	}
	for _, o := range objects {
		o.required = slices.DeleteFunc(o.required, func(name string) bool {
			last, _ := latest(o.fields[name], t.every())
			return !last.required // newer descriptions are more accurate: the field was never required
		})
		slices.Sort(o.required)
	}
	return t
}

func (o *record) add(name string, in versions, f property) {
	o.fields[name] = append(o.fields[name], struct {
		in versions
		is property
	}{in, f})
	if f.required && !slices.Contains(o.required, name) {
		o.required = append(o.required, name)
	}
}

// ranges parses the versions at the end of a line; no words mean all versions.
func (t *table) ranges(words []string) (in versions) {
	if len(words) == 0 {
		return t.every()
	}
	for r := range strings.SplitSeq(words[0], ",") {
		from, to, _ := strings.Cut(r, "-")
		for minor := number(from); minor <= number(to); minor++ {
			in |= t.version(minor)
		}
	}
	return in
}

func (t *table) version(minor int) versions { return 1 << (minor - t.first) }

// firstOf is the first minor version of some, and lastOf the last.
func (t *table) firstOf(in versions) int { return t.first + bits.TrailingZeros32(uint32(in)) }

func (t *table) lastOf(in versions) int { return t.first + bits.Len32(uint32(in)) - 1 }

func (t *table) every() versions { return 1<<(t.last-t.first+1) - 1 }

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(fmt.Sprintf("the table has the number %q", s))
	}
	return n
}

// groupOf returns the group of an API version; empty for the core group.
func groupOf(apiVersion string) string {
	group, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return ""
	}
	return group
}

// names lists the fields that some of the versions have, sorted.
func (o *record) names(in versions) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(o.fields)) {
		if o.fields[name].all()&in != 0 {
			list = append(list, name)
		}
	}
	return list
}

// all returns the versions that have any of the variants.
func (v variants[T]) all() (in versions) {
	for _, one := range v {
		in |= one.in
	}
	return in
}
