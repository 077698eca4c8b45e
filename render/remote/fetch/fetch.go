// Package fetch fetches what a repository uses from outside itself into a store: git repositories, charts of chart
// repositories and registries, and single files. The code that renders says what it wants (see package render/remote),
// a Fetcher fetches it, and the rendering reads it from the store.
//
// The addresses were written by strangers. So only https is used (and oci over https) unless the operator allows more,
// IP addresses are checked when they are dialled, and nothing that was fetched is run. On a laptop, git runs with the
// user's own configuration instead and makes its own connections.
//
// HTTP requests follow a redirect only to addresses that are allowed as well. They send credentials to one host only,
// and limit the size of answers and the time. If HTTPS_PROXY names a proxy, the proxy resolves names and dials, and has
// to decide itself what it lets through; only addresses that are written as IP addresses are refused before. Git
// fetches into a repository of its own, which is moved into the store when it is complete.
package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lintel-bot/lintel/render/progress"
	"github.com/lintel-bot/lintel/render/remote"
)

// Fetch fetches the wants, or finds out why they cannot be fetched, and returns an entry for each, sorted. It returns
// an error if the store fails or ctx ends; then the result of the wants is unknown.
func (f *Fetcher) Fetch(ctx context.Context, wants []remote.Want) (remote.Lock, error) {
	wants = slices.Clone(wants)
	slices.SortFunc(wants, remote.Compare)
	wants = slices.Compact(wants)
	lock, err := f.all(ctx, wants)
	if err != nil {
		return nil, err
	}
	// The tree of a note may be missing: the machine crashed, or somebody cleaned up the store.
	gone, err := f.gone(ctx, lock)
	if err != nil || len(gone) == 0 {
		return lock, err
	}
	again, err := f.all(ctx, gone)
	if err != nil {
		return nil, err
	}
	for _, e := range again {
		n, _ := slices.BinarySearchFunc(lock, e.Want, func(a remote.Entry, w remote.Want) int {
			return remote.Compare(a.Want, w)
		})
		lock[n] = e
	}
	return lock, nil
}

// Known returns entries for the wants that need not be fetched, sorted: those that Fetch would take from the store, and
// those that may not be fetched. It returns an error if the store fails.
func (f *Fetcher) Known(ctx context.Context, wants []remote.Want) (remote.Lock, error) {
	var lock remote.Lock
	for _, w := range wants {
		_, n, err := f.held(ctx, w)
		switch failure := failureOf(err); {
		case failure != nil:
			lock = append(lock, remote.Entry{Want: w, Failure: failure})
		case err != nil:
			return nil, err
		case n.Tree != "":
			lock = append(lock, n.Entry(w))
		}
	}
	slices.SortFunc(lock, func(a, b remote.Entry) int { return remote.Compare(a.Want, b.Want) })
	gone, err := f.gone(ctx, lock)
	return slices.DeleteFunc(lock, func(e remote.Entry) bool { return slices.Contains(gone, e.Want) }), err
}

func (f *Fetcher) all(ctx context.Context, wants []remote.Want) (remote.Lock, error) {
	lock := make(remote.Lock, len(wants))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(together)
	count := progress.From(ctx).Count("fetching remote sources", len(wants))
	for i, w := range wants {
		group.Go(func() error {
			defer count.Begin(w.String())()
			entry, err := f.one(groupCtx, w)
			if err == nil {
				lock[i] = entry
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if f.store.Due() && !f.o.Offline {
		if err := f.store.Maintain(ctx); err != nil {
			return nil, err
		}
	}
	return lock, nil
}

// gone returns the wants whose trees are missing in the store, and deletes the trees from their notes.
func (f *Fetcher) gone(ctx context.Context, lock remote.Lock) (wants []remote.Want, err error) {
	var trees []string
	for _, e := range lock {
		if e.Tree != "" {
			trees = append(trees, e.Tree)
		}
	}
	missing, err := f.store.Missing(ctx, trees)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	err = f.store.Notes(func(key string, n remote.Note, _ time.Time) {
		if missing[n.Tree] {
			err = errors.Join(err, f.store.Forget(key, n))
		}
	})
	for _, e := range lock {
		if missing[e.Tree] {
			wants = append(wants, e.Want)
		}
	}
	return wants, err
}

// one fetches one want. A failure becomes part of the entry.
func (f *Fetcher) one(ctx context.Context, w remote.Want) (remote.Entry, error) {
	outer := ctx
	ctx, cancel := context.WithTimeoutCause(ctx, f.o.Timeout, transient("it took longer than %s", f.o.Timeout))
	defer cancel()
	if !f.o.Deadline.IsZero() {
		ctx, cancel = context.WithDeadlineCause(ctx, f.o.Deadline, &remote.Failure{Own: true, Passing: true,
			Message: "the time limit for fetching remote sources was reached"})
		defer cancel()
	}
	n, err := f.note(ctx, w)
	switch failure := failureOf(err); {
	case err == nil:
		return n.Entry(w), nil
	case outer.Err() != nil:
		return remote.Entry{}, context.Cause(outer)
	case failure == nil && ctx.Err() != nil:
		return remote.Entry{Want: w, Failure: failureOf(context.Cause(ctx))}, nil
	case failure != nil:
		return remote.Entry{Want: w, Failure: failure}, nil
	}
	return remote.Entry{}, err
}

// held returns the note of a want from the store, if that is recent enough, and the zero Note if it has to be fetched.
func (f *Fetcher) held(ctx context.Context, w remote.Want) (job, remote.Note, error) {
	j, err := f.job(ctx, w)
	if err != nil {
		return j, remote.Note{}, err
	}
	n, err := f.known(ctx, j)
	if err != nil || n.Tree != "" {
		return j, n, err
	}
	return j, remote.Note{}, f.mayAsk(j.url)
}

// note returns the result for a want, from the store if that is recent enough.
func (f *Fetcher) note(ctx context.Context, w remote.Want) (remote.Note, error) {
	j, n, err := f.held(ctx, w)
	if err != nil || n.Tree != "" {
		return n, err
	}
	unlock, err := f.store.Lock(ctx, j.key)
	if err != nil {
		return remote.Note{}, err
	}
	defer unlock()
	if n, err := f.known(ctx, j); err != nil || n.Tree != "" {
		return n, err // another process fetched it meanwhile
	}
	return f.get(ctx, j)
}

// known returns the note of a want that need not be fetched again, the zero Note if it has to be.
func (f *Fetcher) known(ctx context.Context, j job) (remote.Note, error) {
	n, err := f.store.Note(j.key)
	if err != nil {
		return remote.Note{}, err
	}
	now := f.store.Now()
	switch {
	case n.Failure != nil && now.Sub(n.Failed) < failureFresh && !f.o.Offline:
		return remote.Note{}, n.Failure
	case n.Tree == "" || !(f.o.Offline || f.onlyKnown(j.url) || j.good(now.Sub(n.Asked), f.o)):
		return remote.Note{}, nil
	}
	if n.Content != "" {
		content, err := f.store.Note(n.Content)
		if err != nil || content.Tree == "" {
			return remote.Note{}, err // it was cleaned up
		}
		f.store.Used(n.Content)
	}
	if err := f.mayUse(ctx, n); err != nil {
		return remote.Note{}, err
	}
	f.store.Used(j.key)
	return n, nil
}

// get fetches a want, and stores the result as a note. The caller holds the lock of its key.
func (f *Fetcher) get(ctx context.Context, j job) (remote.Note, error) {
	before, err := f.store.Note(j.key)
	if err != nil {
		return remote.Note{}, err
	}
	var n remote.Note
	switch {
	case j.want.Kind == remote.Git:
		n, err = f.getGit(ctx, j)
	case j.want.Kind == remote.File:
		n, err = f.getFile(ctx, j, before)
	case j.url.Scheme == "oci":
		n, err = f.getRegistry(ctx, j.url, j.want)
	default:
		n, err = f.getRepository(ctx, j)
	}
	now := f.store.Now()
	if err == nil {
		n.What, n.Want, n.Asked = j.want.String(), &j.want, now
		// Parts of it may have been in the store already, from hosts that this policy does not allow.
		return n, errors.Join(f.mayUse(ctx, n), f.store.Put(j.key, n))
	}
	failure := failureOf(err)
	if failure == nil {
		return remote.Note{}, err
	}
	if before.Tree != "" && j.exact && !failure.Broken {
		// If an exact version cannot be checked again, its known content is used.
		before.Asked = now.Add(failureFresh - f.o.Recheck)
		return before, errors.Join(f.mayUse(ctx, before), f.store.Put(j.key, before))
	}
	if failure.Own {
		return remote.Note{}, err
	}
	before.What, before.Want, before.Failure, before.Failed = j.want.String(), &j.want, failure, now
	return remote.Note{}, errors.Join(err, f.store.Put(j.key, before))
}

// broken returns a failure that the wanted thing itself causes: it does not exist, or is not what it has to be.
func broken(format string, args ...any) error {
	return &remote.Failure{Message: fmt.Sprintf(format, args...), Broken: true}
}

// undecided returns a failure that says nothing about the wanted thing: credentials, the list of allowed sources, no
// answer, limits.
func undecided(format string, args ...any) error {
	return &remote.Failure{Message: fmt.Sprintf(format, args...)}
}

// transient returns a failure that may be over a while later: the source does not answer, or reports an error of its
// own.
func transient(format string, args ...any) error {
	return &remote.Failure{Message: fmt.Sprintf(format, args...), Passing: true}
}

// denied returns a failure that depends on who asks: the asker has no permission.
func denied(format string, args ...any) error {
	return &remote.Failure{Message: fmt.Sprintf(format, args...), Own: true}
}

// failureOf returns the failure in an error, nil if it has none.
func failureOf(err error) *remote.Failure {
	f, _ := errors.AsType[*remote.Failure](err)
	return f
}

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

	Charts ChartLimits // the zero value: Helm's own where Helm has one
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
	o.Charts = cmp.Or(o.Charts, ChartLimits{Packed: 10 << 20, Unpacked: 100 << 20, Files: 10_000})
	return &Fetcher{o: o, store: o.Store, web: newWeb(o.Policy, o.Web), unpacking: make(chan struct{}, 2)}, nil
}

// Close ends the connections that are kept open.
func (f *Fetcher) Close() { f.web.Close() }
