package gitops

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	charts "helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/remote"
)

// merge merges layers to one map. With tagged, each scalar is replaced by a *leaf. Both maps have the same shape,
// because merging only depends on maps, lists and paths.
//
// Flux merges the references in order, and then spec.values, which is always the last layer. A value with a target path is
// set after spec.values is merged into the result so far. Maps are shared and not copied, as in Flux, so this may also
// change spec.values (https://github.com/fluxcd/pkg/tree/main/chartutil).
func (r rule) merge(parts []*part, tagged bool) (map[string]any, error) {
	if r == overrideRule || r == underRule {
		return mergeInline(parts, tagged)
	}
	var values map[string]any
	if n := len(parts); r == fluxRule && n > 0 && parts[n-1].Kind == mergeLayer && parts[n-1].Name == specValues {
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
	text, parse, value := p.text, strvals.ParseInto, any(p.text)
	read := func(text string, out map[string]any) error {
		return strvals.ParseIntoFile(text, out, func([]rune) (any, error) { return value, nil })
	}
	switch {
	case p.Kind == stringLayer:
		parse = strvals.ParseIntoString
	case p.Kind == fluxLayer && (quoted(text, `'`) || quoted(text, `"`)):
		text, parse = strings.Trim(text, `'"`), strvals.ParseIntoString
	case p.Kind == literalLayer:
		text, parse = literal.Replace(text), strvals.ParseIntoString
	case p.Kind == fileLayer:
		text, parse = "x", read
	}
	if tagged {
		value, parse = p.leaf(), read
	}
	return p.sweep(out, tagged, parse(p.Set+"="+text, out))
}

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
	swept, _ := doc.MapLeaves(out, func(v any) any {
		if _, is := v.(string); is {
			return p.leaf()
		}
		return v
	}).(map[string]any)
	maps.Copy(out, swept)
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
	escaped := strings.ReplaceAll(value, ",", `\,`)
	return strings.ReplaceAll(escaped, `\\,`, `\,`) // of those that were escaped before
}

// ChartEntry are the values of an entry of a kustomization's helmCharts
// (https://kubectl.docs.kubernetes.io/references/kustomize/builtins/#_helmchartinflationgenerator_).
type ChartEntry struct {
	File   Layer   // valuesFile; without one, values.yaml of the chart
	Inline Layer   // valuesInline; the zero value means none
	Merge  string  // valuesMerge: override, merge or replace; empty: override
	More   []Layer // additionalValuesFiles
}

// FileLayer returns a layer that is a file. The file is in this repository if the want has no kind.
func FileLayer(name string, where Position, want remote.Want, file string) Layer {
	return Layer{Name: name, Where: where, Want: want, File: file}
}

// NodeLayer returns a layer that is a node of a file. where returns the place of a node in it.
func NodeLayer(name string, n *yaml.Node, where func(*yaml.Node) Position) Layer {
	return Layer{Name: name, Where: where(n), Value: nodes{where: where, json: true}.field(n, 0)}
}

// Release returns a release with the values of the entry. The caller sets all other fields, and has refused any other Merge.
func (e ChartEntry) Release() *Release {
	r := &Release{Rule: argoRule, Layers: append([]Layer{e.File}, e.More...)}
	if e.Inline.Value == nil || len(e.Inline.Value.Fields) == 0 {
		return r
	}
	if e.Merge != "replace" {
		e.File.Kustomize, e.File.First = true, true
	}
	switch e.Merge {
	case "merge":
		r.Rule, r.Layers = underRule, append([]Layer{e.Inline, e.File}, e.More...)
	case "replace":
		r.Layers = append([]Layer{e.Inline}, e.More...)
	default:
		r.Rule, r.Layers = overrideRule, append([]Layer{e.File, e.Inline}, e.More...)
	}
	return r
}

// mergeInline merges the first two layers like kustomize, and all others over the result like Helm.
func mergeInline(parts []*part, tagged bool) (map[string]any, error) {
	if len(parts) < 2 {
		return argoRule.merge(parts, tagged)
	}
	var leaves []*leaf
	nodes := make([]*kyaml.RNode, 2)
	for i, p := range parts[:2] {
		var err error
		switch v := any(p.tree(tagged)); {
		case tagged:
			nodes[i], err = kyaml.FromMap(nameLeaves(v, &leaves).(map[string]any))
		case p.File != "":
			nodes[i], err = kyaml.Parse(p.text)
		default:
			nodes[i], err = kyaml.FromMap(v.(map[string]any))
		}
		if err != nil {
			return nil, brokenAt(p.Where, "kustomize cannot read the values of %s", p.Name)
		}
	}
	out, err := mergeNodes(nodes[1], nodes[0])
	if err != nil {
		return nil, brokenAt(parts[1].Where, "kustomize cannot merge these values with those of %s", parts[0].Name)
	}
	if tagged {
		out = untagLeaves(out, leaves)
	}
	for _, p := range parts[2:] {
		out = charts.MergeMaps(out, p.tree(tagged))
	}
	return out, nil
}

// mergeNodes merges like kustomize, and returns what Helm reads from the merged file.
func mergeNodes(over, under *kyaml.RNode) (out map[string]any, err error) {
	defer func() {
		if recover() != nil { // the values are not a map
			err = errors.New("panics")
		}
	}()
	merged, err := merge2.Merge(over, under, kyaml.MergeOptions{})
	if err != nil {
		return nil, err
	}
	values, err := merged.Map()
	if err != nil {
		return nil, err
	}
	data, err := sigsyaml.Marshal(values)
	if err != nil {
		return nil, err
	}
	err = sigsyaml.Unmarshal(data, &out)
	return out, err
}

// leafName begins a text that replaces a leaf during a merge.
const leafName = "lintel-leaf-"

// nameLeaves returns a value with texts in place of its leaves. A null stays, because it removes values in a merge.
func nameLeaves(v any, leaves *[]*leaf) any {
	return doc.MapLeaves(v, func(v any) any {
		l, ok := v.(*leaf)
		switch {
		case !ok:
			return v
		case l.null:
			return nil
		}
		*leaves = append(*leaves, l)
		return fmt.Sprintf("%s%d", leafName, len(*leaves)-1)
	})
}

// untagLeaves returns a value with the leaves in place of their texts.
func untagLeaves(v map[string]any, leaves []*leaf) map[string]any {
	out, _ := doc.MapLeaves(v, func(v any) any {
		text, _ := v.(string)
		if number, ok := strings.CutPrefix(text, leafName); ok {
			if n, err := strconv.Atoi(number); err == nil && n >= 0 && n < len(leaves) {
				return leaves[n]
			}
		}
		return v
	}).(map[string]any)
	return out
}
