package access

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page is a file of its own
	"encoding/base64"
	"html/template"
	"net/http"
)

// page is what a browser shows in place of what was asked for.
type page struct {
	Title, Text string
	Login       string // who is signed in, and can sign out
	SignOut     string // where the form goes
	Again       string // where to sign in
}

//go:embed page.css
var style string

//go:embed page.html
var markup string

var pages = template.Must(template.New("page").Funcs(template.FuncMap{
	"style": func() template.CSS { return template.CSS(style) }, // our own
}).Parse(markup))

// show sends a page.
func (a *Access) show(w http.ResponseWriter, status int, p page) {
	var body bytes.Buffer
	if err := pages.Execute(&body, p); err != nil {
		a.config.Log.Error("a page cannot be shown", "error", err)
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return
	}
	strict(w.Header())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = body.WriteTo(w)
}

// strict sets the headers of every answer: nothing is loaded or run, framed, kept, or named to other sites. Referrers
// stay within the site, and are not left out: browsers would say that the form to sign out comes from nowhere.
func strict(h http.Header) {
	sum := sha256.Sum256([]byte(style))
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'sha256-"+
		base64.StdEncoding.EncodeToString(sum[:])+"'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
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

// Answer answers a request for a page that the reader does not see; it must not be called with Allowed. A script that
// asks for a part of a page gets a 401 in place of a redirect to a site that it may not read.
func (a *Access) Answer(w http.ResponseWriter, r *http.Request, d Decision) {
	switch d {
	case SignIn:
		if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" && mode != "navigate" {
			a.show(w, http.StatusUnauthorized, page{Title: "You are not signed in"})
			return
		}
		a.redirect(w, a.SignInURL(r))
	case NotFound:
		p := page{Title: "Page not found", Text: "It does not exist, or it is about a repository that you may not read."}
		if login, ok := a.Reader(r); ok {
			p.Login, p.SignOut = login, a.config.PublicURL+SignOutPath
		}
		a.show(w, http.StatusNotFound, p)
	default:
		w.Header().Set("Retry-After", "5")
		a.show(w, http.StatusServiceUnavailable, page{Title: "Not available at the moment",
			Text: "GitHub does not say who may see this page, or this server cannot ask. Try again in a few seconds."})
	}
}
