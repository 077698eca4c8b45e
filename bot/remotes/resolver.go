package remotes

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/remote"
)

// Fetcher fetches wants into a store; *fetch.Fetcher implements it. A source that cannot be fetched is an entry with
// the reason; the error is of the store or of the context. Known has entries only for the wants that need not be
// fetched.
type Fetcher interface {
	Fetch(ctx context.Context, wants []remote.Want) (remote.Lock, error)
	Known(ctx context.Context, wants []remote.Want) (remote.Lock, error)
}

// Resolver fetches sources for one check or command, and returns the same result for repeated requests. It is not safe
// for concurrent use. A nil Resolver fetches nothing.
type Resolver struct {
	GitDir string // absolute
	// Open returns what fetches: what the base names, and what only the change does. close ends the fetchers' connections.
	Open func(a Request) (base, head Fetcher, close func(), err error)
	// Watch is called when a fetching begins, and what it returns when that is over; nil: nobody watches.
	Watch func() (done func(got remote.Lock))
	// Private returns the repository of the App's host at an address, if it is private; without an id if that is
	// unknown. Nil: no repository is private.
	Private func(ctx context.Context, address string) (forge.Repo, bool)

	// Fork means that the change comes from a fork: what only the change names is not answered before all wants of the
	// base are known, since the base would then get the content that a fork may get, which may be older.
	Fork bool

	// Defaults returns the address of the repository with the organisation's defaults, empty where it has none; nil: none
	// has any.
	Defaults func(ctx context.Context) (string, error)

	lock    remote.Lock
	results map[remote.Want]remote.Entry // those of lock
	named   []string
	preview time.Duration // that was spent on previews
	rounds  int           // in which something was fetched for them

	questions int // see known
}

// Change describes the change for which sources are fetched.
type Change struct {
	Repo forge.Repo
	// Authors returns who wrote what only the change has. Nil: it is on a branch of the repository already.
	Authors func(ctx context.Context) ([]string, error)
	Fork    bool // the change comes from a fork
	// Since is when a source is known to have changed: sources fetched before are fetched again. Zero: the fetcher
	// decides.
	Since time.Time
	Anew  bool // somebody asked for the check: what is cached about which repositories there are does not count
	Log   *slog.Logger
}

// Request describes what is to be fetched.
type Request struct {
	// Allow restricts addresses by patterns; nil does not. Sources that the repository itself does not name are not
	// restricted.
	Allow []string
	// Named are the addresses of all repositories that the base names, as it has them.
	Named []string
	// Within is how long it may take; 0: no shorter than other fetching.
	Within time.Duration
}

// Error is an error of fetching: of the store, or of deciding what may be fetched. It is not about the content of a
// source.
type Error struct{ Err error }

func (e *Error) Error() string {
	return "the remote sources could not be fetched: " + e.Err.Error()
}
func (e *Error) Unwrap() error { return e.Err }

// Folders lists what a sandbox must be able to read.
func (s *Resolver) Folders() []string {
	if s == nil {
		return nil
	}
	return []string{s.GitDir}
}

// Lock is what everything came to that was wanted so far.
func (s *Resolver) Lock() remote.Lock {
	if s == nil {
		return nil
	}
	return slices.Clone(s.lock)
}

// ID distinguishes the results of all wants; it is empty where nothing
// was wanted.
func (s *Resolver) ID() string {
	if s == nil || len(s.lock) == 0 {
		return ""
	}
	return remote.New(s.lock, nil).ID()
}

// maxRounds limits how often a job is repeated. Charts may depend on charts and bases on bases, but not as deeply.
const maxRounds = 24

// previewTime is how long all fetching for previews may take, and maxPreviewRounds how often a job is done once more for
// one: it looks at everything each time.
const (
	previewTime      = 90 * time.Second
	maxPreviewRounds = 4
)

// maxWants limits the sources of one check or command. Repositories with a thousand releases need a few thousand.
const maxWants = 10_000

// maxOpened limits the fetchers that stay open for one check or command. A job has one list of allowed sources, and asks
// for some without it; settings of an organisation that turn out to be others are one more.
const maxOpened = 8

// Until calls do with the fetched sources until it requests no more. If it requests too much, or too often, the last
// call is told that it is the last, and reports what it lacks. With a nil Resolver, do is called once. The error is
// that of do, or *Error.
func (s *Resolver) Until(ctx context.Context, do func(*report.Sources) (wanted json.RawMessage, err error)) error {
	if s == nil {
		_, err := do(nil)
		return err
	}
	ask, end := s.asking(ctx)
	defer end()
	for round := 1; ; round++ {
		given := len(s.lock)
		data, _ := json.Marshal(s.lock) // an entry is valid JSON
		wanted, err := do(&report.Sources{GitDir: s.GitDir, Lock: data, Last: round >= maxRounds, Ask: ask})
		if err != nil || len(wanted) == 0 || round >= maxRounds {
			return err
		}
		var request remote.Request
		if err := json.Unmarshal(wanted, &request); err != nil {
			return fmt.Errorf("reading the list of wanted remote sources: %w", err)
		}
		got, err := s.fetch(ctx, request)
		if err != nil {
			return &Error{err}
		}
		s.add(got)
		if len(s.lock) == given || len(s.lock) >= maxWants { // it was told what became of each, or of enough
			round = maxRounds - 1
		}
	}
}

func (s *Resolver) fetch(ctx context.Context, request remote.Request) (lock remote.Lock, err error) {
	taken := map[remote.Want]bool{}
	var given, base, head, preview []remote.Want
	for _, a := range request.Wants {
		if a.Base && a.Want.Kind == remote.Git {
			s.named = append(s.named, a.Want.URL)
		}
		if _, known := s.results[a.Want]; known || taken[a.Want] || len(s.lock)+len(taken) >= maxWants {
			continue
		}
		taken[a.Want] = true
		switch {
		case a.Given:
			given = append(given, a.Want)
		case a.Base:
			base = append(base, a.Want)
		case a.Preview:
			preview = append(preview, a.Want)
		default:
			head = append(head, a.Want)
		}
	}
	within := previewTime - s.preview
	if within <= 0 || s.rounds == maxPreviewRounds {
		preview = nil
	}
	if len(given)+len(base)+len(head)+len(preview) == 0 {
		return nil, nil
	}
	if s.Watch != nil {
		done := s.Watch()
		defer func() { done(lock) }()
	}
	if lock, err = s.get(ctx, Request{Named: s.named}, given, nil); err != nil {
		return nil, err
	}
	more, err := s.get(ctx, Request{Allow: request.Allow, Named: s.named}, base, head)
	if lock = append(lock, more...); err != nil || len(preview) == 0 {
		return lock, err
	}
	begun := time.Now()
	more, err = s.get(ctx, Request{Allow: request.Allow, Named: s.named, Within: within}, nil, preview)
	s.preview, s.rounds = s.preview+time.Since(begun), s.rounds+1
	for i, e := range more {
		if e.Failure != nil { // for it alone, no check is done once more
			failure := *e.Failure
			failure.Passing, more[i].Failure = false, &failure
		}
	}
	return append(lock, more...), err
}

// asking returns the function for report.Sources.Ask, until it is ended. What it answers is part of the lock.
func (s *Resolver) asking(ctx context.Context) (ask func(json.RawMessage) json.RawMessage, end func()) {
	opened := map[string]*sides{}
	open := func(allow []string) (*sides, error) {
		key := fmt.Sprintf("%t %q", allow == nil, allow)
		if opened[key] == nil {
			if len(opened) == maxOpened {
				return nil, fmt.Errorf("more than %d lists of allowed sources", maxOpened)
			}
			base, head, end, err := s.Open(Request{Allow: allow, Named: s.named})
			if err != nil {
				return nil, err // the request for what is not answered tells it
			}
			opened[key] = &sides{base, head, end}
		}
		return opened[key], nil
	}
	return func(wants json.RawMessage) json.RawMessage {
			var request remote.Request
			if json.Unmarshal(wants, &request) != nil {
				return nil
			}
			lock := remote.Lock{}
			for _, a := range request.Wants {
				allow := request.Allow
				if a.Given {
					allow = nil
				}
				if from, err := open(allow); err == nil {
					lock = append(lock, s.known(ctx, a, from)...)
				}
			}
			data, _ := json.Marshal(lock) // an entry is valid JSON
			return data
		}, func() {
			for _, one := range opened {
				one.end()
			}
		}
}

// sides are the fetchers for what the base names, and for what only the change does.
type sides struct {
	base, head Fetcher
	end        func()
}

// known returns the entry for a want that need not be fetched, else nothing.
func (s *Resolver) known(ctx context.Context, a remote.Asked, from *sides) remote.Lock {
	if e, known := s.results[a.Want]; known {
		return remote.Lock{e}
	}
	s.questions++ // an answer may take a request to GitHub
	by := from.base
	switch shared := a.Base || a.Given; {
	case s.questions > maxWants, !shared && s.Fork:
		return nil
	case !shared:
		by = from.head
	case a.Base && a.Want.Kind == remote.Git:
		s.named = append(s.named, a.Want.URL)
	}
	got, err := by.Known(ctx, []remote.Want{a.Want})
	if err != nil || len(got) != 1 {
		return nil
	}
	// The base may get what the head may not. What a passing failure means depends on who asks, see fetch.
	if f := got[0].Failure; f != nil && (by != from.base || f.Passing) {
		return nil
	}
	s.add(got)
	return got
}

func (s *Resolver) add(lock remote.Lock) {
	if s.results == nil {
		s.results = map[remote.Want]remote.Entry{}
	}
	for _, e := range lock {
		s.results[e.Want] = e
	}
	s.lock = append(s.lock, lock...)
}

// get fetches what the base names, and what only the change does.
func (s *Resolver) get(ctx context.Context, asking Request, base, head []remote.Want) (lock remote.Lock, _ error) {
	if len(base)+len(head) == 0 {
		return nil, nil
	}
	ofBase, ofHead, end, err := s.Open(asking)
	if err != nil {
		return nil, err
	}
	defer end()
	for _, side := range []struct {
		Fetcher
		wants []remote.Want
	}{{ofBase, base}, {ofHead, head}} {
		if len(side.wants) == 0 {
			continue
		}
		got, err := side.Fetch(ctx, side.wants)
		if err != nil {
			return nil, err
		}
		lock = append(lock, got...)
	}
	return lock, nil
}

// Sandbox runs jobs that may request remote sources; *sandbox.Sandbox implements it.
type Sandbox interface {
	Inspect(ctx context.Context, change report.Change) (*report.Inspection, error)
	Run(ctx context.Context, change report.Change) (*report.Report, error)
}

// DefaultsAddress is Defaults, which may be nil.
func (s *Resolver) DefaultsAddress(ctx context.Context) (string, error) {
	if s == nil || s.Defaults == nil {
		return "", nil
	}
	address, err := s.Defaults(ctx)
	if err != nil {
		return "", &Error{err}
	}
	return address, nil
}

// Inspect is Sandbox.Inspect with the requested remote sources.
func (s *Resolver) Inspect(ctx context.Context, in Sandbox, change report.Change) (*report.Inspection, error) {
	return until(ctx, s, change, in.Inspect, func(out *report.Inspection) json.RawMessage { return out.Wanted })
}

// Run is Sandbox.Run with the requested remote sources.
func (s *Resolver) Run(ctx context.Context, in Sandbox, change report.Change) (*report.Report, error) {
	return until(ctx, s, change, in.Run, func(out *report.Report) json.RawMessage { return out.Wanted })
}

// until is Until for a job with a result.
func until[R any](ctx context.Context, s *Resolver, change report.Change, do func(context.Context, report.Change) (*R, error),
	wanted func(*R) json.RawMessage) (out *R, err error) {
	err = s.Until(ctx, func(have *report.Sources) (json.RawMessage, error) {
		change.Sources = have
		if out, err = do(ctx, change); err != nil || out == nil {
			return nil, err
		}
		return wanted(out), nil
	})
	return out, err
}
