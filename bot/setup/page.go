package setup

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"strings"
)

// page is what a browser shows. One of Ask, Offer and Install may be set.
type page struct {
	Title, Text, Problem string
	Ask                  *askPage
	Offer                *offerPage
	Install              string // where to install the App that was registered
}

type askPage struct {
	Token, Address, Organization, Problem string
	Fixed                                 bool // the address is configured
}

type offerPage struct {
	Action       string // GitHub's form
	Organization string
	Manifest     Manifest
}

// JSON is the manifest as it is posted.
func (o *offerPage) JSON() (string, error) {
	data, err := json.Marshal(o.Manifest)
	return string(data), err
}

// Host is where the form goes, for people.
func (o *offerPage) Host() string {
	return strings.TrimPrefix(strings.TrimPrefix(origin(o.Action), "https://"), "http://")
}

const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:42rem;margin:3rem auto;padding:0 1rem;color:#1f2328}
label{display:block;margin-top:1rem;font-weight:600}input{width:100%;box-sizing:border-box;font:inherit;padding:.4rem}
button,a.button{display:inline-block;margin-top:1.5rem;padding:.5rem 1rem;font:inherit;font-weight:600;color:#fff;background:#1a7f37;border:0;border-radius:6px;text-decoration:none}
.note{color:#59636e}.problem{color:#b42318}td{padding-right:2rem}`

var pages = template.Must(template.New("page").Funcs(template.FuncMap{"style": func() template.CSS { return style }}).Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{{.Title}}</title><style>{{style}}</style></head>
<body><h1>{{.Title}}</h1>
{{with .Problem}}<p class="problem">{{.}}</p>{{end}}
{{with .Text}}<p>{{.}}</p>{{end}}
{{with .Ask}}
<p>This server becomes a GitHub App of your own. Be signed in to GitHub before you go on.</p>
{{with .Problem}}<p class="problem">{{.}}</p>{{end}}
<form method="post" action="setup"><input type="hidden" name="token" value="{{.Token}}">
{{if .Fixed}}<p><b>Address of this server:</b> {{.Address}} <span class="note">(LINTEL_PUBLIC_URL)</span></p>
{{else}}<label for="address">Address of this server</label><input id="address" name="address" required maxlength="512" value="{{.Address}}">
<p class="note">A guess from what your browser and the proxies on the way say: check it. GitHub must reach it from where it runs, with https, to send
webhooks; your browser comes back to it. LINTEL_PUBLIC_URL sets it.</p>{{end}}
<label for="organization">Organization that owns the App</label><input id="organization" name="organization" maxlength="100" value="{{.Organization}}">
<p class="note">Empty: your own account. The App can be installed only on the repositories of its owner.</p>
<button>Continue</button></form>
{{end}}
{{with .Offer}}
<p>GitHub is going to show what the App may do, and to ask for its name, which no other App may have. It then sends you back here.</p>
<table><tr><td>Owner</td><td>{{with .Organization}}{{.}}{{else}}your own account{{end}}</td></tr>
<tr><td>Webhooks go to</td><td>{{.Manifest.Hook.URL}}</td></tr><tr><td>You come back to</td><td>{{.Manifest.RedirectURL}}</td></tr>
{{range $name, $level := .Manifest.Permissions}}<tr><td>Permission</td><td>{{$name}}: {{$level}}</td></tr>{{end}}
<tr><td>Events</td><td>{{range $i, $e := .Manifest.Events}}{{if $i}}, {{end}}{{$e}}{{end}}</td></tr></table>
<form method="post" action="{{.Action}}"><input type="hidden" name="manifest" value="{{.JSON}}"><button>Register on {{.Host}}</button></form>
{{end}}
{{with .Install}}
<p>The credentials are stored in the data directory, and the server goes on as the App. Choose the repositories to check; it is at work as soon as
the App is installed.</p>
<p><a class="button" href="{{.}}">Install the App</a></p>
{{end}}
</body></html>
`))

// show sends a page. No page runs scripts, is kept, shown in a frame, or named to the sites it links to. Forms go to
// this server and, from the page with the manifest, to GitHub; since some browsers apply that to redirects, too, the
// address that GitHub redirects to is among them.
func (s *Setup) show(w http.ResponseWriter, status int, p page) {
	var body bytes.Buffer
	if err := pages.Execute(&body, p); err != nil {
		s.config.Log.Error("the setup page cannot be shown", "error", err)
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return
	}
	forms := "'self'"
	if p.Offer != nil {
		forms += " " + origin(p.Offer.Action) + " " + origin(p.Offer.Manifest.RedirectURL)
	}
	sum := sha256.Sum256([]byte(style))
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'; form-action "+forms+
		"; frame-ancestors 'none'; base-uri 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = body.WriteTo(w)
}

// origin is scheme and host of an address that was parsed before.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
