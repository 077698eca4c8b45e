package preview

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"time"

	"github.com/lintel-bot/lintel/render/tree"
)

// treeFiles is a tree as an fs.FS: it follows symlinks inside the tree, and reads whole files.
type treeFiles struct{ tree *tree.Tree }

// Open implements fs.FS.
func (f treeFiles) Open(name string) (fs.File, error) {
	file, err := f.open(name)
	if errors.Is(err, tree.ErrNotExist) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return file, nil
}

func (f treeFiles) open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, fs.ErrInvalid
	}
	_, e, err := f.tree.Lookup(name)
	if err != nil {
		return nil, err
	}
	file := treeFile{info: treeInfo{path.Base(name), e.Kind, 0}}
	if e.Kind == tree.Dir {
		file.entries, err = f.tree.ReadDir(name)
		return file, err
	}
	data, _, err := f.tree.ReadFile(name)
	file.data, file.info.size = bytes.NewReader(data), int64(len(data))
	return file, err
}

// treeFile is an open file, or a folder with its entries.
type treeFile struct {
	info    treeInfo
	data    *bytes.Reader
	entries []tree.Entry
}

func (f treeFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (treeFile) Close() error                 { return nil }

func (f treeFile) Read(p []byte) (int, error) {
	if f.info.IsDir() {
		return 0, fs.ErrNotExist
	}
	return f.data.Read(p)
}

// ReadDir lists the folder. Symlinks and submodules are listed as files; opening them resolves or rejects them.
func (f treeFile) ReadDir(int) ([]fs.DirEntry, error) {
	list := make([]fs.DirEntry, len(f.entries))
	for i, e := range f.entries {
		list[i] = fs.FileInfoToDirEntry(treeInfo{e.Name, e.Kind, 0})
	}
	return list, nil
}

// treeInfo describes an entry. The size is known for open files only.
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
