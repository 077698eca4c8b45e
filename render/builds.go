package render

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	_ "unsafe" // for go:linkname
	"weak"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/tree"
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
	misprinted   map[int]Issue // by resource
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

// run builds the folder of a plan with kustomize, unless it was built not long ago. With pad, it has blank lines in its files
// (see origin.FileSet), unless these are in the result because a plugin reads a manifest as data.
func (b *builder) run(dir string, p *plan, pad bool) *sharedBuild {
	h := sha256.New()
	fmt.Fprintf(h, "%q %t %t\n", dir, p.openAPI, pad)
	for _, texts := range []map[string][]byte{b.overlay, p.texts} {
		for _, name := range slices.Sorted(maps.Keys(texts)) {
			fmt.Fprintf(h, "%q %x\n", name, sha256.Sum256(texts[name]))
		}
		fmt.Fprintln(h)
	}
	one := b.builds.of(string(h.Sum(nil)))
	one.once.Do(func() {
		if nodes := b.make(one, dir, p, pad); pad && slices.ContainsFunc(nodes, origin.Padded) {
			b.make(one, dir, p, false)
		}
	})
	return one
}

// make builds a folder, with or without blank lines in its files (see origin.FileSet).
func (b *builder) make(one *sharedBuild, dir string, p *plan, pad bool) []*yaml.Node {
	one.files, one.reads, one.resources, one.misprinted = origin.NewFileSet(), map[string]string{}, nil, map[int]Issue{}
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
			case !pad || p.data[name]:
			case p.kustomizations[name] != nil:
				data = one.files.PadInline(p.kustomizations[name], data)
			case p.manifests[name]:
				data = one.files.Pad(name, data)
			}
			padded[name] = data
			return data
		}}
	nodes, err := runKustomize(fsys, dir, p.openAPI)
	if err == nil {
		b.annotated(p, nodes)
	}
	for i, n := range nodes {
		if issue, ok := misprinted(n); ok { // only these nodes have comments
			one.misprinted[i] = issue
		}
		one.resources = append(one.resources, pack(n))
	}
	one.links, one.err = fsys.links, err
	return nodes
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

// mountPoint is the path of the repository in the file system that kustomize sees. Nothing exists outside of it.
const mountPoint = "/repository"

var errReadOnly = errors.New("the repository is read-only while it is rendered")

// fileSystem shows a tree to kustomize, with the contents that transform returns. It contains only the repository and
// the mounts of its kustomizations (see mounts), so neither ".." nor a symlink leads anywhere else.
type fileSystem struct {
	builder   *builder                           // resolves paths
	transform func(p string, data []byte) []byte // p: path in the repository, links resolved
	reads     map[string]string                  // path -> object id; "" for paths that were probed and do not exist
	may       func(p string) bool                // whether a file may be read; nil: all may
	links     map[string]string                  // path -> where it led, for paths that met a symlink; nil: not recorded
}

var _ filesys.FileSystem = (*fileSystem)(nil)

func (f *fileSystem) lookup(p string) (string, tree.Entry, error) {
	in := within(p)
	real, e, err := f.builder.lookup(in)
	if errors.Is(err, tree.ErrNotExist) {
		if from, ok := f.builder.mounts.fileMount(in); ok {
			return f.builder.lookup(from)
		}
		f.note(in, "")
		return "", tree.Entry{}, fmt.Errorf("%s: %w", in, fs.ErrNotExist)
	}
	if err == nil && real != in && f.links != nil {
		f.links[in] = real
	}
	return real, e, err
}

// within converts a path that kustomize sees to a path of this package.
func within(p string) string {
	p = path.Clean(p)
	if in, ok := strings.CutPrefix(p+"/", mountPoint+"/"); ok {
		return path.Clean(in)
	}
	return p
}

// note records that a file of the repository was read. Mounted files are not recorded: their source is, when it is
// requested.
func (f *fileSystem) note(name, id string) {
	if !isMounted(name) {
		f.reads[name] = id
	}
}

func (f *fileSystem) IsDir(p string) bool {
	_, e, err := f.lookup(p)
	return err == nil && e.Kind == tree.Dir
}

func (f *fileSystem) Exists(p string) bool {
	_, _, err := f.lookup(p)
	return err == nil
}

func (f *fileSystem) ReadDir(p string) ([]string, error) {
	real, e, err := f.lookup(p)
	if err != nil {
		return nil, err
	}
	if e.Kind != tree.Dir {
		return nil, fmt.Errorf("%s is not a folder", real)
	}
	list, err := f.builder.readDir(real)
	if err != nil {
		return nil, err
	}
	f.note(real+"/", e.ID)
	names := make([]string, len(list))
	for i, entry := range list {
		names[i] = entry.Name
	}
	return names, nil
}

func (f *fileSystem) CleanedAbs(p string) (filesys.ConfirmedDir, string, error) {
	real, e, err := f.lookup(p)
	if err != nil {
		return "", "", err
	}
	full := place(real)
	if from, ok := f.builder.mounts.fileMount(within(p)); ok && from == real {
		full = path.Clean(p) // kustomize refuses a file whose resolved path is outside its folder
	}
	if e.Kind == tree.Dir {
		return filesys.ConfirmedDir(full), "", nil
	}
	return filesys.ConfirmedDir(path.Dir(full)), path.Base(full), nil
}

func (f *fileSystem) ReadFile(p string) ([]byte, error) {
	real, e, err := f.lookup(p)
	if err != nil {
		return nil, err
	}
	if e.Kind != tree.File {
		return nil, fmt.Errorf("%s is not a file", real)
	}
	if f.may != nil && !f.may(real) {
		return nil, fmt.Errorf("%s is not below the folder of a kustomization, and no kustomization names it", real)
	}
	data, id, err := f.builder.read(real)
	if err != nil {
		return nil, err
	}
	f.note(real, id)
	return f.transform(real, data), nil
}

// Glob returns an error: no step of a build that Lintel runs calls it.
func (f *fileSystem) Glob(string) ([]string, error) { return nil, errors.ErrUnsupported }

func (f *fileSystem) Open(string) (filesys.File, error)    { return nil, errReadOnly }
func (f *fileSystem) Create(string) (filesys.File, error)  { return nil, errReadOnly }
func (f *fileSystem) Mkdir(string) error                   { return errReadOnly }
func (f *fileSystem) MkdirAll(string) error                { return errReadOnly }
func (f *fileSystem) RemoveAll(string) error               { return errReadOnly }
func (f *fileSystem) WriteFile(string, []byte) error       { return errReadOnly }
func (f *fileSystem) Walk(string, filepath.WalkFunc) error { return errReadOnly }

var errCrashed = errors.New(
	"kustomize crashed on this kustomization: look for fields that are null or of the wrong type")

// kustomizeVersion is the version that buildMetadata writes into a label. The program kustomize sets it when it is built; by
// default it is the version of the main module, which a label may not contain.
//
//go:linkname kustomizeVersion sigs.k8s.io/kustomize/api/provenance.version
var kustomizeVersion string

var setVersion = sync.OnceFunc(func() { kustomizeVersion = "v5.8.0" })

// runKustomize builds the kustomization of a folder. If it sets a schema of its own, no other build runs at the same
// time. A panic of kustomize is returned as an error. Changes of the global schema are reset.
func runKustomize(fsys *fileSystem, dir string, ownSchema bool) ([]*yaml.Node, error) {
	run := kustomization.WithSchema
	if ownSchema {
		run = kustomization.WithOwnSchema
	}
	var nodes []*yaml.Node
	var err error
	run(func() { nodes, err = build(fsys, dir) })
	if errors.Is(err, errCrashed) && !ownSchema {
		kustomization.ResetSchema()
	}
	return nodes, err
}

func build(fsys *fileSystem, dir string) (nodes []*yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			nodes, err = nil, errCrashed
		}
	}()
	setVersion()
	options := krusty.MakeDefaultOptions()
	if fsys.builder.index.Unrestricted() {
		options.LoadRestrictions = types.LoadRestrictionsNone
	}
	result, err := krusty.MakeKustomizer(options).Run(fsys, place(dir))
	if err != nil {
		return nil, err
	}
	for _, res := range result.Resources() {
		nodes = append(nodes, res.YNode())
	}
	return nodes, nil
}
