package remote

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

func TestLockFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := LockFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LockFile(path, false); !errors.Is(err, ErrLocked) {
		t.Errorf("a second lock: %v", err)
	}
	f.Close()
	again, err := LockFile(path, false)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
	if _, err := LockFile(filepath.Join(path, "x"), false); err == nil || strings.Contains(err.Error(), path) {
		t.Errorf("a path that cannot be: %v", err)
	}
}
