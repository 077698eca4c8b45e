// Package kubernetes knows the types of Kubernetes' own objects: which fields each version has, of which type they are,
// which of them must be there, which values they take, and when a kind was deprecated and removed; that also of some kinds
// that come with other projects.
package kubernetes

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/policy"
)

// Violation is one thing that is wrong with an object.
type Violation struct {
	Pointer string // RFC 6901; a field that is missing has the pointer it would have
	Message string
	Missing bool // the field is not there
}

// Most is how many violations of one object are told, in the order of its keys: what comes behind is most often of the
// same cause.
const Most = 50

// Types are those of one version of Kubernetes. They are immutable.
type Types struct {
	table *table
	in    versions
	name  string // of the version, behind "in"
}

// Of returns the types of a version of Kubernetes ("1.33", "v1.33.2"). Where none is given, and of one that is not
// known, nothing is wrong that some known version takes.
func Of(version string) *Types {
	t := all()
	minor, ok := Minor(version)
	if !ok || minor < t.first || minor > t.last {
		return &Types{table: t, in: t.every(), name: fmt.Sprintf("Kubernetes 1.%d to 1.%d", t.first, t.last)}
	}
	return &Types{table: t, in: t.version(minor), name: fmt.Sprintf("Kubernetes 1.%d", minor)}
}

// Minor reads the minor version of Kubernetes: 33 of "1.33", "v1.33.2" and "1.33.2-gke.1".
func Minor(version string) (minor int, ok bool) {
	major, rest, ok := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	if !ok || major != "1" {
		return 0, false
	}
	digits, _, _ := strings.Cut(rest, ".")
	minor, err := strconv.Atoi(digits)
	return minor, err == nil
}

// Known are the first and the last minor version that the types are known of.
func Known() (first, last int) { return all().first, all().last }

// Group reports whether an API version is of a group that Kubernetes itself serves.
func Group(apiVersion string) bool { return all().groups[groupOf(apiVersion)] }

// Serves reports whether the version of Kubernetes has a kind; of several versions, whether one of them has.
func (t *Types) Serves(apiVersion, name string) bool {
	return t.table.kinds[kind{apiVersion, name}].all()&t.in != 0
}

// Versions are the first and the last known minor version of Kubernetes that serve a kind; ok is false where none does.
func Versions(apiVersion, name string) (first, last int, ok bool) {
	in := all().kinds[kind{apiVersion, name}].all()
	if in == 0 {
		return 0, 0, false
	}
	return all().first + bits.TrailingZeros32(uint32(in)), all().first + bits.Len32(uint32(in)) - 1, true
}

// Served lists the API versions in which some known version of Kubernetes has a kind, sorted.
func Served(name string) (list []string) {
	for k := range all().kinds {
		if k.kind == name {
			list = append(list, k.apiVersion)
		}
	}
	slices.Sort(list)
	return list
}

// NearestKind returns the kind that a misspelled one most likely stands for, of the same API version; empty when none is
// near.
func NearestKind(apiVersion, name string) string {
	var names []string
	for k := range all().kinds {
		if k.apiVersion == apiVersion {
			names = append(names, k.kind)
		}
	}
	return policy.Nearest(name, names)
}

// Look returns what is wrong with an object of a kind that is served, nothing for any other. The object is JSON as
// rendering has it.
func (t *Types) Look(o map[string]any) []Violation {
	apiVersion, _ := o["apiVersion"].(string)
	name, _ := o["kind"].(string)
	of, ok := latest(t.table.kinds[kind{apiVersion, name}], t.in)
	if !ok || of.list() {
		return nil // a list is taken apart before anything is asked of the API server
	}
	return t.look(of, o, nil)
}

// list reports whether a type is a list of objects.
func (o *object) list() bool { return strings.HasSuffix(o.name, "List") && o.fields["items"] != nil }

// LookMetadata is like Look for the metadata of an object of any kind, which stands at some keys in another one.
func (t *Types) LookMetadata(metadata any, at ...string) []Violation {
	of := t.table.kinds[kind{"v1", "ConfigMap"}][0].is.fields["metadata"][0].is.form.object
	m, ok := metadata.(map[string]any)
	if !ok {
		return nil
	}
	var p *path
	for _, key := range append(at, "metadata") {
		p = &path{above: p, key: key}
	}
	return t.look(of, m, p)
}

func (t *Types) look(of *object, o map[string]any, at *path) []Violation {
	w := walk{Types: t}
	if w.fields(of, o, at); len(w.found) > Most { // those of another walk would be others
		w = walk{Types: t, inOrder: true}
		w.fields(of, o, at)
		w.found = w.found[:Most]
	}
	slices.SortFunc(w.found, func(a, b Violation) int { return strings.Compare(a.Pointer, b.Pointer) })
	return w.found
}

// walk is one look at an object. It ends when it has found more than is told.
type walk struct {
	*Types
	inOrder bool // of the keys, which takes longer
	found   []Violation
}

// of are the keys and values of a map that are still to be looked at.
func (w *walk) of(o map[string]any) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		if !w.inOrder {
			for key, value := range o {
				if len(w.found) > Most || !yield(key, value) {
					return
				}
			}
			return
		}
		for _, key := range slices.Sorted(maps.Keys(o)) {
			if len(w.found) > Most || !yield(key, o[key]) {
				return
			}
		}
	}
}

// path is where the walk is. It becomes a pointer only where something is wrong.
type path struct {
	above *path
	key   string
	index int // where there is no key
}

func (p *path) pointer() string {
	if p == nil {
		return ""
	}
	key := p.key
	if key == "" && p.index >= 0 {
		key = strconv.Itoa(p.index)
	}
	return p.above.pointer() + "/" + jsonpointer.Escape(key)
}

// status reports whether what is walked is set by the cluster: the status of an object, and what it notes of who wrote
// which field.
func (p *path) status() bool {
	for ; p != nil; p = p.above {
		if p.above == nil {
			return p.key == "status"
		}
		if p.key == "managedFields" {
			return true
		}
	}
	return false
}

// latest returns what something is in the last of some versions.
func latest[T any](list variants[T], in versions) (is T, ok bool) {
	var most versions
	for _, v := range list {
		if v.in&in > most {
			most, is, ok = v.in&in, v.is, true
		}
	}
	return is, ok
}

// fields walks an object.
func (w *walk) fields(of *object, o map[string]any, at *path) {
	for name, value := range w.of(o) {
		here := path{above: at, key: name, index: -1}
		if f, ok := latest(of.fields[name], w.in); ok {
			w.value(f.form, of.fields[name], value, &here)
		} else {
			w.unknown(of, name, &here)
		}
	}
	if len(of.required) == 0 {
		return
	}
	for _, name := range of.required {
		if o[name] == nil && w.required(of.fields[name]) && !optional[of.name+"."+name] && !at.status() {
			w.missing(of, &path{above: at, key: name, index: -1})
		}
	}
}

// required reports whether all versions want a field.
func (w *walk) required(list variants[field]) bool {
	var in versions
	for _, v := range list {
		if v.is.required {
			in |= v.in
		}
	}
	return in&w.in == w.in
}

// value walks the value of a field, or an element of a list or map. A null is no value: the API server reads it as if
// there were nothing.
func (w *walk) value(f *form, field variants[field], value any, at *path) {
	if value == nil {
		return
	}
	switch f.is {
	case isObject:
		if o, ok := value.(map[string]any); ok {
			w.fields(f.object, o, at)
			return
		}
	case isMap:
		if o, ok := value.(map[string]any); ok {
			if f.of != nil {
				for key, v := range w.of(o) {
					w.value(f.of, nil, v, &path{above: at, key: key, index: -1})
				}
			}
			return
		}
	case isList:
		if list, ok := value.([]any); ok {
			for i, v := range list {
				if len(w.found) > Most {
					break
				}
				w.value(f.of, field, v, &path{above: at, index: i})
			}
			return
		}
	default:
		w.scalar(f, field, value, at)
		return
	}
	w.mistyped(f, value, at)
}

func (w *walk) scalar(f *form, field variants[field], value any, at *path) {
	switch problem := f.scalar(value); problem {
	case "":
		if s, ok := value.(string); ok && s != "" && f.enum != nil && !slices.Contains(f.enum, s) {
			w.enumerated(f, field, s, at)
		}
	case mistyped:
		w.mistyped(f, value, at)
	default:
		if s, ok := value.(string); ok && Placeholder(s) {
			return
		}
		w.add(at, "%s: the API server refuses the object", problem)
	}
}

const mistyped = "is of another type"

// scalar returns what is wrong with a value that has no parts.
func (f *form) scalar(value any) string {
	switch v := value.(type) {
	case string:
		switch f.is {
		case isAny, isString, isIntOrString:
			return ""
		case isQuantity, isTime, isBytes:
			return formatted(f.is, v)
		}
	case bool:
		if f.is == isAny || f.is == isBool {
			return ""
		}
	case map[string]any, []any:
		if f.is == isAny {
			return ""
		}
	default:
		if n, ok := numeric(value); ok {
			return f.numeric(n)
		}
	}
	return mistyped
}

func (f *form) numeric(n float64) string {
	whole := n == math.Trunc(n)
	switch f.is {
	case isAny, isNumber, isQuantity:
		return ""
	case isInt32, isIntOrString:
		switch {
		case !whole:
			return "must be a whole number"
		case n < math.MinInt32 || n > math.MaxInt32:
			return "must be a number of 32 bits"
		}
		return ""
	case isInt64:
		switch {
		case !whole:
			return "must be a whole number"
		case n < math.MinInt64 || n >= math.MaxInt64+1: // the largest of these is no float
			return "must be a number of 64 bits"
		}
		return ""
	}
	return mistyped
}

func numeric(value any) (float64, bool) {
	switch n := value.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	case int:
		return float64(n), true
	case uint64:
		return float64(n), true
	}
	return 0, false
}
