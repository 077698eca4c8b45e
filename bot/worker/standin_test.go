package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// standinFolder holds a stand-in of GitHub that checks every request against GitHub's own description of
// its API; it is kept beside the repository, not in it.
const standinFolder = "../../../shared/github-standin"

// fields is a JSON object of the stand-in's control interface.
type fields = map[string]any

// standin is a running stand-in.
type standin struct {
	t            *testing.T
	ctx          context.Context
	base         string
	repo         string
	installation int64
}

// TestStandin takes a pull request through its life with the stand-in as GitHub: no request may break
// GitHub's own description of its API.
func TestStandin(t *testing.T) {
	s := newStandin(t)
	repo := s.repo

	// Opened with a change that breaks two policies.
	broken := s.commit(repo, folderFiles(t, sampleChange))
	var pull struct{ Number int }
	s.control(http.MethodPost, "/repos/"+repo+"/pulls?wait=1",
		fields{"head": "change", "title": "Change", "user": "alice"}, &pull)
	run := s.completed(repo, broken, 1)
	if run.Conclusion != "failure" || !strings.Contains(string(run.Output), patchPath) &&
		!strings.Contains(string(run.Annotations), patchPath) {
		t.Errorf("the run of the broken change: %+v", run)
	}
	// Asked for again.
	s.control(http.MethodPost, fmt.Sprintf("/repos/%s/check-runs/%d/rerequest?wait=1", repo, run.ID),
		fields{"user": "alice"}, nil)
	run = s.completed(repo, broken, 2)
	// Exceptions for what blocks are asked for.
	s.control(http.MethodPost, fmt.Sprintf("/repos/%s/check-runs/%d/action?wait=1", repo, run.ID),
		fields{"identifier": "draft-exceptions", "user": "alice"}, nil)
	if run := s.completed(repo, broken, 3); run.Conclusion != "failure" ||
		!strings.Contains(string(run.Output), "kind: PolicyException") {
		t.Errorf("the run with drafts: %+v", run)
	}
	// Half of it repaired, and an exception for the rest, which the security team then approves.
	half := strings.Replace(read(t, sampleChange, patchPath), "privileged: true", "privileged: false", 1)
	head := s.commit(repo, map[string]string{patchPath: half, "exceptions/shop.yaml": standinException})
	if run := s.completed(repo, head, 1); run.Conclusion != "action_required" {
		t.Errorf("the run before the approval: %+v", run)
	}
	s.control(http.MethodPost, fmt.Sprintf("/repos/%s/pulls/%d/reviews?wait=1", repo, pull.Number),
		fields{"user": "bob", "state": "APPROVE"}, nil)
	if run := s.completed(repo, head, 2); run.Conclusion != "success" {
		t.Errorf("the run after the approval: %+v", run)
	}
	// More findings than fit into one request: each is on its line.
	many := manyFindings()
	head = s.commit(repo, many)
	run = s.completed(repo, head, 1)
	if want := strings.Count(many["platform/pods.yaml"], "image: "); run.Conclusion != "failure" ||
		annotatedImages(t, run, many["platform/pods.yaml"]) != want ||
		strings.Contains(string(run.Output), "annotations.max") {
		t.Errorf("%d of %d images are annotated, %s: %s", annotatedImages(t, run, many["platform/pods.yaml"]), want,
			run.Conclusion, run.Output)
	}
	s.clean()
}

// TestStandinEvents is what else happens in a repository: the base branch moves and changes its policies, a merge
// queue asks, the repository is renamed, the installation is suspended and comes back.
func TestStandinEvents(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	s := newStandin(t)
	repo := s.repo
	// A pull request that no policy minds, yet.
	head := s.commit(repo, map[string]string{"platform/new.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " +
		"new\n  namespace: shop\n"})
	var pull struct{ Number int }
	s.control(http.MethodPost, "/repos/"+repo+"/pulls?wait=1",
		fields{"head": "change", "title": "Change", "user": "alice"}, &pull)
	if run := s.completed(repo, head, 1); run.Conclusion != "success" {
		t.Errorf("the run of the pull request: %+v", run)
	}
	// The queue's merged tree has a run of its own.
	var group struct {
		ID      int64
		HeadSHA string `json:"head_sha"`
	}
	s.control(http.MethodPost, "/repos/"+repo+"/merge-queue?wait=1", fields{"pulls": []int{pull.Number}, "user": "alice"},
		&group)
	if run := s.completed(repo, group.HeadSHA, 1); run.Conclusion != "success" {
		t.Errorf("the run of the merge group: %+v", run)
	}
	s.control(http.MethodPost, fmt.Sprintf("/repos/%s/merge-queue/%d/destroy?wait=1", repo, group.ID),
		fields{"user": "alice"}, nil)

	// A push to main that changes no rule leaves the pull request alone: since the installation it is known what main has.
	// Main has a report each time.
	var pushed struct{ SHA string }
	for _, text := range []string{"one", "two"} {
		s.control(http.MethodPost, "/repos/"+repo+"/commits?wait=1",
			fields{"branch": "main", "user": "olga", "message": "Note", "files": fields{"platform/notes.txt": text}}, &pushed)
		if run := s.completed(repo, pushed.SHA, 1); run.Name != "Lintel (branch)" || run.Conclusion == "" {
			t.Errorf("the run of the default branch: %+v", run)
		}
		if run := s.completed(repo, head, 1); run.Conclusion != "success" {
			t.Errorf("the run after a push: %s", run.Conclusion)
		}
	}
	// A policy is: the open pull request gets another result.
	s.control(http.MethodPost, "/repos/"+repo+"/commits?wait=1",
		fields{"branch": "main", "user": "olga", "message": "Policy", "files": fields{"policies/never.yaml": neverPolicy}},
		&pushed)
	s.completed(repo, pushed.SHA, 1)
	if run := s.completed(repo, head, 2); run.Conclusion != "failure" {
		t.Errorf("the run under the new policy: %s", run.Conclusion)
	}

	s.control(http.MethodGet, "/wait?idle=1", nil, nil)
	// Suspended: nothing happens, and nothing is asked in vain for long. Back: what is missing is checked.
	s.control(http.MethodPost, fmt.Sprintf("/installations/%d/suspend?wait=1", s.installation), nil, nil)
	late := s.commit(repo, map[string]string{"platform/notes.txt": "late"})
	s.control(http.MethodPost, fmt.Sprintf("/installations/%d/unsuspend?wait=1", s.installation), nil, nil)
	s.completed(repo, late, 1)
	// Renamed: the next push is checked at the new address.
	s.control(http.MethodPatch, "/repos/"+repo+"?wait=1", fields{"name": "renamed", "sender": "olga"}, nil)
	moved := s.commit("octo-org/renamed", map[string]string{"platform/notes.txt": "moved"})
	s.completed("octo-org/renamed", moved, 1)
	s.clean()
}

const neverPolicy = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: never
spec:
  rules:
    - name: never
      match:
        any:
          - resources:
              kinds: [ConfigMap]
      validate:
        failureAction: Enforce
        message: never
        pattern:
          metadata:
            labels:
              never: "?*"
`

// clean requires that nothing was done that GitHub refuses, and that the stand-in has no fault itself. It may have said
// that some repositories are not there.
func (s *standin) clean(absent ...string) {
	s.t.Helper()
	for _, side := range []string{"side=app&severity=error", "side=standin"} {
		var violations []fields
		s.control(http.MethodGet, "/violations?"+side, nil, &violations)
		for _, v := range violations {
			if !opening(v) {
				s.t.Errorf("%s: %v", side, v)
			}
		}
	}
	var warnings []fields
	s.control(http.MethodGet, "/violations?side=app&severity=warning", nil, &warnings)
	for _, v := range warnings {
		if path, _ := v["path"].(string); slices.Contains(absent, strings.TrimPrefix(path, "/repos/")) {
			continue
		}
		s.t.Errorf("warning: %v", v)
	}
}

// opening reports that a violation of the stand-in's own side is the answer about a pull request that is being opened:
// the stand-in lists it before it has counted commits and lines, and a sweep on a slow machine asks in between. GitHub
// counts first, and Lintel does not read the counts.
func opening(violation fields) bool {
	errs, _ := violation["errors"].([]any)
	return violation["side"] == "standin" && violation["op"] == "pulls/get" && len(errs) > 0 &&
		!slices.ContainsFunc(errs, func(e any) bool {
			at, _ := e.(fields)
			of, _ := at["params"].(fields)
			missing, _ := of["missingProperty"].(string)
			return !slices.Contains([]string{"additions", "changed_files", "commits", "deletions"}, missing)
		})
}

const standinException = `apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: shop
  namespace: shop
spec:
  exceptions:
    - policyName: disallow-latest-tag
      ruleNames: ["*"]
  match:
    any:
      - resources:
          kinds: [Deployment]
          namespaces: [shop]
`

// manyFindings are 120 pods that break a policy each.
func manyFindings() map[string]string {
	var b strings.Builder
	for i := range 120 {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: pod-%d\n  namespace: shop\nspec:\n  "+
			"containers:\n    - name: a\n      image: registry.octo.example/é/a:latest\n", i)
	}
	return map[string]string{"platform/pods.yaml": b.String()}
}

// annotatedImages counts the lines with an image that carry an annotation of a check run.
func annotatedImages(t *testing.T, run standinRun, text string) int {
	t.Helper()
	var list []struct {
		Path string
		Line int `json:"start_line"`
	}
	if err := json.Unmarshal(run.Annotations, &list); err != nil {
		t.Fatal(err)
	}
	lines, found := strings.Split(text, "\n"), map[int]bool{}
	for _, a := range list {
		if a.Path == "platform/pods.yaml" && strings.Contains(lines[a.Line-1], "image: ") {
			found[a.Line] = true
		}
	}
	return len(found)
}

func skipWithoutStandin(t *testing.T) {
	t.Helper()
	_, node := exec.LookPath("node")
	_, npm := exec.LookPath("npm")
	_, server := os.Stat(filepath.Join(standinFolder, "server.js"))
	if errors.Join(node, npm, server) != nil {
		t.Skip("to run it, install node and npm and put the stand-in of GitHub (its server.js) into " + standinFolder)
	}
}

// newStandin starts a stand-in and a server for it, with the sample repository and the App installed on it.
func newStandin(t *testing.T) *standin {
	t.Helper()
	skipWithoutStandin(t)
	t.Parallel()
	binary := buildLintel(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	s := startStandin(ctx, t)
	app := s.register()
	p := serve(t, binary, hosting{s.base, app.ID, []byte(app.PEM), app.Secret}, t.TempDir())
	s.control(http.MethodPatch, fmt.Sprintf("/apps/%d", app.ID), fields{"hook_url": p.url + "/webhook"}, nil)

	s.populate()
	return s
}

// populate makes an organization with the sample repository, and installs the App there.
func (s *standin) populate() {
	s.t.Helper()
	repo := "octo-org/fleet"
	s.repo = repo
	s.control(http.MethodPut, "/orgs/octo-org", fields{"members": []string{"alice", "bob"}, "owners": []string{"olga"}},
		nil)
	s.control(http.MethodPost, "/repos", fields{"full_name": repo, "files": folderFiles(s.t, sampleRepo)}, nil)
	s.control(http.MethodPut, "/orgs/octo-org/teams/security",
		fields{"members": []string{"bob"}, "repos": fields{repo: "push"}}, nil)
	var installed struct{ ID int64 }
	s.control(http.MethodPost, "/installations?wait=1", fields{"account": "octo-org", "repositories": []string{repo}},
		&installed)
	s.installation = installed.ID
}

// startStandin installs what the stand-in needs, once, into the user's cache, and starts it.
func startStandin(ctx context.Context, t *testing.T, more ...string) *standin {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(standinFolder)); err != nil {
		t.Fatal(err)
	}
	// The originals may be read-only, and so the copies.
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chmod(path, 0o755))
	})
	if err != nil {
		t.Fatal(err)
	}
	modules, err := standinModules(ctx, folder)
	if err != nil {
		t.Skipf("the stand-in could not be set up: %v", err)
	}
	if err := os.Symlink(modules, filepath.Join(folder, "node_modules")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, "node", append([]string{"server.js", "--warm", "--dir", t.TempDir()}, more...)...)
	cmd.Dir = folder
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs logs
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the stand-in logged:\n%s", &errs)
		}
	})
	var ready struct{ Listening, API, Control string }
	if err := json.NewDecoder(out).Decode(&ready); err != nil {
		t.Fatalf("the stand-in did not start: %v\n%s", err, &errs)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return &standin{t: t, ctx: ctx, base: strings.TrimSuffix(strings.TrimSuffix(ready.Control, "/"), "/_control")}
}

// standinModules is the folder with the stand-in's dependencies.
func standinModules(ctx context.Context, folder string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "lintel-tests", "github-standin")
	modules := filepath.Join(cache, "node_modules")
	if _, err := os.Stat(modules); err == nil {
		return modules, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, "bash", filepath.Join(folder, "setup.sh")).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("setup.sh: %w: %s", err, out)
	}
	if err := os.Rename(filepath.Join(folder, "node_modules"), modules); err == nil {
		return modules, nil
	}
	// Another file system: copy, under a name that nobody takes for complete.
	part, err := os.MkdirTemp(cache, "part-")
	if err != nil {
		return "", err
	}
	if err := os.CopyFS(filepath.Join(part, "m"), os.DirFS(filepath.Join(folder, "node_modules"))); err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(part, "m"), modules); err != nil {
		return "", err
	}
	return modules, errors.Join(os.RemoveAll(part), os.RemoveAll(filepath.Join(folder, "node_modules")))
}

// control calls the control interface.
func (s *standin) control(method, path string, in, out any) {
	s.t.Helper()
	if err := s.try(method, s.base+"/_control"+path, in, out); err != nil {
		s.t.Fatal(err)
	}
}

func (s *standin) try(method, url string, in, out any) error {
	var body bytes.Buffer
	if in != nil {
		if err := json.NewEncoder(&body).Encode(in); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(s.ctx, method, url, &body)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode > 299 {
		return fmt.Errorf("%s %s: %d %s", method, url, res.StatusCode, data)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(data, out)
}

type standinApp struct {
	ID     int64
	PEM    string
	Secret string `json:"webhook_secret"`

	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
}

// register registers the App with the manifest of the deployment, as a person does on the form, but without some
// events.
func (s *standin) register(without ...string) standinApp {
	s.t.Helper()
	var manifest fields
	if err := json.Unmarshal([]byte(read(s.t, "../../deploy", "app-manifest.json")), &manifest); err != nil {
		s.t.Fatal(err)
	}
	manifest["default_events"] = slices.DeleteFunc(manifest["default_events"].([]any),
		func(e any) bool { return slices.Contains(without, e.(string)) })
	var form struct{ Code string }
	s.control(http.MethodPost, "/manifest", fields{"manifest": manifest, "owner": "octo-org", "state": "x"}, &form)
	var app standinApp
	if err := s.try(http.MethodPost, s.base+"/api/v3/app-manifests/"+form.Code+"/conversions", nil, &app); err != nil {
		s.t.Fatal(err)
	}
	return app
}

// commit pushes files to the branch "change".
func (s *standin) commit(repo string, files map[string]string) string {
	s.t.Helper()
	var out struct{ SHA string }
	s.control(http.MethodPost, "/repos/"+repo+"/commits?wait=1",
		fields{"branch": "change", "user": "alice", "message": "Change", "files": files}, &out)
	return out.SHA
}

// standinRun is a check run as the control interface shows it.
type standinRun struct {
	ID          int64
	Name        string
	Status      string
	Conclusion  string
	Output      json.RawMessage
	Annotations json.RawMessage
}

// completed waits for so many completed check runs of a commit and returns the newest.
func (s *standin) completed(repo, sha string, count int) standinRun {
	s.t.Helper()
	s.control(http.MethodGet, fmt.Sprintf("/wait?repo=%s&sha=%s&count=%d&timeout=90", repo, sha, count), nil, nil)
	var runs []standinRun
	s.control(http.MethodGet, fmt.Sprintf("/check-runs?repo=%s&sha=%s", repo, sha), nil, &runs)
	return slices.MaxFunc(runs, func(a, b standinRun) int { return int(a.ID - b.ID) })
}

// folderFiles are the files below a folder, by path.
func folderFiles(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	root := os.DirFS(folder)
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, path)
		files[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
