package store

import (
	"os"

	"github.com/lintel-bot/lintel/render/remote"
)

// Lock creates a file, if it does not exist, and takes its lock without waiting. The lock ends with the process, or
// when the file is closed. The file is never removed, since two processes could then have the lock. Errors are
// remote.ErrLocked and those of the file system, without the path. Without flock(2) the lock has no effect.
func Lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, remote.WithoutPath(err)
	}
	if err := remote.Flock(f, false); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
