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

// Rights of Landlock, by what they are for (landlock(7)).
const (
	landlockRead  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	landlockRun   = landlockRead | unix.LANDLOCK_ACCESS_FS_EXECUTE
	landlockWrite = landlockRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REFER
	// landlockFile are the rights that a rule on a file may name.
	landlockFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	landlockFirst = unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1 // all of the first version
	// scopesFixed is the erratum after whose fix a thread in a scope may still signal the others of its
	// own process, as Go's scheduler does (Linux, security/landlock/errata/abi-6.h).
	scopesFixed = 1 << (2 - 1)
)

// landlock is what this kernel's Landlock can refuse: each version adds to the one before.
type landlock struct {
	version, errata       int
	files, network, scope uint64
	lacks                 []string // what later versions refuse besides
}

// newLandlock lists what a version of Landlock refuses (landlock(7), section "Versions").
func newLandlock(version, errata int) landlock {
	l := landlock{version: version, errata: errata}
	lacks := func(what string, takes int) {
		l.lacks = append(l.lacks, fmt.Sprintf("%s: the kernel has version %d of Landlock, which takes version %d", what,
			version, takes))
	}
	l.files = landlockFirst
	if version >= 2 {
		l.files |= unix.LANDLOCK_ACCESS_FS_REFER // before, no file could be moved between folders at all
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
		l.files |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV // no device is reached but /dev/null and /dev/urandom
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

// findLandlock asks the kernel.
func findLandlock() (landlock, error) {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return landlock{}, errno
	}
	errata, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_ERRATA)
	if errno != 0 {
		errata = 0 // the kernel is older than the question, and than the fixes
	}
	return newLandlock(int(version), int(errata)), nil
}

// lacksLandlock is what is missing, in words for people; what names the rules.
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

// confineThread puts the calling thread, and what it starts from now on, under the part of the sandbox that
// is inherited and needs no paths: no new privileges through exec(2), no TCP, no signals and abstract sockets
// to processes outside. It is for good, so the thread must be locked and end with its goroutine. It returns
// what this kernel cannot do, in words for people.
//
// These rules are set before the child exists, and not by the child, because Landlock works by thread: a
// process of several threads would get as many domains, and its threads could not signal what others
// started. Rules for files cannot be set here, as the child's user namespace is yet to be written.
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

// confineFiles restricts the process for good to the files that its jobs need. It returns what is
// missing, in words for people.
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
	read := append([]string{"/dev/urandom"}, zoneFiles()...)
	if self, err := os.Executable(); err == nil { // the cache tells builds apart by it
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

// restrictProcess puts all threads under the rules.
func (l landlock) restrictProcess(rules ruleset) error {
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules.fd), 0, 0)
	if errno == syscall.ENOTSUP { // Go cannot do that to threads of C; the kernel can since version 8
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

// ruleset is a set of Landlock rules that is being made.
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

// allow grants rights on a file, or on a folder and all below it; links are followed. What is not there gets no rule.
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

// programFiles is what a program and its loader read: the program itself, and the folders of libraries.
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
		return files, nil // the job will say that there is no git
	}
	if script, err := isScript(real); err != nil || script {
		return nil, errors.New("git is a script here, so the files that it needs are not known")
	}
	prefix := filepath.Dir(filepath.Dir(real))
	return append(files, real, filepath.Join(prefix, "lib"), filepath.Join(prefix, "lib64"),
		filepath.Join(prefix, "libexec")), nil
}

// isScript reports whether a program needs another one to run it (execve(2), "Interpreter scripts").
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

// zoneFiles is where package time looks for time zones: policies may name one.
func zoneFiles() []string {
	return []string{"/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/usr/lib/locale/TZ", "/etc/zoneinfo"}
}
