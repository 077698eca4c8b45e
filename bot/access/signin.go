package access

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/lintel-bot/lintel/bot/github"
)

const (
	// exchangeBurst and exchangeRate (a second) bound how often a state is used up, and GitHub asked who somebody is:
	// anybody can come back with a code.
	exchangeBurst, exchangeRate = 100, 20
	maxForm                     = 4 << 10
)

// login sends a browser to GitHub. It costs nothing but a cookie.
func (a *Access) login(w http.ResponseWriter, r *http.Request) {
	t := attempt{State: secret(), Verifier: secret(), Return: target(r.URL.Query().Get("return")),
		Begun: a.config.Now().UTC()}
	if err := a.start(w, r, t); err != nil {
		a.config.Log.Error("a sign-in cannot begin", "error", err)
		a.show(w, http.StatusInternalServerError, page{Title: "The sign-in cannot begin"})
		return
	}
	challenge := sha256.Sum256([]byte(t.Verifier))
	a.redirect(w, a.config.SignIn.AuthorizeURL(a.config.PublicURL+CallbackPath, t.State,
		base64.RawURLEncoding.EncodeToString(challenge[:])))
}

// codeForm is what GitHub's codes look like, and more.
var codeForm = regexp.MustCompile(`^[0-9A-Za-z_-]{1,255}$`)

// callback is where GitHub sends the browser back.
func (a *Access) callback(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet { // HEAD, which would use up the code
		a.show(w, http.StatusMethodNotAllowed, page{Title: "Method not allowed"})
		return
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	states, codes := query["state"], query["code"]
	if err != nil || len(states) != 1 || len(codes) > 1 {
		a.refuse(w, "/")
		return
	}
	t := a.resume(w, r, states[0])
	if t == nil {
		a.refuse(w, "/")
		return
	}
	if !a.exchanges.take() {
		a.later(w, t)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), decideTimeout+questionTimeout)
	defer cancel()
	first, err := a.config.Store.Once(ctx, nameOf("state", t.State))
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
	if len(codes) == 0 || !codeForm.MatchString(codes[0]) {
		a.refuse(w, t.Return)
		return
	}
	account, err := a.config.SignIn.Exchange(ctx, codes[0], t.Verifier, a.config.PublicURL+CallbackPath)
	var refused *github.SignInRefused
	switch {
	case errors.As(err, &refused) && refused.Misconfigured():
		a.config.Log.Error("nobody can sign in: the App's client id, client secret or callback URL is not what GitHub "+
			"has", "reason", refused.Reason)
		a.show(w, http.StatusBadGateway, page{Title: "Sign-in does not work",
			Text: "GitHub refused this server. Its operator finds the reason in the log."})
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

// denied answers where GitHub came back with an error in place of a code
// (https://docs.github.com/en/apps/oauth-apps/maintaining-oauth-apps/troubleshooting-authorization-request-errors).
func (a *Access) denied(w http.ResponseWriter, t *attempt, reason string) {
	if reason == "access_denied" {
		a.show(w, http.StatusOK, page{Title: "The sign-in was cancelled",
			Text: "Without it, only results of public repositories can be shown.", Again: a.again(t.Return)})
		return
	}
	a.config.Log.Error("nobody can sign in: GitHub refuses the App", "reason", reason)
	a.show(w, http.StatusBadGateway, page{Title: "Sign-in does not work",
		Text: "GitHub refused this server. Its operator finds the reason in the log."})
}

// refuse answers to a return from GitHub that this browser did not set out for, or did before.
func (a *Access) refuse(w http.ResponseWriter, back string) {
	a.show(w, http.StatusBadRequest, page{Title: "This sign-in cannot be completed",
		Text: "It was not begun in this browser, was used before, or took longer than ten minutes.", Again: a.again(back)})
}

// later answers when a sign-in failed for reasons that pass.
func (a *Access) later(w http.ResponseWriter, t *attempt) {
	w.Header().Set("Retry-After", "5")
	a.show(w, http.StatusServiceUnavailable, page{Title: "The sign-in did not work",
		Text: "GitHub or this server cannot answer at the moment.", Again: a.again(t.Return)})
}

func (a *Access) again(back string) string {
	return a.config.PublicURL + loginPath + "?" + url.Values{"return": {back}}.Encode()
}

// signOut ends the session of a browser.
func (a *Access) signOut(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if !a.own(r) {
		a.show(w, http.StatusForbidden, page{Title: "Not signed out",
			Text: "The request came from a page of another site."})
		return
	}
	if name := a.sessionName(r); name != "" {
		ctx, cancel := context.WithTimeout(r.Context(), storeTimeout)
		defer cancel()
		if err := a.config.Store.End(ctx, name); err != nil {
			a.config.Log.Warn("a session cannot be ended", "error", err)
			w.Header().Set("Retry-After", "5")
			a.show(w, http.StatusServiceUnavailable, page{Title: "Not signed out",
				Text: "This server cannot do it at the moment. Try again in a few seconds."})
			return
		}
	}
	a.setCookie(w, a.cookieName("session"), "", 0)
	a.show(w, http.StatusOK, page{Title: "You are signed out",
		Text: "You may still be signed in to GitHub itself.", Again: a.again("/")})
}

// own reports whether a request was made by a page of this server. Every browser that sends forms to other sites says
// where they are from, in one of these headers; without any of them it is no browser, and nobody's cookies are abused.
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
