package results

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
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
	// sessionTimeout bounds one question to the store, which by itself waits for a cluster to find itself.
	sessionTimeout = 3 * time.Second
)

// session is who signed in with one browser, and when. It is stored under a hash of what the cookie has.
type session struct {
	Account forge.Account `json:"account"`
	Begun   time.Time     `json:"begun"`
}

// secretPattern is what secret makes.
var secretPattern = regexp.MustCompile(`^[0-9A-Za-z_-]{43}$`)

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

// memoKey is where a request has its session for an Access, looked up when it is first asked for.
type memoKey struct{ of *Access }

// Once is a request whose session is looked up at most once, so that all answers about it are of one piece, and a page
// about many repositories does not ask for each.
func (a *Access) Once(r *http.Request) *http.Request {
	find := sync.OnceValues(func() (*session, error) { return a.find(r.Context(), r) })
	return r.WithContext(context.WithValue(r.Context(), memoKey{a}, find))
}

// reader is the session of a request, nil if there is none in force.
func (a *Access) reader(ctx context.Context, r *http.Request) (*session, error) {
	if find, ok := ctx.Value(memoKey{a}).(func() (*session, error)); ok {
		return find()
	}
	return a.find(ctx, r)
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
	ctx, cancel := context.WithTimeout(ctx, sessionTimeout)
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

// cookiePattern is the cookie of a session: the account that it belongs to, and a secret.
var cookiePattern = regexp.MustCompile(`^[1-9][0-9]{0,18}\.[0-9A-Za-z_-]{43}$`)

// sessionName is where the session of a request's cookie is stored, and whose it says that it is; "" if it has none.
func (a *Access) sessionName(r *http.Request) (name string, account int64) {
	cookie, err := r.Cookie(a.cookieName("session"))
	if err != nil || !cookiePattern.MatchString(cookie.Value) {
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

const (
	// attemptLife is as long as GitHub's code lives.
	attemptLife = 10 * time.Minute
	// maxAttempts is how many sign-ins one browser has under way; it is bounded because all their cookies come with each
	// request.
	maxAttempts = 4
	maxCookie   = 4 << 10
)

// cookieName is a name that no other program of this host has: cookies know no ports. With the prefix, browsers take
// it only from this host, over https, for all paths
// (https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis#section-4.1.3.2).
func (a *Access) cookieName(what string) string {
	if a.secure {
		return "__Host-lintel-" + what
	}
	return "lintel-" + what
}

// setCookie sets a cookie that no script sees and no form of another site sends; a life of zero removes it.
func (a *Access) setCookie(w http.ResponseWriter, name, value string, life time.Duration) {
	age := int(life / time.Second)
	if age == 0 {
		age = -1
	}
	http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: age, Secure: a.secure, HttpOnly: true,
		SameSite: http.SameSiteLaxMode})
}

// attempt is a sign-in under way. Only the browser has it, in a cookie that it cannot read or change, so the state is
// bound to the browser, and every server can go on with it.
type attempt struct {
	State    string    `json:"state"`
	Verifier string    `json:"verifier"` // of PKCE
	Return   string    `json:"return"`
	Begun    time.Time `json:"begun"`
}

// seal is of the client secret as it is now. A sign-in that is under way while the secret changes begins anew.
func (a *Access) seal() (cipher.AEAD, error) {
	key := a.config.SignIn.Key("cookie of a sign-in")
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// attemptCookie is the name of the cookie of a state. Two tabs can sign in at a time.
func (a *Access) attemptCookie(state string) string { return a.cookieName("sign-in-" + state[:8]) }

// start gives the browser an attempt. Of too many it forgets the others.
func (a *Access) start(w http.ResponseWriter, r *http.Request, t attempt) error {
	prefix := a.cookieName("sign-in-")
	var others []string
	for _, c := range r.Cookies() {
		if strings.HasPrefix(c.Name, prefix) {
			others = append(others, c.Name)
		}
	}
	if len(others) >= maxAttempts {
		for _, name := range others[:min(len(others), 4*maxAttempts)] {
			a.setCookie(w, name, "", 0)
		}
	}
	data, err := json.Marshal(t)
	if err != nil {
		return err
	}
	seal, err := a.seal()
	if err != nil {
		return err
	}
	name := a.attemptCookie(t.State)
	a.setCookie(w, name, base64.RawURLEncoding.EncodeToString(seal.Seal(nil, nil, data, []byte(name))), attemptLife)
	return nil
}

// resume is the attempt that this browser started with a state, nil if it did not, or too long ago. The cookie is
// removed: an attempt is good for one return.
func (a *Access) resume(w http.ResponseWriter, r *http.Request, state string) *attempt {
	if !secretPattern.MatchString(state) {
		return nil
	}
	name := a.attemptCookie(state)
	cookie, err := r.Cookie(name)
	if err != nil || len(cookie.Value) > maxCookie {
		return nil
	}
	a.setCookie(w, name, "", 0)
	seal, err := a.seal()
	if err != nil {
		return nil
	}
	sealed, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	var data []byte
	if err == nil {
		data, err = seal.Open(nil, nil, sealed, []byte(name))
	}
	if err != nil {
		return nil
	}
	var t attempt
	if json.Unmarshal(data, &t) != nil || subtle.ConstantTimeCompare([]byte(t.State), []byte(state)) != 1 {
		return nil
	}
	if now := a.config.Now(); now.Before(t.Begun.Add(-clocks)) || !now.Before(t.Begun.Add(attemptLife)) {
		return nil
	}
	return &t
}
