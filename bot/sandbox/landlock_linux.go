package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights of Landlock, by purpose (landlock(7)).
const (
	landlockRead  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	landlockRun   = landlockRead | unix.LANDLOCK_ACCESS_FS_EXECUTE
	landlockWrite = landlockRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REFER
	// landlockFile contains the rights that a rule for a file may have.
	landlockFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	landlockFirst = unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1 // all rights of the first version
	// scopesFixed is the erratum that fixes signals between the threads of one process in a scope, which Go's scheduler
	// needs (Linux, security/landlock/errata/abi-6.h).
	scopesFixed = 1 << (2 - 1)
)

// landlock is what this kernel's Landlock can restrict. Each version adds to the one before.
type landlock struct {
	version, errata       int
	files, network, scope uint64
	lacks                 []string // the restrictions of later versions
}

// newLandlock returns what a version of Landlock restricts (landlock(7), section "Versions").
func newLandlock(version, errata int) landlock {
	l := landlock{version: version, errata: errata}
	lacks := func(what string, takes int) {
		l.lacks = append(l.lacks, fmt.Sprintf("%s: the kernel has version %d of Landlock, which takes version %d", what,
			version, takes))
	}
	l.files = landlockFirst
	if version >= 2 {
		l.files |= unix.LANDLOCK_ACCESS_FS_REFER // in version 1, files could never be moved between folders
	}
	if version >= 3 {
		l.files |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	} else {
		lacks("a rule against truncating files", 3)
	}
	if version >= 4 {
		l.network = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	} else {
		lacks("a rule against TCP", 4)
	}
	if version >= 5 {
		l.files |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV // the only devices in reach are /dev/null and /dev/urandom
	}
	switch {
	case version < 6:
		lacks("a rule against signals to other processes", 6)
	case errata&scopesFixed == 0:
		l.scope = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
		l.lacks = append(l.lacks, "a rule against signals to other processes: the kernel's Landlock lacks a fix (erratum 2)")
	default:
		l.scope = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return l
}

// findLandlock asks the kernel for its version and errata.
func findLandlock() (landlock, error) {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return landlock{}, errno
	}
	errata, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_ERRATA)
	if errno != 0 {
		errata = 0 // the kernel is too old to answer, and has none of the fixes
	}
	return newLandlock(int(version), int(errata)), nil
}

// lacksLandlock describes the missing restrictions for people. what names the rules.
func lacksLandlock(what string, err error) string {
	why := err.Error()
	switch {
	case errors.Is(err, unix.ENOSYS):
		why = "the kernel has none"
	case errors.Is(err, unix.EOPNOTSUPP):
		why = "the kernel was started without it"
	}
	return what + " (Landlock): " + why
}

const (
	fileRules    = "rules for files"
	processRules = "rules for TCP and signals"
)

// confineThread restricts the calling thread, and processes that it starts later, by the rules that are inherited and
// need no paths. They forbid new privileges through exec(2), TCP, and signals and abstract sockets to other processes.
// The rules cannot be removed, so the thread must be locked and end with its goroutine. It returns descriptions, for
// people, of what this kernel cannot do.
//
// The parent sets these rules, and not the child, because Landlock works by thread. A process with several threads
// would get as many domains, and its threads could not signal processes that other threads started. Rules for files
// cannot be set here, since the child's user namespace must still be written.
func confineThread() (lacks []string) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return []string{"the bar to new privileges (no_new_privs): the kernel refuses it"}
	}
	l, err := findLandlock()
	if err != nil {
		return []string{lacksLandlock(processRules, err)}
	}
	if l.network|l.scope == 0 {
		return l.lacks
	}
	rules, err := newRuleset(unix.LandlockRulesetAttr{Handled_access_net: l.network, Scoped: l.scope})
	if err != nil {
		return append(l.lacks, lacksLandlock(processRules, err))
	}
	defer rules.close()
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules.fd), 0, 0); errno != 0 {
		return append(l.lacks, lacksLandlock(processRules, errno))
	}
	return l.lacks
}

// confineFiles permanently restricts the process to the files that its jobs need. It returns descriptions of what is
// missing.
func confineFiles(s setup) (lacks []string) {
	l, err := findLandlock()
	if err == nil {
		err = l.confineFiles(s)
	}
	if err != nil {
		lacks = append(lacks, lacksLandlock(fileRules, err))
	}
	return lacks
}

func (l landlock) confineFiles(s setup) error {
	rules, err := newRuleset(unix.LandlockRulesetAttr{Handled_access_fs: l.files})
	if err != nil {
		return err
	}
	defer rules.close()
	run, err := programFiles(s.Git)
	if err != nil {
		return err
	}
	read := []string{"/dev/urandom",
		// where package time looks for time zones, which policies may use
		"/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/usr/lib/locale/TZ", "/etc/zoneinfo"}
	if self, err := os.Executable(); err == nil { // the cache identifies builds by this file
		read = append(read, self)
	}
	for _, r := range []struct {
		paths  []string
		rights uint64
	}{
		{run, landlockRun},
		{append(read, s.Read...), landlockRead},
		{append([]string{os.DevNull}, s.Write...), landlockWrite},
	} {
		for _, path := range r.paths {
			if err := rules.allow(path, r.rights&l.files); err != nil {
				return err
			}
		}
	}
	return l.restrictProcess(rules)
}

// restrictProcess applies the rules to all threads.
func (l landlock) restrictProcess(rules ruleset) error {
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules.fd), 0, 0)
	if errno == syscall.ENOTSUP { // Go cannot do this with cgo; the kernel can since version 8
		if l.version < 8 {
			return errors.New("this program is built with cgo, and the kernel cannot restrict all its threads")
		}
		_, _, errno = unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules.fd), unix.LANDLOCK_RESTRICT_SELF_TSYNC, 0)
	}
	if errno != 0 {
		return errno
	}
	return nil
}

// ruleset is an unfinished set of Landlock rules.
type ruleset struct{ fd int }

func newRuleset(handled unix.LandlockRulesetAttr) (ruleset, error) {
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&handled)),
		unsafe.Sizeof(handled), 0)
	if errno != 0 {
		return ruleset{}, errno
	}
	return ruleset{fd: int(fd)}, nil
}

func (r ruleset) close() { _ = unix.Close(r.fd) }

// allow grants rights on a file, or on a folder and everything below it. It follows links, and does nothing for a path
// that does not exist.
func (r ruleset) allow(path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES) {
			return nil
		}
		return err
	}
	defer unix.Close(fd)
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return err
	}
	if info.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= landlockFile
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// programFiles returns the files that a program and its loader read: the program itself, and the folders of libraries.
func programFiles(program string) ([]string, error) {
	files := []string{
		"/lib", "/lib32", "/lib64", "/libx32", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/libexec",
		"/usr/local/lib", "/usr/local/lib64", "/usr/local/libexec",
		"/nix/store", "/gnu/store", "/home/linuxbrew/.linuxbrew/lib", "/home/linuxbrew/.linuxbrew/opt",
		"/home/linuxbrew/.linuxbrew/Cellar",
		"/etc/ld.so.cache", "/etc/ld.so.preload",
	}
	if program == "" {
		return files, nil
	}
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return files, nil // the job reports the missing git
	}
	if script, err := isScript(real); err != nil || script {
		return nil, errors.New("git is a script here, so the files that it needs are not known")
	}
	prefix := filepath.Dir(filepath.Dir(real))
	return append(files, real, filepath.Join(prefix, "lib"), filepath.Join(prefix, "lib64"),
		filepath.Join(prefix, "libexec")), nil
}

// isScript reports whether a program is a script, which needs an interpreter (execve(2), "Interpreter scripts").
func isScript(file string) (bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	var begin [2]byte
	_, err = f.Read(begin[:])
	return string(begin[:]) == "#!", err
}
