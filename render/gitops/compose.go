package gitops

import (
	"cmp"
	"errors"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	charts "helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"
)

// merge merges layers to one map. With tagged, each scalar is replaced by a *leaf. Both maps have the same shape,
// because merging only depends on maps, lists and paths.
func (r rule) merge(parts []*part, tagged bool) (map[string]any, error) {
	switch r {
	case fluxRule:
		return mergeFlux(parts, tagged)
	case overrideRule, underRule:
		return mergeInline(parts, tagged)
	}
	out := map[string]any{}
	for _, p := range parts {
		if p.Kind == mergeLayer {
			out = charts.MergeMaps(out, p.tree(tagged))
		} else if err := p.set(out, tagged); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// mergeFlux merges the references in order, and then spec.values, which is always the last layer. A value with a target
// path is set after spec.values is merged into the result so far. Maps are shared and not copied, as in Flux, so this
// may also change spec.values (https://github.com/fluxcd/pkg/tree/main/chartutil).
func mergeFlux(parts []*part, tagged bool) (map[string]any, error) {
	var values map[string]any
	if n := len(parts); n > 0 && parts[n-1].Kind == mergeLayer && parts[n-1].Name == specValues {
		values, parts = parts[n-1].tree(tagged), parts[:n-1]
	}
	out := map[string]any{}
	for _, p := range parts {
		if p.Kind == mergeLayer {
			out = charts.MergeMaps(out, p.tree(tagged))
			continue
		}
		out = charts.MergeMaps(out, values)
		if err := p.set(out, tagged); err != nil {
			return nil, err
		}
	}
	return charts.MergeMaps(out, values), nil
}

// set sets the value of a layer at its path.
func (p *part) set(out map[string]any, tagged bool) (err error) {
	defer func() {
		if recover() != nil { // a value of another type is at the path
			err = errors.New("panics")
		}
		if err != nil {
			err = brokenAt(p.Where, "the values cannot set %q: it is not a path that Helm reads, or the value there "+
				"has another type", p.Set)
		}
	}()
	text, kind := p.text, p.Kind
	switch kind {
	case fluxLayer:
		kind = setLayer
		if quoted(text, `'`) || quoted(text, `"`) {
			text, kind = strings.Trim(text, `'"`), stringLayer
		}
	case literalLayer:
		text, kind = literal.Replace(text), stringLayer
	case fileLayer:
		reader := func([]rune) (any, error) { return p.text, nil }
		if tagged {
			reader = p.tag
		}
		return p.sweep(out, tagged, strvals.ParseIntoFile(p.Set+"=x", out, reader))
	}
	switch {
	case tagged:
		err = strvals.ParseIntoFile(p.Set+"="+text, out, p.tag)
	case kind == stringLayer:
		err = strvals.ParseIntoString(p.Set+"="+text, out)
	default:
		err = strvals.ParseInto(p.Set+"="+text, out)
	}
	return p.sweep(out, tagged, err)
}

func (p *part) tag([]rune) (any, error) { return p.leaf(), nil }

func (p *part) leaf() *leaf {
	at := p.Where
	if p.Kind == fileLayer && p.File != "" && p.Want.Kind == "" { // the content of the file is the value
		at = Position{Path: p.File, Line: 1, EndLine: strings.Count(strings.TrimRight(p.text, "\n"), "\n") + 1}
	}
	return &leaf{field: &field{Where: at}, reason: cmp.Or(p.Unknown, p.Unsure),
		layer: p.index, exact: true}
}

// sweep replaces by a leaf the empty text that Helm's parser sets without calling the reader, where nothing follows
// "=".
func (p *part) sweep(out map[string]any, tagged bool, err error) error {
	if err != nil || !tagged || !strings.HasSuffix(p.Set+"="+p.text, "=") {
		return err
	}
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for k, value := range v {
				v[k] = walk(value)
			}
		case []any:
			for i, value := range v {
				v[i] = walk(value)
			}
		case string:
			return p.leaf()
		}
		return v
	}
	walk(out)
	return nil
}

func quoted(text, sign string) bool {
	return strings.HasPrefix(text, sign) && strings.HasSuffix(text, sign)
}

// literal escapes a text, so that Helm's parser takes it literally.
var literal = strings.NewReplacer(`\`, `\\`, `,`, `\,`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`)

// listed escapes the commas in a parameter's value as Argo CD does, except in a list
// (https://argo-cd.readthedocs.io/en/stable/user-guide/helm/#helm-parameters).
func listed(value string) string {
	if strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}") {
		return value
	}
	var b strings.Builder
	for i := range len(value) {
		if value[i] == ',' && (i == 0 || value[i-1] != '\\') {
			b.WriteByte('\\')
		}
		b.WriteByte(value[i])
	}
	return b.String()
}

// sorted yields the values in a map or a list, with their keys or indexes in order.
func sorted(v any) iter.Seq2[string, any] {
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
