package render

import "go.yaml.in/yaml/v3"

// packed is a tree of nodes in about a fourth of their memory, without the comments. A check keeps the nodes of all
// renderings for the places of fields, and most are never looked at.
type packed struct {
	nodes []packedNode // each is followed by its children
	whole *yaml.Node   // a tree with aliases, which is not packed
}

type packedNode struct {
	tag, value             string
	line, column, children int32
	style                  uint16
	kind                   uint8
}

// pack packs a tree of nodes.
func pack(n *yaml.Node) packed {
	var p packed
	if !p.add(n) {
		return packed{whole: n}
	}
	p.nodes = append(make([]packedNode, 0, len(p.nodes)), p.nodes...)
	return p
}

// add reports whether a tree can be packed.
func (p *packed) add(n *yaml.Node) bool {
	p.nodes = append(p.nodes, packedNode{tag: n.Tag, value: n.Value, line: int32(n.Line), column: int32(n.Column),
		children: int32(len(n.Content)), style: uint16(n.Style), kind: uint8(n.Kind)})
	for _, child := range n.Content {
		if !p.add(child) {
			return false
		}
	}
	return n.Alias == nil && n.Anchor == ""
}

// pack packs the nodes of a resource that kustomize built. Those of other resources have locators that need them.
func (r *Resource) pack() {
	if r.plain || r.node == nil {
		return
	}
	if r.packed.whole == nil && r.packed.nodes == nil { // they were changed after the build
		r.packed = pack(r.node)
	}
	r.node = nil
}

// tree returns the nodes of a resource, nil where the rendering came from the cache. Do not change them.
func (r *Resource) tree() *yaml.Node {
	if r.node != nil {
		return r.node
	}
	return r.packed.unpack()
}

// unpack returns a new tree, except for one that was not packed.
func (p packed) unpack() *yaml.Node {
	if p.whole != nil || len(p.nodes) == 0 {
		return p.whole
	}
	nodes, children := make([]yaml.Node, len(p.nodes)), make([]*yaml.Node, len(p.nodes))
	next := 0
	var tree func() *yaml.Node
	tree = func() *yaml.Node {
		from, n := p.nodes[next], &nodes[next]
		next++
		*n = yaml.Node{Kind: yaml.Kind(from.kind), Style: yaml.Style(from.style), Tag: from.tag, Value: from.value,
			Line: int(from.line), Column: int(from.column)}
		if from.children > 0 {
			n.Content, children = children[:from.children:from.children], children[from.children:]
		}
		for i := range n.Content {
			n.Content[i] = tree()
		}
		return n
	}
	return tree()
}
