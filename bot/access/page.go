package access

import (
	"bytes"
	"context"
	"net/http"

	"github.com/lintel-bot/lintel/checks/output"
)

// notice is what a browser shows in place of what was asked for.
type notice struct {
	Title, Text string
	Login       string // who is signed in, and can sign out
	Again       string // where to sign in
}

// show sends a page.
func (a *Access) show(w http.ResponseWriter, status int, p notice) {
	m := output.Message{Frame: output.Frame{Static: a.base + "/static/"}, Heading: p.Title, Text: p.Text}
	if p.Login != "" {
		m.Reader, m.SignOut = p.Login, a.base+SignOutPath
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

// strict sets the headers of every answer: nothing is run, nothing but our own styles loaded, nothing framed, kept, or
// named to other sites. Referrers stay within the site, and are not left out: browsers would say that the form to sign
// out comes from nowhere.
func strict(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "+
		"frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "private, no-store")
}

// redirect sends a browser to an address, without a body.
func (a *Access) redirect(w http.ResponseWriter, address string) {
	strict(w.Header())
	w.Header().Set("Location", address)
	w.WriteHeader(http.StatusSeeOther)
}

// Turn answers a request for a page that the reader may not see, or that is not there: who is not signed in cannot tell one
// from the other, and is asked to sign in. A script that asks for a part of a page gets a 401 in place of a redirect to a
// site that it may not read. False: nobody can sign in here, and nothing was answered.
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
			Text: "GitHub does not say who may see this page, or this server cannot ask. Try again in a few seconds."})
	case who == nil && mode != "" && mode != "navigate":
		a.show(w, http.StatusUnauthorized, notice{Title: "You are not signed in"})
	case who == nil:
		a.redirect(w, a.again(a.back(r.URL.RequestURI())))
	default: // it says who the reader is, who may want to be somebody else
		a.show(w, http.StatusNotFound, notice{Title: "Not found", Login: who.Account.Login,
			Text: "There is no such page, or GitHub does not say at the moment that you may see it. " +
				"Results are kept for a while only: ask for the check again to have a new one."})
	}
	return true
}
