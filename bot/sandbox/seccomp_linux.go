package sandbox

import (
	"errors"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// errNoFilter means that there is no list of system calls for this processor architecture.
var errNoFilter = errors.New("no list of system calls for " + runtime.GOARCH)

// filterCalls permanently denies system calls that a check never needs, with a seccomp filter (seccomp(2)). It applies
// to all threads of the process, and to processes that they start. Denied calls fail with EPERM and do not kill the
// process, so that errors name the operation.
func filterCalls() error {
	if auditArch == 0 {
		return errNoFilter
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// Without this setting, only root may set a filter. TSYNC applies the filter to the other threads.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	filter := callFilter()
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program)))
	switch {
	case errno != 0:
		return errno
	case thread != 0: // this thread already has another filter
		return unix.ESRCH
	}
	return nil
}

// lacksFilter describes the missing filter for people.
func lacksFilter(err error) string {
	why := "the kernel refuses it (" + err.Error() + ")"
	switch {
	case errors.Is(err, errNoFilter):
		why = err.Error()
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL):
		why = "the kernel has none"
	}
	return "its filter of system calls (seccomp): " + why
}

// The offsets in struct seccomp_data that the filter reads (seccomp(2)). Both architectures are little-endian, so the
// low half of an argument comes first.
const (
	offsetCall     = 0
	offsetArch     = 4
	offsetArgument = 16
)

const (
	foreignABI = 0x40000000 // amd64: the bit of x32 calls (__X32_SYSCALL_BIT); arm64 has no call numbers this high
	// newNamespaces are the flags of clone(2) that create namespaces.
	newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
)

// callFilter returns the program of the filter: each step either decides or continues with the next step.
func callFilter() []unix.SockFilter {
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	jump := func(test uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: k, Jt: yes, Jf: no}
	}
	answer := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	refuse := func(errno syscall.Errno) unix.SockFilter { return answer(unix.SECCOMP_RET_ERRNO | uint32(errno)) }
	allow := answer(unix.SECCOMP_RET_ALLOW)

	program := []unix.SockFilter{
		load(offsetArch), jump(unix.BPF_JEQ, auditArch, 1, 0), refuse(unix.ENOSYS), // calls of another architecture
		load(offsetCall), jump(unix.BPF_JGE, foreignABI, 0, 1), refuse(unix.ENOSYS),
	}
	for _, call := range deniedCalls() {
		program = append(program, jump(unix.BPF_JEQ, uint32(call), 0, 1), refuse(unix.EPERM))
	}
	return append(program,
		// The flags of clone3(2) are in memory, which a filter cannot read. After ENOSYS, libraries use clone(2).
		jump(unix.BPF_JEQ, unix.SYS_CLONE3, 0, 1), refuse(unix.ENOSYS),
		jump(unix.BPF_JEQ, unix.SYS_CLONE, 0, 4),
		load(offsetArgument), jump(unix.BPF_JSET, newNamespaces, 0, 1), refuse(unix.EPERM), allow,
		// A child may change only its own limits, because the server runs under the same user.
		jump(unix.BPF_JEQ, unix.SYS_PRLIMIT64, 0, 4),
		load(offsetArgument), jump(unix.BPF_JEQ, 0, 1, 0), refuse(unix.EPERM), allow,
		allow,
	)
}
