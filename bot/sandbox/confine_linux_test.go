package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// attempt tries an operation in the child: one that checks never need, or one that they must be able to do.
func attempt(what, with string) error {
	pid, _ := strconv.Atoi(with)
	switch what {
	case "read":
		f, err := os.Open(with)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.Read(make([]byte, 1)) // the program itself is larger than the memory limit
		return err
	case "list":
		_, err := os.ReadDir(with)
		return err
	case "write":
		return os.WriteFile(with, []byte("x"), 0o600)
	case "truncate":
		return os.Truncate(with, 0)
	case "remove":
		return os.Remove(with)
	case "chmod":
		return os.Chmod(with, 0o644)
	case "run":
		cmd := exec.Command(with)
		cmd.Env = []string{}
		return cmd.Run()
	case "connect":
		_, err := net.Dial("tcp", with)
		return err
	case "tcp":
		_, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		return err
	case "udp":
		_, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM, 0)
		return err
	case "netlink":
		_, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, 0)
		return err
	case "unix":
		_, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		return err
	case "namespace":
		return unix.Unshare(unix.CLONE_NEWUSER)
	case "process in a namespace":
		cmd := exec.Command("/proc/self/exe", "act-as-liar")
		cmd.Env, cmd.SysProcAttr = []string{}, &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
		return cmd.Run()
	case "trace":
		return unix.PtraceAttach(pid)
	case "signal":
		return unix.Kill(pid, 0)
	case "limit":
		return unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &unix.Rlimit{})
	case "rings":
		_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0)
		return errno
	case "key":
		_, err := unix.KeyctlInt(unix.KEYCTL_GET_KEYRING_ID, unix.KEY_SPEC_USER_KEYRING, 0, 0, 0)
		return err
	case "mount":
		return unix.Mount("none", with, "tmpfs", 0, "")
	case "privileges": // fails if the process cannot gain privileges
		if n, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || n == 1 {
			return unix.EPERM
		}
		return nil
	}
	return errors.New("unknown attempt")
}

// lacks reports whether the log of a box says that a part of its sandbox is missing.
func (b *Sandbox) lacks(what string) (missing bool) {
	b.warned.Range(func(said, _ any) bool {
		missing = missing || strings.HasPrefix(said.(string), what)
		return true
	})
	return missing
}

// Each part of the sandbox works without namespaces, and does not prevent a check.
func TestSandbox(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	data := t.TempDir()
	at := func(name string) string { return filepath.Join(data, name) }
	for _, dir := range []string{"mirrors/1.git", "cache"} {
		if err := os.MkdirAll(at(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"key.pem", "mirrors/1.git/HEAD", "cache/old"} {
		if err := os.WriteFile(at(file), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(at("key.pem"), at("mirrors/1.git/link")); err != nil {
		t.Fatal(err)
	}
	parent := strconv.Itoa(os.Getpid())
	const none, files, processes, filter = "", "rules for files", "rules for TCP and signals", "its filter of system calls"
	for _, plain := range []bool{false, true} {
		b := testSandbox(t, func(c *Config) { c.Repositories, c.Cache = []string{at("mirrors")}, at("cache") })
		b.plain.Store(plain)
		title(t, b, "pid")
		for _, tc := range []struct{ what, with, wall, want string }{
			{"read", at("mirrors/1.git/HEAD"), none, ""},
			{"list", at("mirrors"), none, ""},
			{"read", at("cache/old"), none, ""},
			{"write", at("cache/new"), none, ""},
			{"remove", at("cache/new"), none, ""},
			{"write", b.idle[0].child.home + "/new", none, ""},
			{"write", os.DevNull, none, ""},
			{"read", b.cfg.Git, none, ""},
			{"read", at("key.pem"), files, "permission denied"},
			{"read", at("mirrors/1.git/link"), files, "permission denied"},
			{"list", data, files, "permission denied"},
			{"list", "/", files, "permission denied"},
			{"read", "/etc/passwd", files, "permission denied"},
			{"read", "/proc/self/environ", files, "permission denied"},
			{"read", "/proc/" + parent + "/environ", files, "permission denied"},
			{"write", at("new"), files, "permission denied"},
			{"write", at("mirrors/new"), files, "permission denied"},
			{"write", at("mirrors/1.git/HEAD"), files, "permission denied"},
			{"truncate", at("mirrors/1.git/HEAD"), files, "permission denied"},
			{"remove", at("mirrors/1.git/HEAD"), files, "permission denied"},
			{"run", "/bin/true", files, "permission denied"},
			{"chmod", at("key.pem"), filter, "not permitted"},
			{"connect", listener.Addr().String(), filter, "not permitted"},
			{"tcp", "", filter, "not permitted"},
			{"udp", "", filter, "not permitted"},
			{"netlink", "", filter, "not permitted"},
			{"unix", "", filter, "not permitted"},
			{"namespace", "", filter, "not permitted"},
			{"process in a namespace", "", filter, "not permitted"},
			{"trace", parent, filter, "not permitted"},
			{"limit", parent, filter, "not permitted"},
			{"rings", "", filter, "not permitted"},
			{"key", "", filter, "not permitted"},
			{"mount", data, filter, "not permitted"},
			{"signal", parent, processes, "not permitted"},
			{"privileges", "", "the bar to new privileges", "not permitted"},
		} {
			t.Run(fmt.Sprintf("plain=%t/%s %s", plain, tc.what, filepath.Base(tc.with)), func(t *testing.T) {
				if tc.wall != none && (b.lacks(tc.wall) || tc.what == "signal" && b.lacks("a rule against signals")) {
					t.Skip("this kernel has no such wall")
				}
				r, err := b.Run(t.Context(), report.Change{Head: "attempt", Base: tc.what, User: report.User{Login: tc.with}})
				if err != nil {
					t.Fatal(err)
				}
				if tc.want == "" && r.Title != "<nil>" || !strings.HasSuffix(r.Title, tc.want) {
					t.Errorf("%s, want %q", r.Title, tc.want)
				}
			})
		}
	}
}

// A whole check has the same result in the sandbox as without one; git and the cache work there.
func TestCheckInTheSandbox(t *testing.T) {
	r := treetest.New(t)
	var commits []string
	for _, sample := range []string{"sample", "sample-change"} {
		overlay(t, r, filepath.Join("..", "..", "testdata", sample))
		commits = append(commits, r.Snapshot())
	}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cache := filepath.Join(t.TempDir(), "cache")
	b := New(Config{Args: []string{"act-as-lintel"}, Log: slog.New(slog.NewTextHandler(&log, nil)), Git: git,
		Repositories: []string{r.GitDir}, Cache: cache})
	defer b.Close()
	change := report.Change{GitDir: r.GitDir, Rules: commits[0], Base: commits[0], Head: commits[1],
		Now: time.Unix(1_700_000_000, 0).UTC()}
	want, err := (&checks.Checker{}).Run(t.Context(), change)
	if err != nil {
		t.Fatal(err)
	}
	if len(want.Findings) == 0 {
		t.Fatal("the sample breaks no policy")
	}
	change.Cache = cache
	for range 2 { // the second check uses the cache of the first
		got, err := b.Run(t.Context(), change)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Findings, got.Findings); diff != "" || got.Conclusion != want.Conclusion ||
			len(got.Errors) != len(want.Errors) {
			t.Errorf("%s in the sandbox, %s without:\n%s", got.Conclusion, want.Conclusion, diff)
		}
	}
	if entries, err := os.ReadDir(cache); err != nil || len(entries) == 0 {
		t.Errorf("nothing was kept: %v", err)
	}
	if strings.Contains(log.String(), "sandbox replaced") {
		t.Error(log.String())
	}
}

func overlay(t *testing.T, r *treetest.Repo, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		r.Write(name, string(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Rules apply to folders, not to paths: a child whose folder was replaced is replaced.
func TestReplacedFolderReplacesTheChild(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "cache")
	b := testSandbox(t, func(c *Config) { c.Cache = cache })
	write := func() string {
		t.Helper()
		r, err := b.Run(t.Context(), report.Change{Head: "attempt", Base: "write",
			User: report.User{Login: filepath.Join(cache, "x")}})
		if err != nil {
			t.Fatal(err)
		}
		return r.Title
	}
	for range 2 {
		if got := write(); got != "<nil>" {
			t.Errorf("writing to the cache: %s", got)
		}
	}
	if b.Restarts() != 0 {
		t.Error("the child was replaced without a reason")
	}
	if err := os.RemoveAll(cache); err != nil {
		t.Fatal(err)
	}
	if got := write(); got != "<nil>" || b.Restarts() != 1 {
		t.Errorf("writing to the new cache: %s, %d restarts", got, b.Restarts())
	}
}

// A child serves one owner, and cannot read another's folders. Replacing it for the next owner is no failure.
func TestOwnersSeeTheirOwn(t *testing.T) {
	data := t.TempDir()
	at := func(name string) string { return filepath.Join(data, name) }
	b := testSandbox(t, func(c *Config) {
		c.Owned = func(owner string) ([]string, string) {
			for _, dir := range []string{"mirrors/" + owner, "cache/" + owner} {
				if err := os.MkdirAll(at(dir), 0o700); err != nil {
					t.Error(err)
				}
			}
			return []string{at("mirrors/" + owner)}, at("cache/" + owner)
		}
	})
	attempt := func(owner, what, name string) string {
		t.Helper()
		r, err := b.Run(t.Context(), report.Change{Owner: owner, Head: "attempt", Base: what,
			User: report.User{Login: at(name)}})
		if err != nil {
			t.Fatal(err)
		}
		return r.Title
	}
	for _, owner := range []string{"7", "8"} {
		for _, dir := range []string{"mirrors/", "cache/"} { // a missing folder would be refused with another error
			if err := os.MkdirAll(at(dir+owner), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(at("mirrors/"+owner+"/secret"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		for owner, other := range map[string]string{"7": "8", "8": "7"} {
			if got := attempt(owner, "read", "mirrors/"+owner+"/secret"); got != "<nil>" {
				t.Errorf("reading one's own: %s", got)
			}
			pid := b.idle[0].child.pid
			if got := attempt(owner, "write", "cache/"+owner+"/x"); got != "<nil>" {
				t.Errorf("writing to one's own cache: %s", got)
			}
			if b.idle[0].child.pid != pid {
				t.Error("the child was replaced without a reason")
			}
			if b.lacks("rules for files") {
				continue
			}
			for what, name := range map[string]string{"read": "mirrors/" + other + "/secret", "write": "cache/" + other + "/x",
				"list": "mirrors"} {
				if got := attempt(owner, what, name); !strings.HasSuffix(got, "permission denied") {
					t.Errorf("%s of %s: %s", what, name, got)
				}
			}
		}
	}
	if b.Restarts() != 0 {
		t.Errorf("%d restarts", b.Restarts())
	}
}

// actOnOldKernel makes the kernel one without namespaces, Landlock and seccomp for this process, and runs jobs
// in two sandboxes that log to the standard output.
func actOnOldKernel() {
	step := func(code uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: code, K: k, Jt: yes, Jf: no}
	}
	const load, equal, set, answer = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ,
		unix.BPF_JMP | unix.BPF_JSET, unix.BPF_RET
	filter := []unix.SockFilter{
		step(load, offsetCall, 0, 0),
		step(equal, unix.SYS_LANDLOCK_CREATE_RULESET, 0, 1), step(answer, unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS), 0, 0),
		step(equal, unix.SYS_SECCOMP, 0, 1), step(answer, unix.SECCOMP_RET_ERRNO|uint32(unix.EINVAL), 0, 0),
		step(equal, unix.SYS_CLONE, 0, 3), step(load, offsetArgument, 0, 0),
		step(set, newNamespaces, 0, 1), step(answer, unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM), 0, 0),
		step(answer, unix.SECCOMP_RET_ALLOW, 0, 0),
	}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		fmt.Println("no_new_privs:", err)
		return
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program))); errno != 0 {
		fmt.Println("no filter here:", errno)
		return
	}
	b := New(Config{Args: []string{"act-as-child"}, Log: slog.New(slog.NewTextHandler(os.Stdout, nil)), Children: 2})
	defer b.Close()
	for _, at := range b.idle {
		for range 2 {
			if _, err := at.do(context.Background(), "", request{Change: &report.Change{Head: "pid"}}); err != nil {
				fmt.Println("job:", err)
			}
			at.child.kill()
			<-at.child.exited
		}
	}
}

// On a kernel without these features, checks run, and the log says once what is missing.
func TestOldKernelDegradesWithWords(t *testing.T) {
	if auditArch == 0 {
		t.Skip("no filter to make the kernel old with")
	}
	out, err := exec.Command(os.Args[0], "act-on-old-kernel").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if strings.Contains(string(out), "no filter here") {
		t.Skipf("%s", out)
	}
	for _, want := range []string{
		"sandbox runs without its own user and network namespace: the kernel refuses them",
		"sandbox runs without rules for TCP and signals (Landlock): the kernel has none",
		"sandbox runs without rules for files (Landlock): the kernel has none",
		"sandbox runs without its filter of system calls (seccomp): the kernel has none",
	} {
		if n := strings.Count(string(out), `level=WARN msg="`+want+`"`); n != 1 {
			t.Errorf("%d times %q", n, want)
		}
	}
	if strings.Contains(string(out), "job:") || strings.Count(string(out), "runs without") != 4 {
		t.Errorf("%s", out)
	}
}

// The features of each version of Landlock are used, and missing ones are logged.
func TestLandlockVersions(t *testing.T) {
	const truncate, signals = unix.LANDLOCK_ACCESS_FS_TRUNCATE, unix.LANDLOCK_SCOPE_SIGNAL
	for _, tc := range []struct {
		version, errata int
		files, network  bool // truncation, TCP
		scope           uint64
		lacks           string
	}{
		{version: 1, lacks: "a rule against truncating files|a rule against TCP|a rule against signals to other processes"},
		{version: 3, files: true, lacks: "a rule against TCP|a rule against signals to other processes"},
		{version: 5, files: true, network: true, lacks: "a rule against signals to other processes"},
		{version: 6, files: true, network: true, scope: unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET,
			lacks: "a rule against signals to other processes"},
		{version: 6, errata: scopesFixed, files: true, network: true,
			scope: unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | signals},
		{version: 99, errata: 0xff, files: true, network: true, scope: unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | signals},
	} {
		l := newLandlock(tc.version, tc.errata)
		var lacks []string
		for _, s := range l.lacks {
			what, _, _ := strings.Cut(s, ":")
			lacks = append(lacks, what)
		}
		if got := strings.Join(lacks, "|"); got != tc.lacks || l.files&truncate != 0 != tc.files ||
			l.network != 0 != tc.network || l.scope != tc.scope {
			t.Errorf("version %d, errata %d: %+v, want %+v", tc.version, tc.errata, l, tc)
		}
		if l.files&landlockFirst != 0x1fff {
			t.Errorf("version %d leaves rights of the first version alone: %#x", tc.version, l.files)
		}
	}
}

// The interpreter of a script is unknown, so the sandbox does not restrict it, and says so.
func TestGitThatIsAScript(t *testing.T) {
	git := filepath.Join(t.TempDir(), "git")
	if err := os.WriteFile(git, []byte("#!/bin/sh\nexec git \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	b := testSandbox(t, func(c *Config) { c.Git = git })
	title(t, b, "pid")
	if !b.lacks("rules for files (Landlock): ") {
		t.Error("nothing is said")
	}
}

// The rules that a child inherits apply to the thread that starts it, and to no other thread of the server.
func TestThreadIsConfinedAlone(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	var lacks []string
	var connected error
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends here
		lacks = confineThread()
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			connected = err
			return
		}
		defer unix.Close(fd)
		connected = unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	}()
	<-done
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatalf("the server itself: %v", err)
	}
	conn.Close()
	if len(lacks) > 0 {
		t.Skip(lacks)
	}
	if !errors.Is(connected, unix.EACCES) {
		t.Errorf("a confined thread connects: %v", connected)
	}
}
