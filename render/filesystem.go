package render

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"sync"
	_ "unsafe" // for go:linkname

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

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
