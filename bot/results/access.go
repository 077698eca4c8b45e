package results

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/output"
)

const (
	homePath  = "/auth/"
	loginPath = "/auth/login"
	// signOutPath takes the empty form of a button.
	signOutPath = "/auth/sign-out"
	// DefaultAccessTTL is how long GitHub's answers about access are cached.
	DefaultAccessTTL = 5 * time.Minute
	// MaxAccessTTL is the most that can be set.
	MaxAccessTTL = time.Hour
)

// Provider is GitHub's sign-in for people; *github.SignIn is one.
type Provider interface {
	AuthorizeURL(redirect, state, challenge string, choose bool) string
	Exchange(ctx context.Context, code, verifier, redirect string) (forge.Account, error)
	Key(purpose string) [32]byte
}

// AccessConfig is the configuration of an Access. Hub is required. Without PublicURL or SignIn nobody can sign in, and
// private repositories have no pages.
type AccessConfig struct {
	Hub       forge.Client
	PublicURL string   // where people reach this server, without a trailing slash; see github.ParseAddress
	SignIn    Provider // nil: the App has no client secret
	// Sessions and Used store for all servers who is signed in, and which sign-ins were used; see store.Queue.Sessions.
	// They are required with SignIn.
	Sessions, Used store.Values
	// TTL is how long GitHub's answers are cached; zero is DefaultAccessTTL.
	TTL time.Duration
	Now func() time.Time // nil: time.Now
	Log *slog.Logger     // nil: none. No address of a request, code, token or cookie is ever logged
}

// Access decides who may see a page about a repository: everybody, if GitHub says that it is public; otherwise people
// who signed in through GitHub and may read it there. Answers of GitHub are cached for minutes. It is safe for
// concurrent use.
//
//	GET  /auth/                    says who is signed in
//	GET  /auth/login?return=PATH   sends the browser to GitHub
//	GET  /auth/callback            where GitHub sends it back, with a code and our state
//	POST /auth/sign-out            ends the session, on every server
//
// A proxy may remove the path of the public address, or keep it, so these paths are also served below it.
//
// A sign-in
// (https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-user-access-token-for-a-github-app,
// with PKCE, RFC 7636) only identifies a person. The user's token is dropped at once, and permissions are requested
// with the installation's token. The id of a session is therefore the only thing that could be stolen, and the servers
// store its hash only. A session ends at sign-out, after a day, and when the person revokes the App's authorization at
// GitHub.
//
// The state of a sign-in in progress is in a sealed cookie of the browser. Unfinished sign-ins therefore take no room
// here, and the browser may return to another server.
type Access struct {
	config    AccessConfig
	origin    string // of PublicURL
	base      string // path of PublicURL, as it is written: "", or such as /lintel
	secure    bool   // https
	exchanges *rate.Limiter
	presences *store.Cache[placeKey, presence]
	rights    *store.Cache[right, bool]
}

// NewAccess makes an Access. It makes no request.
func NewAccess(c AccessConfig) (*Access, error) {
	c.TTL = cmp.Or(c.TTL, DefaultAccessTTL)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Now == nil {
		c.Now = time.Now
	}
	switch {
	case c.Hub == nil:
		return nil, errors.New("access: no Hub")
	case c.TTL < 0 || c.TTL > MaxAccessTTL:
		return nil, fmt.Errorf("access: answers can be cached for at most %s", MaxAccessTTL)
	}
	slots := make(chan struct{}, maxQuestions)
	a := &Access{config: c, exchanges: rate.NewLimiter(exchangeRate, exchangeBurst),
		presences: newAnswers[placeKey, presence](slots, c.Now), rights: newAnswers[right, bool](slots, c.Now)}
	if c.PublicURL == "" || c.SignIn == nil {
		return a, nil
	}
	u, err := url.Parse(c.PublicURL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || strings.HasSuffix(c.PublicURL, "/") {
		return nil, errors.New("access: the public address is not valid")
	}
	if c.Sessions == nil || c.Used == nil {
		return nil, errors.New("access: no sessions")
	}
	a.origin, a.base, a.secure = originOf(u), u.EscapedPath(), u.Scheme == "https"
	return a, nil
}

// originOf returns the origin of an address as browsers define it (RFC 6454, section 6.2): without the default port.
func originOf(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if port := u.Port(); port == "443" && u.Scheme == "https" || port == "80" && u.Scheme == "http" {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return strings.ToLower(u.Scheme) + "://" + host
}

// CanSignIn reports whether people can sign in here. Otherwise only public repositories have pages.
func (a *Access) CanSignIn() bool { return a.origin != "" }

// Routes adds the paths of the sign-in. Without a sign-in there are none.
func (a *Access) Routes(mux *http.ServeMux) {
	if !a.CanSignIn() {
		return
	}
	for _, base := range slices.Compact([]string{"", a.base}) {
		mux.HandleFunc("GET "+base+homePath+"{$}", a.home)
		mux.HandleFunc("GET "+base+loginPath, a.login)
		mux.HandleFunc("GET "+base+github.CallbackPath, a.callback)
		mux.HandleFunc("POST "+base+signOutPath, a.signOut)
	}
}

// Level is what a reader may see of the pages about a repository.
type Level int

// The levels. If the answer is unknown, the level is Hidden.
const (
	Hidden  Level = iota // nothing
	Private              // the pages, which others may not see
	Public               // the pages, which everybody may see
)

const (
	// decideTimeout limits how long a reader waits for a decision, questionTimeout how long GitHub may take to answer
	// one question, even if the reader has left.
	decideTimeout   = 10 * time.Second
	questionTimeout = 15 * time.Second
	// maxQuestions limits the concurrent questions to GitHub of all readers.
	maxQuestions = 16
	// refusalTTL is how long a refusal is cached. It is short, so that a person who just got access need not wait long.
	refusalTTL = 30 * time.Second
	// failureTTL is how long a failure of GitHub is cached, so that not every request asks again.
	failureTTL = time.Second
	// maxRemembered limits the cached answers of one kind; the least recently used ones are dropped first.
	maxRemembered = 20_000
	// reserve is the part of an hourly rate limit that is left to the checks: one tenth.
	reserve = 10
)

// presence is GitHub's answer about a repository.
type presence struct {
	repo    forge.Repo
	gone    bool
	private bool
}

// placeKey is a question about a repository. It includes the installation, since the answer for a removed installation
// does not hold for the next one.
type placeKey struct{ installation, repository int64 }

// newAnswers returns a cache of GitHub's answers to one kind of question. Equal concurrent questions are asked once,
// and failures are cached for a moment.
func newAnswers[K comparable, V any](slots chan struct{}, now func() time.Time) *store.Cache[K, V] {
	return store.NewCache[K](store.CacheConfig[V]{Limit: maxRemembered, Now: now, Places: slots, Wait: questionTimeout,
		Timeout: questionTimeout, Failure: failureTTL})
}

// right is a question about a permission: may this account read this repository.
type right struct {
	placeKey
	account int64
}

func of(repo forge.Repo) placeKey { return placeKey{repo.Installation, repo.ID} }

// Level decides what the sender of a request may see of the pages about a repository. repo.Private is what was known
// when the page was stored. The error, which only comes with Hidden, is for the log. Without a cached answer, it asks
// GitHub, each question once at a time.
func (a *Access) Level(r *http.Request, repo forge.Repository) (Level, error) {
	ctx, cancel := context.WithTimeout(r.Context(), decideTimeout)
	defer cancel()
	who, unknown := a.reader(ctx, r) // the error does not matter where everybody may see it
	if repo.ID <= 0 || repo.Installation <= 0 {
		return Hidden, nil
	}
	if who == nil || !repo.Private { // else what it says of the repository is asked for with it
		now, err := a.presences.Ask(ctx, of(repo.Repo), func(ctx context.Context) (presence, store.Span, error) {
			return a.present(ctx, repo.Repo)
		})
		switch {
		case err != nil:
			return Hidden, err
		case !now.gone && !now.private && who == nil && !repo.Private:
			return Public, nil
		case !now.gone && !now.private:
			return Private, nil // somebody in particular may see it
		case now.gone && !repo.Private:
			return Hidden, nil
		case who == nil || now.gone:
			return Hidden, unknown
		}
	}
	may, err := a.rights.Ask(ctx, right{of(repo.Repo), who.Account.ID}, func(ctx context.Context) (bool, store.Span, error) {
		return a.mayRead(ctx, repo.Repo, who.Account)
	})
	if err != nil || !may {
		return Hidden, err
	}
	return Private, nil
}

// present asks GitHub for a repository. The answer counts from the time before the request.
func (a *Access) present(ctx context.Context, repo forge.Repo) (presence, store.Span, error) {
	asked := a.config.Now()
	if b, known := a.config.Hub.Budget(repo.Installation); known && b.Remaining*reserve < b.Limit {
		return presence{}, store.Span{}, fmt.Errorf("installation %d: %w", repo.Installation, errSpare)
	}
	p, err := a.config.Hub.Present(ctx, repo)
	switch {
	case forge.IsGone(err):
		return presence{repo: repo, gone: true}, store.Span{From: asked, Life: min(a.config.TTL, refusalTTL)}, nil
	case err != nil:
		return presence{}, store.Span{}, err
	}
	return presence{repo: p.Repo, private: p.Private}, store.Span{From: asked, Life: a.config.TTL}, nil
}

// mayRead asks GitHub for a permission. It looks the repository up again, so that a name that another repository got
// meanwhile does not count.
func (a *Access) mayRead(ctx context.Context, repo forge.Repo, account forge.Account) (bool, store.Span, error) {
	asked := a.config.Now()
	now, counts, err := a.present(ctx, repo)
	if err != nil {
		return false, store.Span{}, err
	}
	a.presences.Put(of(repo), now, counts)
	may := !now.gone
	if may && now.private {
		may, err = a.config.Hub.MayRead(ctx, now.repo, account)
		if may = may && err == nil; err != nil && !forge.IsGone(err) {
			return false, store.Span{}, err
		}
	}
	counts = store.Span{From: asked, Life: a.config.TTL}
	if !may {
		counts.Life = min(counts.Life, refusalTTL)
	}
	return may, counts, nil
}

var errSpare = errors.New("GitHub's hourly rate limit is nearly used up; the rest is reserved for checks")

// notice is a page that is shown instead of the requested one.
type notice struct {
	Title, Text string
	Login       string // who is signed in, and can sign out
	Again       string // where to sign in
}

// show sends a page.
func (a *Access) show(w http.ResponseWriter, status int, p notice) {
	m := output.Message{Frame: output.Frame{Static: a.base + "/static/"}, Heading: p.Title, Text: p.Text}
	if p.Login != "" {
		m.Reader, m.SignOut = p.Login, a.base+signOutPath
	}
	if p.Again != "" {
		m.Action = output.Link{Text: "Sign in with GitHub", Address: p.Again}
	}
	var body bytes.Buffer
	if err := m.Write(&body); err != nil {
		a.config.Log.Error("a page cannot be shown", "error", err)
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return
	}
	strict(w.Header())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = body.WriteTo(w)
}

// strict sets the headers of pages about the reader: they run no script and are not cached.
func strict(h http.Header) {
	secure(h, "img-src 'self'")
	h.Set("Cache-Control", "private, no-store")
}

// redirect sends a browser to an address, without a body.
func (a *Access) redirect(w http.ResponseWriter, address string) {
	strict(w.Header())
	w.Header().Set("Location", address)
	w.WriteHeader(http.StatusSeeOther)
}

// Turn answers a request for a page that does not exist or that the reader may not see. Readers who are not signed in
// cannot distinguish the two, and are asked to sign in. A script that requests a part of a page gets a 401, since it
// cannot follow a redirect to another site. It returns false without an answer if nobody can sign in here.
func (a *Access) Turn(w http.ResponseWriter, r *http.Request) bool {
	if !a.CanSignIn() {
		return false
	}
	ctx, cancel := context.WithTimeout(r.Context(), decideTimeout)
	defer cancel()
	who, err := a.reader(ctx, r)
	mode := r.Header.Get("Sec-Fetch-Mode")
	switch {
	case err != nil:
		w.Header().Set("Retry-After", "5")
		a.show(w, http.StatusServiceUnavailable, notice{Title: "Not available at the moment",
			Text: "This server could not ask GitHub who may see this page. Try again in a few seconds."})
	case who == nil && mode != "" && mode != "navigate":
		a.show(w, http.StatusUnauthorized, notice{Title: "You are not signed in"})
	case who == nil:
		a.redirect(w, a.again(a.back(r.URL.RequestURI())))
	default: // the page names the reader, who may want to be somebody else
		a.show(w, http.StatusNotFound, notice{Title: "Not found", Login: who.Account.Login,
			Text: "This page does not exist, or GitHub does not currently confirm that you may see it. Results are " +
				"kept for a limited time: re-run the check for a new one."})
	}
	return true
}
