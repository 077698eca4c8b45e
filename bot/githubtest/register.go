package githubtest

import (
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// codeLife is the lifetime of the code of a registration
// (https://docs.github.com/en/apps/sharing-github-apps/registering-a-github-app-from-a-manifest).
const codeLife = time.Hour

// manifestKeys are the parameters of a manifest.
var manifestKeys = []string{"name", "url", "hook_attributes", "redirect_url", "callback_urls", "setup_url",
	"description", "public",
	"default_events", "default_permissions", "request_oauth_on_install", "setup_on_update"}

// registerApp accepts the form with an App's manifest, and redirects the browser at once, while GitHub first shows a
// page. This Server has one App, so the App keeps its id and key.
func (s *Server) registerApp(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	manifest := []byte(r.PostFormValue("manifest"))
	var in struct {
		URL       string   `json:"url"`
		Redirect  string   `json:"redirect_url"`
		Callbacks []string `json:"callback_urls"`
		Hook      struct {
			URL string `json:"url"`
		} `json:"hook_attributes"`
		Permissions map[string]string `json:"default_permissions"`
		Events      []string          `json:"default_events"`
	}
	var keys object
	if json.Unmarshal(manifest, &in) != nil || json.Unmarshal(manifest, &keys) != nil {
		s.violate("error", r, "the manifest is no JSON object of a manifest")
		http.Error(w, "Invalid GitHub App configuration", http.StatusUnprocessableEntity)
		return
	}
	for key := range keys {
		if !slices.Contains(manifestKeys, key) {
			s.violate("warning", r, "manifest: %s is no parameter", key)
		}
	}
	for name, level := range in.Permissions {
		if level != "read" && level != "write" {
			s.violate("error", r, "manifest: permission %s: %s", name, level)
		}
	}
	for _, event := range in.Events {
		if strings.HasPrefix(event, "installation") {
			s.violate("warning", r, "manifest: %s is sent to every App", event)
		}
	}
	back, err := url.Parse(in.Redirect)
	if err != nil || back.Host == "" || in.URL == "" || in.Hook.URL == "" {
		s.violate("error", r, "manifest: url, redirect_url or hook_attributes.url is missing")
		http.Error(w, "Invalid GitHub App configuration", http.StatusUnprocessableEntity)
		return
	}
	code := rand.Text()
	s.mu.Lock()
	s.codes[code] = s.now().Add(codeLife)
	s.hookURL, s.permissions, s.callbacks = in.Hook.URL, in.Permissions, in.Callbacks
	s.mu.Unlock()
	query := back.Query()
	query.Set("code", code)
	if state := r.URL.Query().Get("state"); state != "" {
		query.Set("state", state)
	}
	back.RawQuery = query.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// convert serves POST /app-manifests/{code}/conversions.
func (s *Server) convert(c *call) {
	code := c.r.PathValue("code")
	end, known := s.codes[code]
	delete(s.codes, code)
	if !known || end.Before(s.now()) {
		notFound(c)
		return
	}
	out := s.appObject()
	maps.Copy(out, object{"html_url": s.http.URL + "/github-apps/" + s.app.Slug, "client_id": s.app.ClientID,
		"client_secret":  s.app.ClientSecret,
		"webhook_secret": s.app.Secret, "pem": string(s.app.PrivateKey)})
	c.answer(http.StatusCreated, out)
}

// Used returns the permissions that requests have needed so far, each with its highest level.
func (s *Server) Used() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.used)
}

// use records a permission, such as "checks:write", that a request needed.
func (s *Server) use(permission string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, level, _ := strings.Cut(permission, ":")
	if s.used[name] != "write" {
		s.used[name] = level
	}
}
