package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/lintel-bot/lintel/bot"
	"github.com/lintel-bot/lintel/bot/access"
	"github.com/lintel-bot/lintel/bot/datadir"
	"github.com/lintel-bot/lintel/bot/pages"
	"github.com/lintel-bot/lintel/bot/queue"
	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/bot/sweep"
)

// shownResults is what the server keeps and shows of its results; all is nil without a public address.
type shownResults struct {
	store   *results.Store
	keeper  *results.Keeper
	handler bot.Pages
}

// newPages puts them together.
func (o *serveOptions) newPages(jobs *queue.Queue, readers *access.Access, log *slog.Logger) (*shownResults, error) {
	if o.publicURL == "" {
		return &shownResults{}, nil
	}
	public, err := url.Parse(o.publicURL)
	if err != nil {
		return nil, err // it was validated
	}
	limits := o.pageLimits()
	p := &shownResults{store: results.NewStore(jobs.Bucket("RESULTS", limits.IndexBytes(), limits.Age),
		jobs.Bucket("REPORTS", limits.DataBytes(), limits.Age), limits, nil)}
	p.keeper = results.NewKeeper(p.store, o.publicURL, readers.CanSignIn(), nil)
	if o.natsURL == "" {
		p.keeper.Room = roomIn(o.dataDir)
	}
	handler, err := results.New(results.Config{Store: p.store, Renderer: pages.Renderer{SignIn: readers.CanSignIn()},
		Guard: guard{readers}, Base: public.EscapedPath(), Log: log})
	if err != nil {
		return nil, err
	}
	p.handler = readPages{handler, readers}
	return p, nil
}

// readPages are pages whose reader is looked up once for each request, however many repositories are on it.
type readPages struct {
	*results.Handler
	readers *access.Access
}

// ServeHTTP implements http.Handler.
func (p readPages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.Handler.ServeHTTP(w, p.readers.Once(r))
}

// jobRoom is what results leave of a disk to the jobs beside them, which must not be lost.
const jobRoom = 256 << 20

// roomIn says that a folder has no room for results.
func roomIn(dir string) func() error {
	return func() error {
		if free := datadir.Free(dir); free < jobRoom {
			return fmt.Errorf("the disk of LINTEL_DATA_DIR has %d MiB left, which are for the jobs: results are not kept", free>>20)
		}
		return nil
	}
}

// gone hides the results of what the App was taken from.
func (p *shownResults) gone() func(ctx context.Context, installation, repository int64) error {
	if p.store == nil {
		return nil
	}
	return p.store.Gone
}

// reached has results follow their repositories, and removes those of all that the App does not reach any more.
func (p *shownResults) reached() func(context.Context, sweep.Reached) error {
	if p.store == nil {
		return nil
	}
	return func(ctx context.Context, reached sweep.Reached) error {
		return p.store.Retain(ctx, func(installation, repository int64) (now results.Repository, is, known bool) {
			repo, is, known := reached(installation, repository)
			return results.Repository{ID: repo.ID, Installation: repo.Installation, Owner: repo.Owner, Name: repo.Name}, is, known
		})
	}
}

func (o *serveOptions) pageLimits() results.Limits {
	return results.Limits{Age: o.pageAge, Bytes: int64(o.pageBytes), Result: int(o.pageResult)}
}

// guard is a results.Guard: who may read a repository by GitHub's word.
type guard struct{ readers *access.Access }

// Access implements results.Guard.
func (g guard) Access(r *http.Request, of results.Repository) (results.Access, error) {
	decision, err := g.readers.May(r, access.Repository{ID: of.ID, InstallationID: of.Installation, Owner: of.Owner, Name: of.Name,
		Private: of.Private})
	_, known := g.readers.Reader(r)
	switch {
	case err != nil || decision != access.Allowed:
		return results.Hidden, err
	case known || of.Private:
		return results.Private, nil
	}
	return results.Public, nil // nobody in particular may see it
}

// SignedIn implements results.Guard.
func (g guard) SignedIn(r *http.Request) bool {
	_, ok := g.readers.Reader(r)
	return ok
}

// Turn implements results.Guard.
func (g guard) Turn(w http.ResponseWriter, r *http.Request) bool {
	decision := g.readers.Missing(r)
	if decision == access.NotFound && !g.readers.CanSignIn() {
		return false
	}
	g.readers.Answer(w, r, decision) // a 404, too: it says who the reader is, who may want to be somebody else
	return true
}
