//go:build unix

package mirror

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// group puts git into a process group of its own and makes the end of the context kill the whole group: git
// fetch has children (remote-https, index-pack) that would otherwise live on.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}

// flock takes the lock of a file without waiting; false if another process has it.
func flock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
