package remotes

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	disk "github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/remote/fetch"
)

// recheck is the time after which a source is asked whether an exact version still has the same content.
const recheck = 24 * time.Hour

// asker fetches for one check. It caches GitHub's answers about repositories.
type asker struct {
	*Cache
	change Change
	log    *slog.Logger

	mu      sync.Mutex
	repos   map[string]*hosted
	readers map[forge.Repo]bool // whether all authors are
	authors []string
	known   bool // authors is
}

// hosted is a repository on the App's host; the zero value is one that the installation cannot see.
type hosted struct {
	forge.Repo
	private bool
	token   string
}

// open returns the fetchers for sources of the base and for sources that only the change names. left is the remaining
// time for all fetches, which each fetch reduces.
func (a *asker) open(kept *remote.Store, asking Request, left *time.Duration) (base, head Fetcher,
	done func(), err error) {
	policy, err := a.c.Policy.Narrow(asking.Allow)
	if err != nil {
		return nil, nil, nil, err
	}
	within := *left
	if asking.Within > 0 {
		within = min(within, asking.Within)
	}
	o := fetch.Options{Store: kept, Scope: strconv.FormatInt(a.change.Repo.Installation, 10), Policy: policy,
		Deadline: time.Now().Add(within), Timeout: a.c.Budget / 2, Token: a.token, Recheck: recheck}
	if !a.change.Since.IsZero() {
		o.Fresh = max(time.Since(a.change.Since), time.Nanosecond) // zero would be the default
	}
	shared, err := fetch.New(o)
	if err != nil {
		return nil, nil, nil, err
	}
	o.Fork = a.change.Fork
	if a.change.Authors != nil {
		named := map[string]bool{}
		for _, address := range asking.Named {
			named[repositoryKey(address)] = true
		}
		o.MayRead = func(ctx context.Context, address string) (bool, error) {
			if named[repositoryKey(address)] {
				return true, nil
			}
			return a.mayRead(ctx, address)
		}
	}
	own, err := fetch.New(o)
	if err != nil {
		shared.Close()
		return nil, nil, nil, err
	}
	return &logged{shared, a.log, left}, &logged{own, a.log, left}, func() {
		shared.Close()
		own.Close()
	}, nil
}

// repositoryKey identifies a repository in any spelling of its address; empty if it has no address.
func repositoryKey(address string) string {
	u, err := remote.Address(address)
	if err != nil {
		return ""
	}
	u = remote.HTTPS(u)
	return strings.ToLower(u.Host + strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), ".git"))
}

// find asks GitHub about a repository of its host.
func (a *asker) find(ctx context.Context, address string) (*hosted, error) {
	repo, ok := a.parse(address)
	if !ok {
		return &hosted{}, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if known := a.repos[repositoryKey(address)]; known != nil {
		return known, nil
	}
	found := &hosted{}
	name := fmt.Sprint(repo.Installation, " ", repositoryKey(address))
	if _, absent := a.absent.Get(name); absent {
		return found, nil
	}
	settings, err := a.c.Client.Repository(ctx, repo)
	switch {
	case err == nil:
		repo.ID = settings.ID
		found = &hosted{Repo: repo, private: settings.Private}
	case !forge.IsGone(err):
		return nil, err
	default:
		a.absent.Put(name, true, disk.Span{From: time.Now(), Life: askedFor})
	}
	// Public repositories are read without a token, unless the host shows nothing to strangers.
	if found.private || found.ID != 0 && a.home.Host != "github.com" {
		if found.token, err = a.c.Client.GitToken(ctx, found.Repo); err != nil && !forge.IsGone(err) {
			return nil, err
		}
	}
	a.repos[repositoryKey(address)] = found
	return found, nil
}

// private implements Resolver.Private. A repository on the App's host that the installation cannot see counts as
// private, since the store may have it from before.
func (a *asker) private(ctx context.Context, address string) (forge.Repo, bool) {
	u, err := remote.Address(address)
	if err != nil {
		return forge.Repo{}, true
	}
	if u.Scheme == "ssh" {
		u = remote.HTTPS(u) // as which it is fetched
	}
	named, _ := a.parse(u.String())
	repo, err := a.find(ctx, u.String())
	switch {
	case err != nil:
		a.log.Warn("whether a source is private is not known; its lines are not shown", "repository", named.String(),
			"error", err)
		return named, true
	case repo.ID == 0:
		return named, u.Hostname() == a.home.Hostname()
	}
	return repo.Repo, repo.private
}

// defaults is the address of the repository with an organisation's settings, empty where it has none, and when GitHub was
// asked for it.
type defaults struct {
	address string
	asked   time.Time
}

// defaults implements Resolver.Defaults: the organisation's repository with such a name, if the App is installed there.
// These repositories themselves have no defaults.
func (a *asker) defaults(ctx context.Context) (string, error) {
	repo := a.change.Repo
	if repo.HasDefaults() {
		return "", nil
	}
	if known, ok := a.Cache.defaults.Get(repo.Installation); ok && !a.change.Anew && known.asked.After(a.change.Since) {
		return known.address, nil
	}
	asked := time.Now()
	list, err := a.c.Client.Repositories(ctx, repo.Installation)
	if err != nil {
		return "", fmt.Errorf("reading the organisation's defaults: %w", err)
	}
	address := ""
	for _, name := range forge.DefaultsNames() {
		i := slices.IndexFunc(list, func(r forge.Repo) bool {
			return strings.EqualFold(r.Name, name) && strings.EqualFold(r.Owner, repo.Owner)
		})
		if i >= 0 {
			address = strings.TrimSuffix(a.c.Client.CloneURL(list[i]), ".git")
			break
		}
	}
	a.Cache.defaults.Put(repo.Installation, defaults{address, asked}, disk.Span{From: asked, Life: askedFor})
	return address, nil
}

// parse returns the repository of an address of the App's host.
func (a *asker) parse(address string) (forge.Repo, bool) {
	u, err := remote.Address(address)
	if err != nil || u.Host != a.home.Host || u.Scheme != a.home.Scheme {
		return forge.Repo{}, false
	}
	prefix := strings.TrimSuffix(a.home.Path, "o/n.git") // of a server below a folder
	path, ok := strings.CutPrefix(strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), ".git"), prefix)
	owner, name, two := strings.Cut(path, "/")
	if !ok || !two || owner == "" || name == "" || strings.Contains(name, "/") {
		return forge.Repo{}, false
	}
	return forge.Repo{Installation: a.change.Repo.Installation, Owner: owner, Name: name}, true
}

// token implements fetch.Options.Token.
func (a *asker) token(ctx context.Context, address string) (string, error) {
	repo, err := a.find(ctx, address)
	if err != nil {
		return "", err
	}
	return repo.token, nil
}

// mayRead reports whether all authors of the change may read a repository.
func (a *asker) mayRead(ctx context.Context, address string) (bool, error) {
	repo, err := a.find(ctx, address)
	switch {
	case err != nil:
		return false, err
	case repo.ID == 0:
		return false, nil
	case !repo.private:
		return true, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	may, asked := a.readers[repo.Repo]
	if !asked {
		if may, err = a.areReaders(ctx, repo.Repo); err != nil {
			return false, err
		}
		a.readers[repo.Repo] = may
	}
	return may, nil
}

// areReaders asks GitHub whether all authors may read a repository. a.mu is locked.
func (a *asker) areReaders(ctx context.Context, repo forge.Repo) (bool, error) {
	if !a.known {
		list, err := a.change.Authors(ctx)
		if err != nil {
			return false, err
		}
		a.authors, a.known = slices.Compact(slices.Sorted(slices.Values(list))), true
	}
	for _, login := range a.authors {
		level, err := a.c.Client.Permission(ctx, repo, login)
		if forge.IsGone(err) || err == nil && level == "none" {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return len(a.authors) > 0, nil
}

// logged is a fetcher that logs what could not be had, and reduces the time that is left for fetching.
type logged struct {
	Fetcher
	log  *slog.Logger
	left *time.Duration
}

// Fetch implements Fetcher.
func (t *logged) Fetch(ctx context.Context, wants []remote.Want) (remote.Lock, error) {
	begun := time.Now()
	lock, err := t.Fetcher.Fetch(ctx, wants)
	*t.left = max(0, *t.left-time.Since(begun))
	t.tell(lock)
	return lock, err
}

// Known implements Fetcher.
func (t *logged) Known(ctx context.Context, wants []remote.Want) (remote.Lock, error) {
	lock, err := t.Fetcher.Known(ctx, wants)
	t.tell(lock)
	return lock, err
}

func (t *logged) tell(lock remote.Lock) {
	for _, e := range lock {
		if e.Failure != nil {
			t.log.Info("a remote source could not be fetched", "kind", string(e.Want.Kind), "url", withoutSecrets(e.Want),
				"name", e.Want.Name, "reason", e.Failure.Message)
		}
		if e.Changed != "" {
			t.log.Warn("a remote source has other content than when it was first fetched",
				"kind", string(e.Want.Kind), "url", withoutSecrets(e.Want), "name", e.Want.Name, "first", e.Changed)
		}
	}
}

// withoutSecrets is the address of a want without what can be secret: user, password and query.
func withoutSecrets(w remote.Want) string {
	u, err := url.Parse(w.URL)
	if clean, bad := remote.Address(w.URL); bad == nil {
		u, err = clean, nil
	}
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
