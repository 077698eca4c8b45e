package mirror

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

const secret = "ghs_aVerySecretToken0123456789"

var testRepo = forge.Repo{Installation: 1, ID: 42, Owner: "octo", Name: "svc"}

// server is a git server over HTTP with one repository, a token check and faults.
type server struct {
	forge.Client // nil: what is not implemented below is not asked for

	t    testing.TB
	http *httptest.Server
	dir  string // the bare repository
	work string

	mu       sync.Mutex
	requests int
	tokens   int
	fault    func(w http.ResponseWriter, r *http.Request, next http.Handler)
	name     string // present name of the repository
	token    string
}

func newServer(t testing.TB) *server {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	s := &server{t: t, dir: filepath.Join(root, "svc.git"), work: filepath.Join(root, "work"), name: "/octo/svc.git",
		token: secret}
	treetest.Served(t, s.dir, s.work,
		"[uploadpack]\n\tallowAnySHA1InWant = true\n\tallowFilter = true\n[http]\n\tuploadpack = true\n")
	backend := &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"), Root: s.name,
		Env: []string{"GIT_PROJECT_ROOT=" + s.dir, "GIT_HTTP_EXPORT_ALL=1"}, InheritEnv: []string{"PATH"}}
	s.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests++
		fault, name, token := s.fault, s.name, s.token
		s.mu.Unlock()
		serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("x-access-token:"+token)) {
				w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			if !strings.HasPrefix(r.URL.Path, name+"/") {
				if strings.HasPrefix(r.URL.Path, "/octo/svc.git/") && strings.HasSuffix(r.URL.Path, "/info/refs") &&
					name != "/gone.git" {
					http.Redirect(w, r, name+"/info/refs?"+r.URL.RawQuery, http.StatusMovedPermanently)
					return
				}
				http.NotFound(w, r)
				return
			}
			h := *backend
			h.Root = name
			h.Env = append(h.Env[:len(h.Env):len(h.Env)], "GIT_PROTOCOL="+r.Header.Get("Git-Protocol"))
			h.ServeHTTP(w, r)
		})
		if fault != nil {
			fault(w, r, serve)
			return
		}
		serve(w, r)
	}))
	t.Cleanup(s.http.Close)
	return s
}

func (s *server) CloneURL(forge.Repo) string { return s.http.URL + "/octo/svc.git" }

func (s *server) GitToken(context.Context, forge.Repo) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens++
	return secret, nil
}

func (s *server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

func (s *server) git(dir string, args ...string) string {
	s.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_AUTHOR_DATE=2024-01-01T00:00:00Z",
		"GIT_COMMITTER_DATE=2024-01-01T00:00:00Z")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes a file on a branch (made from the present one if new) and has ref of the server name the commit.
func (s *server) commit(branch, ref, path, content string) string {
	s.t.Helper()
	here := filepath.Join(s.work, ".git", "refs", "heads", branch)
	if _, err := os.Stat(here); err != nil {
		s.git(s.work, "checkout", "-q", "-B", branch)
	} else if head, err := os.ReadFile(filepath.Join(s.work, ".git", "HEAD")); err != nil ||
		string(head) != "ref: refs/heads/"+branch+"\n" {
		s.git(s.work, "checkout", "-q", branch)
	}
	full := filepath.Join(s.work, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		s.t.Fatal(err)
	}
	s.git(s.work, "add", "-A")
	s.git(s.work, "commit", "-q", "--allow-empty", "-m", path)
	id, err := os.ReadFile(here)
	if err != nil {
		s.t.Fatal(err)
	}
	commit := strings.TrimSpace(string(id))
	treetest.Publish(s.t, s.dir, ref, commit)
	return commit
}

func (s *server) mirrors(change ...func(*Config)) *Mirrors {
	s.t.Helper()
	c := Config{Dir: filepath.Join(s.t.TempDir(), "mirrors"), Client: s}
	for _, f := range change {
		f(&c)
	}
	m, err := New(c)
	if err != nil {
		s.t.Fatal(err)
	}
	return m
}
