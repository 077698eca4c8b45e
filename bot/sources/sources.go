// Package sources has a job of the sandbox done again until all that it takes from outside of the repository was asked
// for: the sandbox says what it wants, somebody out here fetches it, and both sides of a change see the same.
package sources

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/remote"
)

// Fetcher gets wants into a store; *fetch.Fetcher is one. What cannot be had is an entry that says why; an error is of
// the store or of the context.
type Fetcher interface {
	Fetch(ctx context.Context, wants []remote.Want) (remote.Lock, error)
}

// Store is where what was fetched is.
type Store struct {
	GitDir string // absolute
	// Open returns what fetches for one job: what the base names, and what only the change does. Patterns of addresses
	// narrow what may be fetched, nil do not. close ends the fetchers' connections.
	Open func(allow []string) (base, head Fetcher, close func(), err error)
}

// Folders lists what a sandbox must be able to read.
func (s *Store) Folders() []string {
	if s == nil {
		return nil
	}
	return []string{s.GitDir}
}

// maxRounds is how often a job is done. Charts depend on charts and bases on bases; nobody nests them as deep.
const maxRounds = 24

// Until calls do with what was fetched so far, until it wants nothing more. Where it wants more and more, the last call
// is told that it is the last: what it lacks then, it names. A nil Store has nothing: do is called once.
func (s *Store) Until(ctx context.Context, do func(*report.Sources) (wanted json.RawMessage, err error)) error {
	if s == nil {
		_, err := do(nil)
		return err
	}
	lock := remote.Lock{}
	known := map[remote.Want]bool{} // what the lock has
	for round := 1; ; round++ {
		data, err := json.Marshal(lock)
		if err != nil {
			return fmt.Errorf("writing down what was fetched: %w", err)
		}
		wanted, err := do(&report.Sources{GitDir: s.GitDir, Lock: data, Last: round >= maxRounds})
		if err != nil || len(wanted) == 0 || round >= maxRounds {
			return err
		}
		var request remote.Request
		if err := json.Unmarshal(wanted, &request); err != nil {
			return fmt.Errorf("reading what is wanted from outside: %w", err)
		}
		request.Wants = slices.DeleteFunc(request.Wants, func(a remote.Asked) bool { return known[a.Want] })
		got, err := s.fetch(ctx, request)
		if err != nil {
			return err
		}
		for _, e := range got {
			known[e.Want] = true
		}
		if lock = append(lock, got...); len(got) == 0 { // it was told what became of each
			round = maxRounds - 1
		}
	}
}

func (s *Store) fetch(ctx context.Context, request remote.Request) (lock remote.Lock, err error) {
	if len(request.Wants) == 0 {
		return nil, nil
	}
	base, head, done, err := s.Open(request.Allow)
	if err != nil {
		return nil, err
	}
	defer done()
	for _, side := range []struct {
		Fetcher
		base bool
	}{{base, true}, {head, false}} {
		var wants []remote.Want
		for _, a := range request.Wants {
			if a.Base == side.base {
				wants = append(wants, a.Want)
			}
		}
		if len(wants) == 0 {
			continue
		}
		got, err := side.Fetch(ctx, wants)
		if err != nil {
			return nil, err
		}
		lock = append(lock, got...)
	}
	return lock, nil
}

// Sandbox does jobs that may want something from outside; *sandbox.Sandbox is one.
type Sandbox interface {
	Inspect(ctx context.Context, change report.Change) (*report.Inspection, error)
	Run(ctx context.Context, change report.Change) (*report.Report, error)
}

// Run is Sandbox.Run with what is wanted from outside.
func (s *Store) Run(ctx context.Context, in Sandbox, change report.Change) (rep *report.Report, err error) {
	err = s.Until(ctx, func(have *report.Sources) (json.RawMessage, error) {
		change.Sources = have
		if rep, err = in.Run(ctx, change); err != nil || rep == nil {
			return nil, err
		}
		return rep.Wanted, nil
	})
	return rep, err
}
