package worker_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const previewName = "Lintel (other repositories)"

// previewRun waits for the check run about other repositories.
func (s *standin) previewRun(repo, sha string, count int) (run sceneRun, text string) {
	s.t.Helper()
	var runs []sceneRun
	s.control(http.MethodGet, fmt.Sprintf("/wait?repo=%s&sha=%s&name=%s&count=%d&timeout=120", repo, sha,
		url.QueryEscape(previewName), count), nil, nil)
	s.control(http.MethodGet, "/check-runs?repo="+repo+"&sha="+sha+"&name="+url.QueryEscape(previewName), nil, &runs)
	for _, r := range runs {
		if r.ID > run.ID {
			run = r
		}
	}
	var out struct{ Title, Summary string }
	if err := json.Unmarshal(run.Output, &out); err != nil {
		s.t.Fatal(err)
	}
	return run, out.Title + "\n" + out.Summary
}

// A pull request in a repository with policies shows what it would change in each that takes them, before it is merged.
// LINTEL_OUTLOOK_REPOSITORIES describes how many there are.
func TestStandinFleetPreview(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	t.Parallel()
	many := 8
	if n, err := strconv.Atoi(os.Getenv("LINTEL_OUTLOOK_REPOSITORIES")); err == nil {
		many = n
	}
	h := newSignInHall(t)
	s := h.in(t, "many-org")
	s.control(http.MethodPut, "/orgs/many-org", fields{"members": []string{"alice", "bob", "carol"}, "owners": []string{"olga"},
		"default_repository_permission": "none"}, nil)
	policy := func(label string) string {
		return `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: owned}
spec:
  rules:
  - name: label
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate:
      failureAction: Enforce
      message: needs the label ` + label + `
      pattern: {metadata: {labels: {` + label + `: "?*"}}}
`
	}
	policies := "many-org/policies"
	s.control(http.MethodPost, "/repos", fields{"full_name": policies, "files": fields{"kyverno/owned.yaml": policy("owner"),
		"app/own.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own, labels: {owner: me}}\n"}}, nil)
	s.control(http.MethodPost, "/repos/"+policies+"/push", fields{"ref": "refs/tags/v1", "rev": "main"}, nil)
	s.control(http.MethodPut, "/repos/"+policies+"/collaborators/alice", fields{"permission": "write"}, nil)
	add := []string{policies}
	for i := range many {
		name := fmt.Sprintf("many-org/user-%02d", i)
		labels, source := "{owner: us, team: us}", "repository: many-org/policies, path: kyverno"
		switch {
		case i%4 == 1:
			labels = "{owner: us}" // the change fails it
		case i == 2:
			source += ", ref: refs/tags/v1"
		}
		own := "policies: [{" + source + "}]\n"
		if i == 3 {
			own = "policies: [kyverno]\n"
		}
		s.control(http.MethodPost, "/repos", fields{"full_name": name, "private": i != 5, "files": fields{
			".lintel.yaml":     own,
			"app/settings.yml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  labels: " + labels + "\n"}}, nil)
		add = append(add, name)
	}
	s.control(http.MethodPut, "/repos/many-org/user-01/collaborators/bob", fields{"permission": "read"}, nil)
	s.control(http.MethodPost, fmt.Sprintf("/installations/%d/repositories?wait=1", s.installation), fields{"add": add}, nil)
	for _, name := range add[1:] { // whose reports tell where their rules come from
		s.control(http.MethodGet, "/wait?repo="+name+"&name="+url.QueryEscape("Lintel (branch)")+"&timeout=120", nil, nil)
	}

	// In the branch of a pull request another label is asked for.
	var pushed struct{ SHA string }
	s.control(http.MethodPost, "/repos/"+policies+"/commits?wait=1", fields{"branch": "team", "user": "alice", "message": "Team",
		"files": fields{"kyverno/owned.yaml": policy("team")}}, &pushed)
	head := pushed.SHA
	s.control(http.MethodPost, "/repos/"+policies+"/pulls?wait=1", fields{"head": "team", "title": "Team", "user": "alice"}, nil)
	run, text := s.previewRun(policies, head, 1)
	failing := (many + 2) / 4
	if want := fmt.Sprintf("Once merged: %d new failure", failing); run.Conclusion != "neutral" || !strings.HasPrefix(text, want) {
		t.Errorf("want %q, got %s %s", want, run.Conclusion, text)
	}
	for _, want := range []string{"many-org/user-05: ", "app/settings.yml", "Use no rules of this branch", "a private repository"} {
		if !strings.Contains(text, want) {
			t.Errorf("the check run lacks %q:\n%s", want, text)
		}
	}
	if strings.Count(text, "many-org/user-") != strings.Count(text, "many-org/user-05") {
		t.Errorf("it names another repository than the one that everybody may read:\n%s", text)
	}
	// Where each private repository would fail stands on a page for its readers.
	if strings.Count(text, "`app/settings.yml") != 1 {
		t.Errorf("places of private repositories are in the check run:\n%s", text)
	}
	if !strings.Contains(string(run.Annotations), "kyverno/owned.yaml") {
		t.Errorf("no annotation at the policy: %s", run.Annotations)
	}
	// Who may read the rules finds there those of the others that this reader may read.
	list := regexp.MustCompile(`\((http[^)]+/o/many-org/policies)\)`).FindStringSubmatch(text)
	if list == nil {
		t.Fatalf("no page of the repository:\n%s", text)
	}
	if res, body := browse(t, h.browser(t, "alice"), list[1]); res.StatusCode != http.StatusOK || strings.Contains(body, "user-01") ||
		!strings.Contains(body, "in many-org/user-05") {
		t.Errorf("the list of alice: %d\n%s", res.StatusCode, body)
	}
	_, body := browse(t, h.browser(t, "olga"), list[1])
	page := regexp.MustCompile(`href="(/r/many-org/user-01/[^"]+)"`).FindStringSubmatch(body)
	if page == nil {
		t.Fatalf("the list of olga lacks a repository:\n%s", body)
	}
	page[1] = strings.TrimSuffix(list[1], "/o/many-org/policies") + page[1]
	if res, body := browse(t, h.browser(t, "bob"), page[1]); res.StatusCode != http.StatusOK ||
		!strings.Contains(body, "app/settings.yml") || !strings.Contains(body, "many-org/policies#1") {
		t.Errorf("bob: %d\n%s", res.StatusCode, body)
	}
	if res, _ := browse(t, h.browser(t, "alice"), page[1]); res.StatusCode != http.StatusNotFound {
		t.Errorf("alice: %d", res.StatusCode)
	}
	// Asked for again, all is looked at again.
	s.control(http.MethodPost, fmt.Sprintf("/repos/%s/check-runs/%d/rerequest?wait=1", policies, run.ID), fields{"user": "alice"}, nil)
	if run, again := s.previewRun(policies, head, 2); !strings.HasPrefix(again, strings.SplitN(text, "\n", 2)[0]) || run.Conclusion != "neutral" {
		t.Errorf("asked for again: %s %s", run.Conclusion, again)
	}
	// What changes nothing says so, and what is no rule says nothing.
	s.control(http.MethodPost, "/repos/"+policies+"/commits?wait=1", fields{"branch": "words", "base": "main", "user": "alice",
		"message": "Words", "files": fields{"kyverno/owned.yaml": "# owned\n" + policy("owner")}}, &pushed)
	s.control(http.MethodPost, "/repos/"+policies+"/pulls?wait=1", fields{"head": "words", "title": "Words", "user": "alice"}, nil)
	if run, text := s.previewRun(policies, pushed.SHA, 1); run.Conclusion != "success" || !strings.HasPrefix(text, "Once merged, nothing changes in") {
		t.Errorf("of a comment: %s %s", run.Conclusion, text)
	}

	// A stranger's rules are not asked about what the stranger may not see, unless somebody who may wants it.
	s.control(http.MethodPost, "/repos", fields{"full_name": "mallory/policies", "fork_of": policies}, nil)
	s.control(http.MethodPost, "/repos/mallory/policies/commits?wait=1", fields{"branch": "spy", "base": "main", "user": "mallory",
		"message": "Spy", "files": fields{"kyverno/owned.yaml": policy("spy")}}, &pushed)
	s.control(http.MethodPost, "/repos/"+policies+"/pulls?wait=1", fields{"head": "spy", "head_repo": "mallory/policies", "title": "Spy",
		"user": "mallory"}, nil)
	run, text = s.previewRun(policies, pushed.SHA, 1)
	if run.Conclusion != "neutral" || !strings.Contains(text, "from a fork") || strings.Contains(text, "user-") {
		t.Errorf("from a fork: %s %s", run.Conclusion, text)
	}
	s.control(http.MethodPost, fmt.Sprintf("/repos/%s/check-runs/%d/rerequest?wait=1", policies, run.ID), fields{"user": "alice"}, nil)
	if run, text = s.previewRun(policies, pushed.SHA, 2); !strings.Contains(text, "new failures") {
		t.Errorf("from a fork, as alice asks: %s %s", run.Conclusion, text)
	}

	// A repository that everybody may read names no private one.
	s.control(http.MethodPatch, "/repos/"+policies+"?wait=1", fields{"private": false}, nil)
	s.control(http.MethodPost, "/repos/"+policies+"/commits?wait=1", fields{"branch": "team", "user": "alice", "message": "More",
		"files": fields{"kyverno/owned.yaml": policy("squad")}}, &pushed)
	run, text = s.previewRun(policies, pushed.SHA, 1)
	if strings.Contains(text, "user-01") || !strings.Contains(text, "user-05") || !strings.Contains(text, "are not named") ||
		run.Conclusion != "neutral" {
		t.Errorf("of a public repository: %s %s", run.Conclusion, text)
	}
	h.done(t)
}
