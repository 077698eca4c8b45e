package store

import (
	"io/fs"
	"path/filepath"
)

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
