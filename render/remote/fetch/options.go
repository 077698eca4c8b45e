package fetch

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/lintel-bot/lintel/render/remote"
)

// Options are what New needs. Only Store is required.
type Options struct {
	Store  *remote.Store
	Policy *Policy // nil: DefaultPolicy()

	// UserGit makes git use the user's configuration (address rewriting, credential helpers, proxies, ssh): for a
	// laptop. Git then makes its own connections, and no address is checked.
	UserGit bool
	// Offline uses only content in the store, however old.
	Offline bool
	// Fork means that a change from a fork asks: only content in the store is used, and sources that the policy's
	// forks.allow lists are fetched.
	Fork bool

	// Token returns the token that git uses for a repository, empty if there is none. It is called with https addresses
	// without credentials. An error other than *remote.Failure ends the whole fetching: it says nothing about the
	// repository. Nil: no tokens.
	Token func(ctx context.Context, url string) (token string, err error)
	// MayRead reports whether the asker may read a repository. It is called before any content is used that was read
	// with a token, even if the store has it. Its errors are like those of Token. Nil: the asker may read everything.
	MayRead func(ctx context.Context, url string) (bool, error)
	// Scope separates content that was read with a token from content that was read with other tokens: it names the
	// installation.
	Scope string

	// Fresh is how long the result for something that can change (a branch, a tag, a range, the newest version) is used
	// without asking again; 0: 2 minutes.
	Fresh time.Duration
	// Recheck is the time after which even an exact version is asked for again, to find out whether it changed. 0:
	// never.
	Recheck time.Duration
	// Timeout is the time for one want in total; 0: 5 minutes.
	Timeout time.Duration
	// Deadline is the time after which nothing more is fetched: what is missing by then counts as not available. The
	// zero time: no deadline.
	Deadline time.Time

	Charts ChartLimits // the zero value: DefaultChartLimits()
	MaxGit int64       // limit of one fetch of git, in bytes; 0: 1 GiB
	Web    WebOptions
}

// defaults of Options.
const (
	defaultFresh   = 2 * time.Minute
	defaultTimeout = 5 * time.Minute
	defaultMaxGit  = 1 << 30
	// together is how many wants are fetched at once.
	together = 6
	// failureFresh is how long a failure is remembered before it is tried again.
	failureFresh = 30 * time.Second
	maxFile      = 16 << 20
)

// Fetcher fetches wants. It is safe for concurrent use, and several may share a store.
type Fetcher struct {
	o     Options
	store *remote.Store
	web   *webClient
	// unpacking limits how many charts are unpacked at once.
	unpacking chan struct{}
}

// New returns a fetcher; Close ends its connections.
func New(o Options) (*Fetcher, error) {
	if o.Store == nil {
		return nil, errors.New("a fetcher needs a store")
	}
	if o.Policy == nil {
		o.Policy = DefaultPolicy()
	}
	o.Fresh, o.Timeout = cmp.Or(o.Fresh, defaultFresh), cmp.Or(o.Timeout, defaultTimeout)
	o.MaxGit = cmp.Or(o.MaxGit, defaultMaxGit)
	if o.Charts == (ChartLimits{}) {
		o.Charts = DefaultChartLimits()
	}
	return &Fetcher{o: o, store: o.Store, web: newWeb(o.Policy, o.Web), unpacking: make(chan struct{}, 2)}, nil
}

// Close ends the connections that are kept open.
func (f *Fetcher) Close() { f.web.Close() }
