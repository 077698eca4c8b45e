package gitops

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/render/doc"
)

// Why Lintel does not call some functions of Argo CD.
const (
	changing = "its result differs each time, so what is deployed is not known before the merge"
	costly   = "it needs more computation than the limit allows, so what is deployed is not known before the merge"
)

// refusedFunctions returns the functions of sprig that are not called, with the reason. Functions of dates read the
// clock or the time zone of the machine, unless they get a date, and only another refused function returns one.
var refusedFunctions = sync.OnceValue(func() map[string]string {
	refused := map[string]string{}
	for reason, names := range map[string]string{
		changing: "now ago date date_in_zone date_modify dateInZone dateModify htmlDate htmlDateInZone must_date_modify " +
			"mustDateModify mustToDate toDate unixEpoch randAlphaNum randAlpha randAscii randNumeric randInt randBytes " +
			"shuffle uuidv4 bcrypt htpasswd encryptAES genPrivateKey genCA genCAWithKey genSelfSignedCert " +
			"genSelfSignedCertWithKey genSignedCert genSignedCertWithKey",
		costly: "derivePassword buildCustomCert",
	} {
		for name := range strings.FieldsSeq(names) {
			refused[name] = reason
		}
	}
	return refused
})

// templateFunctions returns the functions that templates may call, by name. These are Argo CD's: sprig's
// (https://masterminds.github.io/sprig/) without those that read the environment, and a few more
// (https://argo-cd.readthedocs.io/en/stable/operator-manual/applicationset/GoTemplate/). The printing functions of
// text/template are included, so that their results are limited, too. Do not change the map.
var templateFunctions = sync.OnceValue(func() map[string]any {
	functions := sprig.GenericFuncMap()
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(functions, name)
	}
	maps.DeleteFunc(functions, func(name string, _ any) bool { return refusedFunctions()[name] != "" })
	maps.Copy(functions, map[string]any{
		"normalize": normalize, "slugify": slugify,
		"toYaml": toYAML, "fromYaml": fromYAML[map[string]any], "fromYamlArray": fromYAML[[]any],
		// sprig returns these in random order; a sorted order is one that a controller may see.
		"keys": sortedKeys, "values": sortedValues,
		"print": fmt.Sprint, "println": fmt.Sprintln, "printf": fmt.Sprintf,
		"html": template.HTMLEscaper, "js": template.JSEscaper, "urlquery": template.URLQueryEscaper,
	})
	return functions
})

// checkFunction returns the reason why a template may not call a function, nil if it may.
func checkFunction(name string) error {
	if reason := refusedFunctions()[name]; reason != "" {
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

func sortedKeys(maps ...map[string]any) []string {
	list := []string{}
	for _, m := range maps {
		for k := range m {
			list = append(list, k)
		}
	}
	slices.Sort(list)
	return list
}

func sortedValues(m map[string]any) []any {
	list := []any{}
	for _, k := range sortedKeys(m) {
		list = append(list, m[k])
	}
	return list
}
