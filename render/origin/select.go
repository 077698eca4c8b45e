package origin

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
)

// selected lists the items that a patch's target selects: by current kind, and by a current or original name and
// namespace (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/patches/).
func selected(target *yaml.Node, items []*item) (list []*item) {
	t := newTarget(target)
	for _, i := range items {
		now, first := i.id(), i.ids[0]
		if t.ofKind(now) && (t.name(now.name) || t.name(first.name)) &&
			(t.namespace(now.effective()) || t.namespace(first.effective())) && t.labeled(i) {
			list = append(list, i)
		}
	}
	return list
}

// targeted lists the items that a target of replacements selects. One of their identities must match completely.
func targeted(target *yaml.Node, items []*item) (list []*item) {
	t := newTarget(target)
	for _, i := range items {
		if t.labeled(i) && slices.ContainsFunc(append([]identity{i.id()}, i.ids...), func(id identity) bool {
			return t.ofKind(id) && t.name(id.name) && t.namespace(id.effective())
		}) {
			list = append(list, i)
		}
	}
	return list
}

// target is a parsed selector.
type target struct {
	group, version, kind, name, namespace func(string) bool
	labels, annotations                   string
}

func newTarget(n *yaml.Node) target {
	field := func(name string) func(string) bool { return matcher(doc.Text(n, name)) }
	return target{group: field("group"), version: field("version"), kind: field("kind"), name: field("name"),
		namespace: field("namespace"),
		labels:    doc.Text(n, "labelSelector"), annotations: doc.Text(n, "annotationSelector")}
}

func (t target) ofKind(id identity) bool {
	group, version := splitVersion(id.apiVersion)
	return t.group(group) && t.version(version) && t.kind(id.kind)
}

func (t target) labeled(i *item) bool {
	return selects(t.labels, i.root.at("metadata", "labels")) &&
		selects(t.annotations, i.root.at("metadata", "annotations"))
}

func splitVersion(apiVersion string) (group, version string) {
	group, version, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return "", group
	}
	return group, version
}

// matcher returns the test of a selector's regular expression, which must match the whole value. An empty one
// matches all.
func matcher(pattern string) func(string) bool {
	if pattern == "" {
		return func(string) bool { return true }
	}
	re, err := regexp.Compile("^(?:" + pattern + ")$")
	return func(s string) bool { return s == pattern || err == nil && re.MatchString(s) }
}

// selects evaluates a label selector with equalities. Other requirements always match
// (https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors).
func selects(selector string, labels *value) bool {
	if selector == "" || strings.ContainsAny(selector, "()") {
		return true
	}
	for _, part := range strings.Split(selector, ",") {
		part = strings.TrimSpace(part)
		if key, want, ok := strings.Cut(part, "!="); ok {
			if labels.str(strings.TrimSpace(key)) == strings.TrimSpace(want) {
				return false
			}
			continue
		}
		key, want, equal := strings.Cut(part, "=")
		have := labels.get(strings.TrimSpace(strings.TrimPrefix(key, "!")))
		switch {
		case equal && (have == nil || have.text != strings.TrimSpace(strings.TrimPrefix(want, "="))):
			return false
		case !equal && (have == nil) != strings.HasPrefix(part, "!"):
			return false
		}
	}
	return true
}
