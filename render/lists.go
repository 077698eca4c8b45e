package render

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/source"
)

// unwrapList answers the objects of a document: the items of a list, of lists in it too, as kubectl and the GitOps
// controllers flatten them, and the document itself otherwise. Items of a PodList need not say what they are
// (k8s.io/apimachinery, unstructuredJSONScheme.decodeToList).
func unwrapList(n *yaml.Node) []*yaml.Node {
	kind, isList := strings.CutSuffix(source.Text(n, "kind"), "List")
	if _, items := source.Field(n, "items"); !isList || items == nil || items.Kind != yaml.SequenceNode {
		return []*yaml.Node{n}
	}
	var list []*yaml.Node
	for _, item := range source.Items(n, "items") {
		if item.Kind == yaml.MappingNode && kind != "" && source.Text(item, "kind") == "" && source.Text(item, "apiVersion") == "" {
			item = named(item, n, kind)
		}
		list = append(list, unwrapList(item)...)
	}
	return list
}

// named is an item of a list that says what it is: by the list.
func named(item, list *yaml.Node, kind string) *yaml.Node {
	copied := *item
	copied.Content = nil
	for _, field := range []string{"apiVersion", "kind"} {
		key, value := source.Field(list, field)
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

// embeds says whether an object that is no list has items that are objects: kubectl takes whatever has items for a
// list, and would create those.
func embeds(object map[string]any) bool {
	items, _ := object["items"].([]any)
	for _, item := range items {
		if m, ok := item.(map[string]any); ok && m["kind"] != nil && m["apiVersion"] != nil {
			return true
		}
	}
	return false
}

// embedded is the problem of such an object.
func embedded(path string, line int) source.Error {
	return source.Error{Path: path, Line: line, Message: "has items that are objects, which kubectl creates in its place: use kind: List, or list them by themselves"}
}

// tooMany is the problem of a root with more resources than the limit.
func tooMany(path string, limit int) source.Error {
	return source.Error{Path: path, Message: fmt.Sprintf("brings its root to more than %d resources: split the root, or raise limits.resources in .lintel.yaml on the base branch", limit)}
}
