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

	// UserGit has git run with the configuration of the user (address rewriting, credential helpers, proxies, ssh): for a
	// laptop. Git then dials itself, and no address is checked.
	UserGit bool
	// Offline uses only what the store has, however old.
	Offline bool
	// Fork means that a fork's change asks: only what the store has is used, and what the policy's forks.allow has.
	Fork bool

	// Token returns what git is shown for a repository; empty where there is nothing to show. It is asked about https
	// addresses without credentials. An error that is no *remote.Failure ends the whole fetching: it says nothing about
	// the repository. Nil: there is nothing.
	Token func(ctx context.Context, url string) (token string, err error)
	// MayRead reports, before anything is used that was read with a token, also from the store, whether whoever asks may
	// see it. Its errors are like those of Token. Nil: everything may be.
	MayRead func(ctx context.Context, url string) (bool, error)
	// Scope keeps what was read with a token apart from what others read with theirs: the installation.
	Scope string

	// Fresh is for how long what moves (a branch, a tag, a range, the newest version) is not asked for again; 0: 2
	// minutes.
	Fresh time.Duration
	// Recheck is after what time even an exact version is asked for again, to find out that it changed. 0: never.
	Recheck time.Duration
	// Timeout is for one thing, everything included; 0: 5 minutes.
	Timeout time.Duration
	// Deadline is when no source is waited for any longer: what has not come by then is not to be had. The zero time:
	// never.
	Deadline time.Time

	Charts ChartLimits // the zero value: chart.DefaultLimits()
	MaxGit int64       // bytes of one fetch of git; 0: 1 GiB
	Web    WebOptions
}

// defaults of Options.
const (
	defaultFresh   = 2 * time.Minute
	defaultTimeout = 5 * time.Minute
	defaultMaxGit  = 1 << 30
	// together is how many things are got at once.
	together = 6
	// failureFresh is for how long a failure is not tried to overcome again.
	failureFresh = 30 * time.Second
	maxFile      = 16 << 20
)

// Fetcher gets wants. It is safe for concurrent use, also with others on the same store.
type Fetcher struct {
	o     Options
	store *remote.Store
	web   *webClient
	// unpacking is full while as many charts are unpacked as may be at once.
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
