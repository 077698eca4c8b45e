package graph

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/env"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// Cache keeps the indexes of trees, in memory and on disk, and parsed kustomization files, for later graphs. It is safe
// for concurrent use. The zero value is ready and writes nothing to disk.
type Cache struct {
	Disk       *env.Disk   // nil: memory only
	Memory     *env.Memory // for what others read from files; nil: nothing is kept
	Repository string      // distinguishes repositories, as only indexes of the same one are compared

	mu     sync.Mutex
	recent []known // the most recently used first
	parsed map[string]parsed
}

// known is the index of a tree. snapshot is nil until it is read from disk.
type known struct {
	scope, tree string
	snapshot    *snapshot
}

const (
	maxRecent = 4    // indexes in memory
	maxNear   = 4    // indexes that are compared to find the nearest one
	maxParsed = 4096 // kustomization files in memory
	// maxDrift is the number of changed files above which a tree gets its own index.
	maxDrift = 64
)

type parsed struct {
	file *kustomization.File
	err  error
}

// Build returns the graph of a tree. It reads the files that differ from the nearest tree with a known index, or all
// kustomizations and manifests if there is none; the result is the same. Errors of single files are part of the graph
// (see Kustomization). An error of Build means that the repository could not be read.
func Build(t *tree.Tree, o Options, c *Cache) (*Graph, error) {
	g := &Graph{tree: t, options: o, cache: c}
	scope := c.scope(t, o)
	from, differences, err := c.near(t, scope)
	if err != nil {
		return nil, err
	}
	if from.tree != "" {
		g.scope = scope
	}
	if err := g.derive(from, differences); err != nil {
		return nil, err
	}
	if t.ID() != "" && (from.tree == "" || len(differences) > maxDrift) {
		if err := g.settle(); err != nil {
			return nil, err
		}
		c.use(known{scope, t.ID(), g.base})
		if c.Disk != nil {
			_ = c.Disk.Put(scope, t.ID(), g.base.data) // if it fails, the next process reads more files
		}
	}
	return g, nil
}

// Unindexed returns a graph that only knows the kustomization of each folder (see Kustomization), which costs nothing.
// It is for callers that render one kustomization without looking for roots.
func Unindexed(t *tree.Tree, o Options) *Graph {
	return &Graph{tree: t, options: o, cache: &Cache{}, base: &snapshot{}, added: &facts{}}
}

// scope identifies everything that an index depends on, except the tree.
func (c *Cache) scope(t *tree.Tree, o Options) string {
	parts := append([]string{"graph", c.Repository, fmt.Sprint(o.Limits, t.BlobLimit(), len(o.Marks))}, o.Marks...)
	for _, n := range o.Notes {
		parts = append(parts, n.Of)
	}
	if c.Disk != nil {
		return c.Disk.Scope(parts...)
	}
	return fmt.Sprintf("%q", parts)
}

// near returns the index to start from, and how the tree differs from its tree. Where no index is known, it is an empty
// one.
func (c *Cache) near(t *tree.Tree, scope string) (known, []tree.Difference, error) {
	c.mu.Lock()
	var candidates []known
	for _, k := range c.recent {
		if k.scope == scope && t.ID() != "" { // no tree is near the empty one
			candidates = append(candidates, k)
		}
	}
	c.mu.Unlock()
	if c.Disk != nil && t.ID() != "" {
		for _, id := range c.Disk.Names(scope) {
			if !slices.ContainsFunc(candidates, func(k known) bool { return k.tree == id }) {
				candidates = append(candidates, known{scope: scope, tree: id})
			}
		}
	}
	// Try the index of the tree itself first.
	if i := slices.IndexFunc(candidates, func(k known) bool { return k.tree == t.ID() }); i > 0 {
		candidates[0], candidates[i] = candidates[i], candidates[0]
	}
	for range maxNear {
		best, differences := nearest(t, candidates[:min(len(candidates), maxNear)])
		if best < 0 {
			break
		}
		k := candidates[best]
		if c.load(&k) {
			return k, differences, nil
		}
		candidates = slices.Delete(candidates, best, best+1)
	}
	differences, err := tree.Diff(t.Empty(), t)
	return known{snapshot: &snapshot{}}, differences, err
}

// nearest returns the candidate with the fewest differences, -1 where none can be compared.
func nearest(t *tree.Tree, candidates []known) (int, []tree.Difference) {
	best, least := -1, []tree.Difference(nil)
	for i, k := range candidates {
		from, err := t.Sibling(k.tree)
		if err != nil {
			continue // the repository no longer has it
		}
		differences, err := tree.Diff(from, t)
		if err != nil || slices.ContainsFunc(differences, symlink) {
			continue // the target of a symlink may affect any file
		}
		if best < 0 || len(differences) < len(least) {
			best, least = i, differences
		}
		if len(least) <= maxDrift {
			break
		}
	}
	return best, least
}

func symlink(d tree.Difference) bool {
	return d.Old != nil && d.Old.Kind == tree.Symlink || d.New != nil && d.New.Kind == tree.Symlink
}

// load reads an index from disk unless it is in memory.
func (c *Cache) load(k *known) bool {
	if k.snapshot == nil {
		data, ok := c.Disk.Get(k.scope, k.tree)
		if !ok {
			return false
		}
		s, err := decode(data)
		if err != nil {
			return false
		}
		k.snapshot = s
	}
	c.use(*k)
	return true
}

// use moves an index to the front of those in memory.
func (c *Cache) use(k known) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recent = slices.DeleteFunc(c.recent,
		func(other known) bool { return other.scope == k.scope && other.tree == k.tree })
	c.recent = slices.Insert(c.recent, 0, k)
	c.recent = c.recent[:min(len(c.recent), maxRecent)]
}

// parse reads the kustomization file of a folder, nil where it has none.
func (c *Cache) parse(t *tree.Tree, dir string, o Options) parsed {
	p, _, err := locate(t, dir)
	if err != nil || p == "" {
		return parsed{err: err}
	}
	data, id, err := t.ReadFile(p)
	if large, ok := errors.AsType[*tree.TooLargeError](err); ok {
		err = &doc.Error{Path: p, Message: large.Error()}
	}
	if err != nil {
		return parsed{err: err}
	}
	key := fmt.Sprint(id, " ", o.Limits, " ", p) // positions contain the path
	c.mu.Lock()
	entry, ok := c.parsed[key]
	c.mu.Unlock()
	if ok {
		return entry
	}
	entry.file, entry.err = kustomization.Parse(p, data, o.Limits)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.parsed == nil || len(c.parsed) >= maxParsed {
		c.parsed = map[string]parsed{}
	}
	c.parsed[key] = entry
	return entry
}

// derive completes a graph that starts from the index of another tree. Facts in the index about changed files and
// folders are hidden, and replaced by new ones.
func (g *Graph) derive(from known, differences []tree.Difference) error {
	g.base = from.snapshot
	g.hiddenFolders, g.hiddenFiles = map[string]bool{}, map[string]bool{}
	for _, d := range differences {
		first, end := g.base.row(parents, d.Path)
		if kustomization.IsFileName(d.Path) {
			g.hiddenFolders[path.Dir(d.Path)] = true
		}
		if kustomization.IsFileName(d.Path) || IsManifestName(d.Path) || d.New != nil && d.New.Kind == tree.Symlink ||
			first < end { // a kustomization includes it as a resource
			g.hiddenFiles[d.Path] = true
		}
	}
	if len(differences) > 0 {
		for dir := range g.base.values(folders, linked) {
			g.hiddenFolders[dir] = true // a new or removed file may change the target of a symlink
		}
	}
	added, err := g.scan(slices.Sorted(maps.Keys(g.hiddenFolders)), slices.Sorted(maps.Keys(g.hiddenFiles)))
	g.added = added
	if err != nil {
		return err
	}
	// A kustomization may include a file with any name as a resource.
	var others []string
	for p := range added[parents] {
		if !IsManifestName(p) && !kustomization.IsFileName(p) && !g.hiddenFiles[p] {
			others = append(others, p)
			g.hiddenFiles[p] = true
		}
	}
	slices.Sort(others)
	more, err := g.scan(nil, others)
	if err == nil {
		added.merge(more)
	}
	return err
}

// settle gives the graph its own index, so that nothing is added or hidden.
func (g *Graph) settle() error {
	all := &facts{}
	for r := range relations {
		for key := range g.base.keys(r, "") {
			for value := range g.base.values(r, key) {
				if g.counts(r, value) {
					all.add(r, key, value)
				}
			}
		}
	}
	all.merge(g.added)
	base, err := decode(encode(all))
	if err != nil {
		return err
	}
	g.base, g.added, g.hiddenFiles, g.hiddenFolders = base, &facts{}, nil, nil
	return nil
}

// counts reports whether a value of the index still counts: it is not outdated, and a file without the name of a manifest
// is still included by a kustomization as a resource.
func (g *Graph) counts(r relation, p string) bool {
	if r.byFolder() {
		return !g.hiddenFolders[p]
	}
	if g.hiddenFiles[p] {
		return false
	}
	if IsManifestName(p) || kustomization.IsFileName(p) || g.IsResource(p) {
		return true
	}
	e, err := g.tree.Entry(p)
	return err == nil && e.Kind == tree.Symlink
}

// values lists the current paths of a key in a relation, sorted.
func (g *Graph) values(r relation, key string) []string {
	var list []string
	for v := range g.base.values(r, key) {
		if g.counts(r, v) {
			list = append(list, v)
		}
	}
	if added := g.added[r][key]; len(added) > 0 { // those of the base are sorted
		list = append(list, added...)
		slices.Sort(list)
		list = slices.Compact(list)
	}
	return list
}

// has reports whether a relation contains a key with a path.
func (g *Graph) has(r relation, key, value string) bool {
	return slices.Contains(g.added[r][key], value) || g.base.has(r, key, value) && g.counts(r, value)
}
