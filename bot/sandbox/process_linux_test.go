package sandbox

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// limits returns the child's own resource limits and effective capabilities.
func limits() string {
	get := func(resource int) uint64 {
		var l syscall.Rlimit
		if err := syscall.Getrlimit(resource, &l); err != nil {
			return 1 << 63
		}
		return l.Cur
	}
	caps := "unknown" // not read from /proc, which the sandbox blocks
	var data [2]unix.CapUserData
	if err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &data[0]); err == nil {
		caps = fmt.Sprintf("%08x%08x", data[1].Effective, data[0].Effective)
	}
	group := syscall.Getpgrp() == os.Getpid()
	return fmt.Sprintf("core %d, files %t, data %t, cpu %t, group %t, caps %s", get(unix.RLIMIT_CORE),
		get(unix.RLIMIT_NOFILE) <= 1024,
		get(unix.RLIMIT_DATA) < 2<<30, get(unix.RLIMIT_CPU) < 1<<20, group, caps)
}

func TestLimitsAreSet(t *testing.T) {
	b := testSandbox(t, nil)
	got := title(t, b, "limits")
	if !b.plain.Load() && !strings.HasSuffix(got, "caps 0000000000000000") {
		t.Errorf("the child has capabilities in its namespace: %s", got)
	}
	if !strings.HasPrefix(got, "core 0, files true, data true, cpu true, group true,") {
		t.Error(got)
	}
}

// watch returns a function that waits for the end of a process, which must be alive now.
func watch(t *testing.T, pid string) func() {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(n, 0)
	if err != nil {
		t.Fatalf("process %d: %v", n, err)
	}
	return func() {
		t.Helper()
		defer unix.Close(fd)
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		for {
			switch n, err := unix.Poll(p, 20_000); {
			case err == unix.EINTR:
				continue
			case err != nil || n != 1:
				t.Errorf("process %s lives on (%v)", pid, err)
			}
			return
		}
	}
}

func TestGrandchildrenEndWithTheChild(t *testing.T) {
	b := testSandbox(t, nil)
	ended := watch(t, title(t, b, "grandchild"))
	b.Close()
	ended()
}

func TestGrandchildrenEndWhenTheChildDies(t *testing.T) {
	b := testSandbox(t, nil)
	ended := watch(t, title(t, b, "grandchild"))
	if err := syscall.Kill(b.idle[0].child.pid, syscall.SIGKILL); err != nil { // only the child, and not its process group
		t.Fatal(err)
	}
	ended()
}

func TestChildDiesWithItsParent(t *testing.T) {
	parent := exec.Command(os.Args[0], "act-as-parent")
	parent.Env = []string{"TMPDIR=" + t.TempDir()} // a killed parent removes no files
	in, _ := parent.StdinPipe()
	defer in.Close()
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	defer parent.Wait()
	pid, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	ended := watch(t, strings.TrimSpace(pid))
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	ended()
}

// Goroutines with sandbox rules never run on the first thread, whose rules apply to the process: otherwise, a child
// could signal its parent.
func TestOwnThreadIsNotTheFirst(t *testing.T) {
	for range 200 {
		first := make(chan bool)
		onOwnThread(func() { first <- onFirstThread() })
		if <-first {
			t.Fatal("it is the first thread of the process")
		}
	}
}
