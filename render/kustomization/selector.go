package kustomization

import (
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/lintel-bot/lintel/render/doc"
)

// Selector selects the objects of a patch or a replacement
// (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/patches/).
type Selector struct {
	*types.SelectorRegex
	labels, annotations labels.Selector
}

// NewSelector reads a selector. It fails where kustomize refuses it.
func NewSelector(n *yaml.Node) (s Selector, err error) {
	text := func(name string) string { return strings.TrimSpace(doc.Text(n, name)) }
	s.SelectorRegex, err = types.NewSelectorRegex(&types.Selector{ResId: resid.ResId{
		Gvk:  resid.Gvk{Group: text("group"), Version: text("version"), Kind: text("kind")},
		Name: text("name"), Namespace: text("namespace")}})
	if err == nil {
		s.labels, err = labels.Parse(text("labelSelector"))
	}
	if err == nil {
		s.annotations, err = labels.Parse(text("annotationSelector"))
	}
	return s, err
}

// MatchLabels reports whether labels and annotations match.
func (s Selector) MatchLabels(own, annotations map[string]string) bool {
	return s.labels.Matches(labels.Set(own)) && s.annotations.Matches(labels.Set(annotations))
}
