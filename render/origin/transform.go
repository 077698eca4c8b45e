package origin

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
)

// maxValues limits the number of simulated values, because aliases and replacements can multiply them. Fields beyond
// the limit are found only by the lines that kustomize kept.
const maxValues = 1_500_000

// transformation simulates the steps of a build, on values that record who wrote them. It does what kustomize does, as
// far as origins depend on it. Where it is wrong, its values differ from the rendered ones, and the place says so.
type transformation struct {
	b        *Build
	defaults specs
	copied   int
	vars     []variable
}

// item is a simulated resource.
type item struct {
	root *value
	ids  []identity // current and earlier identities, the one in the file first
	doc  *document  // nil for a generated one

	// reparsed means that kustomize printed the resource and parsed it again, as it does for JSON patches and lists.
	// Its lines are those of the printed text.
	reparsed bool

	shares bool // several fields may have the same value
}

type identity struct{ apiVersion, kind, name, namespace string }

// effective returns the namespace for comparisons of identities.
func (id identity) effective() string {
	switch {
	case kustomization.ClusterScoped(id.apiVersion, id.kind):
		return "" // cluster-scoped resources have no namespace
	case id.namespace == "":
		return "default"
	}
	return id.namespace
}

// same reports whether two identities name the same resource.
func (id identity) same(other identity) bool {
	return id.apiVersion == other.apiVersion && id.kind == other.kind && id.name == other.name &&
		id.effective() == other.effective()
}

// was reports whether an item has or had an identity.
func (i *item) was(id identity) bool {
	return i.id().same(id) || slices.ContainsFunc(i.ids, id.same)
}

func (i *item) id() identity {
	return identity{i.root.str("apiVersion"), i.root.str("kind"), i.root.str("metadata", "name"),
		i.root.str("metadata", "namespace")}
}

// remember adds the current identity to those that references may use.
func (i *item) remember() {
	if id := i.id(); !slices.Contains(i.ids, id) {
		i.ids = append(i.ids, id)
	}
}

func (i *item) known(name string) bool {
	return slices.ContainsFunc(i.ids, func(id identity) bool { return id.name == name })
}

func newItem(root *value, doc *document) *item {
	i := &item{root: root, doc: doc}
	i.remember()
	return i
}

// layer runs one kustomization on the items of its parent (for a component) or on none. It adds its configurations to
// those of its parent.
func (s *transformation) layer(l *Layer, items []*item, custom specs) []*item {
	for _, part := range l.Resources {
		if part.Layer != nil {
			below := specs{}
			items = append(items, s.layer(part.Layer, nil, below)...)
			custom.add(below)
			continue
		}
		w := mark{path: part.Path, how: Search, role: "manifest"}
		for _, n := range s.b.parsed(part.Path) {
			if n.Kind == yaml.MappingNode && s.room() {
				items = append(items, newItem(s.made(w.value(n, nil)), &document{part.Path, n}))
			}
		}
	}
	custom.add(s.configurations(l))
	items = s.generators(l, items)
	for _, c := range l.Components {
		items = s.layer(c, items, custom)
	}
	items = s.transform(l, items, custom)
	s.collectVars(l, items)
	return items
}

// config is a part of a kustomization, or of a plugin's configuration.
type config struct {
	layer *Layer
	path  string     // of the file that contains node
	key   *yaml.Node // key of node, if it has one
	node  *yaml.Node
	role  string
}

func (c config) with(n *yaml.Node) config { c.key, c.node = nil, n; return c }

// field returns the part of the configuration in a field. Its node is nil where there is none.
func (c config) field(name string) config { c.key, c.node = doc.Field(c.node, name); return c }

func (c config) mark(n *yaml.Node) mark {
	return mark{path: c.path, node: n, how: Writer, role: c.role}
}

// whole returns the mark for values without a place of their own in an entry: the entry as a whole.
func (c config) whole() mark {
	return mark{path: c.path, line: c.node.Line, end: c.node.Line, how: Writer, role: c.role}
}

// room reports whether more values may be simulated.
func (s *transformation) room() bool { return s.copied <= maxValues }

// made counts a new value and returns it.
func (s *transformation) made(v *value) *value {
	s.copied += v.size(maxValues)
	return v
}

// transform runs the fields of a kustomization in kustomize's order (api/internal/target), then its plugins.
func (s *transformation) transform(l *Layer, items []*item, custom specs) []*item {
	c := config{layer: l, path: l.File.Path, node: l.File.Node}
	specs := func(step string) []fieldSpec { return union(s.defaults[step], custom[step]) }
	each := func(name, role string, do func(config)) {
		for _, n := range doc.Items(c.node, name) {
			do(config{layer: l, path: c.path, node: n, role: role})
		}
	}
	one := func(name string, do func(config)) {
		if key, n := doc.Field(c.node, name); n != nil {
			do(config{layer: l, path: c.path, key: key, node: n, role: name})
		}
	}
	each("patchesStrategicMerge", "patch", func(c config) { items = s.patchStrategic(c, items) })
	each("patches", "patch", func(c config) { items = s.patch(c, items) })
	one("namespace", func(c config) { s.namespace(c, namespacing{specs: specs("namespace")}, items) })
	one("namePrefix", func(c config) { s.affix(c, specs("namePrefix"), true, items) })
	one("nameSuffix", func(c config) { s.affix(c, specs("nameSuffix"), false, items) })
	each("labels", "labels", func(c config) { s.labels(c, specs, items) })
	one("commonLabels", func(c config) { s.pairs(c, specs("commonLabels"), items) })
	one("commonAnnotations", func(c config) { s.pairs(c, specs("commonAnnotations"), items) })
	each("patchesJson6902", "patch", func(c config) { items = s.patch(c, items) })
	each("replicas", "replicas", func(c config) { s.replicas(c, specs("replicas"), items) })
	for _, name := range []string{"images", "imageTags"} {
		each(name, "images", func(c config) { s.images(c, specs("images"), items) })
	}
	each("replacements", "replacements", func(c config) { s.replacement(c, items) })
	for _, d := range s.plugins(l, "transformers") {
		items = s.transformer(config{layer: l, path: d.path, node: d.node, role: "transformers"}, items)
	}
	return items
}

// resolve matches the items with the rendered resources: first by kind and name, then by order. A generated name gets
// its hash.
func (s *transformation) resolve(items []*item, rendered []*yaml.Node) map[*yaml.Node]*item {
	owner := map[*yaml.Node]*item{}
	taken := map[*item]bool{}
	byName := map[[3]string][]*item{}
	for _, i := range items {
		id := i.id()
		key := [3]string{id.apiVersion, id.kind, id.name}
		byName[key] = append(byName[key], i)
	}
	claim := func(n *yaml.Node, list []*item) bool {
		namespace := doc.Text(n, "metadata", "namespace")
		var best *item
		for _, i := range list {
			if same := i.id().namespace == namespace; !taken[i] && (best == nil || same) {
				if best = i; same {
					break
				}
			}
		}
		if best == nil {
			return false
		}
		owner[n], taken[best] = best, true
		if name := best.root.at("metadata", "name"); name != nil {
			name.text = doc.Text(n, "metadata", "name")
		}
		return true
	}
	for pass := range 2 {
		for _, n := range rendered {
			kind, name := doc.Text(n, "kind"), doc.Text(n, "metadata", "name")
			if pass == 1 {
				cut := strings.LastIndexByte(name, '-')
				if cut < 0 || len(name)-cut != 11 {
					continue
				}
				name = name[:cut]
			}
			if owner[n] == nil {
				claim(n, byName[[3]string{doc.Text(n, "apiVersion"), kind, name}])
			}
		}
	}
	left := map[string][]*item{} // by kind
	for _, i := range items {
		if kind := i.id().kind; !taken[i] {
			left[kind] = append(left[kind], i)
		}
	}
	for _, n := range rendered {
		kind := doc.Text(n, "kind")
		if list := left[kind]; owner[n] == nil && len(list) > 0 {
			owner[n], left[kind] = list[0], list[1:]
		}
	}
	for n, i := range owner {
		_, _, _, ok := s.b.files.Position(n.Line, n.Column)
		i.reparsed = !ok
	}
	return owner
}
