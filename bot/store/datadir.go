package store

import (
	"os"

	"github.com/lintel-bot/lintel/render/remote"
)

// Lock makes a file, if it is not there, and takes its lock without waiting. The lock ends with the process, however
// that ends, or when the file is closed. The file stays for good: removing it would let two have the lock. Errors are
// remote.ErrLocked and those of the file system, without the path. Where there is no flock(2) nobody is kept out.
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
