package helm

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"
	_ "unsafe" // for go:linkname

	"helm.sh/helm/v4/pkg/chart/common"
)

// engineFuncs returns the functions of Helm's engine, which it does not export. Those of include, tpl, required and lookup do
// nothing.
//
//go:linkname engineFuncs helm.sh/helm/v4/pkg/engine.funcMap
func engineFuncs() template.FuncMap

// funcs returns all functions of Helm's templates except include and tpl.
func (r *run) funcs() template.FuncMap {
	f := engineFuncs()
	duration := f["mustToDuration"].(func(any) time.Duration)
	f["mustToDuration"] = func(v any) (d time.Duration, err error) {
		defer func() {
			if recover() != nil {
				err = errors.New("not a duration") // Helm's message may quote the value
			}
		}()
		return duration(v), nil
	}
	f["getHostByName"] = func(string) string { return "" }
	f["required"] = required
	f["fail"] = func(message string) (string, error) { return "", &refusal{CauseFail, message} }
	f["lookup"] = r.lookup
	f["keys"] = SortedKeys
	f["values"] = SortedValues
	maps.Copy(f, r.frozenFuncs())
	maps.Copy(f, r.boundedFuncs(f))
	maps.Copy(f, r.weightyFuncs(f))
	return f
}

func required(message string, value any) (any, error) {
	if value == nil || value == "" {
		return value, &refusal{CauseRequired, message}
	}
	return value, nil
}

func (r *run) lookup(apiVersion, kind, namespace, name string) (map[string]any, error) {
	asked := Lookup{apiVersion, kind, namespace, name}
	found, all := map[string]any(nil), false
	if r.options.Lookup != nil {
		found, all = r.options.Lookup(apiVersion, kind, namespace, name)
	}
	if !all && len(r.lookups) < manyVersions {
		r.lookups[asked] = true
	}
	if found == nil || !all && name != "" {
		return map[string]any{}, nil
	}
	if r.answered[asked] = true; len(r.answered) > manyVersions {
		return nil, &refusal{CauseLimit, fmt.Sprintf("looks up more than %d objects in the cluster (lookup)", manyVersions)}
	}
	return found, nil
}

// WithoutCluster is the Options.Lookup of "helm template", which asks no cluster and finds nothing
// (https://helm.sh/docs/chart_template_guide/functions_and_pipelines/#using-the-lookup-function).
func WithoutCluster(_, _, _, _ string) (map[string]any, bool) { return nil, true }

// SortedKeys is sprig's function keys, which returns the keys in random order.
func SortedKeys(maps_ ...map[string]any) []string {
	list := []string{}
	for _, m := range maps_ {
		list = append(list, slices.Sorted(maps.Keys(m))...)
	}
	return list
}

// SortedValues is sprig's function values, which returns the values in random order.
func SortedValues(m map[string]any) []any {
	list := []any{}
	for _, key := range SortedKeys(m) {
		list = append(list, m[key])
	}
	return list
}

// boundedFuncs limits the functions that can make large results from small arguments.
func (r *run) boundedFuncs(f template.FuncMap) template.FuncMap {
	repeat := f["repeat"].(func(int, string) string)
	until := f["until"].(func(int) []int)
	untilStep := f["untilStep"].(func(int, int, int) []int)
	seq := f["seq"].(func(...int) string)
	replace := f["replace"].(func(string, string, string) string)
	out := template.FuncMap{
		"repeat": func(count int, text string) (string, error) {
			return r.sized(count, len(text), func() string { return repeat(count, text) })
		},
		"until": func(count int) ([]int, error) {
			return counted(r, 0, count, cmp.Compare(count, 0), func() []int { return until(count) })
		},
		"untilStep": func(start, stop, step int) ([]int, error) {
			return counted(r, start, stop, step, func() []int { return untilStep(start, stop, step) })
		},
		"seq": func(numbers ...int) (string, error) {
			start, step, stop := 1, 1, 1
			switch len(numbers) {
			case 1:
				stop = numbers[0]
			case 2:
				start, stop = numbers[0], numbers[1]
			case 3:
				start, step, stop = numbers[0], numbers[1], numbers[2]
			}
			if stop < start && step > 0 {
				step = -step
			}
			return counted(r, start, stop, step, func() string { return seq(numbers...) })
		},
		"replace": func(old, by, text string) (string, error) {
			return r.sized(strings.Count(text, old), len(by), func() string { return replace(old, by, text) })
		},
		"printf": func(format string, args ...any) (string, error) {
			if err := r.widths(format, args); err != nil {
				return "", err
			}
			return r.built(args, func() string { return fmt.Sprintf(format, args...) })
		},
	}
	for _, name := range []string{"indent", "nindent"} {
		do := f[name].(func(int, string) string)
		out[name] = func(spaces int, text string) (string, error) {
			return r.sized(1+strings.Count(text, "\n"), spaces, func() string { return do(spaces, text) })
		}
	}
	for _, name := range []string{"print", "println", "cat", "quote", "squote"} {
		do, ok := f[name].(func(...any) string)
		if !ok { // text/template's own, which is not in the map
			do = map[string]func(...any) string{"print": fmt.Sprint, "println": fmt.Sprintln}[name]
		}
		out[name] = func(args ...any) (string, error) { return r.built(args, func() string { return do(args...) }) }
	}
	return out
}

var widths = regexp.MustCompile(`[0-9]{4,}`)

// widths refuses a format whose widths add up to more than the output limit. fmt accepts a width of up to a million.
func (r *run) widths(format string, args []any) error {
	size := 0
	for _, number := range widths.FindAllString(format, -1) {
		width, err := strconv.Atoi(number)
		if err != nil || width > 1_000_000 {
			continue // fmt does not accept this width
		}
		size += width
	}
	if given := strings.Count(format, "*"); given > 0 {
		size += min(given, len(args)) * 1_000_000
	}
	if size > r.limits.Output {
		return halted("builds too large a text")
	}
	return nil
}

// counted returns a list of numbers that do makes, or their text. It refuses one that is over the limit.
func counted[T any](r *run, start, stop, step int, do func() T) (none T, _ error) {
	distance := float64(stop) - float64(start)
	if step != 0 && (distance < 0) == (step < 0) {
		overflows := step > 0 && stop > math.MaxInt-step || step < 0 && stop < math.MinInt-step // the step after the last
		if overflows || distance/float64(step) > float64(r.limits.Output/8) {
			return none, halted("builds too large a list")
		}
		if err := r.alive(); err != nil {
			return none, err
		}
	}
	return do(), nil
}

// sized returns a text of count pieces of a size, which do makes.
func (r *run) sized(count, size int, do func() string) (string, error) {
	if err := r.make(count, size); err != nil {
		return "", err
	}
	return do(), nil
}

// make refuses a result of count pieces of a size that is over the limit.
func (r *run) make(count, size int) error {
	if count > 0 && size > 0 && count > r.limits.Output/size {
		return halted("builds too large a text")
	}
	if count > 0 && size > 0 && count*size > 1<<16 {
		return r.print(count * size)
	}
	return r.alive()
}

// built makes a text from values, and counts the size of both. So a loop that doubles a text ends.
func (r *run) built(args []any, do func() string) (string, error) {
	return r.written("", args, func() (string, error) { return do(), nil })
}

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
	if err != nil {
		return false
	}
	left := r.limits.Output - strings.Count(by, "$")*len(text)
	most := left / max(len(by), 1) // matches
	return left < 0 || len(re.FindAllStringIndex(text, most+1)) > most
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
