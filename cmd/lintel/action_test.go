package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// trunk is a base branch whose name would be a command where it is not quoted.
const trunk = "trunk;touch${IFS}owned;$(touch${IFS}owned)"

// origin is the repository of the workflows: a bare one, that gives away every commit, as GitHub does.
type origin struct {
	dir                           string
	base, head, merge, queue, old string // commits
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// newOrigin makes a pull request of two commits that break a rule, to a branch that has moved on, and what a merge queue
// makes of it.
func newOrigin(t *testing.T) *origin {
	t.Helper()
	dir := t.TempDir()
	archive, err := txtar.ParseFile("testdata/repository/web.txtar")
	if err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "--quiet")
	git(t, dir, "checkout", "--quiet", "-b", trunk)
	var next []txtar.File
	for _, f := range archive.Files {
		if name, later := strings.CutPrefix(f.Name, ".next/"); later {
			next = append(next, txtar.File{Name: name, Data: f.Data})
			continue
		}
		writeFile(t, filepath.Join(dir, f.Name), string(f.Data))
	}
	commit := func(message string) string {
		git(t, dir, "add", "--all")
		git(t, dir, "commit", "--quiet", "--allow-empty", "--message", message)
		return git(t, dir, "rev-parse", "HEAD")
	}
	// The objects are no more than the policy needs.
	writeFile(t, filepath.Join(dir, ".lintel.yaml"), "checks: {schema: \"off\"}\n")
	o := &origin{}
	commit("first")
	o.old = commit("where the branch begins")
	git(t, dir, "checkout", "--quiet", "-b", "feature")
	for _, f := range next {
		writeFile(t, filepath.Join(dir, f.Name), string(f.Data))
	}
	commit("change")
	o.head = commit("another")
	git(t, dir, "checkout", "--quiet", trunk)
	for i := range 3 {
		writeFile(t, filepath.Join(dir, "README"), fmt.Sprint(i))
		o.base = commit("the branch moves on")
	}
	git(t, dir, "checkout", "--quiet", "--detach")
	git(t, dir, "merge", "--quiet", "--no-ff", "--message", "merge", o.head)
	o.merge = git(t, dir, "rev-parse", "HEAD")
	git(t, dir, "update-ref", "refs/pull/7/merge", o.merge)
	o.queue = commit("what the queue adds")
	git(t, dir, "update-ref", "refs/heads/gh-readonly-queue/pr-7", o.queue)
	o.dir = filepath.Join(t.TempDir(), "origin.git")
	git(t, dir, "clone", "--quiet", "--mirror", dir, o.dir)
	git(t, o.dir, "config", "uploadpack.allowAnySHA1InWant", "true")
	return o
}

// checkout does what actions/checkout does by default: it fetches one commit, as deep as it is told, 0 for all.
func (o *origin) checkout(t *testing.T, dir, commit, ref string, depth int) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "--quiet")
	git(t, dir, "remote", "add", "origin", "file://"+o.dir)
	args := []string{"fetch", "--quiet", "--no-tags", "--prune", "--no-recurse-submodules"}
	if depth > 0 {
		args = append(args, fmt.Sprintf("--depth=%d", depth), "origin", "+"+commit+":"+ref)
	} else {
		args = append(args, "origin", "+refs/heads/*:refs/remotes/origin/*", "+refs/pull/7/merge:refs/remotes/pull/7/merge")
	}
	git(t, dir, args...)
	git(t, dir, "checkout", "--quiet", "--force", "--detach", commit)
}

// workflow is a job that checks out a commit and runs the action for an event.
type workflow struct {
	event, payload string // of the event; <head> and others are commits
	commit, ref    string
	depth          int
	inputs         map[string]string
	below          string // the folder of the workspace that the repository is in
	offline        bool   // nothing can be fetched after the checkout
}

// contexts are the values of an event that expressions read.
func contexts(t *testing.T, payload string) map[string]string {
	t.Helper()
	var event any
	if err := json.Unmarshal([]byte(payload), &event); err != nil {
		t.Fatal(err)
	}
	flat := map[string]string{}
	var add func(name string, value any)
	add = func(name string, value any) {
		if fields, ok := value.(map[string]any); ok {
			for k, v := range fields {
				add(name+"."+k, v)
			}
			return
		}
		flat[name] = fmt.Sprint(value)
	}
	add("event", event)
	return flat
}

func needActionTools(t *testing.T) {
	t.Helper()
	for _, tool := range []string{"bash", "curl", "tar"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed, which every runner of GitHub Actions has", tool)
		}
	}
}

// newRunner is a runner with the workspace of a workflow.
func (w workflow) newRunner(t *testing.T, o *origin) *runner {
	t.Helper()
	payload := strings.NewReplacer("<base>", o.base, "<head>", o.head, "<merge>", o.merge, "<queue>", o.queue, "<old>", o.old,
		"<trunk>", trunk).Replace(w.payload)
	r := &runner{workspace: t.TempDir(), temp: t.TempDir(), inputs: w.inputs, github: contexts(t, payload)}
	o.checkout(t, filepath.Join(r.workspace, w.below), w.commit, w.ref, w.depth)
	if w.offline {
		git(t, filepath.Join(r.workspace, w.below), "remote", "set-url", "origin", "file://"+filepath.Join(r.temp, "gone"))
	}
	file := filepath.Join(r.temp, "event.json")
	writeFile(t, file, payload)
	r.env = map[string]string{"GITHUB_EVENT_NAME": w.event, "GITHUB_EVENT_PATH": file, "GITHUB_SHA": o.sha(w.event),
		"XDG_CACHE_HOME": filepath.Join(r.temp, "cache")}
	return r
}

// sha is the commit that an event is about (GITHUB_SHA).
func (o *origin) sha(event string) string {
	switch event {
	case "pull_request":
		return o.merge
	case "merge_group":
		return o.queue
	case "push":
		return o.head
	}
	return o.base
}

const pullRequest = `{"pull_request": {"base": {"ref": "<trunk>", "sha": "<base>"}, "user": {"login": "octocat"}},
	"repository": {"default_branch": "<trunk>"}}`

func TestActionChecks(t *testing.T) {
	needActionTools(t)
	a, o := readAction(t, filepath.Join("..", "..", "deploy", "action")), newOrigin(t)
	mergeRef, headRef := "refs/remotes/pull/7/merge", "refs/remotes/origin/feature"
	for name, c := range map[string]struct {
		workflow
		code       int
		conclusion string
		log        string // a part of it
	}{
		"pull request": {workflow{event: "pull_request", payload: pullRequest, commit: o.merge, ref: mergeRef, depth: 1},
			1, "failure", "::error "},
		"pull request, all history": {workflow{event: "pull_request", payload: pullRequest, commit: o.merge, ref: mergeRef},
			1, "failure", "::error "},
		"pull request, its head": {workflow{event: "pull_request", payload: pullRequest, commit: o.head, ref: headRef, depth: 1},
			1, "failure", "::error "},
		"pull request, nothing to fetch from": {workflow{event: "pull_request", payload: pullRequest, commit: o.merge, ref: mergeRef,
			depth: 1, offline: true}, 2, "error", `::error title=Lintel::the workflow's clone lacks the commit to ` +
			`compare this pull request with: add "fetch-depth: 2" to the actions/checkout step, or use --base`},
		"pull request, the base": {workflow{event: "pull_request_target", payload: pullRequest, commit: o.base, ref: "refs/remotes/origin/x",
			depth: 1}, 2, "error", "the workflow checked out the base branch"},
		"push": {workflow{event: "push", payload: `{"ref": "refs/heads/feature", "before": "<old>"}`, commit: o.head, ref: headRef,
			depth: 1}, 1, "failure", "::error "},
		"push, new branch": {workflow{event: "push", commit: o.head, ref: headRef, depth: 1, payload: `{"ref": "refs/heads/feature",
			"before": "0000000000000000000000000000000000000000", "repository": {"default_branch": "<trunk>"}}`}, 1, "failure", "::error "},
		"push, what was there is gone": {workflow{event: "push", commit: o.head, ref: headRef, depth: 1,
			payload: `{"ref": "refs/heads/feature", "before": "2222222222222222222222222222222222222222"}`}, 2, "error",
			`lacks the commit to compare this push with: add "fetch-depth: 0"`},
		"merge group": {workflow{event: "merge_group", payload: `{"merge_group": {"base_sha": "<base>", "base_ref": "refs/heads/<trunk>"}}`,
			commit: o.queue, ref: "refs/remotes/origin/queue", depth: 1}, 1, "failure", "::error "},
		"schedule": {workflow{event: "schedule", payload: `{"repository": {"default_branch": "<trunk>"}}`, commit: o.base,
			ref: "refs/remotes/origin/x", depth: 1, inputs: map[string]string{"args": "--all"}}, 0, "success", ""},
		"not the default": {workflow{event: "pull_request", payload: pullRequest, commit: o.merge, ref: mergeRef, depth: 1, below: "fleet",
			inputs: map[string]string{"working-directory": "fleet/app", "sarif-file": "out/found.sarif", "fail-on": "warn",
				"args": "--user root\n--no-cache"}}, 1, "failure", "::error file=app/deployment.yaml,line=10"},
		"no such flag": {workflow{event: "pull_request", payload: pullRequest, commit: o.merge, ref: mergeRef, depth: 1,
			inputs: map[string]string{"args": "--al%l"}}, 2, "error", "::error title=Lintel::unknown flag: --al%25l\n"},
		"an argument is no command": {workflow{event: "pull_request", payload: pullRequest, commit: o.merge, ref: mergeRef, depth: 1,
			inputs: map[string]string{"args": "--user $(touch${IFS}owned);touch${IFS}owned *"}}, 2, "error", "::error title=Lintel::"},
		"no such folder": {workflow{event: "pull_request", payload: pullRequest, commit: o.merge, ref: mergeRef, depth: 1,
			inputs: map[string]string{"working-directory": "none"}}, 2, "error", "names no folder"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.inputs == nil {
				c.inputs = map[string]string{}
			}
			c.inputs["lintel"] = "lintel" // that of this test, in the PATH
			r := c.newRunner(t, o)
			got := r.run(t, a)
			if got.code != c.code || got.outputs["conclusion"] != c.conclusion || !strings.Contains(got.log, c.log) {
				t.Errorf("exit code %d, conclusion %q; want %d, %q, and in the log %q:\n%s", got.code, got.outputs["conclusion"],
					c.code, c.conclusion, c.log, got.log)
			}
			sarif := got.outputs["sarif"]
			switch {
			case c.code == 2:
				if sarif != "" || got.summary != "" {
					t.Errorf("a check that could not be run has the SARIF file %q and the summary %q", sarif, got.summary)
				}
			case !strings.Contains(readFile(t, sarif), `"version": "2.1.0"`):
				t.Errorf("%s is no SARIF file", sarif)
			case c.inputs["sarif-file"] != "" && sarif != filepath.Join(r.workspace, c.inputs["sarif-file"]):
				t.Errorf("the SARIF file is %s", sarif)
			case c.code == 1 && (!strings.Contains(got.summary, "app/deployment.yaml") ||
				!strings.Contains(readFile(t, sarif), "app/deployment.yaml")):
				t.Errorf("the finding is not everywhere; summary:\n%s", got.summary)
			}
			for _, dir := range []string{r.workspace, filepath.Join(r.workspace, c.below)} {
				if _, err := os.Stat(filepath.Join(dir, "owned")); err == nil {
					t.Error("a name was run as a command")
				}
			}
			if left, _ := filepath.Glob(filepath.Join(r.temp, "lintel-*")); len(left) > 0 {
				t.Errorf("%v is left behind", left)
			}
		})
	}
}

// releases is a server with releases of one program, the one of this test.
func releases(t *testing.T) (server *httptest.Server, digest string) {
	t.Helper()
	program, err := exec.LookPath("lintel")
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\nexec '" + program + "' \"$@\"\n"
	var archive bytes.Buffer
	zip := gzip.NewWriter(&archive)
	w := tar.NewWriter(zip)
	for name, text := range map[string]string{"README.md": "", "lintel": script} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if w.Close() != nil || zip.Close() != nil {
		t.Fatal("the archive was not written")
	}
	sum := sha256.Sum256(archive.Bytes())
	digest = hex.EncodeToString(sum[:])
	const name = "lintel_linux_amd64.tar.gz"
	files := map[string]string{}
	for _, folder := range []string{"/releases/download/v1.2.3/", "/releases/latest/download/", "/releases/download/v6.6.6/"} {
		files[folder+name] = archive.String()
		files[folder+"checksums.txt"] = strings.Repeat("0", 64) + "  lintel_darwin_arm64.tar.gz\n" + digest + "  " + name + "\n"
	}
	files["/releases/download/v6.6.6/"+name] = archive.String() + "\n" // as by somebody else
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		data, ok := files[req.URL.Path]
		if !ok {
			http.NotFound(w, req)
			return
		}
		_, _ = w.Write([]byte(data))
	}))
	t.Cleanup(server.Close)
	return server, digest
}

func TestActionInstalls(t *testing.T) {
	needActionTools(t)
	a, o := readAction(t, filepath.Join("..", "..", "deploy", "action")), newOrigin(t)
	server, digest := releases(t)
	authorities := filepath.Join(t.TempDir(), "ca.pem")
	writeFile(t, authorities, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	zero := strings.Repeat("0", 64)
	for name, c := range map[string]struct {
		inputs map[string]string
		ref    string // behind the @ of the action
		env    map[string]string
		code   int
		log    string
	}{
		"by version":            {inputs: map[string]string{"version": "v1.2.3"}},
		"by the ref":            {ref: "v1.2.3"},
		"the newest":            {ref: "0123456789012345678901234567890123456789"},
		"by checksum":           {inputs: map[string]string{"version": "v1.2.3", "checksum": zero + "\n" + digest}},
		"another checksum":      {inputs: map[string]string{"version": "v1.2.3", "checksum": zero}, code: 2, log: "not the one"},
		"no checksum in a list": {inputs: map[string]string{"version": "v1.2.3", "checksum": " \n"}, code: 2, log: "not the one"},
		"another archive":       {inputs: map[string]string{"version": "v6.6.6"}, code: 2, log: "not the one that is asked for"},
		"no such release":       {inputs: map[string]string{"version": "v9.9.9"}, code: 2, log: "could not be fetched"},
		"no version": {inputs: map[string]string{"version": "v1.2.3/../../../$(touch owned)"}, code: 2,
			log: "is to be a release such as v1.2.3"},
		"no encryption": {inputs: map[string]string{"releases": "http://127.0.0.1:9/releases"}, code: 2, log: `need the input "checksum"`},
		"a file":        {inputs: map[string]string{"releases": "file:///releases"}, code: 2, log: "is to begin with https://"},
		"Windows":       {env: map[string]string{"RUNNER_OS": "Windows"}, code: 2, log: "Linux and macOS only"},
		"32 bit":        {env: map[string]string{"RUNNER_ARCH": "X86"}, code: 2, log: "no release of Lintel for this architecture"},
		"other Linux":   {env: map[string]string{"RUNNER_ARCH": "ARM64"}, code: 2, log: "lintel_linux_arm64.tar.gz of the release latest"},
		"a program":     {inputs: map[string]string{"lintel": "lintel", "releases": "https://127.0.0.1:9"}},
		"none":          {inputs: map[string]string{"lintel": "./lintel"}, code: 2, log: "names no program"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := workflow{event: "schedule", payload: `{}`, commit: o.base, ref: "refs/remotes/origin/x", depth: 1,
				inputs: map[string]string{"releases": server.URL + "/releases", "args": "--all"}}
			for k, v := range c.inputs {
				w.inputs[k] = v
			}
			r := w.newRunner(t, o)
			r.github["action_ref"], r.env["CURL_CA_BUNDLE"] = c.ref, authorities
			for k, v := range c.env {
				r.env[k] = v
			}
			got := r.run(t, a)
			if got.code != c.code || !strings.Contains(got.log, c.log) {
				t.Errorf("exit code %d, want %d, and in the log %q:\n%s", got.code, c.code, c.log, got.log)
			}
			installed := filepath.Join(r.temp, "lintel", "bin", "lintel")
			_, err := os.Stat(installed)
			if want := c.code == 0 && w.inputs["lintel"] == ""; (err == nil) != want {
				t.Errorf("the program is installed: %t, want %t", err == nil, want)
			} else if want && (len(got.path) != 1 || got.path[0] != filepath.Dir(installed)) {
				t.Errorf("later steps find %q", got.path)
			}
			want := "success"
			if c.code != 0 {
				want = "error"
			}
			if got.outputs["conclusion"] != want {
				t.Errorf("the conclusion is %q:\n%s", got.outputs["conclusion"], got.log)
			}
			left, _ := filepath.Glob(filepath.Join(r.temp, "lintel", "*.tar.gz"))
			if len(left) > 0 {
				t.Errorf("%v is left behind", left)
			}
		})
	}
}
