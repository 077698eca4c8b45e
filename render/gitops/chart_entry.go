package gitops

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	charts "helm.sh/helm/v4/pkg/chart/v2/loader"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/remote"
)

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

// Release returns a release with the values of the entry. The caller sets all other fields. An unknown Merge is an
// error.
func (e ChartEntry) Release() (*Release, error) {
	r := &Release{Rule: argoRule, Layers: append([]Layer{e.File}, e.More...)}
	if e.Inline.Value == nil || len(e.Inline.Value.Fields) == 0 {
		return r, nil
	}
	if e.Merge != "replace" {
		e.File.Kustomize, e.File.First = true, true
	}
	switch e.Merge {
	case "", "override":
		r.Rule, r.Layers = overrideRule, append([]Layer{e.File, e.Inline}, e.More...)
	case "merge":
		r.Rule, r.Layers = underRule, append([]Layer{e.Inline, e.File}, e.More...)
	case "replace":
		r.Layers = append([]Layer{e.Inline}, e.More...)
	default:
		return nil, fmt.Errorf("valuesMerge %.40q is none of override, merge and replace", e.Merge)
	}
	return r, nil
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
