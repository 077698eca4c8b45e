package sandbox

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
)

// child is a running child process.
type child struct {
	pid     int
	process *os.Process
	home    string   // empty folder: its working directory, HOME and TMPDIR
	lock    *os.File // of home: who holds it uses the folder
	in      *os.File
	out     *os.File
	stderr  *lastWords
	lacks   []string      // the parts of the sandbox that the parent could not set up
	exited  chan struct{} // closed when the process is reaped; code and signal are set before
	code    int
	signal  syscall.Signal

	mu     sync.Mutex // guards reaped: after the process is reaped, its pid may belong to another process
	reaped bool
}

func newSetup(cfg Config, home string) setup {
	write := []string{home}
	if cfg.Cache != "" {
		write = append(write, cfg.Cache)
	}
	return setup{
		Git: cfg.Git, Read: cfg.Repositories, Write: write,
		Protocol: protocol, Confine: true,
		Memory: cfg.MemoryLimit, Output: cfg.OutputLimit,
		Seconds: int64((cfg.Timeout + time.Second - 1) / time.Second),
	}
}

// environment returns the whole environment of the child. It inherits no variable of the parent.
func environment(home string, cfg Config) []string {
	return []string{
		"HOME=" + home,
		"TMPDIR=" + home,
		"LC_ALL=C",
		"TZ=UTC",
		"GOMEMLIMIT=" + strconv.FormatInt(goMemory(cfg.MemoryLimit), 10),
		"GOGC=off", // a fourth of the start is collecting what libraries build then, all of which stays; see confine
		"GOTRACEBACK=single",
	}
}

// homePrefix is the prefix of the names of children's folders.
const homePrefix = "lintel-sandbox-"

// newHome creates a folder for a child. If another server's Sweep removes it before it is locked, it is created again.
// Without file locks, Sweep does nothing, and lock is nil.
func newHome() (home string, lock *os.File, err error) {
	for range 3 {
		if home, err = os.MkdirTemp("", homePrefix); err != nil {
			return "", nil, err
		}
		lock, err = lockFolder(home)
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EWOULDBLOCK) {
			return home, lock, nil
		}
		os.RemoveAll(home)
	}
	return "", nil, err
}

// launch starts a child process; if plain, without namespaces. The caller stops it.
func launch(exe string, cfg Config, plain bool) (_ *child, err error) {
	home, lock, err := newHome()
	if err != nil {
		return nil, err
	}
	files := []*os.File{lock}
	defer func() {
		if err != nil {
			os.RemoveAll(home)
			for _, f := range files {
				f.Close()
			}
		}
	}()
	pipe := func() (r, w *os.File) {
		if err == nil {
			if r, w, err = os.Pipe(); err == nil {
				files = append(files, r, w)
			}
		}
		return r, w
	}
	childIn, in := pipe()
	out, childOut := pipe()
	if err != nil {
		return nil, err
	}
	c := &child{home: home, lock: lock, in: in, out: out, stderr: &lastWords{}, exited: make(chan struct{})}
	cmd := exec.Command(exe, cfg.Args...)
	cmd.Dir = home
	cmd.Env = environment(home, cfg)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, c.stderr
	cmd.SysProcAttr = processAttributes(plain)
	cmd.WaitDelay = 5 * time.Second // for a grandchild that left the process group and holds stderr

	started := make(chan error)
	// The child is killed when the parent's *thread* that started it ends (prctl(2), PR_SET_PDEATHSIG). Therefore, the
	// thread is kept until the child has ended.
	onOwnThread(func() {
		c.lacks = confineThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		c.pid, c.process = cmd.Process.Pid, cmd.Process
		started <- nil
		c.reap(cmd)
	})
	if err = <-started; err != nil {
		return nil, err
	}
	childIn.Close()
	childOut.Close()
	return c, nil
}

// onOwnThread runs f on a thread that ends with f, so that a thread with sandbox rules runs nothing else. It is never
// the first thread of the process. That thread does not end, and its rules decide who may signal the process: a child
// with the same rules could do so (landlock(7), scoping).
func onOwnThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if !onFirstThread() {
			f()
			return
		}
		taken := make(chan struct{})
		go func() {
			runtime.LockOSThread() // runs on another thread, since the first one stays locked
			close(taken)
			f()
		}()
		<-taken
		runtime.UnlockOSThread()
	}()
}

// reap waits for the end of the process, kills the rest of its group, and records the exit state.
func (c *child) reap(cmd *exec.Cmd) {
	defer close(c.exited)
	if awaitExit(c.pid) { // the zombie keeps the group's number from being reused
		c.mu.Lock()
		killGroup(cmd.Process)
		c.reaped = true
		c.mu.Unlock()
	}
	_ = cmd.Wait() // the exit state is read below
	c.code = cmd.ProcessState.ExitCode()
	c.signal = signalOf(cmd.ProcessState)
}

// gone reports whether the process has ended.
func (c *child) gone() bool {
	select {
	case <-c.exited:
		return true
	default:
		return false
	}
}

// kill ends the process group at once; it does not wait.
func (c *child) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped {
		killGroup(c.process)
	}
}

// stop ends the process group, waits for its end, and removes its folder.
func (c *child) stop() {
	c.kill()
	<-c.exited
	c.in.Close()
	c.out.Close()
	os.RemoveAll(c.home)
	c.lock.Close()
}

// tidy empties the child's folder, so that a job finds no files of an earlier job.
func (c *child) tidy() {
	entries, err := os.ReadDir(c.home)
	if err != nil {
		return
	}
	for _, e := range entries {
		os.RemoveAll(filepath.Join(c.home, e.Name()))
	}
}

// lastWords keeps the end of a child's stderr, and the most telling line about its end.
type lastWords struct {
	mu    sync.Mutex
	kept  []byte
	line  []byte // the start of the present line
	words string
	rank  int
}

const (
	keptWords = 16 << 10
	keptLine  = 256
)

// Write never fails and never blocks.
func (l *lastWords) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, p...)
	if n := len(l.kept) - keptWords; n > 0 {
		l.kept = append(l.kept[:0], l.kept[n:]...)
	}
	for rest := p; len(rest) > 0; {
		part, after, ended := bytes.Cut(rest, []byte("\n"))
		l.line = append(l.line, part[:min(len(part), keptLine-len(l.line))]...)
		if ended {
			l.note()
			l.line = l.line[:0]
		}
		rest = after
	}
	return len(p), nil
}

func (l *lastWords) note() {
	if words, rank := classify(string(l.line)); words != "" && (l.words == "" || rank < l.rank) {
		l.words, l.rank = words, rank
	}
}

// cause describes why the process ended; "" if stderr does not tell.
func (l *lastWords) cause() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note()
	return l.words
}

// reset forgets the stderr of earlier jobs.
func (l *lastWords) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept, l.line, l.words = l.kept[:0], l.line[:0], ""
}

// tail returns the kept end of stderr, for the operator's debug log.
func (l *lastWords) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.ToValidUTF8(string(l.kept), "\uFFFD")
}

// place is a folder that a child may use. Landlock's rules apply to the folder that exists when they are set, not to
// its path.
type place struct {
	path string
	info os.FileInfo // nil: the folder did not exist
}

// findPlaces records the folders that a child may use, and creates the cache's folder.
func findPlaces(cfg Config) []place {
	paths := cfg.Repositories
	if cfg.Cache != "" {
		_ = os.MkdirAll(cfg.Cache, 0o700) // without the folder, jobs work without a cache
		paths = append(paths[:len(paths):len(paths)], cfg.Cache)
	}
	return report.Mapped(paths, func(path string) place { return place{path: path, info: stat(path)} })
}

// moved reports whether the path is now another folder than the recorded one.
func (p place) moved() bool {
	now := stat(p.path)
	if now == nil || p.info == nil {
		return now != p.info
	}
	return !os.SameFile(now, p.info)
}

func stat(path string) os.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}
