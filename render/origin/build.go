package origin

import (
	"path"
	"slices"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
)

// Build returns the places of one root's resources. It reads the sources on first use, and keeps them. It is not safe
// for concurrent use.
type Build struct {
	texts
	files    *FileSet
	root     *Layer
	rendered func() []*yaml.Node
	nodes    []*yaml.Node       // the rendered ones, once they are asked for
	manifest map[string]bool    // files that are listed as resources
	items    map[string][]*item // simulated resources, by rendered name
	owners   map[*yaml.Node]*item
}

// NewBuild returns the origins of a kustomization's build. files has the files that kustomize read, rendered returns
// the nodes that it returned, and read returns a file of the tree.
func NewBuild(files *FileSet, root *Layer, rendered func() []*yaml.Node, read func(path string) ([]byte, error)) *Build {
	b := &Build{texts: newTexts(read), files: files, root: root, rendered: rendered, manifest: map[string]bool{}}
	b.addManifests(root)
	return b
}

func (b *Build) addManifests(l *Layer) {
	for _, part := range l.Resources {
		if part.Layer != nil {
			b.addManifests(part.Layer)
		} else {
			b.manifest[part.Path] = true
		}
	}
	for _, c := range l.Components {
		b.addManifests(c)
	}
}

// resource returns the rendered resource at an index.
func (b *Build) resource(index int) *yaml.Node {
	if b.nodes == nil {
		for _, n := range b.rendered() {
			b.nodes = append(b.nodes, content(n))
		}
	}
	return b.nodes[index]
}

// owner returns the simulated resource of a rendered one, nil if there is none.
func (b *Build) owner(resource *yaml.Node) *item {
	if b.owners == nil {
		s := &transformation{b: b, defaults: defaultSpecs()}
		custom := specs{}
		items := s.layer(b.root, nil, custom)
		s.metadata(items)
		b.owners = s.resolve(items, b.nodes)
		s.resolveVars(items, union(s.defaults["varReference"], custom["varReference"]))
		b.items = map[string][]*item{}
		for _, i := range items {
			name := i.id().name
			b.items[name] = append(b.items[name], i)
		}
	}
	return b.owners[resource]
}

// parsed returns the documents of a manifest file, with lists split into their items.
func (b *Build) parsed(path string) []*yaml.Node {
	return slices.Collect(doc.Objects(b.text(path).documents()))
}

// sameScalar returns the place of a rendered scalar if the source still has that text at its line. A node that
// kustomize changed in place keeps the line of its old text.
func (b *Build) sameScalar(n *yaml.Node) (Place, bool) {
	path, line, column, ok := b.files.Position(n.Line, n.Column)
	if !ok {
		return Place{}, false
	}
	found := b.text(path).scalar(position{line, column})
	if found == nil || found.Value != n.Value {
		return Place{}, false
	}
	return b.span(path, line, column, found), true
}

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
