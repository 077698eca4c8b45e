package graph_test

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// naive computes the same by definition: it reads the whole tree, and follows everything that each root includes. The
// graph must give the same results.
type naive struct {
	files    map[string]*kustomization.File
	broken   map[string]bool
	includes map[string][]string
	readers  map[string][]string
	takers   map[string][]string // the readers that include what they name
	plugins  []string
	outside  map[string][]string // the paths outside of a folder that configurations of its plugins name
	plain    map[string][]string
	charts   map[string]bool
	unread   map[string]bool
	texts    map[string]string
	aliases  map[string][]string // other paths of a file, through symlinks
	tree     *tree.Tree
	roots    []roots.Root
}

func newNaive(t *testing.T, tr *tree.Tree) *naive {
	n := &naive{files: map[string]*kustomization.File{}, broken: map[string]bool{}, includes: map[string][]string{},
		readers: map[string][]string{}, outside: map[string][]string{}, takers: map[string][]string{}, plain: map[string][]string{}, charts: map[string]bool{},
		unread: map[string]bool{}, texts: map[string]string{}, aliases: map[string][]string{}, tree: tr}
	var manifests, all, links []string
	err := tr.Walk(func(p string, e tree.Entry) error {
		data, _, err := tr.ReadFile(p)
		if e.Kind == tree.File {
			n.texts[p] = string(data)
		} else {
			links = append(links, p)
		}
		all = append(all, p)
		switch dir := path.Dir(p); {
		case kustomization.IsFileName(p):
			if n.has(dir) {
				n.broken[dir] = true
				delete(n.files, dir)
				break
			}
			f, parseErr := kustomization.Parse(p, data, doc.Limits{})
			if err != nil || parseErr != nil {
				n.broken[dir] = true
			} else {
				n.files[dir] = f
			}
		case path.Base(p) == "Chart.yaml":
			n.charts[dir] = true
		case graph.IsManifestName(p) && !strings.HasPrefix(p, ".") && !strings.Contains(p, "/.") && e.Kind == tree.File:
			manifests = append(manifests, p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range slices.Sorted(maps.Keys(n.files)) {
		n.link(tr, n.files[dir])
	}
	for _, p := range manifests {
		n.place(p)
	}
	whole := maps.Clone(n.plain)
	for _, alias := range n.follow(all, links) {
		real, e, err := tr.Lookup(alias)
		if err != nil || e.Kind != tree.File || kustomization.IsFileName(alias) || !graph.IsManifestName(alias) ||
			strings.HasPrefix(alias, ".") || strings.Contains(alias, "/.") || slices.Contains(whole[path.Dir(real)], real) {
			continue
		}
		n.place(alias)
	}
	for dir := range n.plain {
		slices.Sort(n.plain[dir])
		n.plain[dir] = slices.Compact(n.plain[dir])
	}
	n.findRoots()
	return n
}

// place finds the folder and root that a file with the name of a manifest belongs to.
func (n *naive) place(p string) {
	switch dir := path.Dir(p); {
	case n.included(p) || n.ofChart(p) || len(n.readers[p]) > 0 && !n.deployable(p):
	case n.has(n.real(dir)):
		n.unread[p] = len(n.readers[p]) == 0
	default:
		n.plain[dir] = append(n.plain[dir], p)
	}
}

// follow lists the paths of files through symlinks.
func (n *naive) follow(all, links []string) (list []string) {
	for _, l := range links {
		real := n.real(l)
		if real == "." || strings.HasPrefix(l, real+"/") || real == l {
			continue
		}
		for _, p := range append(slices.Clone(all), real) {
			if rest, ok := strings.CutPrefix(p, real); ok && (rest == "" || rest[0] == '/') {
				list = append(list, l+rest)
				n.aliases[p] = append(n.aliases[p], l+rest)
			}
		}
	}
	return list
}

// real returns the target of a path.
func (n *naive) real(p string) string {
	if real, _, err := n.tree.Lookup(p); err == nil {
		return real
	}
	return p
}

func (n *naive) has(dir string) bool { return n.files[dir] != nil || n.broken[dir] }

// ofChart reports whether a file is part of a chart: a template, or a file below one that is no manifest.
func (n *naive) ofChart(p string) bool {
	for dir := path.Dir(p); ; dir = path.Dir(dir) {
		if n.charts[n.real(dir)] && (!n.deployable(p) || strings.HasPrefix(strings.TrimPrefix(p, dir+"/"), "templates/")) {
			return true
		}
		if dir == "." {
			return false
		}
	}
}

func (n *naive) deployable(p string) bool { return strings.Contains(n.texts[n.real(p)], "apiVersion") }

// included reports whether a kustomization that is no component, or a component of one, includes a file.
func (n *naive) included(p string) bool {
	live := func(dir string) bool {
		for _, top := range n.topLevel() {
			if n.below(top, map[string]bool{})[dir] {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(n.takers[p], live)
}

// topLevel lists the folders that can be deployed by themselves.
func (n *naive) topLevel() []string {
	list := slices.Collect(maps.Keys(n.broken))
	for dir, f := range n.files {
		if !f.Component {
			list = append(list, dir)
		}
	}
	return list
}

func (n *naive) link(tr *tree.Tree, f *kustomization.File) {
	for _, ref := range f.Refs {
		named, ok := tree.Clean(path.Join(f.Dir, ref.Value))
		if !ok || strings.HasPrefix(ref.Value, "/") || kustomization.Remote(ref.Value) {
			continue
		}
		targets := []string{named}
		if real, e, err := tr.Lookup(named); err == nil {
			if real != named {
				targets = append(targets, real)
			}
			takes := ref.Role == kustomization.Resource || ref.Role == kustomization.Component || ref.Role == kustomization.Plugin
			if e.Kind == tree.Dir && takes {
				n.includes[f.Dir] = append(n.includes[f.Dir], real)
			}
		}
		for _, target := range targets {
			n.readers[target] = append(n.readers[target], f.Dir)
			switch ref.Role {
			case kustomization.Resource, kustomization.Component, kustomization.Plugin:
				n.takers[target] = append(n.takers[target], f.Dir)
			}
		}
		if ref.Role == kustomization.Plugin {
			n.plugins = append(n.plugins, f.Dir)
			if data, _, err := tr.ReadFile(named); err == nil && graph.IsManifestName(named) {
				documents, _ := doc.Parse(named, data, doc.Limits{})
				for _, d := range documents {
					n.outside[f.Dir] = append(n.outside[f.Dir], above(f.Dir, d)...)
				}
			}
		}
	}
}

// above lists the paths in a document that start in the folder above.
func above(dir string, d *yaml.Node) (list []string) {
	if value := strings.TrimPrefix(d.Value, "k="); strings.HasPrefix(value, "../") {
		if named, ok := tree.Clean(path.Join(dir, value)); ok {
			list = append(list, named)
		}
	}
	for _, c := range d.Content {
		list = append(list, above(dir, c)...)
	}
	return list
}

// below adds a folder and everything that it includes.
func (n *naive) below(dir string, into map[string]bool) map[string]bool {
	if !into[dir] {
		into[dir] = true
		for _, next := range n.includes[dir] {
			n.below(next, into)
		}
	}
	return into
}

func (n *naive) findRoots() {
	included, reached, live := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, dir := range n.topLevel() {
		n.below(dir, live)
	}
	for from, targets := range n.includes {
		for _, dir := range targets {
			included[dir] = included[dir] || live[from]
		}
	}
	add := func(dir string) {
		n.below(dir, reached)
		n.roots = append(n.roots, roots.Root{Path: dir})
	}
	for _, dir := range slices.Sorted(maps.Keys(n.files)) {
		if !included[dir] && !n.files[dir].Component {
			add(dir)
		}
	}
	for dir := range n.broken {
		if !included[dir] {
			add(dir)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(n.files)) {
		if !reached[dir] && !n.files[dir].Component {
			add(dir)
		}
	}
	for dir := range n.plain {
		n.roots = append(n.roots, roots.Root{Path: dir, Kind: roots.Folder})
	}
	for dir := range n.charts {
		own := strings.HasPrefix(dir, ".") && dir != "." || strings.Contains(dir, "/.")
		for up := dir; up != "."; up = path.Dir(up) {
			own = own || slices.Contains([]string{"templates", "crds", "charts", "files"}, path.Base(up)) && n.charts[path.Dir(up)]
		}
		if !own {
			n.roots = append(n.roots, roots.Root{Path: dir, Kind: roots.Chart})
		}
	}
	slices.SortFunc(n.roots, roots.Compare)
}

func (n *naive) reach(changed []string) []roots.Root {
	dirty, plain, charts := map[string]bool{}, map[string]bool{}, map[string]bool{}
	mark := func(p string) {
		for _, reader := range n.readers[p] {
			dirty[reader] = true
		}
	}
	for _, p := range changed {
		dir := path.Dir(p)
		if kustomization.IsFileName(p) {
			dirty[dir] = true
		}
		mark(p)
		for up := dir; up != "."; up = path.Dir(up) {
			if !n.has(up) {
				mark(up)
			}
		}
		for _, reader := range n.plugins {
			for _, named := range append(slices.Clone(n.outside[reader]), reader) {
				if named == "." || p == named || strings.HasPrefix(p, named+"/") {
					dirty[reader] = true
				}
			}
		}
		for dir := range n.charts {
			if real, _, err := n.tree.Lookup(path.Join(dir, "Chart.yaml")); err == nil && real == p {
				charts[dir] = true
			}
		}
		for _, p := range append(slices.Clone(n.aliases[p]), p) {
			dir := path.Dir(p)
			for up := dir; ; up = path.Dir(up) {
				if charts[up] = true; up == "." {
					break
				}
			}
			plain[dir] = plain[dir] || slices.Contains(n.plain[dir], p) || kustomization.IsFileName(p) && len(n.plain[dir]) > 0
		}
	}
	var list []roots.Root
	for _, r := range n.roots {
		reaches := false
		for dir := range n.below(r.Path, map[string]bool{}) {
			reaches = reaches || dirty[dir]
		}
		if r.Kind == roots.Folder && plain[r.Path] || r.Kind == roots.Chart && charts[r.Path] ||
			r.Kind == roots.Kustomization && reaches {
			list = append(list, r)
		}
	}
	return list
}
