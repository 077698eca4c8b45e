package origin

import (
	"slices"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
)

// selected lists the items that a patch's target selects: by current kind, and by a current or original name and
// namespace (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/patches/).
func selected(target *yaml.Node, items []*item) []*item {
	return choose(target, items, func(i *item, t kustomization.Selector) bool {
		now, first := i.id(), i.ids[0]
		return t.MatchGvk(now.gvk()) && (t.MatchName(now.name) || t.MatchName(first.name)) &&
			(t.MatchNamespace(now.effective()) || t.MatchNamespace(first.effective()))
	})
}

// targeted lists the items that a target of replacements selects. One of their identities must match completely.
func targeted(target *yaml.Node, items []*item) []*item {
	return choose(target, items, func(i *item, t kustomization.Selector) bool {
		return slices.ContainsFunc(append([]identity{i.id()}, i.ids...), func(id identity) bool {
			return t.MatchGvk(id.gvk()) && t.MatchName(id.name) && t.MatchNamespace(id.effective())
		})
	})
}

// choose lists the items that a function selects, and whose labels and annotations match.
func choose(target *yaml.Node, items []*item, fits func(*item, kustomization.Selector) bool) (list []*item) {
	t, err := kustomization.NewSelector(target)
	if err != nil {
		return nil // kustomize refuses it, too
	}
	for _, i := range items {
		if fits(i, t) && t.MatchLabels(i.pairs("labels"), i.pairs("annotations")) {
			list = append(list, i)
		}
	}
	return list
}

func (id identity) gvk() resid.Gvk {
	group, version := resid.ParseGroupVersion(id.apiVersion)
	return resid.Gvk{Group: group, Version: version, Kind: id.kind}
}

// gvkOf reads the fields of a selector or a field spec.
func gvkOf(n *yaml.Node) resid.Gvk {
	return resid.Gvk{Group: doc.Text(n, "group"), Version: doc.Text(n, "version"), Kind: doc.Text(n, "kind")}
}

// pairs returns the labels or the annotations of an item.
func (i *item) pairs(holder string) map[string]string {
	pairs := map[string]string{}
	if v := i.root.at("metadata", holder); v != nil {
		for _, f := range v.fields {
			pairs[f.key] = f.value.text
		}
	}
	return pairs
}
