package access

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

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
	return cipher.NewGCM(block)
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
	nonce := make([]byte, seal.NonceSize())
	_, _ = rand.Read(nonce)
	name := a.attemptCookie(t.State)
	a.setCookie(w, name, base64.RawURLEncoding.EncodeToString(seal.Seal(nonce, nonce, data, []byte(name))), attemptLife)
	return nil
}

// resume is the attempt that this browser started with a state, nil if it did not, or too long ago. The cookie is
// removed: an attempt is good for one return.
func (a *Access) resume(w http.ResponseWriter, r *http.Request, state string) *attempt {
	if !secretForm.MatchString(state) {
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
	if err != nil || len(sealed) < seal.NonceSize() {
		return nil
	}
	nonce, sealed := sealed[:seal.NonceSize()], sealed[seal.NonceSize():]
	data, err := seal.Open(nil, nonce, sealed, []byte(name))
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
