//go:build unix

package remote

import (
	"errors"
	"os"
	"syscall"
)

// Flock takes the lock of a file without waiting, alone or with others; it ends with the process, however that ends, or when
// the file is closed. The error is ErrLocked where somebody else has it.
func Flock(f *os.File, shared bool) error {
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}
