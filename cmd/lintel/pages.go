package main

import (
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/bot/store"
)

// shownResults are the server's results and the pages that show them.
type shownResults struct {
	store   *results.Store
	keeper  *results.Recorder
	handler *results.Handler
}

// newPages creates them; nil without a public address.
func (o *serveOptions) newPages(jobs *store.Queue, readers *results.Access, log *slog.Logger) (*shownResults, error) {
	if o.publicURL == "" {
		return nil, nil
	}
	public, err := url.Parse(o.publicURL)
	if err != nil {
		return nil, err // it was validated
	}
	limits := results.Limits{Age: o.pageAge, Bytes: int64(o.pageBytes), Result: int(o.pageResult)}
	p := &shownResults{store: results.NewStore(jobs.Bucket("RESULTS", limits.IndexBytes(), limits.Age),
		jobs.Bucket("REPORTS", limits.DataBytes(), limits.Age), limits, time.Now)}
	p.keeper = results.NewRecorder(p.store, o.publicURL, readers.CanSignIn(), time.Now)
	if o.natsURL == "" {
		p.keeper.Room = func() error {
			if free := store.Free(o.dataDir); free < jobRoom {
				return fmt.Errorf("the disk of LINTEL_DATA_DIR has only %d MiB left, which are reserved for jobs: "+
					"results are not stored", free>>20)
			}
			return nil
		}
	}
	p.handler = results.New(results.Config{Store: p.store, Renderer: results.HTML{SignIn: readers.CanSignIn()},
		Guard: readers, Base: public.EscapedPath(), Log: log})
	return p, nil
}

// jobRoom is the disk space that results leave free for the jobs on the same disk, which must not be lost.
const jobRoom = 256 << 20
