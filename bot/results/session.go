package results

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
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
	// sessionLife is how long a session lasts, whether or not it is used.
	sessionLife = 24 * time.Hour
	// clocks is how much the clocks of servers may differ.
	clocks = 5 * time.Minute
	// maxSessions limits the sessions of a person, one for each browser. One more ends all others: either they were
	// forgotten, or somebody tries to fill the store.
	maxSessions = 20
	// sessionTimeout limits one request to the store, which would otherwise wait until a NATS cluster has a leader.
	sessionTimeout = 3 * time.Second
)

// session records who signed in with one browser, and when. It is stored under a hash of the cookie's secret.
type session struct {
	Account forge.Account `json:"account"`
	Begun   time.Time     `json:"begun"`
}

// secretPattern matches what secret returns.
var secretPattern = regexp.MustCompile(`^[0-9A-Za-z_-]{43}$`)

// secret returns 256 random bits, encoded as text.
func secret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // rand.Read never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// digest returns the hash under which the store has a secret, so that it does not contain the secret itself.
func digest(kind, secret string) string { return sumOf([]byte(kind + " " + secret)) }

// holder returns the prefix of the names of all sessions of an account.
func holder(account int64) string { return "session." + strconv.FormatInt(account, 10) }

// Reader returns the login of the person who sent a request, if the person is signed in and the store answers.
func (a *Access) Reader(r *http.Request) (login string, signedIn bool) {
	who, err := a.reader(r.Context(), r)
	if err != nil || who == nil {
		return "", false
	}
	return who.Account.Login, true
}

// memoKey is the key of a request's context for the session that an Access looked up.
type memoKey struct{ of *Access }

// Once returns a request whose session is looked up at most once. All decisions about it are then consistent, and a
// page about many repositories does not look the session up for each of them.
func (a *Access) Once(r *http.Request) *http.Request {
	find := sync.OnceValues(func() (*session, error) { return a.find(r.Context(), r) })
	return r.WithContext(context.WithValue(r.Context(), memoKey{a}, find))
}

// reader returns the session of a request; nil if there is no valid one.
func (a *Access) reader(ctx context.Context, r *http.Request) (*session, error) {
	if find, ok := ctx.Value(memoKey{a}).(func() (*session, error)); ok {
		return find()
	}
	return a.find(ctx, r)
}

// find looks up the session of a request in the store.
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
		// The session is from the future: a clock was wrong, then or now. If it stayed, it would become valid at that
		// time and last a day from then.
		return nil, a.config.Sessions.Remove(ctx, name)
	}
	if !now.Before(s.Begun.Add(sessionLife)) {
		return nil, nil
	}
	return &s, nil
}

// cookiePattern matches the cookie of a session: the account that it belongs to, and a secret.
var cookiePattern = regexp.MustCompile(`^[1-9][0-9]{0,18}\.[0-9A-Za-z_-]{43}$`)

// sessionName returns the name under which the session of a request's cookie is stored, and the account that the cookie
// claims; "" without a valid cookie.
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

// begin starts a session with a new secret, and ends the session that the browser had before.
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

// end ends the session that a request's cookie names. If there is no such session, nothing is written to the store,
// since anybody can make up cookies.
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

// Revoke ends all sessions of an account on every server, after the person revoked the App's authorization at GitHub.
func (a *Access) Revoke(ctx context.Context, account int64) error {
	if !a.CanSignIn() || account <= 0 {
		return nil
	}
	return a.config.Sessions.Remove(ctx, holder(account)+".*")
}

const (
	// attemptLife is the lifetime of the code that GitHub hands out.
	attemptLife = 10 * time.Minute
	// maxAttempts limits the unfinished sign-ins of one browser, because the browser sends all their cookies with each
	// request.
	maxAttempts = 4
	maxCookie   = 4 << 10
)

// cookieName returns a name that no other program on this host uses, since cookies are shared by all ports. With the
// prefix, browsers accept the cookie only from this host, over https, for all paths
// (https://datatracker.ietf.org/doc/html/draft-ietf-httpbis-rfc6265bis#section-4.1.3.2).
func (a *Access) cookieName(what string) string {
	if a.secure {
		return "__Host-lintel-" + what
	}
	return "lintel-" + what
}

// setCookie sets a cookie that scripts cannot read and that browsers do not send with forms of other sites. A life of
// zero removes it.
func (a *Access) setCookie(w http.ResponseWriter, name, value string, life time.Duration) {
	age := int(life / time.Second)
	if age == 0 {
		age = -1
	}
	http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: age, Secure: a.secure, HttpOnly: true,
		SameSite: http.SameSiteLaxMode})
}

// attempt is an unfinished sign-in. It is stored only in a cookie of the browser, which the browser cannot read or
// change. The state is therefore bound to the browser, and every server can finish the sign-in.
type attempt struct {
	State    string    `json:"state"`
	Verifier string    `json:"verifier"` // of PKCE
	Return   string    `json:"return"`
	Begun    time.Time `json:"begun"`
}

// seal returns the cipher for cookies, with a key made of the present client secret. If the secret changes, unfinished
// sign-ins start again.
func (a *Access) seal() (cipher.AEAD, error) {
	key := a.config.SignIn.Key("cookie of a sign-in")
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// attemptCookie returns the name of the cookie for a state. It differs by state, so that two tabs can sign in at the
// same time.
func (a *Access) attemptCookie(state string) string { return a.cookieName("sign-in-" + state[:8]) }

// start stores an attempt in a cookie of the browser. If there are too many, it removes the others.
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

// resume returns the attempt that this browser started with a state; nil if it did not, or too long ago. It removes the
// cookie, so that an attempt can be used only once.
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
