package preview

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"time"

	"github.com/lintel-bot/lintel/render/tree"
)

// treeFiles is a tree as a file system: symlinks are followed inside it, and files are read whole.
type treeFiles struct{ tree *tree.Tree }

var (
	_ fs.ReadFileFS = treeFiles{}
	_ fs.ReadDirFS  = treeFiles{}
	_ fs.StatFS     = treeFiles{}
)

func pathError(op, name string, err error) error {
	if errors.Is(err, tree.ErrNotExist) {
		err = fs.ErrNotExist
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

func (f treeFiles) Stat(name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, pathError("stat", name, fs.ErrInvalid)
	}
	_, e, err := f.tree.Lookup(name)
	if err != nil {
		return nil, pathError("stat", name, err)
	}
	return treeInfo{path.Base(name), e.Kind, 0}, nil
}

func (f treeFiles) ReadFile(name string) ([]byte, error) {
	if !fs.ValidPath(name) {
		return nil, pathError("read", name, fs.ErrInvalid)
	}
	data, _, err := f.tree.ReadFile(name)
	if err != nil {
		return nil, pathError("read", name, err)
	}
	return bytes.Clone(data), nil
}

// ReadDir lists a folder. Symlinks and submodules are not told from files: whoever reads them learns what they are.
func (f treeFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	if !fs.ValidPath(name) {
		return nil, pathError("readdir", name, fs.ErrInvalid)
	}
	entries, err := f.tree.ReadDir(name)
	if err != nil {
		return nil, pathError("readdir", name, err)
	}
	list := make([]fs.DirEntry, len(entries))
	for i, e := range entries {
		list[i] = fs.FileInfoToDirEntry(treeInfo{e.Name, e.Kind, 0})
	}
	return list, nil
}

// Open opens a file; folders are listed by ReadDir only.
func (f treeFiles) Open(name string) (fs.File, error) {
	data, err := f.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return openFile{bytes.NewReader(data), treeInfo{path.Base(name), tree.File, int64(len(data))}}, nil
}

type openFile struct {
	io.Reader
	info treeInfo
}

func (o openFile) Stat() (fs.FileInfo, error) { return o.info, nil }
func (openFile) Close() error                 { return nil }

// treeInfo describes an entry; its size is known of open files only.
type treeInfo struct {
	name string
	kind tree.Kind
	size int64
}

func (i treeInfo) Name() string     { return i.name }
func (i treeInfo) Size() int64      { return i.size }
func (treeInfo) ModTime() time.Time { return time.Time{} }
func (i treeInfo) IsDir() bool      { return i.kind == tree.Dir }
func (treeInfo) Sys() any           { return nil }
func (i treeInfo) Mode() fs.FileMode {
	if i.IsDir() {
		return fs.ModeDir | 0o555
	}
	return 0o444
}
