package trace

import (
	"maps"
	"slices"
	"strings"
	"text/template"
)

// text/template's own functions beside those that a release is given.
const ownFunctions = "print printf println html js urlquery not eq ne lt le gt ge len index"

// functions puts together what templates can call: what the release is given, what text/template has itself, and
// include and tpl, which are executed here.
func functions(given template.FuncMap) map[string]function {
	out := map[string]function{"and": {special: true}, "or": {special: true}}
	handlers := handlers()
	for _, name := range slices.Concat(slices.Collect(maps.Keys(given)), strings.Fields(ownFunctions)) {
		f := function{taint: handlers[name]}
		if f.taint == nil {
			f.taint = (*call).mixed
		}
		out[name] = f
	}
	for _, name := range []string{"merge", "mustMerge", "mergeOverwrite", "mustMergeOverwrite"} {
		out[name] = function{before: merging}
	}
	out["include"], out["tpl"] = function{native: include}, function{native: tpl}
	return out
}
