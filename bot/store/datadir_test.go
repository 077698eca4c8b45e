package store

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/render/remote"
)

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(path); !errors.Is(err, remote.ErrLocked) {
		t.Errorf("a second lock: %v", err)
	}
	f.Close()
	again, err := Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
	if _, err := Lock(filepath.Join(path, "x")); err == nil || strings.Contains(err.Error(), path) {
		t.Errorf("a path that cannot be: %v", err)
	}
}
