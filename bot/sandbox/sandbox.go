// Package sandbox runs one check at a time in a child process of the same binary, so that what strangers
// wrote can neither read the server's memory and credentials nor outlive its limits of time and memory.
//
// The parent side is Sandbox, the child side is Serve. They speak length-prefixed JSON frames over the
// child's standard input and output. The child is started when it is first needed, kept warm between
// jobs, and replaced after any failure. It has an almost empty environment, no proxy to the network, and
// on Linux its own process group, resource limits, and three walls that do not need each other, each where
// the kernel has it: a user and a network namespace; Landlock, which leaves it the repositories to read, the
// cache to write, and no TCP; and a seccomp filter, which leaves it no sockets. What is missing is logged.
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

// Config says what the child is and what it may use. Zero fields have defaults.
type Config struct {
	Executable  string        // default: the running binary
	Args        []string      // the arguments that make it call Serve; default: "sandbox"
	Timeout     time.Duration // for one job; default 5 minutes
	MemoryLimit int64         // bytes; default 2 GiB
	OutputLimit int64         // bytes of one answer; default 64 MiB
	Log         *slog.Logger  // default: none
	// Warned is which missing parts of the sandbox were logged: sandboxes that share it log each once.
	// Default: its own.
	Warned *sync.Map

	// What jobs may use of the machine. All paths are absolute; a job that names others cannot read them.
	Git          string   // the git program, also of jobs that name none; default: as gitcmd.Find finds it
	Repositories []string // what may be read: git directories, object folders, or folders of them
	Cache        string   // what may be written: the folder of the jobs' caches, made when absent. Empty: none
	// Owned returns what may be read and written besides for the changes of one owner, made where it is absent. A child
	// serves one owner only and is replaced for the next. Nil: there are no owners.
	Owned func(owner string) (read []string, write string)
}

// Sandbox runs checks in a child process, one at a time. It is safe for concurrent use: further jobs wait.
type Sandbox struct {
	cfg      Config
	slot     chan struct{} // holds a token while a job runs; guards child, started, places and owner
	done     chan struct{} // closed by Close
	closing  sync.Once
	child    *child
	started  bool
	restarts atomic.Int64
	plain    bool // namespaces were refused once; guarded by slot
	places   []place
	owner    string // whom the child serves
}

// New returns a Sandbox. The child is not started before the first Run. Close it after use.
func New(cfg Config) *Sandbox {
	if cfg.Args == nil {
		cfg.Args = []string{"sandbox"}
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.MemoryLimit <= 0 {
		cfg.MemoryLimit = DefaultMemoryLimit
	}
	if cfg.OutputLimit <= 0 {
		cfg.OutputLimit = DefaultOutputLimit
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	cfg.Warned = cmp.Or(cfg.Warned, &sync.Map{})
	cfg.Git, _ = gitcmd.Find(cfg.Git) // without one, jobs say so
	return &Sandbox{cfg: cfg, slot: make(chan struct{}, 1), done: make(chan struct{})}
}

// of is the configuration of a child that serves an owner.
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

// Inspect finds out in the child what has to be known before a change is checked. Its limits and errors are those of
// Run.
func (s *Sandbox) Inspect(ctx context.Context, change report.Change) (*report.Inspection, error) {
	a, err := s.job(ctx, request{Inspect: true, Change: &change})
	if err != nil {
		return nil, err
	}
	return a.Inspection, nil
}

// Run checks one change in the child. Its time limit counts from when the child is free.
//
// The error is *Crash when the child died or had to be ended, *Failed when the check itself answered with
// an error or panicked, ErrClosed after Close, and wraps ctx.Err() when the caller gave up. Both typed
// errors read as sentences for people and hold no host paths.
func (s *Sandbox) Run(ctx context.Context, change report.Change) (*report.Report, error) {
	a, err := s.job(ctx, request{Change: &change})
	if err != nil {
		return nil, err
	}
	return a.Report, nil
}

// Show has the child say what a tree deploys. Its limits and errors are those of Run.
func (s *Sandbox) Show(ctx context.Context, query report.Query) (*report.Showing, error) {
	query.Git = cmp.Or(query.Git, s.cfg.Git)
	a, err := s.job(ctx, request{Query: &query})
	if err != nil {
		return nil, err
	}
	return a.Showing, nil
}

// job has the child do what is asked, with a change that the caller does not use meanwhile.
func (s *Sandbox) job(ctx context.Context, q request) (*answer, error) {
	if err := s.acquire(ctx); err != nil {
		return nil, err
	}
	defer func() { <-s.slot }()

	job, cancel := context.WithTimeoutCause(ctx, s.cfg.Timeout, errTimeout)
	defer cancel()

	if s.child != nil && s.child.gone() { // it died between two jobs, which is not this job's fault
		s.retire("it ended between two jobs")
	}
	if s.child != nil && slices.ContainsFunc(s.places, place.moved) { // the child may only use what is gone
		s.retire("a folder that it may use was replaced")
	}
	owner := ""
	if q.Change != nil && s.cfg.Owned != nil {
		owner = q.Change.Owner
	}
	if s.owner != owner {
		s.dismiss()
	}
	if s.child == nil {
		if err := s.start(job, owner); err != nil {
			s.end(ctx, "it could not be started")
			return nil, s.explain(ctx, err)
		}
	}
	if q.Change != nil {
		q.Change.Git = cmp.Or(q.Change.Git, s.cfg.Git)
	}
	c := s.child
	c.stderr.reset()
	var a answer
	if err := s.exchange(job, c, q, &a); err != nil {
		err = s.explain(ctx, s.diagnose(c, err))
		s.end(ctx, err.Error())
		return nil, err
	}
	c.tidy()
	if err := s.settle(q, &a); err != nil {
		return nil, err
	}
	return &a, nil
}

// settle turns an answer into an error of job, and replaces a child that should not serve another.
func (s *Sandbox) settle(q request, a *answer) error {
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
		s.retire("it holds more memory than an idle child should")
	}
	return nil
}

// Close ends the child and any job it works on, and waits until the child is gone. A second Close does nothing.
func (s *Sandbox) Close() error {
	s.closing.Do(func() {
		close(s.done)
		s.slot <- struct{}{}
		if s.child != nil {
			s.child.stop()
			s.child = nil
		}
		<-s.slot
	})
	return nil
}

func (s *Sandbox) acquire(ctx context.Context) error {
	select {
	case <-s.done:
		return ErrClosed
	default:
	}
	select {
	case s.slot <- struct{}{}:
	case <-s.done:
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("waiting for the sandbox: %w", ctx.Err())
	}
	select {
	case <-s.done: // Close waits for the slot, so a late winner must hand it back unused
		<-s.slot
		return ErrClosed
	default:
		return nil
	}
}

// start starts the child and shakes hands with it. On an error s.child may be set; the caller retires it.
func (s *Sandbox) start(ctx context.Context, owner string) error {
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
	c, err := launch(exe, cfg, s.plain)
	if err != nil && !s.plain && namespacesRefused(err) {
		if c, err = launch(exe, cfg, true); err == nil {
			s.plain = true
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
	s.cfg.Log.Debug("sandbox started", "pid", c.pid, "namespaces", !s.plain, "lacks", slices.Concat(c.lacks, r.Lacks))
	return nil
}

// warn logs what the sandbox lacks, each thing once.
func (s *Sandbox) warn(lacks ...string) {
	for _, what := range lacks {
		if _, said := s.cfg.Warned.LoadOrStore(what, true); !said {
			s.cfg.Log.Warn("sandbox runs without " + what) // as the README has it
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
		result <- readFrame(c.out, receive, s.cfg.OutputLimit) // says more than the broken pipe
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

// end ends the present child after an error; it did not fail where the caller gave up.
func (s *Sandbox) end(ctx context.Context, why string) {
	if ctx.Err() != nil {
		s.dismiss()
	} else {
		s.retire(why)
	}
}

// dismiss ends the present child, if any, which did not fail.
func (s *Sandbox) dismiss() {
	if s.child != nil {
		s.child.stop()
	}
	s.child, s.started = nil, false
}

// retire ends the present child, if any.
func (s *Sandbox) retire(why string) {
	if s.child == nil {
		return
	}
	s.child.stop()
	s.cfg.Log.Warn("sandbox replaced", "reason", why)
	s.cfg.Log.Debug("sandbox stderr", "tail", s.child.stderr.tail())
	s.child = nil
}

// diagnose says what became of a child whose exchange failed.
func (s *Sandbox) diagnose(c *child, err error) error {
	var large *tooLargeError
	switch {
	case errors.Is(err, errTimeout), errors.Is(err, ErrClosed), errors.Is(err, context.Canceled),
		errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &large):
		if large.sending {
			return fmt.Errorf("the change is too large to hand over: %w", err)
		}
		return &Crash{Reason: "answered with more than " + size(s.cfg.OutputLimit), Err: err}
	case errors.Is(err, errNotFrame):
		return &Crash{Reason: reasonProtocol, Err: err}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), isBrokenPipe(err):
		return s.postMortem(c)
	}
	return &Crash{Reason: "could not be talked to", Err: err}
}

// explain gives the ends that are not crashes their words.
func (s *Sandbox) explain(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errTimeout):
		return &Crash{Reason: "took longer than " + s.cfg.Timeout.String()}
	case ctx.Err() != nil && !errors.Is(err, ErrClosed):
		return fmt.Errorf("the check was given up: %w", ctx.Err())
	}
	return err
}
