package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// lockFolder locks a folder without waiting. The lock ends when the file is closed or the process ends. It fails if the
// folder belongs to another user or is a link.
func lockFolder(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		err = isOurs(f, path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// isOurs returns an error if the folder that was opened at a path belongs to another user or was removed.
func isOurs(f *os.File, path string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if now, err := os.Lstat(path); err != nil || !os.SameFile(info, now) {
		return fs.ErrNotExist
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !ok || int(s.Uid) != os.Geteuid() {
		return fs.ErrPermission
	}
	return nil
}

// Sweep removes the folders of children whose parents were killed. It keeps folders of running processes, folders of
// other users, and other files. The error names what could not be removed.
func Sweep() error {
	dir := os.TempDir()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var problems []error
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), homePrefix) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if lock, err := lockFolder(path); err == nil {
			problems = append(problems, os.RemoveAll(path))
			lock.Close()
		}
	}
	return errors.Join(problems...)
}
