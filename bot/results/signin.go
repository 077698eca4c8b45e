package results

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/oauth2"

	"github.com/lintel-bot/lintel/bot/github"
)

const (
	// exchangeBurst and exchangeRate (per second) limit how often states are used and codes exchanged at GitHub, since
	// anybody can send a request with a code.
	exchangeBurst, exchangeRate = 100, 20
	maxForm                     = 4 << 10
	// signedOut is the cookie of a browser whose reader signed out. Otherwise, GitHub would sign the reader in again at
	// the next page without a question. With the cookie, GitHub lets the reader choose an account.
	signedOut = "signed-out"
)

// home shows where the pages are, and who is signed in.
func (a *Access) home(w http.ResponseWriter, r *http.Request) {
	p := notice{Title: "Lintel", Text: "Each result has its own page; its check run on GitHub links to it."}
	var ok bool
	if p.Login, ok = a.Reader(r); !ok {
		p.Again = a.again(homePath)
	}
	a.show(w, http.StatusOK, p)
}

// login sends a browser to GitHub. The server stores nothing for it; the state is in a cookie.
func (a *Access) login(w http.ResponseWriter, r *http.Request) {
	t := attempt{State: secret(), Verifier: secret(), Return: a.back(r.URL.Query().Get("return")),
		Begun: a.config.Now().UTC()}
	if err := a.start(w, r, t); err != nil {
		a.config.Log.Error("a sign-in could not start", "error", err)
		a.show(w, http.StatusInternalServerError, notice{Title: "The sign-in could not start"})
		return
	}
	_, err := r.Cookie(a.cookieName(signedOut))
	a.redirect(w, a.config.SignIn.AuthorizeURL(a.config.PublicURL+github.CallbackPath, t.State,
		oauth2.S256ChallengeFromVerifier(t.Verifier), err == nil))
}

// codePattern matches GitHub's codes, and allows more than GitHub uses today.
var codePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z_-]{1,255}$`) })

// callback handles the return of the browser from GitHub.
func (a *Access) callback(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet { // a HEAD request would use up the code
		a.show(w, http.StatusMethodNotAllowed, notice{Title: "Method not allowed"})
		return
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	states, codes := query["state"], query["code"]
	if err != nil || len(states) != 1 || len(codes) > 1 {
		a.refuse(w, homePath)
		return
	}
	t := a.resume(w, r, states[0])
	if t == nil {
		a.refuse(w, homePath)
		return
	}
	if !a.exchanges.AllowN(a.config.Now(), 1) {
		a.later(w, t)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), decideTimeout+questionTimeout)
	defer cancel()
	first, err := a.config.Used.Update(ctx, "state."+digest("state", t.State), nil, 0)
	switch {
	case err != nil:
		a.config.Log.Warn("a sign-in failed", "error", err)
		a.later(w, t)
		return
	case !first:
		a.refuse(w, t.Return)
		return
	}
	if reason := query.Get("error"); reason != "" {
		a.denied(w, t, github.SignInReason(reason))
		return
	}
	if len(codes) == 0 || !codePattern().MatchString(codes[0]) {
		a.refuse(w, t.Return)
		return
	}
	account, err := a.config.SignIn.Exchange(ctx, codes[0], t.Verifier, a.config.PublicURL+github.CallbackPath)
	var refused *github.SignInRefused
	switch {
	case errors.As(err, &refused) && refused.Misconfigured():
		a.config.Log.Error("nobody can sign in: the App's client id, client secret or callback URL differs from "+
			"GitHub's", "reason", refused.Reason)
		a.broken(w)
		return
	case errors.As(err, &refused) && refused.Unverified():
		a.show(w, http.StatusForbidden, notice{Title: "GitHub does not let you sign in",
			Text: "Verify your primary email address first, in your settings on GitHub.", Again: a.again(t.Return)})
		return
	case errors.As(err, &refused):
		a.refuse(w, t.Return)
		return
	case err != nil:
		a.config.Log.Warn("a sign-in failed", "error", err)
		a.later(w, t)
		return
	}
	if err := a.begin(ctx, w, r, account); err != nil {
		a.config.Log.Warn("a session cannot be kept", "error", err)
		a.later(w, t)
		return
	}
	a.redirect(w, a.config.PublicURL+target(t.Return))
}

// denied answers if GitHub reported an error instead of a code
// (https://docs.github.com/en/apps/oauth-apps/maintaining-oauth-apps/troubleshooting-authorization-request-errors).
func (a *Access) denied(w http.ResponseWriter, t *attempt, reason string) {
	if reason == "access_denied" {
		a.show(w, http.StatusOK, notice{Title: "The sign-in was cancelled",
			Text: "Without signing in, you can see only results of public repositories.", Again: a.again(t.Return)})
		return
	}
	// Anybody who has the browser can request this address with an error, so it does not prove that GitHub reported
	// one.
	a.config.Log.Warn("GitHub reported an error for a sign-in; if this happens to all readers, check the App's "+
		"settings", "reason", reason)
	a.broken(w)
}

// broken answers if GitHub refuses the App.
func (a *Access) broken(w http.ResponseWriter) {
	a.show(w, http.StatusBadGateway, notice{Title: "Sign-in does not work",
		Text: "GitHub refused this server's request. The server's log has the reason."})
}

// refuse answers a return from GitHub whose sign-in this browser did not start, or already finished.
func (a *Access) refuse(w http.ResponseWriter, back string) {
	a.show(w, http.StatusBadRequest, notice{Title: "This sign-in cannot be completed",
		Text: "It was started in another browser, was used before, or took longer than ten minutes.", Again: a.again(back)})
}

// later answers if a sign-in failed for a temporary reason.
func (a *Access) later(w http.ResponseWriter, t *attempt) {
	w.Header().Set("Retry-After", "5")
	a.show(w, http.StatusServiceUnavailable, notice{Title: "The sign-in did not work",
		Text: "GitHub or this server is not available at the moment.", Again: a.again(t.Return)})
}

// signOut ends the session of a browser.
func (a *Access) signOut(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if !a.own(r) {
		a.show(w, http.StatusForbidden, notice{Title: "Not signed out",
			Text: "The request came from another site."})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), sessionTimeout)
	defer cancel()
	if err := a.end(ctx, r); err != nil {
		a.config.Log.Warn("a session cannot be ended", "error", err)
		w.Header().Set("Retry-After", "5")
		a.show(w, http.StatusServiceUnavailable, notice{Title: "Not signed out",
			Text: "This server could not end your session. Try again in a few seconds."})
		return
	}
	a.setCookie(w, a.cookieName("session"), "", 0)
	a.setCookie(w, a.cookieName(signedOut), "yes", sessionLife)
	a.show(w, http.StatusOK, notice{Title: "You are signed out",
		Text: "You may still be signed in to GitHub itself.", Again: a.again(homePath)})
}

// own reports whether a page of this server sent a request. Every browser that can send a form to another site states
// the page's origin in one of these headers. A client without any of them is not a browser, so no user's cookies can be
// abused.
func (a *Access) own(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return false
	}
	if origins := r.Header.Values("Origin"); len(origins) > 0 {
		return len(origins) == 1 && strings.EqualFold(origins[0], a.origin)
	}
	if referer := r.Header.Get("Referer"); referer != "" {
		u, err := url.Parse(referer)
		return err == nil && originOf(u) == a.origin
	}
	return true
}

// maxTarget is far more than the path of any page has; the target is stored in a cookie.
const maxTarget = 1024

// targetPattern matches what all programs read as the same path of a server, with its query: no escaped ASCII, which
// could be a slash, a dot or a control character.
var targetPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(/([0-9A-Za-z._~!$&'()*+,;=:@-]|%[89A-Fa-f][0-9A-Fa-f])+)+/?(\?[!-"$-\[\]-~]*)?$`)
})

// target returns where a reader goes after signing in: raw, if it is a path of this server, with its query, otherwise
// homePath. The path is appended to the public address, so it cannot lead to another site; the check is a second
// safeguard.
func target(raw string) string {
	path, _, _ := strings.Cut(raw, "?")
	segments := strings.Split(path, "/")
	if len(raw) > maxTarget || !targetPattern().MatchString(raw) || slices.Contains(segments, ".") ||
		slices.Contains(segments, "..") || segments[1] == "auth" { // where signing in would start again
		return homePath
	}
	return raw
}

// back returns the target of raw without the path of the public address, which a proxy may have left in the request.
func (a *Access) back(raw string) string {
	t := target(raw)
	if rest, below := strings.CutPrefix(t, a.base+"/"); below && a.base != "" {
		return target("/" + rest)
	}
	return t
}

// signInPath returns the path, below the public address, of a sign-in that returns to a path.
func signInPath(back string) string { return loginPath + "?" + url.Values{"return": {back}}.Encode() }

// again returns the address of a sign-in that returns to a path.
func (a *Access) again(back string) string { return a.config.PublicURL + signInPath(back) }
