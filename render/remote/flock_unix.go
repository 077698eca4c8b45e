//go:build unix

package remote

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// flock locks a file without waiting, exclusively or shared. The lock ends when the process ends or the file is closed.
// It fails with ErrLocked where somebody else holds the lock. What it returns is closed to release it, also then.
func flock(f *os.File, shared bool) (io.Closer, error) {
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrLocked
	}
	return f, err
}
