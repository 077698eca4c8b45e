// Package remotes fetches the remote sources of checks. Each installation of the App has its own cache, so that a
// source which one installation may read is not available to another. A Resolver repeats a job of the sandbox until all
// of its sources were requested: the sandbox returns its requests, this process fetches them, and both sides of a
// change see the same content.
//
// Git repositories on the App's own host are read with the installation's token if needed, all others with the
// credentials in the operator's LINTEL_SOURCES. A source that only the change names is fetched only if the change's
// authors may read it. A source that the base names counts as shared with all readers of the repository.
package remotes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	disk "github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/remote/fetch"
)

// CacheConfig is what New needs.
type CacheConfig struct {
	Dir string // where the stores are
	// MaxBytes limits the size of all stores; the least recently used content is removed first. 0: each store has its
	// own limit.
	MaxBytes int64
	InUse    time.Duration // what was used since then stays whatever the limit: a check may read it. 0: 2 hours
	Client   forge.Client  // required
	Policy   *fetch.Policy // the operator's; nil: fetch.DefaultPolicy()
	// Budget limits the time for all fetches of one check; a single fetch may take half of it. 0: 5 minutes.
	Budget time.Duration
	Log    *slog.Logger // nil: none
}

// Cache opens the stores of installations. It is safe for concurrent use.
type Cache struct {
	c    CacheConfig
	home *url.URL // the App's host

	absent   *disk.Cache[string, bool]    // repositories that an installation could not see
	defaults *disk.Cache[int64, defaults] // by installation

	mu     sync.Mutex
	stores map[int64]*remote.Store
}

// cached is the store of one installation.
type cached struct {
	*remote.Store // nil: it cannot be opened
	dir           string
	used          time.Time // the last time of anything in it
	bytes         int64     // bytes of content, as the notes have it
}

// size returns the bytes of the store, and how many of them stay without removing content.
func (k *cached) size() (all, stays int64) {
	if k.Store == nil {
		all = remote.Size(k.dir)
		return all, all
	}
	all, garbage := k.Size()
	return all, all - garbage
}

const (
	// askedFor is how long GitHub's answers are cached: that an installation cannot see a repository, since such
	// requests count against its hourly limit, and the repositories of an installation, since listing them takes a
	// request for each hundred.
	askedFor = 5 * time.Minute
	maxAsked = 10_000
)

// NewCache returns a cache. It makes no folder and no request.
func NewCache(c CacheConfig) (*Cache, error) {
	home, err := remote.Address(c.Client.CloneURL(forge.Repo{Owner: "o", Name: "n"}))
	if err != nil {
		return nil, fmt.Errorf("the address of GitHub: %w", err)
	}
	c.Policy = cmp.Or(c.Policy, fetch.DefaultPolicy()).WithHost(home)
	c.Budget = cmp.Or(c.Budget, 5*time.Minute)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return &Cache{c: c, home: home, stores: map[int64]*remote.Store{},
		absent:   disk.NewCache[string](disk.CacheConfig[bool]{Limit: maxAsked}),
		defaults: disk.NewCache[int64](disk.CacheConfig[defaults]{Limit: maxAsked})}, nil
}

// Folder returns what the sandboxes of an installation may read of its store, made where there is none.
func (s *Cache) Folder(ctx context.Context, installation int64) (string, error) {
	kept, err := s.store(ctx, installation)
	if err != nil {
		return "", err
	}
	return kept.GitDir(), nil
}

// For returns the resolver for one check. It fails for errors of the store's folder.
func (s *Cache) For(ctx context.Context, change Change) (*Resolver, error) {
	kept, err := s.store(ctx, change.Repo.Installation)
	if err != nil {
		return nil, err
	}
	asker := &asker{Cache: s, change: change, log: cmp.Or(change.Log, s.c.Log), repos: map[string]*hosted{},
		readers: map[forge.Repo]bool{}}
	left := s.c.Budget
	return &Resolver{GitDir: kept.GitDir(), Open: func(a Request) (Fetcher, Fetcher, func(),
		error) {
		return asker.open(kept, a, &left)
	}, Fork: change.Fork, Private: asker.private, Defaults: asker.defaults}, nil
}

func (s *Cache) store(ctx context.Context, installation int64) (*remote.Store, error) {
	if installation <= 0 {
		return nil, errors.New("remote sources need an installation")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept := s.stores[installation]; kept != nil {
		if _, err := os.Stat(kept.GitDir()); err == nil {
			return kept, nil
		}
	}
	kept, err := remote.OpenStore(ctx, remote.StoreOptions{Dir: s.dir(installation), InUse: s.c.InUse})
	if err != nil {
		return nil, remote.WithoutPath(err)
	}
	s.stores[installation] = kept
	return kept, nil
}

func (s *Cache) dir(installation int64) string {
	return filepath.Join(s.c.Dir, strconv.FormatInt(installation, 10))
}

// Maintain removes content from all stores that is old or exceeds the limits, and returns the remaining bytes. It keeps
// content that a check may read.
func (s *Cache) Maintain(ctx context.Context) (int64, error) {
	entries, err := os.ReadDir(s.c.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("the folder of the source cache: %w", remote.WithoutPath(err))
	}
	var problems []error
	var all []cached
	for _, e := range entries {
		installation, err := strconv.ParseInt(e.Name(), 10, 64)
		if err != nil || !e.IsDir() || s.dir(installation) != filepath.Join(s.c.Dir, e.Name()) {
			continue
		}
		k := cached{dir: s.dir(installation)}
		if k.Store, err = s.store(ctx, installation); err == nil {
			err = k.Maintain(ctx)
		}
		problems = append(problems, err)
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		all = append(all, k)
	}
	sum, err := s.makeRoom(ctx, all)
	return sum, errors.Join(append(problems, err)...)
}

// makeRoom empties the least recently used stores, except for content that a check may read, until all stores are
// within the limit without what will be removed anyway.
func (s *Cache) makeRoom(ctx context.Context, all []cached) (sum int64, _ error) {
	var stay int64
	for i := range all {
		k := &all[i]
		size, stays := k.size()
		sum, stay = sum+size, stay+stays
		if k.Store != nil {
			_ = k.Notes(func(_ string, n remote.Note, used time.Time) { // a store that cannot be read comes first
				k.bytes += n.Bytes
				if used.After(k.used) {
					k.used = used
				}
			})
		}
	}
	slices.SortFunc(all, func(a, b cached) int { return a.used.Compare(b.used) })
	var problems []error
	for _, k := range all {
		over := stay - s.c.MaxBytes
		if s.c.MaxBytes == 0 || over <= 0 || ctx.Err() != nil {
			break
		}
		if k.Store == nil {
			continue
		}
		size, stays := k.size()
		problems = append(problems, k.MakeRoom(ctx, max(0, k.bytes-over)))
		now, staysNow := k.size()
		sum, stay = sum+now-size, stay+staysNow-stays
	}
	return sum, errors.Join(problems...)
}
