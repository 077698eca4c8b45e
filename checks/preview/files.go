package preview

import (
	"errors"
	"io/fs"
	"path"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree"
)

// treeFiles is a tree as an fs.FS: it follows symlinks inside the tree, and reads whole files.
type treeFiles struct{ tree *tree.Tree }

// Open implements fs.FS. It fails: io/fs asks the other methods for files and folders.
func (f treeFiles) Open(name string) (fs.File, error) {
	return nil, failed(name, errors.ErrUnsupported)
}

// Stat implements fs.StatFS.
func (f treeFiles) Stat(name string) (fs.FileInfo, error) {
	_, e, err := f.tree.Lookup(name)
	return treeInfo{path.Base(name), e.Kind}, failed(name, err)
}

// ReadFile implements fs.ReadFileFS. The content is shared: it must not be changed.
func (f treeFiles) ReadFile(name string) ([]byte, error) {
	data, _, err := f.tree.ReadFile(name)
	return data, failed(name, err)
}

// ReadDir implements fs.ReadDirFS. Symlinks and submodules are listed as files; reading them resolves or rejects them.
func (f treeFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := f.tree.ReadDir(name)
	return report.Mapped(entries, func(e tree.Entry) fs.DirEntry {
		return fs.FileInfoToDirEntry(treeInfo{e.Name, e.Kind})
	}), failed(name, err)
}

// failed returns the error of package fs for an error of a tree.
func failed(name string, err error) error {
	switch {
	case !fs.ValidPath(name):
		err = fs.ErrInvalid
	case err == nil:
		return nil
	case errors.Is(err, tree.ErrNotExist):
		err = fs.ErrNotExist
	}
	return &fs.PathError{Op: "open", Path: name, Err: err}
}

// treeInfo describes an entry, without its size.
type treeInfo struct {
	name string
	kind tree.Kind
}

func (i treeInfo) Name() string     { return i.name }
func (treeInfo) Size() int64        { return 0 }
func (treeInfo) ModTime() time.Time { return time.Time{} }
func (i treeInfo) IsDir() bool      { return i.kind == tree.Dir }
func (treeInfo) Sys() any           { return nil }
func (i treeInfo) Mode() fs.FileMode {
	if i.IsDir() {
		return fs.ModeDir | 0o555
	}
	return 0o444
}
