package tree

import (
	"cmp"
	"fmt"
	"strings"
)

// Limits for one walk through a tree. A tree may contain the same folder many times, so that a few hundred bytes of
// objects describe 10^12 files. A search in all parents of each file costs the square of the depth.
const (
	defaultFiles = 2_000_000
	maxDepth     = 255  // nested folders
	maxPath      = 4096 // bytes of a path, as in Linux: PATH_MAX
)

// TooManyError means that a tree has more files and folders than the limit.
type TooManyError struct{ Limit int }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("the repository has more than the limit of %d files and folders", e.Limit)
}

// TooDeepError means that a folder is nested deeper, or has a longer path, than any file system allows.
type TooDeepError struct{ Path string } // its beginning

func (e *TooDeepError) Error() string {
	return fmt.Sprintf("the folder %q... is nested more than %d deep, or its path is longer than %d bytes", e.Path,
		maxDepth, maxPath)
}

// SetFileLimit changes how many files and folders one tree may have, or two trees that are compared; 0 means the
// default of 2,000,000.
func (o *Objects) SetFileLimit(files int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.files = files
}

// budget is the remaining limit of one walk.
type budget struct{ left, limit int }

func (o *Objects) newBudget() *budget {
	o.mu.Lock()
	defer o.mu.Unlock()
	limit := cmp.Or(max(0, o.files), defaultFiles)
	return &budget{left: limit, limit: limit}
}

// spend subtracts the entries of a folder, whose path ends with a slash.
func (b *budget) spend(dir string, entries int) error {
	if b.left -= entries; b.left < 0 {
		return &TooManyError{Limit: b.limit}
	}
	if len(dir) > maxPath || strings.Count(dir, "/") > maxDepth {
		return &TooDeepError{Path: dir[:64]}
	}
	return nil
}
