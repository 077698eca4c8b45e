package doc

import (
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-openapi/jsonpointer"
	"go.yaml.in/yaml/v3"
)

// Value converts a node to JSON values: whole numbers are int64, aliases and merge keys are resolved, and the last of
// repeated keys counts. If plain is set, scalars are read as the API server's clients read them, as in a file that is
// deployed as it is: YAML 1.1 booleans are booleans, also as keys, and dates are text. Otherwise they are read as kustomize
// prints them, as in its output.
func Value(n *yaml.Node, plain bool) any {
	n = Deref(n)
	if n == nil {
		return nil
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			return nil
		}
		return Value(n.Content[0], plain)
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		for key, value := range Fields(n) {
			name := Key(key)
			if plain {
				name = KeyName(key)
			}
			m[name] = Value(value, plain)
		}
		return m
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, c := range n.Content {
			list[i] = Value(c, plain)
		}
		return list
	}
	return scalar(n, plain)
}

func scalar(n *yaml.Node, plain bool) any {
	if value, ok := Bool(n); ok && (plain || n.ShortTag() == "!!bool") {
		return value
	}
	switch n.ShortTag() {
	case "!!binary":
		return Key(n)
	case "!!null":
		return nil
	case "!!int":
		var v int64
		if err := n.Decode(&v); err == nil {
			return v
		}
		return floatOf(n)
	case "!!float":
		return floatOf(n)
	case "!!timestamp":
		var at time.Time
		if err := n.Decode(&at); err == nil && !plain {
			return at.Format(time.RFC3339Nano) // kustomize prints by way of JSON
		}
	}
	return n.Value
}

func floatOf(n *yaml.Node) any {
	var f float64
	if err := n.Decode(&f); err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return n.Value // JSON has no such number
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f) // JSON prints 1.0 as 1, and so the API machinery reads a whole number
	}
	return f
}

// Bool reads a scalar that kubectl and the GitOps controllers read as a boolean: one with the tag !!bool, or one of the
// words of YAML 1.1 without quotes (https://yaml.org/type/bool.html).
func Bool(n *yaml.Node) (value, ok bool) {
	const marked = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle |
		yaml.TaggedStyle
	tagged := n.ShortTag() == "!!bool"
	if n.Kind != yaml.ScalarNode || !tagged && (len(n.Value) > 3 || n.Style&marked != 0 || n.ShortTag() != "!!str") {
		return false, false
	}
	switch n.Value {
	case "true", "True", "TRUE", "y", "Y", "yes", "Yes", "YES", "on", "On", "ON":
		return true, true
	case "n", "N", "no", "No", "NO", "off", "Off", "OFF":
		return false, true
	}
	return false, tagged
}

// MapLeaves returns a copy of a JSON value with the results of change in place of everything in it that is neither a map
// nor a list.
func MapLeaves(v any, change func(any) any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			out[k] = MapLeaves(item, change)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = MapLeaves(item, change)
		}
		return out
	}
	return change(v)
}

// HasLeaf reports whether is returns true for a JSON value, or for anything in it that is neither a map nor a list.
func HasLeaf(v any, is func(any) bool) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, item := range v {
			if HasLeaf(item, is) {
				return true
			}
		}
		return false
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return HasLeaf(item, is) })
	}
	return is(v)
}

// Sorted yields the values in a map or a list, with their keys or indexes in order.
func Sorted(v any) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		switch v := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				if !yield(k, v[k]) {
					return
				}
			}
		case []any:
			for i, value := range v {
				if !yield(strconv.Itoa(i), value) {
					return
				}
			}
		}
	}
}

// Look follows a path of keys and indexes into a JSON value as far as it exists.
func Look(value any, path []string) (found any, steps int) {
	for i, key := range path {
		next, ok := step(value, key)
		if !ok {
			return value, i
		}
		value = next
	}
	return value, len(path)
}

func step(v any, key string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		next, ok := v[key]
		return next, ok
	case []any:
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(v) {
			return v[i], true
		}
	}
	return nil, false
}

// Spell returns a JSON scalar as text, empty for null.
func Spell(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return ""
}

// Pointer returns keys as a JSON Pointer (RFC 6901), and Tokens the keys of one.
func Pointer(keys ...string) string {
	var out strings.Builder
	for _, key := range keys {
		out.WriteString("/" + jsonpointer.Escape(key))
	}
	return out.String()
}

// Tokens is the inverse of Pointer.
func Tokens(pointer string) []string {
	keys := strings.Split(pointer, "/")[1:]
	for i, key := range keys {
		if strings.IndexByte(key, '~') >= 0 { // Unescape allocates memory even without a ~
			keys[i] = jsonpointer.Unescape(key)
		}
	}
	return keys
}
