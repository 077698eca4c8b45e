package githubtest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"strings"
)

// serveGit serves fetches over git's smart HTTP with "git http-backend", to installation tokens with
// contents:read only (https://git-scm.com/docs/git-http-backend).
func (s *Server) serveGit(w http.ResponseWriter, r *http.Request) {
	repoPath, service, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), ".git/")
	user, tok := bearer(r)
	if tok == "" {
		w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
		http.Error(w, "authentication required", http.StatusUnauthorized)
		return
	}
	if user != "" && user != "x-access-token" {
		s.violate("warning", r, "git is used as %q instead of x-access-token", user)
	}
	s.mu.Lock()
	t, repo := s.tokens[tok], s.repos[strings.ToLower(repoPath)]
	live := t != nil && t.expires.After(s.now())
	s.mu.Unlock()
	switch {
	case !live:
		w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
		http.Error(w, "bad credentials", http.StatusUnauthorized)
		return
	case repo == nil || !t.covers(repo) || !t.may("contents:read"):
		http.Error(w, "Repository not found.", http.StatusNotFound)
		return
	case service != "git-upload-pack" && (service != "info/refs" || r.URL.Query().Get("service") != "git-upload-pack"):
		s.violate("error", r, "only fetching over the smart protocol is allowed")
		http.Error(w, "Write access to repository not granted.", http.StatusForbidden)
		return
	}
	// CGI does not support chunked bodies, which git sends for long negotiations.
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		http.Error(w, "the body could not be read", http.StatusBadRequest)
		return
	}
	in := r.Clone(r.Context())
	in.Body, in.ContentLength, in.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	in.URL.Path = fmt.Sprintf("/%d.git/%s", repo.id, service)
	backend := &cgi.Handler{
		Path: s.git, Args: []string{"http-backend"}, Dir: s.dir, Stderr: io.Discard,
		Env: s.environment("GIT_PROJECT_ROOT="+s.dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_PROTOCOL="+r.Header.Get("Git-Protocol"),
			"REMOTE_USER=x-access-token"),
	}
	backend.ServeHTTP(w, in)
}
