package worker_test

import (
	"context"
	"html"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

var (
	setupLink     = regexp.MustCompile(`(?m)^  (http://\S+/setup\?token=(\S+))$`)
	manifestForm  = regexp.MustCompile(`action="([^"]+)"><input type="hidden" name="manifest" value="([^"]+)"`)
	unconfigured  = []string{"LINTEL_GITHUB_APP_ID=", "LINTEL_GITHUB_PRIVATE_KEY_FILE=", "LINTEL_GITHUB_WEBHOOK_SECRET="}
	anythingAgain = map[string]string{"platform/new.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: new\n  " +
		"namespace: shop\n"}
)

// awaitLink waits for the link that a server without an App prints; it returns the link and its token.
func (p *process) awaitLink() (link, token string) {
	p.t.Helper()
	p.await("prints no link", func() bool {
		if m := setupLink.FindStringSubmatch(p.logs.String()); m != nil {
			link, token = m[1], m[2]
		}
		return link != ""
	})
	return link, token
}

// register opens the link and goes through the pages as a browser does. It returns the last one.
func (p *process) register(organization string, more ...url.Values) string {
	p.t.Helper()
	link, token := p.awaitLink()
	page := read200(p.t, func() (*http.Response, error) { return http.Get(link) })
	if !strings.Contains(page, `value="`+p.url+`"`) {
		p.t.Errorf("the first page does not propose the server's address:\n%s", page)
	}
	answers := url.Values{"token": {token}, "address": {p.url}, "organization": {organization}}
	for _, m := range more {
		maps.Copy(answers, m)
	}
	page = read200(p.t, func() (*http.Response, error) { return http.PostForm(p.url+"/setup", answers) })
	form := manifestForm.FindStringSubmatch(page)
	if form == nil {
		p.t.Fatalf("no manifest:\n%s", page)
	}
	last := read200(p.t, func() (*http.Response, error) {
		return http.PostForm(html.UnescapeString(form[1]), url.Values{"manifest": {html.UnescapeString(form[2])}})
	})
	p.awaitReady()
	for line := range strings.Lines(p.logs.String()) {
		if strings.HasPrefix(line, "{") && (strings.Contains(line, token) || strings.Contains(line, "PRIVATE KEY")) {
			p.t.Errorf("a secret is logged: %s", line)
		}
	}
	return last
}

func read200(t *testing.T, ask func() (*http.Response, error)) string {
	t.Helper()
	res, err := ask()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v\n%s", res.Request.URL.Path, res.StatusCode, err, body)
	}
	return string(body)
}

// setupIsGone requires that a server with an App has no page to register one, whatever link it printed before.
func (p *process) setupIsGone() {
	p.t.Helper()
	links := []string{p.url + "/setup"}
	if link := setupLink.FindStringSubmatch(p.logs.String()); link != nil {
		links = append(links, link[1])
	}
	for _, link := range links {
		res, err := http.Get(link)
		if err != nil {
			p.t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusNotFound {
			p.t.Errorf("%s answers %d", link, res.StatusCode)
		}
	}
}

// A server without an App ends when it is asked to; it registers one and goes on as it, in the same process and
// after a restart.
func TestSetup(t *testing.T) {
	binary := buildLintel(t)
	hub, data := newHub(t), t.TempDir()
	env := append([]string{"LINTEL_GITHUB_URL=" + hub.URL()}, unconfigured...)
	p := launch(t, binary, data, env...)
	p.awaitLink()
	p.terminate()
	p = launch(t, binary, data, env...)
	if last := p.register(""); !strings.Contains(last, hub.URL()+"/github-apps/lintel/installations/new") {
		t.Errorf("no link to install the App:\n%s", last)
	}
	p.setupIsGone()
	s := newScene(t, hub, "octo-org/fleet", sampleRepo)
	head := s.push("change", folderFiles(t, sampleChange))
	s.open("change")
	if run := s.completed(head); run.Conclusion != "failure" {
		t.Errorf("the run of the broken change: %s", show(run))
	}
	p.terminate()

	p = launch(t, binary, data, env...)
	p.awaitReady()
	p.setupIsGone()
	if setupLink.MatchString(p.logs.String()) {
		t.Error("the restarted server offers to register an App")
	}
	hub.SetHook(p.url + "/webhook")
	head = s.push("other", anythingAgain)
	s.open("other")
	if run := s.completed(head); run.Conclusion != "success" {
		t.Errorf("the run after the restart: %s", show(run))
	}
	clean(t, hub)
}

// The stand-in checks the manifest and the exchange against GitHub's own description, of each Enterprise Server that is
// still supported, too.
func TestStandinSetup(t *testing.T) {
	for _, spec := range []string{"api.github.com", "ghes-3.17", "ghes-3.18", "ghes-3.19"} {
		t.Run(spec, func(t *testing.T) {
			skipWithoutStandin(t)
			t.Parallel()
			binary := buildLintel(t)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			t.Cleanup(cancel)
			s := startStandin(ctx, t, "--spec", spec)
			p := launch(t, binary, t.TempDir(), append([]string{"LINTEL_GITHUB_URL=" + s.base}, unconfigured...)...)
			if last := p.register("octo-org"); !strings.Contains(last, s.base+"/apps/lintel/installations/new") {
				t.Errorf("no link to install the App:\n%s", last)
			}
			s.populate()
			head := s.commit(s.repo, folderFiles(t, sampleChange))
			s.control(http.MethodPost, "/repos/"+s.repo+"/pulls?wait=1",
				fields{"head": "change", "title": "Change", "user": "alice"}, nil)
			if run := s.completed(s.repo, head, 1); run.Conclusion != "failure" {
				t.Errorf("the run of the broken change: %+v", run)
			}
			s.clean()
		})
	}
}
