package doc

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// Unlist returns the objects of a document: if it is a list, the items, also of lists in it, as kubectl and the GitOps
// controllers flatten them; otherwise the document itself. Items of a list such as PodList may lack apiVersion and kind
// (k8s.io/apimachinery, unstructuredJSONScheme.decodeToList).
func Unlist(n *yaml.Node) []*yaml.Node {
	kind, isList := strings.CutSuffix(Text(n, "kind"), "List")
	if _, items := Field(n, "items"); !isList || items == nil || items.Kind != yaml.SequenceNode {
		return []*yaml.Node{n}
	}
	var list []*yaml.Node
	for _, item := range Items(n, "items") {
		if item.Kind == yaml.MappingNode && kind != "" && Text(item, "kind") == "" && Text(item, "apiVersion") == "" {
			item = listed(item, n, kind)
		}
		list = append(list, Unlist(item)...)
	}
	return list
}

// listed returns an item of a list with the apiVersion and kind that follow from the list.
func listed(item, list *yaml.Node, kind string) *yaml.Node {
	copied := *item
	copied.Content = nil
	for _, field := range []string{"apiVersion", "kind"} {
		key, value := Field(list, field)
		if value == nil {
			continue
		}
		k, v := *key, *value
		k.Kind, k.Value, k.Tag, k.Anchor, k.Alias = yaml.ScalarNode, field, "!!str", "", nil
		v.Anchor = ""
		if field == "kind" {
			v.Value = kind
		}
		copied.Content = append(copied.Content, &k, &v)
	}
	copied.Content = append(copied.Content, item.Content...)
	return &copied
}
