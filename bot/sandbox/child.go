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
	lacks   []string      // what its sandbox lacks, as far as the parent sets it up
	exited  chan struct{} // closed when the process is reaped; code and signal are set before
	code    int
	signal  syscall.Signal

	mu     sync.Mutex // guards reaped: a pid must not be signaled after it was given back
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

// environment is the whole environment of the child, without any variable of the parent.
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

// homePrefix begins the names of the folders of children.
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

// launch starts the process, without namespaces if plain. The caller stops it.
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
	// The signal that ends the child with its parent comes when the parent's *thread* ends
	// (prctl(2), PR_SET_PDEATHSIG), so this one is kept until the child is gone.
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

// onOwnThread runs f on a thread that ends with it, so that a thread with the rules of a sandbox runs nothing else. It
// is never the first thread of the process, which does not end and whose rules decide who may signal the process: a
// child with the same rules could (landlock(7), scoping).
func onOwnThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if !onFirstThread() {
			f()
			return
		}
		taken := make(chan struct{})
		go func() {
			runtime.LockOSThread() // another one, while the first is locked
			close(taken)
			f()
		}()
		<-taken
		runtime.UnlockOSThread()
	}()
}

// reap waits for the end of the process, ends what is left of its group, and records how it ended.
func (c *child) reap(cmd *exec.Cmd) {
	defer close(c.exited)
	if awaitExit(c.pid) { // leaves a zombie, so that the group's number cannot be given to another
		c.mu.Lock()
		killGroup(cmd.Process)
		c.reaped = true
		c.mu.Unlock()
	}
	_ = cmd.Wait() // how it ended is read from the state
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

// tidy empties the child's folder, so that no job finds files of another.
func (c *child) tidy() {
	entries, err := os.ReadDir(c.home)
	if err != nil {
		return
	}
	for _, e := range entries {
		os.RemoveAll(filepath.Join(c.home, e.Name()))
	}
}

// lastWords keeps the end of a child's stderr, and the reason of its end.
type lastWords struct {
	mu    sync.Mutex
	kept  []byte
	line  []byte // the beginning of the present line
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

// cause is why the process ended, in our words, or "".
func (l *lastWords) cause() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note()
	return l.words
}

// reset forgets what was said about earlier jobs.
func (l *lastWords) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept, l.line, l.words = l.kept[:0], l.line[:0], ""
}

// tail is the kept end, for the operator's debug log.
func (l *lastWords) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.ToValidUTF8(string(l.kept), "\uFFFD")
}

// place is a folder that a child may use. Landlock's rules apply to the folder at the time when they are made, and not
// to the path.
type place struct {
	path string
	info os.FileInfo // nil: there was none
}

// findPlaces notes the folders that a child may use, and makes the one of the cache.
func findPlaces(cfg Config) []place {
	paths := cfg.Repositories
	if cfg.Cache != "" {
		_ = os.MkdirAll(cfg.Cache, 0o700) // without it nothing is kept, which fails no job
		paths = append(paths[:len(paths):len(paths)], cfg.Cache)
	}
	list := make([]place, len(paths))
	for i, path := range paths {
		list[i] = place{path: path, info: stat(path)}
	}
	return list
}

// moved reports whether something else stands there now.
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
