package origin

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/source"
)

// maxValues bounds what a simulation holds: aliases and replacements can make much of little. What does not fit is
// answered by the nodes that kustomize carried.
const maxValues = 1_500_000

// simulation follows the steps of a build on values that know who wrote them. It does what kustomize does as far
// as origins need it; where it is wrong, its values are not what was rendered, and the answer says so.
type simulation struct {
	b      *Build
	step   int
	copied int
	vars   []variable
}

// item is a resource on its way through the steps.
type item struct {
	root   *value
	ids    []identity // under which it was known, the first as written
	doc    *document  // nil for a generated one
	offers []offer

	// reparsed: kustomize wrote the resource as text and read it again, as it does for JSON patches and lists. Its
	// lines are those of that text.
	reparsed bool
}

type identity struct{ apiVersion, kind, name, namespace string }

func (i *item) id() identity {
	return identity{i.root.str("apiVersion"), i.root.str("kind"), i.root.str("metadata", "name"), i.root.str("metadata", "namespace")}
}

// remember keeps the present name among those that references may use.
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

// offer is a value that a step writes into more places than origins know: the labels of selectors, for one. The
// rendered value tells whether it was taken.
type offer struct {
	kind offerKind
	key  string // of labels and annotations
	text string
	by   mark
	node *yaml.Node // the entry of images
	reach
}

// reach is where besides metadata an entry of labels goes.
type reach int

const (
	onlyMissing reach = iota // to places that are told by the field not being there before
	templates
	everywhere // and selectors
)

func reachOf(entry *yaml.Node) reach {
	switch {
	case source.Text(entry, "includeSelectors") == "true":
		return everywhere
	case source.Text(entry, "includeTemplates") == "true":
		return templates
	}
	return onlyMissing
}

type offerKind int

const (
	label offerKind = iota
	annotation
	namespaceOffer
	prefix
	suffix
	image
	count
)

// layer runs one kustomization on what its parent has so far (a component) or on nothing.
func (s *simulation) layer(l *Layer, items []*item) []*item {
	for _, part := range l.Resources {
		if part.Layer != nil {
			items = append(items, s.layer(part.Layer, nil)...)
			continue
		}
		s.step++
		w := writer{path: part.Path, how: Search, role: "manifest", step: s.step}
		for _, n := range s.b.parsed(part.Path) {
			if n.Kind == yaml.MappingNode && s.room() {
				items = append(items, newItem(s.made(w.value(n, nil)), &document{part.Path, n}))
			}
		}
	}
	items = s.generators(l, items)
	for _, c := range l.Components {
		items = s.layer(c, items)
	}
	items = s.transform(l, items)
	s.collectVars(l, items)
	return items
}

// config is a part of a kustomization or a plugin's configuration.
type config struct {
	layer *Layer
	path  string // of the file that holds node
	node  *yaml.Node
	role  string
}

func (c config) with(n *yaml.Node) config { c.node = n; return c }

func (s *simulation) mark(c config, n *yaml.Node) mark {
	return mark{path: c.path, node: n, how: Writer, role: c.role, step: s.step}
}

// room says whether the simulation may hold more.
func (s *simulation) room() bool { return s.copied <= maxValues }

// made counts a value that was made.
func (s *simulation) made(v *value) *value {
	s.copied += v.size(maxValues)
	return v
}

// transform runs the fields of a kustomization in kustomize's own order (api/internal/target), then its plugins.
func (s *simulation) transform(l *Layer, items []*item) []*item {
	c := config{layer: l, path: l.File.Path, node: l.File.Node}
	field := func(name string) *yaml.Node { _, n := source.Field(c.node, name); return n }
	each := func(name, role string, do func(config, []*item) []*item) {
		for _, n := range source.Items(c.node, name) {
			s.step++
			items = do(config{layer: l, path: c.path, node: n, role: role}, items)
		}
	}
	one := func(name string, do func(config, []*item)) {
		if n := field(name); n != nil {
			s.step++
			do(config{layer: l, path: c.path, node: n, role: name}, items)
		}
	}
	each("patchesStrategicMerge", "patch", s.patchStrategic)
	each("patches", "patch", s.patch)
	one("namespace", s.namespace)
	one("namePrefix", func(c config, items []*item) { s.affix(c, items, prefix) })
	one("nameSuffix", func(c config, items []*item) { s.affix(c, items, suffix) })
	each("labels", "labels", func(c config, items []*item) []*item {
		_, pairs := source.Field(c.node, "pairs")
		s.pairs(c.with(pairs), items, label, reachOf(c.node))
		return items
	})
	one("commonLabels", func(c config, items []*item) { s.pairs(c, items, label, everywhere) })
	one("commonAnnotations", func(c config, items []*item) { s.pairs(c, items, annotation, everywhere) })
	each("patchesJson6902", "patch", s.patch)
	each("replicas", "replicas", s.replicas)
	each("images", "images", s.images)
	each("replacements", "replacements", s.replacement)
	for _, d := range s.plugins(l, "transformers") {
		s.step++
		items = s.transformer(config{layer: l, path: d.path, node: d.node, role: "transformers"}, items)
	}
	return items
}

// selected lists the items that a target's selector chooses
// (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/patches/).
func selected(target *yaml.Node, items []*item) []*item {
	var list []*item
	labels, annotations := source.Text(target, "labelSelector"), source.Text(target, "annotationSelector")
	field := func(name string) func(string) bool { return matcher(source.Text(target, name)) }
	group, version, kind, name, namespace := field("group"), field("version"), field("kind"), field("name"), field("namespace")
	for _, i := range items {
		now := i.id()
		g, v := splitVersion(now.apiVersion)
		if !group(g) || !version(v) || !selects(labels, i.root.at("metadata", "labels")) || !selects(annotations, i.root.at("metadata", "annotations")) {
			continue
		}
		for _, id := range append([]identity{now}, i.ids...) {
			if (kind(now.kind) || kind(id.kind)) && name(id.name) && namespace(id.namespace) {
				list = append(list, i)
				break
			}
		}
	}
	return list
}

func splitVersion(apiVersion string) (group, version string) {
	group, version, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return "", group
	}
	return group, version
}

// matcher answers the test of a selector's regular expression, which must match the whole value. An empty one
// matches all.
func matcher(pattern string) func(string) bool {
	if pattern == "" {
		return func(string) bool { return true }
	}
	re, err := regexp.Compile("^(?:" + pattern + ")$")
	return func(s string) bool { return s == pattern || err == nil && re.MatchString(s) }
}

// selects evaluates a label selector of equalities; others count as matching
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

// resolve matches the items to the rendered resources: by kind and name, what is left by the order. A generated
// name gets its hash.
func (s *simulation) resolve(items []*item, rendered []*yaml.Node) map[*yaml.Node]*item {
	owner := map[*yaml.Node]*item{}
	taken := map[*item]bool{}
	byName := map[[2]string][]*item{}
	for _, i := range items {
		id := i.id()
		byName[[2]string{id.kind, id.name}] = append(byName[[2]string{id.kind, id.name}], i)
	}
	claim := func(n *yaml.Node, list []*item) bool {
		namespace := textAt(n, "metadata", "namespace")
		var best *item
		for _, i := range list {
			if !taken[i] && (best == nil || i.id().namespace == namespace) {
				best = i
			}
		}
		if best == nil {
			return false
		}
		owner[n], taken[best] = best, true
		if name := best.root.at("metadata", "name"); name != nil {
			name.text = textAt(n, "metadata", "name")
		}
		return true
	}
	for pass := range 2 {
		for _, n := range rendered {
			kind, name := source.Text(n, "kind"), textAt(n, "metadata", "name")
			if pass == 1 {
				cut := strings.LastIndexByte(name, '-')
				if cut < 0 || len(name)-cut != 11 {
					continue
				}
				name = name[:cut]
			}
			if owner[n] == nil {
				claim(n, byName[[2]string{kind, name}])
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
		kind := source.Text(n, "kind")
		if list := left[kind]; owner[n] == nil && len(list) > 0 {
			owner[n], left[kind] = list[0], list[1:]
		}
	}
	for n, i := range owner {
		_, _, _, ok := s.b.position(n)
		i.reparsed = !ok
	}
	return owner
}
