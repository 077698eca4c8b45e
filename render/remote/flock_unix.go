//go:build unix

package remote

import (
	"errors"
	"os"
	"syscall"
)

// flock locks a file without waiting, exclusively or shared. The lock ends when the process ends or the file is closed.
// It fails with ErrLocked where another process holds the lock.
func flock(f *os.File, shared bool) error {
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
