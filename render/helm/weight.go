package helm

import (
	"bytes"
	"reflect"
	"regexp"
	"strings"
	"text/template"

	"helm.sh/helm/v4/pkg/chart/common"
)

// weightyFuncs limits functions that print or copy whole values. A list that contains another one twice, which contains
// a third one twice, and so on, is small until it is printed.
func (r *run) weightyFuncs(f template.FuncMap) template.FuncMap {
	out := template.FuncMap{}
	for _, name := range []string{"toYaml", "mustToYaml", "toYamlPretty", "toJson", "mustToJson", "toPrettyJson",
		"mustToPrettyJson", "toRawJson", "mustToRawJson", "toToml", "mustToToml", "toString"} {
		switch do := f[name].(type) {
		case func(any) string:
			out[name] = func(v any) (string, error) {
				return r.written(name, v, func() (string, error) { return do(v), nil })
			}
		case func(any) (string, error):
			out[name] = func(v any) (string, error) { return r.written(name, v, func() (string, error) { return do(v) }) }
		}
	}
	for _, name := range []string{"b64enc", "b32enc"} {
		do := f[name].(func(string) string)
		out[name] = func(text string) (string, error) {
			return r.built([]any{text}, func() string { return do(text) })
		}
	}
	join := f["join"].(func(string, any) string)
	out["join"] = func(by string, list any) (string, error) {
		if v := reflect.ValueOf(list); v.Kind() == reflect.Slice && v.Len() > r.limits.Output/max(1, len(by)) {
			return "", halted("builds too large a text")
		}
		return r.built([]any{list}, func() string { return join(by, list) })
	}
	wrap := f["wrapWith"].(func(int, string, string) string)
	out["wrapWith"] = func(width int, by, text string) (string, error) {
		if len(text)/max(1, width) > r.limits.Output/max(1, len(by)) {
			return "", halted("builds too large a text")
		}
		return r.built([]any{text}, func() string { return wrap(width, by, text) })
	}
	concat := f["concat"].(func(...any) any)
	out["concat"] = func(lists ...any) (any, error) {
		length := 0
		for _, list := range lists {
			if v := reflect.ValueOf(list); v.Kind() == reflect.Slice {
				length += v.Len()
			}
		}
		if length > r.limits.Output/16 {
			return nil, halted("builds too large a list")
		}
		return concat(lists...), r.alive()
	}
	deepCopy := f["mustDeepCopy"].(func(any) (any, error))
	for _, name := range []string{"deepCopy", "mustDeepCopy"} {
		out[name] = func(v any) (any, error) {
			if v == nil {
				return deepCopy(v) // panics, as in Helm
			}
			w := weighing{left: r.limits.Output}
			if !w.fits(v, 0) {
				return nil, halted("copies too large a value")
			}
			made, err := copied(v, deepCopy)
			if err != nil {
				return nil, err
			}
			return made, r.alive()
		}
	}
	r.replacing(f, out)
	return out
}

// copied returns a deep copy of a value. Values of YAML, and files, are copied here: sprig's own copier takes many times as
// long, and charts copy all that they have in a loop. Other values are left to other.
func copied(v any, other func(any) (any, error)) (any, error) {
	switch v := v.(type) {
	case nil, bool, string, int, int64, float64:
		return v, nil
	case []any:
		if v == nil {
			return v, nil
		}
		out := make([]any, len(v), cap(v))
		for i, e := range v {
			var err error
			if out[i], err = copied(e, other); err != nil {
				return nil, err
			}
		}
		return out, nil
	case common.Values:
		out, err := copied(map[string]any(v), other)
		m, _ := out.(map[string]any)
		return common.Values(m), err
	case map[string]any:
		if v == nil {
			return v, nil
		}
		out := make(map[string]any, len(v))
		for key, e := range v {
			var err error
			if out[key], err = copied(e, other); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []byte:
		return bytes.Clone(v), nil
	}
	if files := reflect.ValueOf(v); files.Kind() == reflect.Map && files.Type().Elem() == reflect.TypeFor[[]byte]() && !files.IsNil() {
		out := reflect.MakeMapWithSize(files.Type(), files.Len()) // the engine's type is not exported
		for _, key := range files.MapKeys() {
			out.SetMapIndex(key, reflect.ValueOf(bytes.Clone(files.MapIndex(key).Bytes())))
		}
		return out.Interface(), nil
	}
	return other(v)
}

// written prints a value. JSON, and YAML that is made from JSON, ends with an error if the value contains itself.
func (r *run) written(function string, v any, do func() (string, error)) (string, error) {
	w := weighing{left: r.limits.Output}
	if !w.fits(v, 0) && !(w.endless && (strings.HasSuffix(function, "Json") || strings.HasSuffix(function, "oYaml"))) {
		return "", halted("builds too large a text")
	}
	text, err := do()
	if err != nil {
		return "", err
	}
	return text, r.large(max(r.limits.Output-w.left, len(text)))
}

// replacing adds the functions that replace matches of a pattern.
func (r *run) replacing(f, out template.FuncMap) {
	for _, name := range []string{"regexReplaceAll", "regexReplaceAllLiteral", "mustRegexReplaceAll", "mustRegexReplaceAllLiteral"} {
		do, _ := f[name].(func(_, _, _ string) (string, error))
		if plain, is := f[name].(func(_, _, _ string) string); is {
			do = func(pattern, text, by string) (string, error) { return plain(pattern, text, by), nil }
		}
		out[name] = func(pattern, text, by string) (string, error) {
			if r.multiplies(pattern, text, by) {
				return "", halted("builds too large a text")
			}
			return r.written(name, text, func() (string, error) { return do(pattern, text, by) })
		}
	}
}

// multiplies reports whether the result of a replacement is over the output limit. Each reference to a match may stand
// for the whole text once.
func (r *run) multiplies(pattern, text, by string) bool {
	if len(text) < r.limits.Output/(2*len(by)+2) {
		return false
	}
	re, err := regexp.Compile(pattern)
	return err == nil && len(re.FindAllStringIndex(text, -1))*len(by)+strings.Count(by, "$")*len(text) > r.limits.Output
}

// large counts a large result, so that a loop that enlarges it ends.
func (r *run) large(size int) error {
	if size > 1<<16 {
		return r.print(size)
	}
	return r.alive()
}

// deepestValue is the maximum nesting of a printed value. A deeper one contains itself.
const deepestValue = 5000

// weighing estimates the minimum size of printed values in bytes.
type weighing struct {
	left    int  // remaining bytes
	endless bool // a value contains itself
}

// fits reports whether a value fits in the remaining bytes, and subtracts its size.
func (w *weighing) fits(v any, depth int) bool {
	if w.endless = w.endless || depth > deepestValue; w.endless {
		return false
	}
	w.left--
	switch v := v.(type) {
	case string:
		w.left -= len(v)
	case []string:
		for _, e := range v {
			w.left -= len(e)
		}
	case []any:
		for _, e := range v {
			if !w.fits(e, depth+1) {
				return false
			}
		}
	default:
		m, _ := AsMap(v)
		for key, e := range m {
			if w.left -= len(key); !w.fits(e, depth+1) {
				return false
			}
		}
	}
	return w.left >= 0
}
