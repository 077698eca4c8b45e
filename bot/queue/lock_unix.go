//go:build unix

package queue

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockFile takes a lock that ends with the process, however it ends. Two embedded servers on one folder
// would destroy each other's files.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the data directory is not writable: %w", withoutPath(err))
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, fmt.Errorf("locking the data directory: %w", err)
	}
	return f, nil
}
