//go:build unix

package mirror

import (
	"errors"
	"os"
	"syscall"
)

// flock takes the lock of a file without waiting; false if another process has it.
func flock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
