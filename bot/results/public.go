package results

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// PublicOnly is the Guard of a server that does not know who its readers are: everybody sees what everybody may see at
// GitHub, and nobody the rest. It is safe for concurrent use.
type PublicOnly struct {
	// asks GitHub whether a repository is private; an error where it cannot be reached (any more)
	private func(ctx context.Context, repository Repository) (bool, error)
	life    time.Duration
	now     func() time.Time

	asking singleflight.Group // by id of the repository

	mu    sync.Mutex
	known map[int64]visibility
}

type visibility struct {
	public bool
	until  time.Time
}

const (
	// maxKnown bounds the memory of a PublicOnly.
	maxKnown = 10_000
	// hiddenLife is how long a repository that is not public is not asked about again, an error included.
	hiddenLife = 30 * time.Second
	// askTimeout bounds what a reader waits for GitHub.
	askTimeout = 5 * time.Second
)

// NewPublicOnly makes a guard that remembers for some time that a repository is public. A nil now is time.Now.
func NewPublicOnly(life time.Duration, private func(ctx context.Context, repository Repository) (bool, error),
	now func() time.Time) *PublicOnly {
	if now == nil {
		now = time.Now
	}
	return &PublicOnly{private: private, life: life, now: now, known: map[int64]visibility{}}
}

// Access implements Guard.
func (p *PublicOnly) Access(r *http.Request, repository Repository) (Access, error) {
	p.mu.Lock()
	v, ok := p.known[repository.ID]
	p.mu.Unlock()
	if !ok || !p.now().Before(v.until) {
		got, err, _ := p.asking.Do(strconv.FormatInt(repository.ID, 10), func() (any, error) {
			return p.ask(context.WithoutCancel(r.Context()), repository)
		})
		if err != nil {
			return Hidden, err
		}
		v.public, _ = got.(bool)
	}
	if v.public {
		return Public, nil
	}
	return Hidden, nil
}

// ask remembers what GitHub says, an error as no.
func (p *PublicOnly) ask(ctx context.Context, repository Repository) (public bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	begun := p.now()
	private, err := p.private(ctx, repository)
	v := visibility{public: err == nil && !private, until: begun.Add(min(p.life, hiddenLife))}
	if v.public {
		v.until = begun.Add(p.life)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) >= maxKnown {
		clear(p.known)
	}
	p.known[repository.ID] = v
	return v.public, err
}

// SignedIn implements Guard.
func (p *PublicOnly) SignedIn(*http.Request) bool { return false }

// Turn implements Guard.
func (p *PublicOnly) Turn(http.ResponseWriter, *http.Request) bool { return false }
