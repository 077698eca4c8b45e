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
	"time"

	"github.com/lintel-bot/lintel/bot/github"
)

const (
	// sessionLife is how long a session lasts, used or not.
	sessionLife = 24 * time.Hour
	// clocks is how far the clocks of servers may differ.
	clocks = 5 * time.Minute
	// storeTimeout bounds one question to the store, which by itself waits for a cluster to find itself.
	storeTimeout = 3 * time.Second
)

// session is who signed in with one browser, and when. It is stored under a hash of what the cookie has.
type session struct {
	Account github.Account `json:"account"`
	Begun   time.Time      `json:"begun"`
}

// secretForm is what secret makes.
var secretForm = regexp.MustCompile(`^[0-9A-Za-z_-]{43}$`)

// secret is 256 random bits.
func secret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// nameOf is where the store has what belongs to a secret.
func nameOf(kind, secret string) string {
	sum := sha256.Sum256([]byte(kind + " " + secret))
	return kind + "." + hex.EncodeToString(sum[:])
}

// Reader is who sent a request, if the person is signed in and the store answers.
func (a *Access) Reader(r *http.Request) (login string, signedIn bool) {
	who, err := a.reader(r.Context(), r)
	if err != nil || who == nil {
		return "", false
	}
	return who.Account.Login, true
}

// reader is the session of a request, nil if there is none in force.
func (a *Access) reader(ctx context.Context, r *http.Request) (*session, error) {
	if !a.CanSignIn() {
		return nil, nil
	}
	name := a.sessionName(r)
	if name == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	data, err := a.config.Store.Get(ctx, name)
	if err != nil || data == nil {
		return nil, err
	}
	var s session
	if json.Unmarshal(data, &s) != nil || s.Account.ID <= 0 || s.Account.Login == "" {
		return nil, nil
	}
	// One that begins in the future was made by a clock that was wrong, and would last too long.
	if now := a.config.Now(); now.Before(s.Begun.Add(-clocks)) || !now.Before(s.Begun.Add(sessionLife)) {
		return nil, nil
	}
	return &s, nil
}

// sessionName is where the session of a request's cookie is stored; "" if it has none.
func (a *Access) sessionName(r *http.Request) string {
	cookie, err := r.Cookie(a.cookieName("session"))
	if err != nil || !secretForm.MatchString(cookie.Value) {
		return ""
	}
	return nameOf("session", cookie.Value)
}

// begin starts a session, with an id that nobody knew before, and ends the one that the browser had.
func (a *Access) begin(ctx context.Context, w http.ResponseWriter, r *http.Request, account github.Account) error {
	id := secret()
	data, err := json.Marshal(session{Account: account, Begun: a.config.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	if old := a.sessionName(r); old != "" {
		if err := a.config.Store.End(ctx, old); err != nil {
			return err
		}
	}
	if err := a.config.Store.Set(ctx, nameOf("session", id), data); err != nil {
		return err
	}
	a.setCookie(w, a.cookieName("session"), id, sessionLife)
	return nil
}
