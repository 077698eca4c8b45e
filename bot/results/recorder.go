package results

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
)

const (
	// storeTimeout bounds what a check may wait for the store.
	storeTimeout = 5 * time.Second
	// storePause is how long nobody waits for a store that failed.
	storePause = time.Minute
)

// ErrPaused means that the store failed a moment ago and is not asked again yet.
var ErrPaused = errors.New("the store of results failed recently")

// Recorder stores the results that have a page which their readers can open, and knows its address. It is safe for
// concurrent use.
type Recorder struct {
	// Room is the reason why there is no room for results, which share a disk with the jobs. Nil: there always is.
	Room func() error

	store     *Store
	publicURL string // without a trailing slash
	private   bool
	now       func() time.Time

	mu    sync.Mutex
	after time.Time // nobody waits for the store before
}

// NewRecorder makes a Recorder of pages below a public address. Those of private repositories have readers only where
// somebody can find out who they are: where private is true. A nil now is time.Now.
func NewRecorder(store *Store, publicURL string, private bool, now func() time.Time) *Recorder {
	if now == nil {
		now = time.Now
	}
	return &Recorder{store: store, publicURL: publicURL, private: private, now: now}
}

// Records reports whether results of a repository have a page that somebody can open.
func (k *Recorder) Records(private bool) bool { return k.private || !private }

// Record stores a result and returns the absolute address of its page; "" if nobody could open it, which is not stored
// then. It takes at most five seconds, and no time for a minute after it failed.
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

// Overview is the absolute address of the page of a repository; "" if nobody could open it.
func (k *Recorder) Overview(r forge.Repository) string {
	if !k.Records(r.Private) {
		return ""
	}
	return k.publicURL + RepositoryPath(r)
}

// Published remembers the check run that shows a result.
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
