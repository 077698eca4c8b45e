package results

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
)

const (
	// storeTimeout limits how long a check waits for the store.
	storeTimeout = 5 * time.Second
	// storePause is how long the store is not asked again after it failed.
	storePause = time.Minute
)

// ErrPaused means that the store failed recently and is not asked again yet.
var ErrPaused = errors.New("the store of results failed recently")

// Recorder stores the results whose page somebody can open, and returns the addresses of the pages. It is safe for
// concurrent use.
type Recorder struct {
	// Room returns an error with the reason if there is no room for results, which share a disk with the jobs. Nil:
	// there always is room.
	Room func() error

	store     *Store
	publicURL string // without a trailing slash
	private   bool
	now       func() time.Time

	mu    sync.Mutex
	after time.Time // the store is not asked before this time
}

// NewRecorder makes a Recorder for pages below a public address. private says that readers can sign in; without it,
// results of private repositories are not stored.
func NewRecorder(store *Store, publicURL string, private bool, now func() time.Time) *Recorder {
	return &Recorder{store: store, publicURL: publicURL, private: private, now: now}
}

// Records reports whether results of a repository have a page that somebody can open.
func (k *Recorder) Records(private bool) bool { return k.private || !private }

// Record stores a result and returns the absolute address of its page. If nobody could open the page, it stores nothing
// and returns "". It takes at most five seconds. For a minute after a failure, it returns ErrPaused at once.
func (k *Recorder) Record(ctx context.Context, r *Stored) (address string, err error) {
	if !k.Records(r.Repository.Private) {
		return "", nil
	}
	if k.paused() {
		return "", ErrPaused
	}
	if k.Room != nil {
		if err := k.Room(); err != nil {
			k.pause()
			return "", err
		}
	}
	storing, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if err := k.store.Put(storing, r); err != nil {
		if ctx.Err() == nil {
			k.pause()
		}
		return "", err
	}
	return k.publicURL + r.Path(), nil
}

// Overview returns the absolute address of the page of a repository; "" if nobody could open it.
func (k *Recorder) Overview(r forge.Repository) string {
	if !k.Records(r.Private) {
		return ""
	}
	return k.publicURL + RepositoryPath(r)
}

// Published stores the id of the check run that shows a result.
func (k *Recorder) Published(ctx context.Context, r *Stored, checkRun int64) error {
	if k.paused() {
		return ErrPaused
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return k.store.Published(ctx, r.Repository.ID, r.Head, r.ID, checkRun)
}

func (k *Recorder) paused() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now().Before(k.after)
}

func (k *Recorder) pause() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.after = k.now().Add(storePause)
}
