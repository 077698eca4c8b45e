package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/remotes"
	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/render/remote"
)

// caches are the server's working data on disk. Each installation has folders of its own, with a mirror of each
// repository; each repository also has a cache.
type caches struct {
	mirrors *mirror.Mirrors
	fetched *remotes.Cache
	cache   string // folder of the caches
	limit   int64  // bytes, of the caches

	fetchedBytes, cacheBytes atomic.Int64 // bytes, as of the last look
}

// sizes is the size of each kind of data on disk; except for the mirrors, as measured last.
func (s *caches) sizes() map[string]int64 {
	return map[string]int64{"mirrors": s.mirrors.Bytes(), "sources": s.fetchedBytes.Load(), "cache": s.cacheBytes.Load()}
}

// sourceCache fetches remote sources according to LINTEL_SOURCES.
func (o *serveOptions) sourceCache(dataDir string, app *identity, log *slog.Logger) (*remotes.Cache, error) {
	return remotes.NewCache(remotes.CacheConfig{Dir: filepath.Join(dataDir, "sources"), Client: app.client, Policy: o.rules,
		Budget: o.checkTimeout, MaxBytes: int64(o.sourcesBytes), InUse: max(2*time.Hour, o.reading()), Log: log})
}

// reading is the longest time for which one check reads cached data: it is inspected, sources are fetched, it is done
// twice, and it continues if something was missing.
func (o *serveOptions) reading() time.Duration { return 6 * o.checkTimeout }

// owned returns the folders that the checks of a repository may use, named as worker.Worker does: sandbox.Config.Owned.
// Checks read the mirror and what the installation fetched, and write the cache.
func (s *caches) owned(log *slog.Logger) func(string) ([]string, string) {
	return func(owner string) ([]string, string) {
		var repo forge.Repo
		if _, err := fmt.Sscanf(owner, "%d.%d", &repo.Installation, &repo.ID); err != nil ||
			owner != fmt.Sprintf("%d.%d", repo.Installation, repo.ID) {
			return nil, ""
		}
		read := []string{s.mirrors.GitDir(repo)}
		fetched, err := s.fetched.Folder(context.Background(), repo.Installation)
		if err == nil {
			read = append(read, fetched)
		} else {
			log.Warn("the folder of the source cache could not be created", "installation", repo.Installation, "error", err)
		}
		return read, filepath.Join(s.cache, owner)
	}
}

const (
	// tidyEvery is the time between searches for data that is not needed any more.
	tidyEvery = time.Hour
	// keepUnused is how long a mirror or a cache is kept without a check that uses it.
	keepUnused = 14 * 24 * time.Hour
)

// cleanUp runs until ctx ends. It runs the background work of the other parts, and keeps mirrors, fetched content and
// caches from filling the disk.
func cleanUp(ctx context.Context, s *caches, log *slog.Logger, others ...func(context.Context)) {
	var running sync.WaitGroup
	defer running.Wait()
	for _, other := range others {
		running.Go(func() { other(ctx) })
	}
	ticker := time.NewTicker(tidyEvery)
	defer ticker.Stop()
	for {
		unused := time.Now().Add(-keepUnused)
		for _, stock := range []struct {
			name string
			tidy func() error
		}{
			{"the mirrors of repositories", func() error { return s.mirrors.Maintain(ctx, unused) }},
			{"the source cache", func() error {
				size, err := s.fetched.Maintain(ctx)
				s.fetchedBytes.Store(size)
				return err
			}},
			{"the caches of checks", func() error {
				size, err := tidyCaches(s.cache, unused, s.limit)
				s.cacheBytes.Store(size)
				return err
			}},
		} {
			if err := stock.tidy(); err != nil && ctx.Err() == nil {
				log.Warn(stock.name+" could not be cleaned up", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// tidyCaches removes the files in all caches that were not used since a time, and then those that were used longest ago
// until the rest is within a limit. It returns how many bytes are left. The cache of each repository also has a limit
// of its own, which its checks enforce.
func tidyCaches(dir string, unusedSince time.Time, limit int64) (sum int64, _ error) {
	type entry struct {
		path string
		size int64
		used time.Time
	}
	var all, folders []entry
	root, err := os.OpenRoot(dir) // out of which no link leads that a check makes meanwhile
	if err != nil {
		return 0, ignoreGone(err)
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // somebody makes room
			return nil
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		switch {
		case err != nil:
			return ignoreGone(err)
		case d.IsDir():
			folders = append(folders, entry{path: path, used: info.ModTime()})
		default:
			all = append(all, entry{path, info.Size(), info.ModTime()})
			sum += info.Size()
		}
		return nil
	})
	problems := []error{err}
	slices.SortFunc(all, func(a, b entry) int { return a.used.Compare(b.used) })
	for _, e := range all {
		if sum <= limit && !e.used.Before(unusedSince) {
			break
		}
		sum -= e.size
		problems = append(problems, ignoreGone(root.Remove(e.path)))
	}
	for _, f := range slices.Backward(folders[min(1, len(folders)):]) {
		if f.used.Before(unusedSince) {
			_ = root.Remove(f.path) // only an empty folder goes
		}
	}
	return sum, errors.Join(problems...)
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return remote.WithoutPath(err)
}

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
