package render

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sync"
	"weak"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/origin"
)

// builds caches what kustomize made of folders, as several objects often deploy the same folder to several clusters.
// Each rendering makes its own objects and places from the cached build. The cache forgets a build that no rendering
// uses any more, except the last maxBuilds: their nodes take much memory. A nil value caches nothing.
type builds struct {
	mu    sync.Mutex
	byKey map[string]weak.Pointer[sharedBuild]
	last  []*sharedBuild
}

// sharedBuild is what kustomize made of a folder. It is not modified once it is built.
type sharedBuild struct {
	once         sync.Once
	files        *origin.FileSet
	resources    []packed
	reads, links map[string]string
	err          error
}

// nodes returns the built resources.
func (b *sharedBuild) nodes() (list []*yaml.Node) {
	for _, one := range b.resources {
		list = append(list, one.unpack())
	}
	return list
}

// maxBuilds is how many of the last builds are cached although no rendering uses them.
const maxBuilds = 8

// of returns the build of a key. The caller runs it where it is new.
func (b *builds) of(key string) *sharedBuild {
	if b == nil {
		return &sharedBuild{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.byKey == nil {
		b.byKey = map[string]weak.Pointer[sharedBuild]{}
	}
	one := b.byKey[key].Value()
	if one == nil {
		one = &sharedBuild{}
		b.byKey[key] = weak.Make(one)
		b.last = append(b.last, one)
		b.last = slices.Delete(b.last, 0, max(0, len(b.last)-maxBuilds)) // Delete clears the pointers beyond the new length
	}
	return one
}

// run builds the folder of a plan with kustomize, unless it was built not long ago.
func (b *builder) run(dir string, p *plan) *sharedBuild {
	h := sha256.New()
	fmt.Fprintf(h, "%q %t\n", dir, p.openAPI)
	for _, texts := range []map[string][]byte{b.overlay, p.texts} {
		for _, name := range slices.Sorted(maps.Keys(texts)) {
			fmt.Fprintf(h, "%q %x\n", name, sha256.Sum256(texts[name]))
		}
		fmt.Fprintln(h)
	}
	one := b.builds.of(string(h.Sum(nil)))
	one.once.Do(func() {
		one.files, one.reads = origin.NewFileSet(), map[string]string{}
		padded := map[string][]byte{} // a file may be read several times
		fsys := &fileSystem{builder: b, reads: one.reads, may: b.reaching(p), links: maps.Clone(p.links),
			transform: func(name string, data []byte) []byte {
				if text, ok := padded[name]; ok {
					return text
				}
				if text, ok := p.texts[name]; ok {
					data = text
				}
				switch {
				case p.kustomizations[name] != nil:
					data = one.files.PadInline(p.kustomizations[name], data)
				case p.manifests[name]:
					data = one.files.Pad(name, data)
				}
				padded[name] = data
				return data
			}}
		var nodes []*yaml.Node
		if nodes, one.err = runKustomize(fsys, dir, p.openAPI); one.err == nil {
			b.annotated(p, nodes)
		}
		for _, n := range nodes {
			one.resources = append(one.resources, pack(n))
		}
		one.links = fsys.links
	})
	return one
}

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
