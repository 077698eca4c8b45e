package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrLocked means that another process has the lock.
var ErrLocked = errors.New("another process has the lock")

// Lock makes a file, if it is not there, and takes its lock without waiting. The lock ends with the process, however
// that ends, or when the file is closed. The file stays for good: removing it would let two have the lock. Errors are
// ErrLocked and those of the file system, without the path. Where there is no flock(2) nobody is kept out.
func Lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, WithoutPath(err)
	}
	if err := flock(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// WithoutPath returns the reason of an error of the file system, without the path; other errors as they are.
func WithoutPath(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// Size is how many bytes the files in a folder have; what is removed meanwhile does not count.
func Size(dir string) (size int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			size += info.Size()
		}
		return nil
	})
	return size
}
