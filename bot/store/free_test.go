package store

import (
	"math"
	"path/filepath"
	"runtime"
	"testing"
)

func TestFreeSpaceOfDisk(t *testing.T) {
	if free := Free(t.TempDir()); free <= 0 || runtime.GOOS == "linux" && free == math.MaxInt64 {
		t.Errorf("%d bytes", free)
	}
	if free := Free(filepath.Join(t.TempDir(), "none")); free != math.MaxInt64 {
		t.Errorf("a folder that is not there: %d bytes", free)
	}
}
