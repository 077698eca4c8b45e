package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/lintel-bot/lintel/checks/eval"
	"github.com/lintel-bot/lintel/checks/rules"
)

// fileReader reads what flags name: files, folders, patterns for both, the standard input, and addresses.
type fileReader struct {
	ctx    context.Context
	stdin  io.Reader
	used   bool // the standard input
	linked addresses
}

var errStdinTwice = errors.New("the standard input (-) can be read only once")

// all reads several names in order. branch is the branch of git repositories, empty for the one in the address.
func (r *fileReader) all(names []string, branch string) (out []rules.File, err error) {
	for _, name := range names {
		files, err := r.read(name, branch)
		if err != nil {
			return nil, err
		}
		out = append(out, files...)
	}
	return out, nil
}

// read reads a file, or the manifests in a folder and its subfolders that are not hidden. A name without such a file is
// used as a pattern, if it can be one: shells do not expand quoted patterns.
func (r *fileReader) read(name, branch string) ([]rules.File, error) {
	switch {
	case name == "-":
		if r.used {
			return nil, errStdinTwice
		}
		r.used = true
		data, err := io.ReadAll(io.LimitReader(r.stdin, rules.MaxBytes+1))
		return []rules.File{{Path: "-", Data: data}}, err
	case strings.Contains(name, "://"):
		return r.linked.read(r.ctx, name, branch)
	}
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(name, "*?[") {
		return r.matching(name)
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		source, err := readSource(name)
		return []rules.File{source}, err
	}
	return r.folder(name)
}

// matching reads the files that match a pattern.
func (r *fileReader) matching(pattern string) (out []rules.File, err error) {
	names, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("%q is not a pattern of files: %w", pattern, err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no file matches %q", pattern)
	}
	return r.all(names, "")
}

func (r *fileReader) folder(name string) (out []rules.File, err error) {
	err = filepath.WalkDir(name, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case r.ctx.Err() != nil:
			return r.ctx.Err()
		case p != name && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() || !eval.IsManifest(d.Name()):
			return nil
		}
		source, err := readSource(p)
		out = append(out, source)
		return err
	})
	return out, err
}

// readSource reads one file up to the size that is accepted; of a larger file it reads enough for it to be refused.
func readSource(name string) (rules.File, error) {
	data, err := readAtMost(name, rules.MaxBytes)
	return rules.File{Path: filepath.ToSlash(name), Data: data}, err
}

// readAtMost reads a file; of a larger one it reads one more byte than the limit.
func readAtMost(name string, bytes int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, bytes+1))
}

// replaceFile writes a file atomically.
func replaceFile(name string, data []byte, mode fs.FileMode) error {
	folder, err := os.OpenRoot(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer folder.Close()
	return replaceIn(folder, filepath.Base(name), data, mode)
}

// replaceIn is replaceFile for a file below a folder. It follows no link out of the folder.
func replaceIn(folder *os.Root, name string, data []byte, mode fs.FileMode) error {
	temp := filepath.Join(filepath.Dir(name), ".lintel-"+rand.Text())
	f, err := folder.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err == nil {
		err = folder.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, folder.Remove(temp))
	}
	return nil
}

// plainCause returns a file system error without the path, which the caller adds.
func plainCause(err error) error {
	of, ok := errors.AsType[*fs.PathError](err)
	if !ok {
		return err
	}
	if strings.Contains(of.Err.Error(), "escapes") { // package os has no name for it
		return errors.New("it points outside the repository")
	}
	return of.Err
}
