package main

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/lintel-bot/lintel/bot/sandbox"
	"github.com/lintel-bot/lintel/checks/report"
)

// sandboxPool is one sandbox for each worker. It implements bot.Sandbox.
type sandboxPool struct {
	all  []*sandbox.Sandbox
	free chan struct{} // holds a token for each of idle
	// complete gets objects that a check found absent from a mirror, and all files of the commits that it reads:
	// mirror.Mirrors.Complete.
	complete func(ctx context.Context, gitDir string, commits, objects []string) error

	mu     sync.Mutex
	idle   []*sandbox.Sandbox          // the one used last is at the end: it may know the repository
	owners map[*sandbox.Sandbox]string // whose change each had last
}

func newSandboxPool(size int, config sandbox.Config,
	complete func(ctx context.Context, gitDir string, commits, objects []string) error) *sandboxPool {
	p := &sandboxPool{complete: complete, free: make(chan struct{}, size), owners: map[*sandbox.Sandbox]string{}}
	for range size {
		p.all = append(p.all, sandbox.New(config))
		p.free <- struct{}{}
	}
	p.idle = slices.Clone(p.all)
	return p
}

// Inspect implements bot.Sandbox.
func (p *sandboxPool) Inspect(ctx context.Context, change report.Change) (in *report.Inspection, err error) {
	err = p.whole(ctx, change, func(s *sandbox.Sandbox) error { in, err = s.Inspect(ctx, change); return err })
	return in, err
}

// Run implements bot.Sandbox.
func (p *sandboxPool) Run(ctx context.Context, change report.Change) (rep *report.Report, err error) {
	err = p.whole(ctx, change, func(s *sandbox.Sandbox) error { rep, err = s.Run(ctx, change); return err })
	return rep, err
}

// maxWhole is how often a job is done: what it asks for of the history it asks for at once.
const maxWhole = 3

// whole is use for a change, done again as long as it finds something absent that can be fetched: of a mirror's history,
// only the files are there that checks usually read.
func (p *sandboxPool) whole(ctx context.Context, change report.Change, do func(*sandbox.Sandbox) error) error {
	for try := 1; ; try++ {
		err := p.use(ctx, change.Owner, do)
		var failed *sandbox.Failed
		if !errors.As(err, &failed) || len(failed.Absent) == 0 || try == maxWhole {
			return err
		}
		commits := slices.DeleteFunc([]string{change.Base, change.Head, change.Rules}, func(c string) bool { return c == "" })
		if err := p.complete(ctx, change.GitDir, commits, failed.Absent); err != nil {
			return err
		}
	}
}

// use waits for an idle sandbox and lends it to do: the one that served the owner last, else one that served nobody, else
// the one that has been idle for longest, as a sandbox that serves another one starts anew.
func (p *sandboxPool) use(ctx context.Context, owner string, do func(*sandbox.Sandbox) error) error {
	select {
	case <-p.free:
	case <-ctx.Done():
		return ctx.Err()
	}
	p.mu.Lock()
	s := p.take(owner)
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.idle = append(p.idle, s)
		p.mu.Unlock()
		p.free <- struct{}{}
	}()
	return do(s)
}

// take removes the sandbox for an owner from those that are idle, which are some.
func (p *sandboxPool) take(owner string) *sandbox.Sandbox {
	at := 0
	for i, s := range p.idle {
		had, used := p.owners[s]
		before, usedBefore := p.owners[p.idle[at]]
		if used && had == owner || !used && usedBefore && before != owner {
			at = i
		}
	}
	s := p.idle[at]
	p.idle = slices.Delete(p.idle, at, at+1)
	p.owners[s] = owner
	return s
}

func (p *sandboxPool) restarts() (sum float64) {
	for _, s := range p.all {
		sum += float64(s.Restarts())
	}
	return sum
}

func (p *sandboxPool) close() {
	for _, s := range p.all {
		_ = s.Close() // the child is ended by force if need be; there is nobody left to tell
	}
}
