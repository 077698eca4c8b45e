package sandbox

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/progress"
	"github.com/lintel-bot/lintel/render/tree"
)

// ErrNetwork is the answer to everything in the child that asks for the network.
var ErrNetwork = errors.New("network access is denied while a check runs: remote references are not fetched")

// Checker does the jobs of the child; *checks.Checker is one.
type Checker interface {
	Show(ctx context.Context, query report.Query) (*report.Showing, error)
	Inspect(ctx context.Context, change report.Change) (*report.Inspection, error)
	Run(ctx context.Context, change report.Change) (*report.Report, error)
}

// Serve is the child side of a Sandbox: it puts the process under the limits that its parent names first, and
// then answers one job after the other until in ends, which is its clean end (nil). A panic or an error of
// the checker is answered as *Failed and does not end it. Other errors mean that the parent cannot be talked to.
//
// It changes the whole process (resource limits, files, system calls, http.DefaultTransport,
// net.DefaultResolver): call it from a process that does nothing else. out must be used by nobody else; redirect
// os.Stdout before. ctx is handed to the checker; Serve itself only looks at it between jobs.
func Serve(ctx context.Context, in io.Reader, out io.Writer, checker Checker) error {
	r := bufio.NewReader(in)
	var s setup
	switch err := readFrame(r, &s, maxRequest); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return fmt.Errorf("reading the limits: %w", err)
	case s.Protocol != protocol:
		return fmt.Errorf("reading the limits: protocol %d is not %d: %w", s.Protocol, protocol, errNotFrame)
	}
	var lacks []string
	if s.Confine {
		if err := confine(s); err != nil {
			return fmt.Errorf("setting the limits: %w", err)
		}
		lacks = append(confineFiles(s), Isolate()...)
	}
	if err := writeFrame(out, ready{Protocol: protocol, Lacks: lacks}, maxRequest); err != nil {
		return fmt.Errorf("answering: %w", err)
	}
	for ctx.Err() == nil {
		var q request
		switch err := readFrame(r, &q, maxRequest); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading a job: %w", err)
		case q.Change == nil:
			return fmt.Errorf("reading a job: %w", errNotFrame)
		}
		if s.Confine {
			renewProcessorTime(s)
		}
		job, end := stepping(ctx, q, r, out)
		a := work(job, q, checker)
		end()
		a.Memory = held(s.Memory / 4)
		err := writeFrame(out, a, s.Output)
		var large *tooLargeError
		switch {
		case errors.As(err, &large):
			a = answer{Failed: &Failed{Message: "the report is larger than the limit of " + size(s.Output)}, Memory: a.Memory}
			err = writeFrame(out, a, maxRequest)
		case err != nil && !isBrokenPipe(err):
			a = answer{Failed: &Failed{Message: "the report cannot be written as JSON"}, Memory: a.Memory}
			err = writeFrame(out, a, maxRequest)
		}
		if err != nil {
			return fmt.Errorf("answering: %w", err)
		}
	}
	return nil
}

// stepPause is the least time between two steps that are told.
const stepPause = 200 * time.Millisecond

// stepping returns the context of a job, with a teller that writes frames where somebody waits for them, until it is
// ended. Until then, the sources of the job can be asked, where somebody answers.
func stepping(ctx context.Context, q request, in io.Reader, out io.Writer) (job context.Context, end func()) {
	var mu, asking sync.Mutex
	over := false
	write := func(a answer) (written bool) {
		mu.Lock()
		defer mu.Unlock()
		if over { // else a frame would follow the answer
			return false
		}
		return writeFrame(out, a, maxRequest) == nil // the answer finds a broken pipe, too
	}
	if q.Steps {
		tell := progress.Func(func(s progress.Step) { write(answer{Step: &s}) })
		ctx = progress.With(ctx, tell.Seldom(stepPause, time.Now))
	}
	if s := q.Change.Sources; q.Asks && s != nil {
		s.Ask = func(wants json.RawMessage) json.RawMessage {
			asking.Lock()
			defer asking.Unlock()
			var k known
			if !write(answer{Ask: wants}) || readFrame(in, &k, maxRequest) != nil {
				return nil
			}
			return k.Lock
		}
	}
	return ctx, func() {
		asking.Lock() // what the job left behind may wait for a reply, which must not be read as the next job
		defer asking.Unlock()
		mu.Lock()
		defer mu.Unlock()
		over = true
	}
}

// work does one job and turns errors and panics into answers.
func work(ctx context.Context, q request, checker Checker) (a answer) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		// The value may quote the repository, so only errors of the runtime are repeated.
		what := fmt.Sprintf("%T", p)
		if e, ok := p.(runtime.Error); ok {
			what = e.Error()
		}
		// To stderr, kept for the parent's debug log.
		slog.Error("check panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		a = answer{Failed: &Failed{Message: "the check panicked, which is a defect of Lintel: " + what, Panicked: true}}
	}()
	var err error
	switch {
	case q.Query != nil:
		q.Query.Change = *q.Change
		a.Showing, err = checker.Show(ctx, *q.Query)
	case q.Inspect:
		a.Inspection, err = checker.Inspect(ctx, *q.Change)
	default:
		a.Report, err = checker.Run(ctx, *q.Change)
	}
	switch {
	case err != nil:
		return answer{Failed: failed(q, err)}
	case a.Report == nil && a.Inspection == nil && a.Showing == nil:
		return answer{Failed: &Failed{Message: "the check ended without a report"}}
	}
	return a
}

func failed(q request, err error) *Failed {
	f := &Failed{Message: err.Error()}
	if absent, ok := errors.AsType[*tree.AbsentError](err); ok && absent.GitDir == q.Change.GitDir {
		f.Absent = absent.IDs
	}
	return f
}

// held is how much memory the process holds, in bytes. Garbage is not counted where it matters: over the
// mark, it is collected first.
func held(mark int64) int64 {
	read := func() int64 {
		s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		metrics.Read(s)
		return int64(s[0].Value.Uint64()) - int64(s[1].Value.Uint64())
	}
	n := read()
	if n > mark {
		debug.FreeOSMemory()
		n = read()
	}
	return n
}

// denied is an http.RoundTripper that refuses everything.
type denied struct{}

func (denied) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r.Body.Close()
	}
	return nil, ErrNetwork
}

// Isolate takes the network and the programs of the machine from the libraries that would use the process-wide
// defaults; kustomize does: it fetches files over HTTP and repositories with the git it finds. It changes the whole
// process, for good, and on Linux what it starts later: there, a filter of system calls refuses sockets, whatever a
// library uses. A sandbox has further walls behind that; a command that renders without a sandbox has this alone. It
// returns what this system cannot do, in words for people.
func Isolate() (lacks []string) {
	http.DefaultTransport = denied{}
	net.DefaultResolver = &net.Resolver{PreferGo: true,
		Dial: func(context.Context, string, string) (net.Conn, error) { return nil, ErrNetwork }}
	_ = os.Unsetenv("PATH") // it fails for names that are none
	if err := filterCalls(); err != nil {
		lacks = append(lacks, lacksFilter(err))
	}
	return lacks
}

// goMemory is the soft limit at which Go collects garbage harder, a tenth below the hard one.
func goMemory(limit int64) int64 { return limit - limit/10 }

// paceCollection sets how much garbage is left before it is collected, now and after each collection: twice what is in
// use, as a third of the time went into it with less, but at most a quarter of the limit.
func paceCollection(limit int64) {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	percent := int64(200)
	if used := int64(s[0].Value.Uint64()); used > 0 {
		percent = min(percent, limit/4*100/used)
	}
	debug.SetGCPercent(int(percent))
	runtime.AddCleanup(new([16]byte), paceCollection, limit) // the next collection finds it unused
}

// confine puts this process under its limits.
func confine(s setup) error {
	debug.SetMemoryLimit(goMemory(s.Memory))
	paceCollection(s.Memory) // from here on garbage is collected; see environment
	// A stack that grows is copied, so an eighth leaves room for both copies and what is on the heap; a
	// runaway recursion then ends as what it is and not as lack of memory.
	debug.SetMaxStack(int(min(max(s.Memory/8, 16<<20), 256<<20)))
	return limitResources(s)
}
