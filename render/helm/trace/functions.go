package trace

import (
	"fmt"
	"maps"
	"reflect"
	"text/template"
)

// functions puts together what templates can call: what the release is given, what text/template has itself, and
// include and tpl, which are executed here.
func functions(given template.FuncMap) (map[string]function, map[string]any) {
	real := template.FuncMap{
		"print": fmt.Sprint, "printf": fmt.Sprintf, "println": fmt.Sprintln,
		"html": template.HTMLEscaper, "js": template.JSEscaper, "urlquery": template.URLQueryEscaper,
	}
	maps.Copy(real, given)
	out := map[string]function{"and": {special: true}, "or": {special: true}}
	for name, h := range builtins {
		out[name] = function{taint: h}
	}
	handlers := handlers()
	for name, fn := range real {
		out[name] = function{fn: reflect.ValueOf(fn), taint: handlers[name]}
	}
	nested := reflect.ValueOf(func(string, any) (string, error) { return "", nil })
	out["include"] = function{fn: nested, native: include}
	out["tpl"] = function{fn: nested, native: tpl}
	known := make(map[string]any, len(out))
	for name := range out {
		known[name] = true
	}
	return out, known
}
