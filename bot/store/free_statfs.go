//go:build linux || darwin || freebsd

package store

import (
	"math"
	"syscall"
)

// Free is how many bytes the file system of a folder has left for this process; math.MaxInt64 where it does not say.
func Free(dir string) int64 {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return math.MaxInt64
	}
	blocks, size := uint64(s.Bavail), uint64(s.Bsize)
	if size == 0 || blocks > math.MaxInt64/size {
		return math.MaxInt64
	}
	return int64(blocks * size)
}
