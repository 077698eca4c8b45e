package gitops

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/helm"
)

// Why Lintel does not call some functions of Argo CD.
const (
	changing = "its result differs each time, so what is deployed is not known before the merge"
	costly   = "it needs more computation than the limit allows, so what is deployed is not known before the merge"
)

// refusedFunctions are the functions of sprig that are not called, by the reason. Functions of dates read the clock or the
// time zone of the machine, unless they get a date, and only another refused function returns one.
var refusedFunctions = map[string]string{
	changing: "now ago date date_in_zone date_modify dateInZone dateModify htmlDate htmlDateInZone must_date_modify " +
		"mustDateModify mustToDate toDate unixEpoch randAlphaNum randAlpha randAscii randNumeric randInt randBytes " +
		"shuffle uuidv4 bcrypt htpasswd encryptAES genPrivateKey genCA genCAWithKey genSelfSignedCert " +
		"genSelfSignedCertWithKey genSignedCert genSignedCertWithKey",
	costly: "derivePassword buildCustomCert",
}

// refusal returns why a function is not called, empty if it is.
func refusal(name string) string {
	for reason, names := range refusedFunctions {
		if slices.Contains(strings.Fields(names), name) {
			return reason
		}
	}
	return ""
}

// templateFunctions returns the functions that templates may call, by name. These are Argo CD's: sprig's
// (https://masterminds.github.io/sprig/) without those that read the environment, and a few more
// (https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/GoTemplate/). The printing functions of
// text/template are included, so that their results are limited, too. Do not change the map.
var templateFunctions = sync.OnceValue(func() map[string]any {
	functions := sprig.GenericFuncMap()
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(functions, name)
	}
	maps.DeleteFunc(functions, func(name string, _ any) bool { return refusal(name) != "" })
	maps.Copy(functions, map[string]any{
		"normalize": normalize, "slugify": slugify,
		"toYaml": toYAML, "fromYaml": fromYAML[map[string]any], "fromYamlArray": fromYAML[[]any],
		// sprig returns these in random order; a sorted order is one that a controller may see.
		"keys": helm.SortedKeys, "values": helm.SortedValues,
		"print": fmt.Sprint, "println": fmt.Sprintln, "printf": fmt.Sprintf,
		"html": template.HTMLEscaper, "js": template.JSEscaper, "urlquery": template.URLQueryEscaper,
	})
	return functions
})

// checkFunction returns the reason why a template may not call a function, nil if it may.
func checkFunction(name string) error {
	if reason := refusal(name); reason != "" {
		return unknown("the template function %q is not one that Lintel evaluates: %s", name, reason)
	}
	switch name {
	case "and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge", "len", "index", "slice", "call", "break", "continue":
		return nil // functions of text/template whose result is not larger than their arguments
	}
	if templateFunctions()[name] == nil {
		return fmt.Errorf("there is no template function of the name %.40q", name)
	}
	return nil
}

// mutator reports whether a function changes the map that is its argument.
func mutator(name string) bool {
	return slices.Contains([]string{"set", "unset", "merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite"}, name)
}

// bounded returns the functions of the given names with limits on each call: arguments and results are small, no value
// contains itself, and a call that would make something large is refused. Types are those of the originals, so that
// text/template treats arguments in the same way.
func (t *templates) bounded(names []string) template.FuncMap {
	m := template.FuncMap{
		stepName: func() (string, error) { return "", t.spend(1) },
		sizeName: func(v reflect.Value) (reflect.Value, error) { return v, t.spendValue(v) },
	}
	for _, name := range names {
		if f := templateFunctions()[name]; f != nil {
			m[name] = t.boundedFunction(name, reflect.ValueOf(f))
		}
	}
	return m
}

func (t *templates) boundedFunction(name string, f reflect.Value) any {
	signature := f.Type()
	in := make([]reflect.Type, signature.NumIn())
	for i := range in {
		in[i] = signature.In(i)
	}
	failure := reflect.TypeFor[error]()
	with := reflect.FuncOf(in, []reflect.Type{signature.Out(0), failure}, signature.IsVariadic())
	call := func(args []reflect.Value) (reflect.Value, error) {
		for _, a := range args {
			if err := t.spendValue(a); err != nil {
				return reflect.Value{}, err
			}
		}
		work, err := beforeCall(name, arguments(args, signature.IsVariadic()))
		if err == nil {
			err = t.spend(1 + work)
		}
		if err != nil {
			return reflect.Value{}, err
		}
		if strings.Contains(strings.ToLower(name), "merge") {
			// If a source shares values with the target map, the merge may not end.
			rest := args[len(args)-1]
			for i := range rest.Len() {
				source, _ := doc.MapLeaves(rest.Index(i).Interface(), itself).(map[string]any)
				rest.Index(i).Set(reflect.ValueOf(source))
			}
		}
		var out []reflect.Value
		if signature.IsVariadic() {
			out = f.CallSlice(args)
		} else {
			out = f.Call(args)
		}
		if len(out) == 2 && !out[1].IsNil() {
			return reflect.Value{}, out[1].Interface().(error)
		}
		return out[0], t.spendValue(out[0])
	}
	return reflect.MakeFunc(with, func(args []reflect.Value) []reflect.Value {
		result, err := call(args)
		if err != nil {
			e := reflect.New(failure).Elem()
			e.Set(reflect.ValueOf(err))
			return []reflect.Value{reflect.Zero(signature.Out(0)), e}
		}
		return []reflect.Value{result, reflect.Zero(failure)}
	}).Interface()
}

// arguments lists the arguments of a call, including those in the list of a variadic function.
func arguments(args []reflect.Value, variadic bool) []any {
	var list []any
	for i, a := range args {
		if variadic && i == len(args)-1 {
			for k := range a.Len() {
				list = append(list, a.Index(k).Interface())
			}
			continue
		}
		list = append(list, a.Interface())
	}
	return list
}

var notInNames = regexp.MustCompile(`[^-a-z0-9.]`)

// normalize converts a text to a DNS name like Argo CD.
func normalize(s string) string {
	s = notInNames.ReplaceAllString(strings.ToLower(s), "-")
	return strings.Trim(s[:min(len(s), 253)], "-.")
}

var dashes = regexp.MustCompile(`[-.]+`)

// slugify converts a text to a label like Argo CD. The last argument is the text, which is normalized first. The first
// is the maximum length (50). The text is cut at the end of a word, unless the second is false. gosimple/slug does
// little more after the normalization, and is not used because its options are global variables.
func slugify(args ...any) (string, error) {
	limit, words, text := 50, true, ""
	ok := len(args) <= 3
	for i, arg := range args {
		fits := false
		switch {
		case i == len(args)-1:
			text, fits = arg.(string)
		case i == 0:
			limit, fits = arg.(int)
		case i == 1:
			words, fits = arg.(bool)
		}
		ok = ok && fits
	}
	if !ok || limit < 0 {
		return "", errors.New("slugify takes a length, true or false, and a text")
	}
	if text = normalize(text); !words {
		text = text[:min(len(text), limit)]
	}
	text = strings.Trim(dashes.ReplaceAllString(text, "-"), "-")
	if !words || limit == 0 || len(text) <= limit {
		return text, nil
	}
	if end := strings.LastIndexByte(text[:limit+1], '-'); end >= 0 {
		return text[:end], nil
	}
	return text[:limit], nil
}

func toYAML(v any) (string, error) {
	data, err := sigsyaml.Marshal(v)
	return strings.TrimSuffix(string(data), "\n"), err
}

func fromYAML[T any](text string) (T, error) {
	var v T
	if err := doc.Vet("", []byte(text), doc.Limits{Nodes: maxValueNodes}); err != nil {
		return v, errors.New("the text is not valid YAML or JSON")
	}
	if err := sigsyaml.Unmarshal([]byte(text), &v); err != nil {
		return v, errors.New("the text is not valid YAML or JSON, or of another type")
	}
	return v, nil
}

const (
	maxValueNodes = 20_000   // of an argument or a result
	maxValueBytes = 64 << 10 // of a text that a function returns
)

var (
	errTooLarge = unknown("a value grows larger than the limit allows")
	errTooLong  = unknown("a template's text is longer than the limit allows")
	errTooMuch  = unknown("its templates need more computation than the limit allows")
)

// spend adds work, and fails when the limit is reached.
func (t *templates) spend(n int) error {
	if t.steps += n; t.steps > t.limits.Steps || n < 0 {
		return errTooMuch
	}
	return nil
}

// spendValue adds the number of values in a value as work, and fails where it is too large.
func (t *templates) spendValue(v reflect.Value) error {
	n, err := sizeOf(v)
	if err != nil {
		return err
	}
	return t.spend(n)
}

// sizeOf counts the values in a value. It fails where there are too many, they are nested too deeply, or a text is too
// long.
func sizeOf(v reflect.Value) (n int, err error) {
	err = measure(v, &n, 0)
	return n, err
}

func measure(v reflect.Value, n *int, depth int) error {
	if *n++; *n > maxValueNodes || depth > MaxDepth {
		return errTooLarge
	}
	switch v.Kind() {
	case reflect.Interface:
		*n--
		return measure(v.Elem(), n, depth+1)
	case reflect.Map:
		for each := v.MapRange(); each.Next(); {
			if err := errors.Join(measure(each.Key(), n, depth+1), measure(each.Value(), n, depth+1)); err != nil {
				return errTooLarge
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := measure(v.Index(i), n, depth+1); err != nil {
				return err
			}
		}
	case reflect.String:
		if v.Len() > maxValueBytes {
			return errTooLarge
		}
		*n += v.Len() / 256
	}
	return nil
}

// itself is for copies of values.
func itself(v any) any { return v }

// beforeCall checks a call by its arguments. It fails where the result would be too large. It returns the work of
// functions that do more than read each argument once. Arguments of a wrong type are ignored, because the function
// itself reports them.
func beforeCall(name string, args []any) (work int, err error) {
	text := func(i int) string {
		if i < 0 || i >= len(args) {
			return ""
		}
		s, _ := args[i].(string)
		return s
	}
	number := func(i int) float64 {
		if i >= len(args) {
			return 0
		}
		n, _ := args[i].(int)
		return float64(n)
	}
	last := len(args) - 1
	size := 0.0 // bytes of the result

	if after, ok := strings.CutPrefix(name, "must"); ok { // the function without "must" does the same, but panics or ignores errors
		name = strings.ToLower(after[:1]) + after[1:]
	}
	switch name {
	case "repeat":
		size = number(0) * float64(len(text(1)))
	case "indent", "nindent":
		size = float64(len(text(1))) + number(0)*float64(strings.Count(text(1), "\n")+1)
	case "replace":
		size = float64(len(text(2))) + float64(strings.Count(text(2), text(0)))*float64(len(text(1)))
	case "wrap", "wrapWith":
		size = float64(len(text(last))) * float64(1+len(text(1))) / max(1, number(0))
	case "join":
		size = float64(lengthOf(args[last])) * float64(len(text(0)))
	case "until", "untilStep", "seq":
		err = checkRange(args)
	case "uniq":
		work, err = pairs(args[0], lengthOf(args[0]))
	case "without":
		work, err = pairs(args[0], len(args))
	case "add1f", "addf", "subf", "divf", "mulf":
		if len(args) > 64 { // decimals get longer with every operand
			err = errTooLarge
		}
	case "printf":
		err = checkFormat(text(0), args[1:])
	}
	if strings.HasPrefix(name, "regex") && name != "regexQuoteMeta" {
		return regexWork(name, text(0), text(1), text(2))
	}
	if size > maxValueBytes {
		err = errTooLarge
	}
	return work, err
}

func lengthOf(v any) int {
	if list := reflect.ValueOf(v); list.Kind() == reflect.Slice {
		return list.Len()
	}
	return 0
}

// pairs returns the work of comparing each element of a list with n values.
func pairs(list any, n int) (int, error) {
	size, err := sizeOf(reflect.ValueOf(list))
	return size * n / 32, err
}

// checkRange limits the numbers that until, untilStep and seq list. Far from 0, sprig's steps would overflow and never
// end.
func checkRange(args []any) error {
	var n [3]float64
	for i, arg := range args[:min(len(args), 3)] {
		whole, _ := arg.(int)
		if whole > math.MaxInt32 || whole < math.MinInt32 {
			return errTooLarge
		}
		n[i] = float64(whole)
	}
	count := math.Abs(n[0])
	switch len(args) {
	case 2:
		count = math.Abs(n[1] - n[0])
	case 3: // the step is the second argument of seq, and the third of untilStep
		count = max(math.Abs(n[2]-n[0])/max(1, math.Abs(n[1])), math.Abs(n[1]-n[0])/max(1, math.Abs(n[2])))
	}
	if count > maxValueNodes {
		return errTooLarge
	}
	return nil
}

var wide = regexp.MustCompile(`[0-9]{4}|\*`)

// checkFormat limits the result of fmt.Sprintf: the widths and precisions in the format, and how often it can print its
// longest argument.
func checkFormat(format string, args []any) error {
	if wide.MatchString(format) {
		return unknown("printf: the format asks for a width that Lintel does not evaluate")
	}
	verbs := strings.Count(format, "%")
	for _, arg := range args {
		n, err := sizeOf(reflect.ValueOf(arg))
		if n *= 256; err != nil || verbs > 100 || verbs*n > 256*maxValueBytes {
			return errTooLarge
		}
	}
	return nil
}

// maxProgram limits the size of a regular expression with its repetitions expanded.
const maxProgram = 10_000

// regexWork returns the work of a regular expression on a text: linear, or quadratic if it searches for all matches.
func regexWork(name, pattern, text, by string) (int, error) {
	if len(pattern) > maxPattern {
		return 0, errTooLarge
	}
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, nil // the function itself reports an invalid expression
	}
	size := programSize(re)
	if size > maxProgram {
		return 0, errTooLarge
	}
	work := size * float64(len(text)+1) / 64
	if name != "regexMatch" && name != "regexFind" && unbounded(re) {
		work *= float64(len(text) + 1)
	}
	// A replacement can contain each group several times, and a group matches at most the whole text.
	if strings.HasPrefix(name, "regexReplace") {
		made := float64(len(text)+1) * float64(len(by))
		if name == "regexReplaceAll" {
			made += float64(strings.Count(by, "$")) * float64(len(text))
		}
		if made > 16*maxValueBytes {
			return 0, errTooLarge
		}
	}
	return int(min(work, math.MaxInt32)), nil
}

// unbounded reports whether each search of an expression may read the whole text without a match.
func unbounded(re *syntax.Regexp) bool {
	return re.Op == syntax.OpStar || re.Op == syntax.OpPlus || re.Op == syntax.OpRepeat && re.Max < 0 ||
		slices.ContainsFunc(re.Sub, unbounded)
}

func programSize(re *syntax.Regexp) float64 {
	size := 1.0 + float64(len(re.Rune))
	for _, sub := range re.Sub {
		size += programSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= float64(max(re.Min, re.Max, 1))
	}
	return size
}
