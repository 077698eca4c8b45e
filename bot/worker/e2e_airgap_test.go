package worker_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// TestWithoutInternet has a server as deploy/README.md says of one without the internet: what repositories name comes from a
// mirror on a private address, and nothing else is asked for.
func TestWithoutInternet(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	binary := buildLintel(t)
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	served := t.TempDir()
	base := filepath.Join(served, "octo", "base")
	for name, text := range map[string]string{"app/kustomization.yaml": "resources: [pod.yaml]\n",
		"app/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: mirrored, namespace: shop}\nspec:\n  containers:\n" +
			"  - name: a\n    image: registry.octo.example/a:latest\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(base, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "--quiet", "--initial-branch=main"}, {"add", "--all"},
		{"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "--quiet", "--message", "one"}, {"tag", "v1"}} {
		cmd := exec.Command(git, append([]string{"-C", base}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	var asked atomic.Int64
	backend := &cgi.Handler{Path: git, Args: []string{"http-backend"}, Root: "/git", Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + served, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}}
	mirror := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(mirror.Close)
	sources := filepath.Join(t.TempDir(), "sources.yaml")
	if err := os.WriteFile(sources, fmt.Appendf(nil, "allow: [\"https://git.example.com/**\"]\nprivate: [127.0.0.0/8]\nplainHTTP: [%[1]s/]\n"+
		"mirrors: [{from: https://git.example.com/, to: %[1]s/git/}]\n", mirror.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	hub := newHub(t)
	s := newScene(t, hub, "octo-org/fleet", sampleRepo)
	p := serve(t, binary, hostingOf(hub), t.TempDir(), "LINTEL_SOURCES="+sources,
		"HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1") // whatever else is asked for fails
	hub.SetHook(p.url + "/webhook")
	for _, c := range []struct{ branch, address, conclusion, says string }{
		{"mirrored", "https://git.example.com/octo/base//app?ref=v1", "failure", "disallow-latest-tag"},
		{"not-allowed", "https://github.com/octo/base//app?ref=v1", "neutral", "it is not in the list of allowed sources"},
		{"not-mirrored", "https://git.example.com/octo/none//app?ref=v1", "failure", "git.example.com/octo/none"},
	} {
		head := s.push(c.branch, map[string]string{"apps/" + c.branch + "/kustomization.yaml": "resources:\n- " + c.address + "\n"})
		s.open(c.branch)
		run := s.completed(head)
		if text := show(run); run.Conclusion != c.conclusion || !strings.Contains(text, c.says) {
			t.Errorf("%s: %s, want %s and %q:\n%s", c.branch, run.Conclusion, c.conclusion, c.says, text)
		}
	}
	if asked.Load() == 0 {
		t.Error("the mirror was not asked")
	}
	clean(t, hub)
}
