package githubtest

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Sign-in of people, as GitHub documents it
// (https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-user-access-token-for-a-github-app).
const (
	signInCodeLife = 10 * time.Minute
	userTokenLife  = 8 * time.Hour
	sessionCookie  = "user_session"
)

// signIn is a code that a browser received.
type signIn struct {
	login, redirect, challenge string
	expires                    time.Time
}

// userToken is a token of a person.
type userToken struct {
	login   string
	expires time.Time
}

// SetCallbackURLs registers the addresses to which people may return after a sign-in.
func (s *Server) SetCallbackURLs(urls ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.callbacks = urls
}

// CancelSignIn sets whether people who are asked for consent press Cancel.
func (s *Server) CancelSignIn(cancel bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancels = cancel
}

// RevokeAuthorization revokes a person's authorization of the App: the person's tokens end, and the App receives a
// webhook.
func (s *Server) RevokeAuthorization(login string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.userTokens, func(_ string, t userToken) bool { return strings.EqualFold(t.login, login) })
	s.enqueue("github_app_authorization", object{"action": "revoked", "sender": s.user(login)})
}

// RenameAccount changes the login of a person. The id stays, and nobody has the old login.
func (s *Server) RenameAccount(login, to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.accountID(login)
	s.accounts[strings.ToLower(login)], s.accounts[strings.ToLower(to)] = 0, id
	s.logins[id] = to
}

// TakeLogin gives an unused login to another person than the one who had it before.
func (s *Server) TakeLogin(login string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.id()
	s.accounts[strings.ToLower(login)], s.logins[id] = id, login
}

// accountID returns the id of a login, zero if nobody has it. The caller holds the lock.
func (s *Server) accountID(login string) int64 {
	if id, ok := s.accounts[strings.ToLower(login)]; ok {
		return id
	}
	return accountID(login)
}

// user returns an account with its present id. The caller holds the lock.
func (s *Server) user(login string) object {
	u := userObject(login)
	u["id"] = s.accountID(login)
	return u
}

// serveLogin signs a person in to the web site: /login?user=LOGIN&return_to=PATH. Without a user, it shows a form.
func (s *Server) serveLogin(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	back := query.Get("return_to")
	if !strings.HasPrefix(back, "/") || strings.HasPrefix(back, "//") || strings.HasPrefix(back, `/\`) {
		back = "/"
	}
	login := query.Get("user")
	if login == "" {
		s.askWho(w, back)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: sessionCookie, Value: url.QueryEscape(login), Path: "/", HttpOnly: true,
		SameSite: http.SameSiteLaxMode})
	http.Redirect(w, r, back, http.StatusFound)
}

func (s *Server) askWho(w http.ResponseWriter, back string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, `<!DOCTYPE html><title>Sign in to GitHub</title><h1>Sign in to GitHub</h1><form action="/login">`+
		`<input name="user"><input type="hidden" name="return_to" value="%s"><button>Sign in</button></form>`,
		html.EscapeString(back))
}

var (
	challengePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)
	// minState is the minimum length of a state; one that cannot be guessed is much longer.
	minState = 16
)

// authorize serves GET /login/oauth/authorize. It redirects a signed-in person at once, while GitHub asks for consent
// the first time.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	redirect, state, challenge := query.Get("redirect_uri"), query.Get("state"), query.Get("code_challenge")
	s.mu.Lock()
	known := query.Get("client_id") == s.app.ClientID
	registered, cancels := slices.Contains(s.callbacks, redirect), s.cancels
	s.mu.Unlock()
	switch {
	case !known:
		http.Error(w, "Page not found", http.StatusNotFound)
		return
	case !registered:
		s.violate("error", r, "redirect_uri %q is not registered", redirect)
		http.Error(w, "The redirect_uri is not associated with this application.", http.StatusNotFound)
		return
	case len(state) < minState:
		s.violate("error", r, "a state of %d characters binds nothing to the browser", len(state))
	}
	if query.Get("code_challenge_method") != "S256" || !challengePattern.MatchString(challenge) {
		s.violate("error", r, "no PKCE, or a code_challenge that is none of S256")
	}
	cookie, err := r.Cookie(sessionCookie)
	if err != nil || query.Get("prompt") == "select_account" {
		query.Del("prompt") // a person who was asked once continues
		s.askWho(w, r.URL.Path+"?"+query.Encode())
		return
	}
	login, _ := url.QueryUnescape(cookie.Value)
	back, err := url.Parse(redirect)
	if err != nil {
		http.Error(w, "Page not found", http.StatusNotFound)
		return
	}
	answer := back.Query()
	answer.Set("state", state)
	if cancels {
		answer.Set("error", "access_denied")
		answer.Set("error_description", "The user has denied your application access.")
	} else {
		code := rand.Text()
		s.mu.Lock()
		s.signIns[code] = signIn{login, redirect, challenge, s.now().Add(signInCodeLife)}
		s.mu.Unlock()
		answer.Set("code", code)
	}
	back.RawQuery = answer.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// accessToken serves POST /login/oauth/access_token. Its errors have the status 200
// (https://docs.github.com/en/apps/oauth-apps/maintaining-oauth-apps/troubleshooting-oauth-app-access-token-request-errors).
func (s *Server) accessToken(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if r.URL.RawQuery != "" {
		s.violate("error", r, "parameters in the address, where logs keep them")
	}
	err := r.ParseForm()
	get := r.PostForm.Get
	answer := func(values object) {
		if !strings.Contains(r.Header.Get("Accept"), "json") {
			form := url.Values{}
			for name, value := range values {
				form.Set(name, fmt.Sprint(value))
			}
			w.Header().Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
			_, _ = w.Write([]byte(form.Encode()))
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_ = json.NewEncoder(w).Encode(values) // only maps and scalars
	}
	refuse := func(code, text string) { answer(object{"error": code, "error_description": text}) }
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || get("client_id") != s.app.ClientID {
		w.WriteHeader(http.StatusNotFound)
		answer(object{"error": "Not Found"})
		return
	}
	if subtle.ConstantTimeCompare([]byte(get("client_secret")), []byte(s.app.ClientSecret)) != 1 {
		refuse("incorrect_client_credentials", "The client_id and/or client_secret passed are incorrect.")
		return
	}
	code, ok := s.signIns[get("code")]
	sum := sha256.Sum256([]byte(get("code_verifier")))
	switch {
	case !ok || !code.expires.After(s.now()):
		refuse("bad_verification_code", "The code passed is incorrect or expired.")
		return
	case get("redirect_uri") != "" && get("redirect_uri") != code.redirect:
		refuse("redirect_uri_mismatch", "The redirect_uri MUST match the registered callback URL for this application.")
		return
	}
	delete(s.signIns, get("code"))
	if code.challenge != "" && base64.RawURLEncoding.EncodeToString(sum[:]) != code.challenge {
		refuse("bad_verification_code", "The code passed is incorrect or expired.")
		return
	}
	token := "ghu_" + rand.Text() + rand.Text()[:10]
	s.userTokens[token] = userToken{code.login, s.now().Add(userTokenLife)}
	s.issued = append(s.issued, token, get("code"))
	answer(object{"access_token": token, "expires_in": int(userTokenLife.Seconds()), "refresh_token": "ghr_" + rand.Text(),
		"refresh_token_expires_in": 15897600, "scope": "", "token_type": "bearer"})
}

// IssuedSecrets returns every exchanged code and every token of a person so far. The App must not store them.
func (s *Server) IssuedSecrets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.issued)
}

// getUser serves GET /user, which needs a person's token.
func (s *Server) getUser(c *call) {
	_, tok := bearer(c.r)
	t, ok := s.userTokens[tok]
	if !ok || !t.expires.After(s.now()) {
		c.refuse(http.StatusUnauthorized, "Bad credentials")
		return
	}
	c.answer(http.StatusOK, s.user(t.login))
}

// getAccount serves GET /user/{account_id}.
func (s *Server) getAccount(c *call) {
	id, _ := strconv.ParseInt(c.r.PathValue("id"), 10, 64)
	if login := s.logins[id]; login != "" {
		c.answer(http.StatusOK, s.user(login))
		return
	}
	notFound(c)
}
