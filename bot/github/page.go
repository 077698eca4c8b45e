package github

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page is a file of its own
	"encoding/base64"
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"strings"
)

// setupPage is what a browser shows. One of Ask, Offer and Install may be set.
type setupPage struct {
	Title, Text, Problem string
	Ask                  *askPage
	Offer                *offerPage
	Install              string // where to install the App that was registered
}

type askPage struct {
	Token, Address, Organization, Problem string
	Fixed                                 bool // the address is configured
	Public                                bool // other accounts may install the App
}

type offerPage struct {
	Action           string // GitHub's form
	Organization     string
	Manifest         Manifest
	EnterpriseServer bool
}

// JSON is the manifest as it is posted.
func (o *offerPage) JSON() (string, error) {
	data, err := json.Marshal(o.Manifest)
	return string(data), err
}

// Host is where the form goes, for people.
func (o *offerPage) Host() string {
	return strings.TrimPrefix(strings.TrimPrefix(schemeAndHost(o.Action), "https://"), "http://")
}

//go:embed setup.css
var setupStyle string

//go:embed setup.html
var setupMarkup string

var setupPages = template.Must(template.New("page").Funcs(template.FuncMap{
	"style": func() template.CSS { return template.CSS(setupStyle) }, // our own
}).Parse(setupMarkup))

// show sends a page. No page runs scripts, is kept, shown in a frame, or named to the sites it links to. Forms go to
// this server and, from the page with the manifest, to GitHub; since some browsers apply that to redirects, too, the
// address that GitHub redirects to is among them.
func (s *Setup) show(w http.ResponseWriter, status int, p setupPage) {
	var body bytes.Buffer
	if err := setupPages.Execute(&body, p); err != nil {
		s.config.Log.Error("the setup page cannot be shown", "error", err)
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return
	}
	forms := "'self'"
	if p.Offer != nil {
		forms += " " + schemeAndHost(p.Offer.Action) + " " + schemeAndHost(p.Offer.Manifest.RedirectURL)
	}
	sum := sha256.Sum256([]byte(setupStyle))
	h := w.Header()
	h.Set("Content-Security-Policy",
		"default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'; form-action "+forms+
			"; frame-ancestors 'none'; base-uri 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = body.WriteTo(w)
}

// schemeAndHost is scheme and host of an address that was parsed before.
func schemeAndHost(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
