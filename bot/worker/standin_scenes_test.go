package worker_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// hall is one stand-in and one server, which many scenarios share.
type hall struct {
	*standin
	server *process
	files  map[string]string // what repositories start with
}

func newHall(t *testing.T, env ...string) *hall { t.Helper(); return newHallOf(t, nil, nil, env...) }

// newHallOf is a hall whose stand-in has options and does not know some events.
func newHallOf(t *testing.T, options, without []string, env ...string) *hall {
	t.Helper()
	skipWithoutStandin(t)
	t.Parallel()
	binary := buildLintel(t)
	s := startStandin(t.Context(), t, options...)
	app := s.register(without...)
	server := serve(t, binary, hosting{s.base, app.ID, []byte(app.PEM), app.Secret}, t.TempDir(), env...)
	s.control(http.MethodPatch, fmt.Sprintf("/apps/%d", app.ID), fields{"hook_url": server.url + "/webhook"}, nil)
	return &hall{standin: s, server: server, files: folderFiles(t, sampleRepo)}
}

// in makes an organization of its own for a scenario, with the sample repository and the App: limits and faults of
// one scenario leave the others alone. More is about the installation.
func (h *hall) in(t *testing.T, org string, more ...fields) *standin {
	t.Helper()
	s := *h.standin
	s.t, s.ctx, s.repo = t, t.Context(), org+"/fleet"
	files := map[string]string{}
	for path, text := range h.files {
		files[path] = strings.ReplaceAll(text, "@octo-org/", "@"+org+"/")
		if path == ".lintel.yaml" {
			files[path] = strings.ReplaceAll(text, "octo-org/", org+"/")
		}
	}
	s.control(http.MethodPut, "/orgs/"+org, fields{"members": []string{"alice", "bob", "carol"},
		"owners": []string{"olga"}}, nil)
	s.control(http.MethodPost, "/repos", fields{"full_name": s.repo, "files": files}, nil)
	s.control(http.MethodPut, "/orgs/"+org+"/teams/security",
		fields{"members": []string{"bob", "carol"}, "repos": fields{s.repo: "push"}}, nil)
	var installed struct{ ID int64 }
	in := fields{"account": org, "repositories": []string{s.repo}}
	for _, m := range more {
		maps.Copy(in, m)
	}
	s.control(http.MethodPost, "/installations?wait=1", in, &installed)
	s.installation = installed.ID
	return &s
}

// deliver posts to the control interface, to a path below the scenario's repository, and waits for the webhooks.
func (s *standin) deliver(path string, in fields) {
	s.t.Helper()
	s.control(http.MethodPost, "/repos/"+s.repo+path+"?wait=1", in, nil)
}

// push commits files; "" for a text deletes the file. With more, such as user or parent, it tells how.
func (s *standin) push(branch string, files map[string]string, more ...fields) string {
	s.t.Helper()
	content := fields{}
	for path, text := range files {
		if content[path] = text; text == "" {
			content[path] = nil
		}
	}
	in := fields{"branch": branch, "user": "alice", "message": "Change", "files": content}
	for _, m := range more {
		maps.Copy(in, m)
	}
	var out struct{ SHA string }
	s.control(http.MethodPost, "/repos/"+s.repo+"/commits?wait=1", in, &out)
	return out.SHA
}

func (s *standin) pull(head string, more ...fields) int {
	s.t.Helper()
	in := fields{"head": head, "title": "Change", "user": "alice"}
	for _, m := range more {
		maps.Copy(in, m)
	}
	var pull struct{ Number int }
	s.control(http.MethodPost, "/repos/"+s.repo+"/pulls?wait=1", in, &pull)
	return pull.Number
}

func (s *standin) editFile(number int, in fields) {
	s.t.Helper()
	s.control(http.MethodPatch, fmt.Sprintf("/repos/%s/pulls/%d?wait=1", s.repo, number), in, nil)
}

func (s *standin) review(number int, user, state string) int64 {
	s.t.Helper()
	var review struct{ ID int64 }
	s.control(http.MethodPost, fmt.Sprintf("/repos/%s/pulls/%d/reviews?wait=1", s.repo, number),
		fields{"user": user, "state": state, "body": "."}, &review)
	return review.ID
}

// fault disturbs requests about the scenario's repository.
func (s *standin) fault(match, in fields) {
	s.t.Helper()
	if _, ok := match["path"]; !ok {
		match["path"] = "/" + s.repo + "(/|\\.git/)"
	}
	in["match"] = match
	s.control(http.MethodPost, "/faults", in, nil)
}

// sceneRun is a check run with what tells whose it is.
type sceneRun struct {
	standinRun
	HeadSHA    string `json:"head_sha"`
	ExternalID string `json:"external_id"`
}

// ends requires that the pull requests come to these conclusions ("" is any): the newest check run on the head of each
// has it, the merge gate agrees, no check run is left open, and no head has more runs than count says.
func (s *standin) ends(count int, want map[int]string) {
	s.t.Helper()
	wrong := ""
	for deadline := time.Now().Add(4 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if wrong = s.wrong(count, want); wrong == "" {
			return
		}
	}
	s.t.Error(wrong)
}

func (s *standin) wrong(count int, want map[int]string) string {
	var runs []sceneRun
	s.control(http.MethodGet, "/check-runs?repo="+s.repo, nil, &runs)
	for _, run := range runs {
		if run.Status != "completed" {
			return fmt.Sprintf("check run %d (%s) on %s is %s", run.ID, run.ExternalID, run.HeadSHA, run.Status)
		}
	}
	for number, conclusion := range want {
		var pull struct {
			State string
			Head  struct{ SHA string }
		}
		s.control(http.MethodGet, fmt.Sprintf("/repos/%s/pulls/%d", s.repo, number), nil, &pull)
		var own, all []sceneRun
		for _, run := range runs {
			about := fmt.Sprintf("pr-%d", number)
			if run.HeadSHA == pull.Head.SHA && !strings.HasPrefix(run.ExternalID, "branch-") {
				all = append(all, run)
			}
			if run.HeadSHA == pull.Head.SHA && (strings.HasPrefix(run.ExternalID, about+"/") ||
				strings.HasPrefix(run.ExternalID, about+"+")) {
				own = append(own, run)
			}
		}
		if len(own) == 0 || len(own) > count {
			return fmt.Sprintf("pull request %d has %d check runs on its head, want 1 to %d", number, len(own), count)
		}
		// Whatever it is about: GitHub lets people merge by the newest of a name.
		newest := slices.MaxFunc(all, func(a, b sceneRun) int { return int(a.ID - b.ID) })
		if newest.Conclusion != conclusion && conclusion != "" {
			return fmt.Sprintf("pull request %d ends with %s, want %s:\n%s", number, newest.Conclusion, conclusion,
				newest.Output)
		}
		var gate struct{ OK bool }
		s.control(http.MethodGet, fmt.Sprintf("/repos/%s/gate?sha=%s&required=%s", s.repo, pull.Head.SHA,
			url.QueryEscape(newest.Name)), nil, &gate)
		if may := conclusion == "success" || conclusion == "neutral"; conclusion != "" && gate.OK != may {
			return fmt.Sprintf("pull request %d may be merged: %v, want %v", number, gate.OK, may)
		}
	}
	return ""
}

var depthLine = regexp.MustCompile(`(?m)^lintel_queue_depth\{[^}]*\} ([0-9]+)$`)

// done requires that nothing is left in the queue, and nothing was done that GitHub minds. Warnings that match
// one of the patterns are the doing of the scenarios.
func (h *hall) done(t *testing.T, own ...string) {
	t.Helper()
	left := ""
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		left = ""
		for _, m := range depthLine.FindAllStringSubmatch(h.scrape(t), -1) {
			if m[1] != "0" {
				left = m[0]
			}
		}
		if left == "" {
			break
		}
	}
	if left != "" {
		t.Errorf("left in the queue: %s", left)
	}
	var violations []fields
	h.t = t
	h.control(http.MethodGet, "/violations", nil, &violations)
	for _, v := range violations {
		text := fmt.Sprintf("%v: %v %v: %v", v["kind"], v["method"], v["path"], v["message"])
		if slices.ContainsFunc(own, func(p string) bool { return regexp.MustCompile(p).MatchString(text) }) {
			continue
		}
		t.Errorf("%v %v: %s: %v", v["side"], v["severity"], text, v["errors"])
	}
}

func (h *hall) scrape(t *testing.T) string {
	t.Helper()
	res, err := http.Get(h.server.url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
