package origin

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
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
	var nodes []*yaml.Node
	for _, d := range b.text(path).documents() {
		if strings.HasSuffix(doc.Text(d, "kind"), "List") {
			if items := doc.Items(d, "items"); len(items) > 0 {
				nodes = append(nodes, items...)
				continue
			}
		}
		nodes = append(nodes, d)
	}
	return nodes
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
