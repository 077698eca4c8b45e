package origin

import (
	"path"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
)

// Layer is one kustomization in the tree of those that a root is made of. A base that is included twice is two layers.
type Layer struct {
	File       *kustomization.File
	Resources  []Part // in the order of the list
	Components []*Layer
	Plugins    []Plugin          // entries of generators and transformers, in order
	Links      map[string]string // symlink -> target, for paths that are symlinks
}

// Part is an entry of resources: a file, or a folder with a kustomization.
type Part struct {
	Path  string // of a file, symlinks resolved
	Layer *Layer // of a folder
}

// Plugin is an entry of generators or transformers that is a path. Inline documents are read from the kustomization
// itself.
type Plugin struct {
	Field string // "generators" or "transformers"
	Entry string // as written
	Part
}

// real returns the file of a path, symlinks resolved.
func (l *Layer) real(name string) string {
	if to, ok := l.Links[name]; ok {
		return to
	}
	return name
}

// sibling returns the file that an entry of the kustomization names.
func (l *Layer) sibling(entry string) string { return l.real(path.Join(path.Dir(l.File.Path), entry)) }

// manifests lists the documents of the files of a layer and of its bases, without changes by steps.
func (b *Build) manifests(l *Layer) (list []document) {
	for _, part := range l.Resources {
		if part.Layer != nil {
			list = append(list, b.manifests(part.Layer)...)
			continue
		}
		list = append(list, inFile(part.Path, b.parsed(part.Path))...)
	}
	return list
}

// document is a YAML document and its file.
type document struct {
	path string
	node *yaml.Node
}

func inFile(path string, nodes []*yaml.Node) []document {
	list := make([]document, len(nodes))
	for i, n := range nodes {
		list[i] = document{path, n}
	}
	return list
}

// keepsName reports whether kustomize adds no prefix or suffix to names of a kind
// (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/nameprefix/).
func keepsName(id identity) bool {
	switch group, _ := resid.ParseGroupVersion(id.apiVersion); id.kind {
	case "CustomResourceDefinition", "Namespace":
		return true
	case "APIService":
		return group == "apiregistration.k8s.io"
	}
	return false
}

// textAt returns the value of a scalar field at a path of keys.
func textAt(n *yaml.Node, keys ...string) string {
	for _, key := range keys[:len(keys)-1] {
		_, n = doc.Field(n, key)
	}
	return doc.Text(n, keys[len(keys)-1])
}
