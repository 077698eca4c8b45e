//go:build unix

package gitcmd

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
