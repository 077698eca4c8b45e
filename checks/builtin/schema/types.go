package schema

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/policy"
)

// types are the types of one version of Kubernetes, or of all known ones. It is immutable.
type types struct {
	table *table
	in    versions
	name  string // name of the version, for messages
}

// typesOf returns the types of a version of Kubernetes ("1.33", "v1.33.2"). For an empty or unknown version, everything
// is allowed that some known version allows.
func typesOf(version string) *types {
	t := all()
	minor, ok := minorOf(version)
	if !ok || minor < t.first || minor > t.last {
		return &types{table: t, in: t.every(), name: fmt.Sprintf("Kubernetes 1.%d to 1.%d", t.first, t.last)}
	}
	return &types{table: t, in: t.version(minor), name: fmt.Sprintf("Kubernetes 1.%d", minor)}
}

// minorOf parses the minor version of Kubernetes: 33 for "1.33", "v1.33.2" and "1.33.2-gke.1".
func minorOf(version string) (minor int, ok bool) {
	major, rest, ok := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	if !ok || major != "1" {
		return 0, false
	}
	digits, _, _ := strings.Cut(rest, ".")
	minor, err := strconv.Atoi(digits)
	return minor, err == nil
}

// ofKubernetesGroup reports whether an API version is of a group that Kubernetes itself serves.
func ofKubernetesGroup(apiVersion string) bool { return all().groups[groupOf(apiVersion)] }

// serves reports whether the version of Kubernetes, or one of several, has a kind.
func (t *types) serves(apiVersion, name string) bool {
	return t.table.kinds[kindName{apiVersion, name}].all()&t.in != 0
}

// servedIn returns the first and the last known minor version of Kubernetes that serve a kind; ok is false if none
// does.
func servedIn(apiVersion, name string) (first, last int, ok bool) {
	in := all().kinds[kindName{apiVersion, name}].all()
	if in == 0 {
		return 0, 0, false
	}
	return all().firstOf(in), all().lastOf(in), true
}

// versionsOf lists the API versions in which some known version of Kubernetes has a kind, sorted.
func versionsOf(name string) (list []string) {
	for k := range all().kinds {
		if k.kind == name {
			list = append(list, k.apiVersion)
		}
	}
	slices.Sort(list)
	return list
}

// nearestKind returns the most similar kind in the same API version; empty if none is similar.
func nearestKind(apiVersion, name string) string {
	var names []string
	for k := range all().kinds {
		if k.apiVersion == apiVersion {
			names = append(names, k.kind)
		}
	}
	return policy.Nearest(name, names)
}

// look returns the violations of an object of a served kind; none for any other kind. The object is JSON as rendering
// returns it.
func (t *types) look(o map[string]any) []Violation {
	apiVersion, name := typeOf(o)
	of, ok := latest(t.table.kinds[kindName{apiVersion, name}], t.in)
	if !ok || of.list() {
		return nil // lists are split into their items before objects are checked
	}
	return t.walk(of, o, nil)
}

// list reports whether a type is a list of objects.
func (o *record) list() bool { return strings.HasSuffix(o.name, "List") && o.fields["items"] != nil }

// metadata is like look for the metadata of an object of any kind.
func (t *types) metadata(metadata any) []Violation {
	of := t.table.kinds[kindName{"v1", "ConfigMap"}][0].is.fields["metadata"][0].is.form.object
	m, ok := metadata.(map[string]any)
	if !ok {
		return nil
	}
	return t.walk(of, m, &path{key: "metadata"})
}

func (t *types) walk(of *record, o map[string]any, at *path) []Violation {
	w := walk{types: t}
	if w.fields(of, o, at); len(w.found) > most { // those of another walk would be others
		w = walk{types: t, inOrder: true}
		w.fields(of, o, at)
		w.found = w.found[:most]
	}
	slices.SortFunc(w.found, func(a, b Violation) int { return strings.Compare(a.Pointer, b.Pointer) })
	return w.found
}

// walk is one validation of an object. It ends after more violations than are reported.
type walk struct {
	*types
	inOrder bool // visit keys in order, which takes longer
	found   []Violation
}

// of yields the keys and values of a map until there are enough violations.
func (w *walk) of(o map[string]any) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		if !w.inOrder {
			for key, value := range o {
				if len(w.found) > most || !yield(key, value) {
					return
				}
			}
			return
		}
		for _, key := range slices.Sorted(maps.Keys(o)) {
			if len(w.found) > most || !yield(key, o[key]) {
				return
			}
		}
	}
}

// path is the present position of a walk. It is converted to a pointer for violations only.
type path struct {
	above *path
	key   string
	index int // used if there is no key
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

// status reports whether the cluster sets the value at a path: the status of an object, or its managed fields.
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

// latest returns the variant in the last of some versions.
func latest[T any](list variants[T], in versions) (is T, ok bool) {
	var most versions
	for _, v := range list {
		if v.in&in > most {
			most, is, ok = v.in&in, v.is, true
		}
	}
	return is, ok
}

// fields checks the fields of an object.
func (w *walk) fields(of *record, o map[string]any, at *path) {
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

// required reports whether all versions require a field.
func (w *walk) required(list variants[property]) bool {
	var in versions
	for _, v := range list {
		if v.is.required {
			in |= v.in
		}
	}
	return in&w.in == w.in
}

// value checks the value of a field, or an element of a list or map. A null is no value, since the API server reads it
// as a missing field.
func (w *walk) value(f *form, field variants[property], value any, at *path) {
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
				if len(w.found) > most {
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

func (w *walk) scalar(f *form, field variants[property], value any, at *path) {
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
		w.refuse(at, "%s: %s", problem, refused)
	}
}

const mistyped = "is of another type"

// scalar returns the error of a scalar value; empty if it is correct.
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
		case n < math.MinInt64 || n >= math.MaxInt64+1: // the largest integer has no exact float
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
	}
	return 0, false
}
