package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/bot/store"
)

// shownResults are the server's results and the pages that show them. all is nil without a public address.
type shownResults struct {
	store   *results.Store
	keeper  *results.Recorder
	handler *results.Handler
	// gone hides the results of repositories that the App was removed from.
	gone func(ctx context.Context, installation, repository int64) error
	// reached makes results follow renamed repositories, and removes the results of repositories that the App does not
	// reach any more.
	reached func(context.Context, results.Reached) error
}

// newPages creates them.
func (o *serveOptions) newPages(jobs *store.Queue, readers *results.Access, log *slog.Logger) (*shownResults, error) {
	if o.publicURL == "" {
		return &shownResults{}, nil
	}
	public, err := url.Parse(o.publicURL)
	if err != nil {
		return nil, err // it was validated
	}
	limits := o.pageLimits()
	p := &shownResults{store: results.NewStore(jobs.Bucket("RESULTS", limits.IndexBytes(), limits.Age),
		jobs.Bucket("REPORTS", limits.DataBytes(), limits.Age), limits, time.Now)}
	p.gone, p.reached = p.store.Gone, p.store.Retain
	p.keeper = results.NewRecorder(p.store, o.publicURL, readers.CanSignIn(), time.Now)
	if o.natsURL == "" {
		p.keeper.Room = roomIn(o.dataDir)
	}
	p.handler = results.New(results.Config{Store: p.store, Renderer: results.HTML{SignIn: readers.CanSignIn()},
		Guard: readers, Base: public.EscapedPath(), Log: log})
	return p, nil
}

// jobRoom is the disk space that results leave free for the jobs on the same disk, which must not be lost.
const jobRoom = 256 << 20

// roomIn returns a function that fails if a folder has no room for results.
func roomIn(dir string) func() error {
	return func() error {
		if free := store.Free(dir); free < jobRoom {
			return fmt.Errorf("the disk of LINTEL_DATA_DIR has only %d MiB left, which are reserved for jobs: "+
				"results are not stored", free>>20)
		}
		return nil
	}
}

func (o *serveOptions) pageLimits() results.Limits {
	return results.Limits{Age: o.pageAge, Bytes: int64(o.pageBytes), Result: int(o.pageResult)}
}
