package render

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/lintel-bot/lintel/render/tree"
)

// mount is where the repository stands in the file system that kustomize sees. A path that leads out of the
// repository leads to nothing.
const mount = "/repository"

var errReadOnly = errors.New("the repository is read-only while it is rendered")

// fileSystem shows a tree to kustomize, with the files as transform leaves them. It holds nothing but the
// repository, so neither ".." nor a symlink leads anywhere else.
type fileSystem struct {
	renderer  *Renderer                          // where paths lead, and what is there
	transform func(p string, data []byte) []byte // p: path in the repository, links resolved
	reads     map[string]string                  // path -> object id; "" for paths that were probed and do not exist
	links     map[string]string                  // path -> where it led, for paths that met a symlink; nil: not recorded
}

var _ filesys.FileSystem = (*fileSystem)(nil)

func (f *fileSystem) lookup(p string) (string, tree.Entry, error) {
	in, ok := strings.CutPrefix(path.Clean(p)+"/", mount+"/")
	if !ok {
		return "", tree.Entry{}, fs.ErrNotExist
	}
	in = path.Clean(in) // within the repository
	real, e, err := f.renderer.lookup(in)
	if errors.Is(err, tree.ErrNotExist) {
		f.reads[in] = ""
		return "", tree.Entry{}, fmt.Errorf("%s: %w", in, fs.ErrNotExist)
	}
	if err == nil && real != in && f.links != nil {
		f.links[in] = real
	}
	return real, e, err
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
	list, err := f.renderer.tree.ReadDir(real)
	if err != nil {
		return nil, err
	}
	f.reads[real+"/"] = e.ID
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
	full := path.Join(mount, real)
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
	data, id, err := f.renderer.read(real)
	if err != nil {
		return nil, err
	}
	f.reads[real] = id
	return f.transform(real, data), nil
}

// Glob is not asked by any step of a build that Lintel runs.
func (f *fileSystem) Glob(string) ([]string, error) { return nil, errors.ErrUnsupported }

func (f *fileSystem) Open(string) (filesys.File, error)    { return nil, errReadOnly }
func (f *fileSystem) Create(string) (filesys.File, error)  { return nil, errReadOnly }
func (f *fileSystem) Mkdir(string) error                   { return errReadOnly }
func (f *fileSystem) MkdirAll(string) error                { return errReadOnly }
func (f *fileSystem) RemoveAll(string) error               { return errReadOnly }
func (f *fileSystem) WriteFile(string, []byte) error       { return errReadOnly }
func (f *fileSystem) Walk(string, filepath.WalkFunc) error { return errReadOnly }
