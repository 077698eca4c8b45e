package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

const signalCPU = syscall.SIGXCPU

// sandboxID is the user and group of the child in its namespace. It is not root, so the child has no capabilities in
// its namespace either. Outside, the child has the parent's user.
const sandboxID = 65532

// processAttributes puts the child into its own process group, and ends it with the parent. Unless plain, the child
// gets its own user and network namespaces; the latter has not even a loopback interface.
func processAttributes(plain bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if plain {
		return a
	}
	a.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: sandboxID, HostID: os.Geteuid(), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: sandboxID, HostID: os.Getegid(), Size: 1}}
	return a
}

// namespacesRefused reports whether a start failed because of namespaces, so that a start without them may succeed
// (clone(2): EPERM where the system forbids them, EINVAL where the kernel lacks them, ENOSPC at their limit; EACCES
// from security modules).
func namespacesRefused(err error) bool {
	return slices.ContainsFunc([]error{syscall.EPERM, syscall.EACCES, syscall.EINVAL, syscall.ENOSPC, syscall.ENOSYS,
		syscall.EUSERS}, func(e error) bool { return errors.Is(err, e) })
}

// awaitExit waits for the end of the process without reaping it. It reports whether it could wait.
func awaitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

func signalOf(s *os.ProcessState) syscall.Signal {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return w.Signal()
	}
	return 0
}

// limitResources sets the limits of setrlimit(2). It limits memory by RLIMIT_DATA, because an idle Go process reserves
// over a gigabyte of address space (RLIMIT_AS), while its private writable mappings are about what it uses. The present
// size is added, so that the limit applies to what a job adds.
func limitResources(s setup) error {
	now, err := dataSize()
	if err != nil {
		now = 256 << 20 // without /proc, this is room for the mappings of the runtime and the libraries
	}
	for _, l := range []struct {
		resource int
		value    uint64
	}{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_NOFILE, 1024},
		{unix.RLIMIT_DATA, now + uint64(s.Memory)},
	} {
		var old syscall.Rlimit
		if err := syscall.Getrlimit(l.resource, &old); err != nil {
			return err
		}
		v := min(l.value, old.Max)
		if err := syscall.Setrlimit(l.resource, &syscall.Rlimit{Cur: v, Max: v}); err != nil {
			return err
		}
	}
	return nil
}

// renewProcessorTime allows the next job the processor time that all processors have within its deadline. Usually the
// parent's clock ends a job first; this limit works even if the parent is stopped.
func renewProcessorTime(s setup) {
	var used syscall.Rusage
	var old syscall.Rlimit
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil || syscall.Getrlimit(syscall.RLIMIT_CPU, &old) != nil {
		return
	}
	seconds := uint64(int64(used.Utime.Sec) + int64(used.Stime.Sec) + 10 + s.Seconds*int64(runtime.NumCPU()))
	_ = syscall.Setrlimit(syscall.RLIMIT_CPU, &syscall.Rlimit{Cur: min(seconds, old.Max), Max: old.Max})
}

// dataSize is the size of the private writable mappings in bytes, what RLIMIT_DATA counts (proc(5)).
func dataSize() (uint64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmData:")); ok {
			if f := bytes.Fields(rest); len(f) == 2 {
				n, err := strconv.ParseUint(string(f[0]), 10, 54)
				return n << 10, err
			}
		}
	}
	return 0, fmt.Errorf("the kernel does not report the size of the data")
}

// onFirstThread reports whether the caller runs on the first thread of the process.
func onFirstThread() bool { return unix.Gettid() == os.Getpid() }
