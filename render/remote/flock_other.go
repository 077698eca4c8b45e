//go:build !unix

package remote

import (
	"io"
	"os"
	"sync"
)

// locked are the names of the files that are locked exclusively.
var locked sync.Map

// flock locks a file among the goroutines of this process. Without flock(2), only one process at a time may use a store.
func flock(f *os.File, shared bool) (io.Closer, error) {
	if shared {
		return f, nil
	}
	if _, taken := locked.LoadOrStore(f.Name(), true); taken {
		return f, ErrLocked
	}
	return lockedFile{f}, nil
}

type lockedFile struct{ *os.File }

func (f lockedFile) Close() error {
	defer locked.Delete(f.Name())
	return f.File.Close()
}
