// Package sandbox runs checks in child processes of the same binary, one check at a time in each. Content of strangers
// can therefore neither read the server's memory and credentials nor exceed its limits of time and memory.
//
// The parent side is Sandbox, the child side is Serve. They exchange length-prefixed JSON frames over the child's
// standard input and output. A child starts when it is first needed, is kept between jobs, and is replaced after any
// failure. It has an almost empty environment and no proxy to the network. On Linux it also has its own process group,
// resource limits, and three independent restrictions if the kernel supports them: a user and a network namespace;
// Landlock, which allows reading the repositories, writing the cache, and no TCP; and a seccomp filter, which allows no
// sockets. Missing restrictions are logged.
package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/progress"
	"github.com/lintel-bot/lintel/render/tree/gitcmd"
)

// The defaults of Config.
const (
	DefaultTimeout     = 5 * time.Minute
	DefaultMemoryLimit = 2 << 30
	DefaultOutputLimit = 64 << 20
)

// ErrClosed is the answer of a Sandbox that is closed, also to a job it was working on.
var ErrClosed = errors.New("the sandbox is closed")

// errTimeout is the cause of the end of a job that took too long.
var errTimeout = errors.New("timeout")

// Config describes what the child is and what it may use. Zero fields have defaults.
type Config struct {
	Executable  string        // default: the running binary
	Args        []string      // the arguments that make it call Serve; default: "sandbox"
	Timeout     time.Duration // for one job; default 5 minutes
	MemoryLimit int64         // bytes; default 2 GiB
	OutputLimit int64         // bytes of one answer; default 64 MiB
	Children    int           // that work at a time; default 1
	Log         *slog.Logger  // default: none
	// Complete fetches objects that a check found missing in the repository of its change, and all files of the commits
	// that it reads; then the check is repeated. Nil: it is not repeated.
	Complete func(ctx context.Context, gitDir string, commits, objects []string) error

	// What jobs may use of the machine. All paths are absolute; a job that names others cannot read them.
	Git          string   // the git program, also of jobs that name none; default: as gitcmd.Find finds it
	Repositories []string // what may be read: git directories, object folders, or folders of them
	Cache        string   // what may be written: the folder of the jobs' caches, made when absent. Empty: none
	// Owned returns what else may be read and written for the changes of one owner, created if missing. A child serves
	// one owner only and is replaced for the next. Nil: there are no owners.
	Owned func(owner string) (read []string, write string)
}

// Sandbox runs checks in child processes. It is safe for concurrent use: jobs wait for a free child.
type Sandbox struct {
	cfg      Config
	free     chan struct{} // holds a token for each of idle
	done     chan struct{} // closed by Close
	closing  sync.Once
	restarts atomic.Int64
	plain    atomic.Bool // namespaces were refused once
	warned   sync.Map    // missing parts of the sandbox that were logged

	mu   sync.Mutex
	idle []*seat // the one used last is at the end
}

// seat is a place for one child at a time. Whoever takes it from the idle seats has it exclusively.
type seat struct {
	*Sandbox
	child   *child // nil: there is none
	used    bool   // somebody had it
	started bool   // the next child takes the place of one that failed
	places  []place
	owner   string // whom the child serves
}

// New returns a Sandbox. No child is started before the first Run. Close it after use.
func New(cfg Config) *Sandbox {
	if cfg.Args == nil {
		cfg.Args = []string{"sandbox"}
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, DefaultTimeout)
	cfg.MemoryLimit = cmp.Or(cfg.MemoryLimit, DefaultMemoryLimit)
	cfg.OutputLimit = cmp.Or(cfg.OutputLimit, DefaultOutputLimit)
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	cfg.Children = max(cfg.Children, 1)
	cfg.Git, _ = gitcmd.Find(cfg.Git) // without one, jobs say so
	s := &Sandbox{cfg: cfg, free: make(chan struct{}, cfg.Children), done: make(chan struct{})}
	for range cfg.Children {
		s.idle = append(s.idle, &seat{Sandbox: s})
		s.free <- struct{}{}
	}
	return s
}

// of returns the configuration of a child for an owner.
func (c Config) of(owner string) Config {
	if c.Owned == nil || owner == "" {
		return c
	}
	read, write := c.Owned(owner)
	c.Repositories = slices.Concat(c.Repositories, read)
	c.Cache = cmp.Or(write, c.Cache)
	return c
}

// Restarts counts how often a child was started in place of an earlier one.
func (s *Sandbox) Restarts() int64 { return s.restarts.Load() }

// Inspect inspects a change in the child, see report.Inspection. Its limits and errors are those of Run.
func (s *Sandbox) Inspect(ctx context.Context, change report.Change) (*report.Inspection, error) {
	a, err := s.job(ctx, request{Inspect: true, Change: &change})
	return a.Inspection, err
}

// Run checks one change in the child. Its time limit counts from when the child is free.
//
// The error is *Crash when the child died or had to be ended, *Failed when the check itself answered with
// an error or panicked, ErrClosed after Close, and wraps ctx.Err() when the caller gave up. Both typed
// errors read as sentences for people and hold no host paths.
func (s *Sandbox) Run(ctx context.Context, change report.Change) (*report.Report, error) {
	a, err := s.job(ctx, request{Change: &change})
	return a.Report, err
}

// Show answers a query in the child. Its limits and errors are those of Run.
func (s *Sandbox) Show(ctx context.Context, query report.Query) (*report.Showing, error) {
	a, err := s.job(ctx, request{Change: &query.Change, Query: &query})
	return a.Showing, err
}

// maxWhole limits how often a job is done, since it requests all missing history at once.
const maxWhole = 3

// job runs a request in a child; the caller must not use the change meanwhile. An error comes with the zero answer.
func (s *Sandbox) job(ctx context.Context, q request) (a answer, err error) {
	err = s.whole(ctx, q.Change, func() error {
		a, err = s.once(ctx, q)
		return err
	})
	return a, err
}

// whole repeats a job for a change while it finds missing objects that can be fetched: a mirror has only those files of
// the history that checks usually read.
func (s *Sandbox) whole(ctx context.Context, change *report.Change, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		failed, ok := errors.AsType[*Failed](err)
		if s.cfg.Complete == nil || !ok || len(failed.Absent) == 0 || try == maxWhole {
			return err
		}
		commits := report.Filled(change.Base, change.Head, change.Rules)
		if err := s.cfg.Complete(ctx, change.GitDir, commits, failed.Absent); err != nil {
			return err
		}
	}
}

// once does a job in the child of a seat.
func (s *Sandbox) once(ctx context.Context, q request) (answer, error) {
	owner := ""
	if s.cfg.Owned != nil {
		owner = q.Change.Owner
	}
	at, err := s.acquire(ctx, owner)
	if err != nil {
		return answer{}, err
	}
	defer s.release(at)
	return at.do(ctx, owner, q)
}

func (s *seat) do(ctx context.Context, owner string, q request) (answer, error) {
	job, cancel := context.WithTimeoutCause(ctx, s.cfg.Timeout, errTimeout)
	defer cancel()

	if s.child != nil && s.child.gone() { // it died between two jobs, which is not this job's fault
		s.retire("it ended between two jobs")
	}
	if s.child != nil && slices.ContainsFunc(s.places, place.moved) { // the child may only use what is gone
		s.retire("a folder that it has access to was replaced")
	}
	if s.owner != owner {
		s.dismiss()
	}
	if s.child == nil {
		if err := s.start(job, owner); err != nil {
			s.end(ctx, "it could not be started")
			return answer{}, s.explain(ctx, err)
		}
	}
	q.Change.Git = cmp.Or(q.Change.Git, s.cfg.Git)
	q.Steps, q.Asks = progress.From(ctx) != nil, q.Change.Sources != nil && q.Change.Sources.Ask != nil
	c := s.child
	c.stderr.reset()
	var a answer
	if err := s.exchange(job, c, q, &a); err != nil {
		err = s.explain(ctx, s.diagnose(c, err))
		s.end(ctx, err.Error())
		return answer{}, err
	}
	c.tidy()
	if err := s.settle(q, &a); err != nil {
		return answer{}, err
	}
	return a, nil
}

// settle converts an answer to an error of the job, and replaces a child that must not be used again.
func (s *seat) settle(q request, a *answer) error {
	switch {
	case a.Failed != nil:
		if a.Failed.Panicked {
			s.retire("it panicked") // globals of the libraries may be half-written
		}
		return a.Failed
	case q.Query != nil && a.Showing == nil, q.Query == nil && q.Inspect && a.Inspection == nil,
		q.Query == nil && !q.Inspect && a.Report == nil:
		s.retire("it answered without a report")
		return &Crash{Reason: reasonProtocol}
	case a.Memory > s.cfg.MemoryLimit/2:
		s.retire("it uses more memory than an idle child process may")
	}
	return nil
}

// Close ends the children and any jobs they work on, and waits until they are gone. A second Close does nothing.
func (s *Sandbox) Close() error {
	s.closing.Do(func() {
		close(s.done)
		for range s.cfg.Children {
			<-s.free
		}
		for _, at := range s.idle {
			at.dismiss()
		}
	})
	return nil
}

// acquire waits for an idle seat. It prefers the one that last served the owner, then an unused one, then the one idle
// for longest, whose child is replaced.
func (s *Sandbox) acquire(ctx context.Context, owner string) (*seat, error) {
	select {
	case <-s.free:
	case <-s.done:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the sandbox: %w", ctx.Err())
	}
	select {
	case <-s.done: // Close waits for the seats, so a late winner must hand its own back unused
		s.free <- struct{}{}
		return nil, ErrClosed
	default:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	best := 0
	for i, at := range s.idle {
		if before := s.idle[best]; at.used && at.owner == owner || !at.used && before.used && before.owner != owner {
			best = i
		}
	}
	at := s.idle[best]
	s.idle = slices.Delete(s.idle, best, best+1)
	at.used = true
	return at, nil
}

// release gives a seat back.
func (s *Sandbox) release(at *seat) {
	s.mu.Lock()
	s.idle = append(s.idle, at)
	s.mu.Unlock()
	s.free <- struct{}{}
}

// start starts the child and exchanges the first frames. After an error s.child may be set; the caller retires it.
func (s *seat) start(ctx context.Context, owner string) error {
	exe := s.cfg.Executable
	if exe == "" {
		var err error
		if exe, err = os.Executable(); err != nil {
			return &Crash{Reason: "could not be started", Err: err}
		}
	}
	if s.started {
		s.restarts.Add(1)
	}
	s.started, s.owner = true, owner
	cfg := s.cfg.of(owner)
	s.places = findPlaces(cfg)
	c, err := launch(exe, cfg, s.plain.Load())
	if err != nil && !s.plain.Load() && namespacesRefused(err) {
		if c, err = launch(exe, cfg, true); err == nil {
			s.plain.Store(true)
			s.warn("its own user and network namespace: the kernel refuses them")
		}
	}
	if err != nil {
		return &Crash{Reason: "could not be started", Err: err}
	}
	s.child = c
	s.warn(c.lacks...)
	var r ready
	if err := s.exchange(ctx, c, newSetup(cfg, c.home), &r); err != nil {
		return s.diagnose(c, err)
	}
	if r.Protocol != protocol {
		return &Crash{Reason: reasonProtocol}
	}
	s.warn(r.Lacks...)
	s.cfg.Log.Debug("sandbox started", "pid", c.pid, "namespaces", !s.plain.Load(), "lacks", slices.Concat(c.lacks, r.Lacks))
	return nil
}

// warn logs what the sandbox lacks, each thing once.
func (s *Sandbox) warn(lacks ...string) {
	for _, what := range lacks {
		if _, said := s.warned.LoadOrStore(what, true); !said {
			s.cfg.Log.Warn("sandbox runs without " + what) // as deploy/README.md has it
		}
	}
}

// exchange sends one frame and waits for the answer, the end of ctx, or Close. After an error the child
// has been killed.
func (s *Sandbox) exchange(ctx context.Context, c *child, send, receive any) error {
	result := make(chan error, 1)
	go func() {
		if err := writeFrame(c.in, send, maxRequest); err != nil && !isBrokenPipe(err) {
			result <- err
			return
		}
		result <- s.receive(ctx, c, send, receive) // says more than the broken pipe
	}()
	var err error
	select {
	case err = <-result:
		if err != nil {
			c.kill()
		}
		return err
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-s.done:
		err = ErrClosed
	}
	c.kill()
	<-result // the pipes end with the process group
	return err
}

// receive reads the answer of a child. Before that, it tells the steps to whom the context names, and replies to what
// the child asks.
func (s *Sandbox) receive(ctx context.Context, c *child, sent, v any) error {
	tell := progress.From(ctx)
	for {
		err := readFrame(c.out, v, s.cfg.OutputLimit)
		a, ok := v.(*answer)
		q, _ := sent.(request)
		switch {
		case err != nil || !ok || a.Step == nil && a.Ask == nil:
			return err
		case a.Step != nil && tell == nil, a.Ask != nil && !q.Asks:
			return fmt.Errorf("%w: nobody asked for it", errNotFrame)
		case a.Step != nil:
			tell(*a.Step)
		default:
			if err := writeFrame(c.in, known{q.Change.Sources.Ask(a.Ask)}, maxRequest); err != nil && !isBrokenPipe(err) {
				return err
			}
		}
		*a = answer{}
	}
}

// end ends the child after an error; it did not fail if the caller gave up.
func (s *seat) end(ctx context.Context, why string) {
	if ctx.Err() != nil {
		s.dismiss()
	} else {
		s.retire(why)
	}
}

// dismiss ends the present child, if any, which did not fail.
func (s *seat) dismiss() {
	if s.child != nil {
		s.child.stop()
	}
	s.child, s.started = nil, false
}

// retire ends the present child, if any.
func (s *seat) retire(why string) {
	if s.child == nil {
		return
	}
	s.child.stop()
	s.cfg.Log.Warn("sandbox replaced", "reason", why)
	s.cfg.Log.Debug("sandbox stderr", "tail", s.child.stderr.tail())
	s.child = nil
}

// diagnose returns the error for a child whose exchange failed.
func (s *Sandbox) diagnose(c *child, err error) error {
	large, tooLarge := errors.AsType[*tooLargeError](err)
	switch {
	case errors.Is(err, errTimeout), errors.Is(err, ErrClosed), errors.Is(err, context.Canceled),
		errors.Is(err, context.DeadlineExceeded):
		return err
	case tooLarge && large.sending:
		return fmt.Errorf("the change is too large for the sandbox: %w", err)
	case tooLarge:
		return &Crash{Reason: "answered with more than " + size(s.cfg.OutputLimit), Err: err}
	case errors.Is(err, errNotFrame):
		return &Crash{Reason: reasonProtocol, Err: err}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), isBrokenPipe(err):
		return s.postMortem(c)
	}
	return &Crash{Reason: "did not accept the job", Err: err}
}

// explain converts errors that are no crashes to sentences.
func (s *Sandbox) explain(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errTimeout):
		return &Crash{Reason: "took longer than " + s.cfg.Timeout.String()}
	case ctx.Err() != nil && !errors.Is(err, ErrClosed):
		return fmt.Errorf("the check was cancelled: %w", ctx.Err())
	}
	return err
}
