package worker_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// signInHall is a server with pages on a GitHub at which people sign in.
type signInHall struct {
	*hall
	front *public
}

func newSignInHall(t *testing.T) signInHall {
	skipWithoutStandin(t)
	binary := buildLintel(t)
	s := startStandin(t.Context(), t)
	app := s.register()
	front, data := newPublic(t), t.TempDir()
	secret := filepath.Join(t.TempDir(), "client-secret")
	if err := os.WriteFile(secret, []byte(app.ClientSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	server := serve(t, binary, hosting{s.base, app.ID, []byte(app.PEM), app.Secret}, data, "LINTEL_PUBLIC_URL="+front.URL,
		"LINTEL_GITHUB_CLIENT_ID="+app.ClientID, "LINTEL_GITHUB_CLIENT_SECRET_FILE="+secret)
	front.lead(server)
	s.control(http.MethodPatch, fmt.Sprintf("/apps/%d", app.ID), fields{"hook_url": server.url + "/webhook",
		"callback_urls": []string{front.URL + "/auth/callback"}}, nil)
	return signInHall{&hall{standin: s, server: server, files: folderFiles(t, sampleRepo)}, front}
}

// browser is that of somebody who is signed in at GitHub; login "" for nobody.
func (h signInHall) browser(t *testing.T, login string) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &http.Client{Jar: jar}
	if login != "" {
		if res, err := b.Get(h.base + "/login?user=" + login + "&return_to=/login"); err != nil || res.Body.Close() != nil {
			t.Fatal(err)
		}
	}
	return b
}

// browse is a page as a browser gets it.
func browse(t *testing.T, b *http.Client, address string) (*http.Response, string) {
	t.Helper()
	res, err := b.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// Lines of another private repository are on the page for those who may read that one, and not in the check run.
func TestStandinForeignLines(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	t.Parallel()
	h := newSignInHall(t)
	s := h.in(t, "two-org")
	s.control(http.MethodPut, "/orgs/two-org", fields{"members": []string{"alice", "bob", "carol"}, "owners": []string{"olga"},
		"default_repository_permission": "none"}, nil)
	base := func(label string) fields {
		return fields{"app/kustomization.yaml": "resources: [pod.yaml]\n", "app/pod.yaml": "apiVersion: v1\nkind: Pod\n" +
			"metadata: {name: web, namespace: shop, labels: {a: " + label + "}}\nspec:\n  containers:\n  - name: a\n" +
			"    image: registry.octo.example/a:latest\n"}
	}
	s.control(http.MethodPost, "/repos", fields{"full_name": "two-org/base", "files": base("hush-1")}, nil)
	s.control(http.MethodPut, "/repos/two-org/base/collaborators/alice", fields{"permission": "read"}, nil)
	for _, login := range []string{"alice", "bob"} {
		s.control(http.MethodPut, "/repos/"+s.repo+"/collaborators/"+login, fields{"permission": "write"}, nil)
	}
	s.control(http.MethodPost, fmt.Sprintf("/installations/%d/repositories?wait=1", s.installation),
		fields{"add": []string{"two-org/base"}}, nil)
	s.control(http.MethodPost, "/repos/two-org/base/commits?wait=1", fields{"branch": "next", "base": "main",
		"user": "olga", "message": "Next", "files": base("hush-2")}, nil)
	naming := func(ref string) map[string]string {
		return map[string]string{"apps/new/kustomization.yaml": fmt.Sprintf("resources:\n- %s/two-org/base.git//app?ref=%s\n"+
			"- own.yaml\n", s.base, ref),
			"apps/new/own.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\ndata: {a: own-" + ref + "}\n"}
	}
	for branch, ref := range map[string]string{"new": "main"} {
		head := s.push(branch, naming(ref))
		s.pull(branch)
		address := s.details(head, 1)
		run := s.completed(s.repo, head, 1)
		if text := string(run.Output) + string(run.Annotations); run.Conclusion != "failure" || strings.Contains(text, "hush") {
			t.Errorf("the check run: %s %s", run.Conclusion, text)
		}
		res, body := browse(t, h.browser(t, "alice"), address)
		if res.StatusCode != http.StatusOK || !strings.Contains(body, "hush-1") || !strings.Contains(body, "own-main") {
			t.Errorf("alice: %d\n%s", res.StatusCode, body)
		}
		res, body = browse(t, h.browser(t, "bob"), address)
		if res.StatusCode != http.StatusOK || strings.Contains(body, "hush") || !strings.Contains(body, "own-main") ||
			!strings.Contains(body, "disallow-latest-tag") || !strings.Contains(body, "are shown only to those who "+
			"may read it") {
			t.Errorf("bob: %d\n%s", res.StatusCode, body)
		}
	}
	h.done(t)
}
