package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
)

const (
	// sessionLife is how long a session lasts, used or not.
	sessionLife = 24 * time.Hour
	// clocks is how far the clocks of servers may differ.
	clocks = 5 * time.Minute
	// maxSessions is how many sessions a person has, of as many browsers. One more ends the others: they were forgotten, or
	// somebody fills the store.
	maxSessions = 20
	// storeTimeout bounds one question to the store, which by itself waits for a cluster to find itself.
	storeTimeout = 3 * time.Second
)

// session is who signed in with one browser, and when. It is stored under a hash of what the cookie has.
type session struct {
	Account forge.Account `json:"account"`
	Begun   time.Time     `json:"begun"`
}

// secretForm is what secret makes.
var secretForm = regexp.MustCompile(`^[0-9A-Za-z_-]{43}$`)

// secret is 256 random bits.
func secret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// digest is what the store knows of a secret.
func digest(kind, secret string) string {
	sum := sha256.Sum256([]byte(kind + " " + secret))
	return hex.EncodeToString(sum[:])
}

// holder is the name of all sessions of an account.
func holder(account int64) string { return "session." + strconv.FormatInt(account, 10) }

// Reader is who sent a request, if the person is signed in and the store answers.
func (a *Access) Reader(r *http.Request) (login string, signedIn bool) {
	who, err := a.reader(r.Context(), r)
	if err != nil || who == nil {
		return "", false
	}
	return who.Account.Login, true
}

// memo is the session of one request, looked up when it is first asked for.
type memo struct {
	once    sync.Once
	session *session
	err     error
}

// memoKey is where a request has its memo for an Access.
type memoKey struct{ of *Access }

// Once is a request whose session is looked up at most once, so that all answers about it are of one piece, and a page
// about many repositories does not ask for each.
func (a *Access) Once(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), memoKey{a}, &memo{}))
}

// reader is the session of a request, nil if there is none in force.
func (a *Access) reader(ctx context.Context, r *http.Request) (*session, error) {
	m, ok := ctx.Value(memoKey{a}).(*memo)
	if !ok {
		return a.find(ctx, r)
	}
	m.once.Do(func() { m.session, m.err = a.find(ctx, r) })
	return m.session, m.err
}

// find asks the store for it.
func (a *Access) find(ctx context.Context, r *http.Request) (*session, error) {
	if !a.CanSignIn() {
		return nil, nil
	}
	name, account := a.sessionName(r)
	if name == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	data, _, err := a.config.Sessions.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	var s session
	if json.Unmarshal(data, &s) != nil || s.Account.ID != account || s.Account.Login == "" {
		return nil, nil
	}
	now := a.config.Now()
	if now.Before(s.Begun.Add(-clocks)) {
		// A clock was wrong, then or now. It must not come into force once its time has come, and last a day from then.
		return nil, a.config.Sessions.Remove(ctx, name)
	}
	if !now.Before(s.Begun.Add(sessionLife)) {
		return nil, nil
	}
	return &s, nil
}

// cookieForm is the cookie of a session: the account that it belongs to, and a secret.
var cookieForm = regexp.MustCompile(`^[1-9][0-9]{0,18}\.[0-9A-Za-z_-]{43}$`)

// sessionName is where the session of a request's cookie is stored, and whose it says that it is; "" if it has none.
func (a *Access) sessionName(r *http.Request) (name string, account int64) {
	cookie, err := r.Cookie(a.cookieName("session"))
	if err != nil || !cookieForm.MatchString(cookie.Value) {
		return "", 0
	}
	number, id, _ := strings.Cut(cookie.Value, ".")
	if account, err = strconv.ParseInt(number, 10, 64); err != nil {
		return "", 0
	}
	return holder(account) + "." + digest("session", id), account
}

// begin starts a session, with an id that nobody knew before, and ends the one that the browser had.
func (a *Access) begin(ctx context.Context, w http.ResponseWriter, r *http.Request, account forge.Account) error {
	id, all := secret(), holder(account.ID)
	data, err := json.Marshal(session{Account: account, Begun: a.config.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	if err := a.end(ctx, r); err != nil {
		return err
	}
	others, err := a.config.Sessions.Keys(ctx, all+".*")
	if err == nil && len(others) >= maxSessions {
		err = a.config.Sessions.Remove(ctx, all+".*")
	}
	if err == nil {
		err = a.config.Sessions.Put(ctx, all+"."+digest("session", id), data)
	}
	if err != nil {
		return err
	}
	a.setCookie(w, a.cookieName("session"), strconv.FormatInt(account.ID, 10)+"."+id, sessionLife)
	a.setCookie(w, a.cookieName(signedOut), "", 0)
	return nil
}

// end ends the session that a request's cookie names. Where there is none the store is read and nothing else: anybody can
// make cookies up.
func (a *Access) end(ctx context.Context, r *http.Request) error {
	name, _ := a.sessionName(r)
	if name == "" {
		return nil
	}
	if _, revision, err := a.config.Sessions.Get(ctx, name); err != nil || revision == 0 {
		return err
	}
	return a.config.Sessions.Remove(ctx, name)
}

// Revoke ends all sessions of an account, on every server: the person took back at GitHub what was allowed at the
// sign-in.
func (a *Access) Revoke(ctx context.Context, account int64) error {
	if !a.CanSignIn() || account <= 0 {
		return nil
	}
	return a.config.Sessions.Remove(ctx, holder(account)+".*")
}
