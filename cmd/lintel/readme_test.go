package main

import (
	"archive/zip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// firstRepository is what somebody has who comes to Lintel: a repository with a thing that every policy set minds.
var firstRepository = map[string]string{
	"apps/web/base/kustomization.yaml": "resources: [deployment.yaml]\n",
	"apps/web/base/deployment.yaml": `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: web
          image: registry.example.com/web:latest
`,
	"apps/web/overlays/production/kustomization.yaml": "namespace: web\nresources: [../../base]\npatches: [{path: patch.yaml}]\n",
	"apps/web/overlays/production/patch.yaml":         patch("replicas: 2"),
}

func patch(spec string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  " + spec + "\n"
}

const (
	patchFile    = "apps/web/overlays/production/patch.yaml"
	patchedImage = "apps/web/base/deployment.yaml"
)

// The README, and what deploy/README.md says of the installation, are followed word by word by somebody with nothing but
// Debian's base, git and curl: from the archive of a release to the first finding, to a change that is blocked, to the
// workflow, and to the hook of pre-commit.
//
// Not played: Homebrew and the image, which need macOS or a container engine; cosign, which needs Sigstore's servers (a
// stand-in sees to its arguments); sudo, which stands for the person; GitHub, whose releases a server on loopback has; the
// program, which is this test; actions/checkout and upload-sarif, which are GitHub's. "make demo" and "make test-all" are what
// .ci/run does.
func TestReadmeFromNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the README's archive is for Linux")
	}
	n := newNewcomer(t, "git", "curl")
	version := actionVersion(t)
	n.reachesGitHub(version, releaseFiles(t))
	install := documentBlocks(t, "deploy/README.md", "## Install the program", "sh", 3)[1]
	if strings.Count(install, "/usr/local/bin/") != 1 {
		t.Fatalf("the program goes to another place:\n%s", install)
	}
	install = strings.Replace(install, "/usr/local/bin/", n.bin+"/", 1)
	n.program("sudo", `exec "$@"`)
	n.program("cosign", `for last; do :; done
[ "$1" = verify-blob ] && [ "$2" = --bundle ] && [ -f "$3" ] && [ "$last" = checksums.txt ] && [ -f "$last" ]`)

	origin := filepath.Join(t.TempDir(), "fleet.git")
	git(t, ".", "init", "--quiet", "--bare", "--initial-branch=main", origin)
	git(t, origin, "config", "uploadpack.allowAnySHA1InWant", "true")
	clone := filepath.Join(n.home, "fleet")
	n.succeeds(n.home, "git clone --quiet file://"+origin+" fleet")
	for name, text := range firstRepository {
		writeFile(t, filepath.Join(clone, name), text)
	}
	n.succeeds(clone, "git checkout --quiet -b main && git add -A && git commit --quiet && git push --quiet -u origin main && "+
		"git remote set-head origin main")

	begin := time.Now()
	n.succeeds(n.home, install)
	installed := time.Since(begin)
	out := n.succeeds(clone, readmeBlocks(t, "## Your first finding", "sh", 2)[0])
	first := time.Since(begin)
	finding := fmt.Sprintf("%s:%d", patchedImage, at(t, firstRepository[patchedImage], "latest"))
	if !strings.Contains(out, finding) {
		t.Errorf("the first finding is not at %s:\n%s", finding, out)
	}
	t.Logf("from nothing to the first finding: %s, of which the installation took %s", first.Round(time.Millisecond),
		installed.Round(time.Millisecond))
	if left := n.succeeds(clone, "git status --short"); left != "" {
		t.Errorf("not committed: %s", left)
	}

	// "They only audit, so that the first findings are warnings": what the settings say has them block.
	settings := filepath.Join(clone, ".lintel.yaml")
	writeFile(t, settings, strings.Replace(readFile(t, settings), "# block: {audit: true}", "block: {audit: true}", 1))
	n.succeeds(clone, "git commit --quiet -a && git push --quiet && git checkout --quiet -b change")
	privileged := patch("template: {spec: {containers: [{name: web, securityContext: {\n    privileged: true}}]}}")
	writeFile(t, filepath.Join(clone, patchFile), privileged)
	n.succeeds(clone, "git commit --quiet -a && git push --quiet origin change")
	blocked := fmt.Sprintf("%s:%d", patchFile, at(t, privileged, "privileged"))
	check, _, ok := strings.Cut(readmeBlocks(t, "## Your first finding", "sh", 2)[1], "# this branch against the default branch\n")
	check = check[strings.LastIndex(check, "\n")+1:]
	if code, out := n.types(clone, check); !ok || code != 1 || !strings.Contains(out, blocked) {
		t.Errorf("%q: exit code %d, want 1 and a finding at %s:\n%s", check, code, blocked, out)
	}

	t.Run("action", func(t *testing.T) { n.runsWorkflow(t, origin, blocked) })
	t.Run("pre-commit", func(t *testing.T) { n.commitsWithHook(t, clone, version) })
}

// workflowFile is what the README says of GitHub Actions, as far as the test plays it.
type workflowFile struct {
	On   []string
	Jobs map[string]struct {
		Steps []struct {
			Uses, ID string
			With     map[string]string
		}
	}
}

func readWorkflow(t *testing.T) workflowFile {
	t.Helper()
	var w workflowFile
	if err := yaml.Unmarshal([]byte(readmeBlocks(t, "### In GitHub Actions", "yaml", 1)[0]), &w); err != nil {
		t.Fatal(err)
	}
	if len(w.Jobs["lintel"].Steps) != 3 || !strings.HasPrefix(w.Jobs["lintel"].Steps[0].Uses, "actions/checkout@") {
		t.Fatalf("the workflow is not as the test plays it: %+v", w)
	}
	return w
}

// actionVersion is the release that the README's workflow names.
func actionVersion(t *testing.T) string {
	t.Helper()
	name, version, _ := strings.Cut(readWorkflow(t).Jobs["lintel"].Steps[1].Uses, "@")
	if name != "lintel-bot/lintel/deploy/action" {
		t.Fatalf("the workflow uses %s", name)
	}
	return version
}

// runsWorkflow runs the job of the README for the pull request of the branch "change" and for its merge group, on a runner
// that has no Lintel.
func (n *newcomer) runsWorkflow(t *testing.T, bare, finding string) {
	w, o := readWorkflow(t), &origin{dir: bare, base: git(t, bare, "rev-parse", "main"), head: git(t, bare, "rev-parse", "change")}
	const tree = "change^{tree}" // as the branch is on top of the other one
	o.merge = git(t, bare, "commit-tree", "-p", o.base, "-p", o.head, "-m", "merge", tree)
	o.queue = git(t, bare, "commit-tree", "-p", o.base, "-p", o.head, "-m", "queue", tree)
	git(t, bare, "update-ref", "refs/pull/7/merge", o.merge)
	git(t, bare, "update-ref", "refs/heads/gh-readonly-queue/pr-7", o.queue)
	steps := w.Jobs["lintel"].Steps
	a := readAction(t, filepath.Join("..", "..", "deploy", "action"))
	events := map[string]workflow{
		"pull_request": {payload: strings.ReplaceAll(pullRequest, "<trunk>", "main"), commit: o.merge, ref: "refs/remotes/pull/7/merge"},
		"merge_group": {payload: `{"merge_group": {"base_sha": "<base>", "base_ref": "refs/heads/main"}}`, commit: o.queue,
			ref: "refs/remotes/origin/queue"},
	}
	if len(w.On) != len(events) {
		t.Errorf("the workflow runs on %v", w.On)
	}
	for _, name := range w.On {
		event := events[name]
		event.event, event.depth, event.inputs = name, 1, steps[1].With
		r := event.newRunner(t, o)
		r.github["action_ref"] = actionVersion(t)
		r.env["PATH"], r.env["HTTPS_PROXY"], r.env["CURL_CA_BUNDLE"] = n.tools, n.env["HTTPS_PROXY"], n.env["CURL_CA_BUNDLE"]
		got := r.run(t, a)
		file, line, _ := strings.Cut(finding, ":")
		if got.code != 1 || got.outputs["conclusion"] != "failure" || !strings.Contains(got.log, "::error file="+file+",line="+line) ||
			!strings.Contains(got.summary, "`pod-security-baseline`") {
			t.Errorf("%s: exit code %d, conclusion %q, want 1, a failure, and an annotation at %s:\n%s", name, got.code,
				got.outputs["conclusion"], finding, got.log+got.summary)
		}
		// What the next step asks for.
		if !strings.Contains(readFile(t, got.outputs[strings.TrimSuffix(strings.TrimPrefix(steps[2].With["sarif_file"],
			"${{ steps."+steps[1].ID+".outputs."), " }}")]), file) {
			t.Errorf("%s: the file of %s has no finding", name, steps[2].With["sarif_file"])
		}
	}
}

// commitsWithHook has pre-commit check each commit, as the README says.
func (n *newcomer) commitsWithHook(t *testing.T, clone, version string) {
	program, err := exec.LookPath("pre-commit")
	if err != nil {
		t.Skip("pre-commit is not installed: apt-get install pre-commit")
	}
	if err := os.Symlink(program, filepath.Join(n.tools, "pre-commit")); err != nil {
		t.Fatal(err)
	}
	config := readmeBlocks(t, "### With pre-commit", "yaml", 1)[0]
	// The repository that it names has the hooks only.
	hooks := t.TempDir()
	git(t, hooks, "init", "--quiet")
	writeFile(t, filepath.Join(hooks, ".pre-commit-hooks.yaml"), readFile(t, filepath.Join("..", "..", ".pre-commit-hooks.yaml")))
	git(t, hooks, "add", "--all")
	git(t, hooks, "commit", "--quiet", "--message", "hooks")
	git(t, hooks, "tag", version)
	n.succeeds(clone, "git config --global url.file://"+hooks+".insteadOf https://github.com/lintel-bot/lintel")
	n.succeeds(clone, "git checkout --quiet main")
	writeFile(t, filepath.Join(clone, ".pre-commit-config.yaml"), config)
	n.succeeds(clone, readmeBlocks(t, "### With pre-commit", "sh", 1)[0])
	if out := n.succeeds(clone, "git add -A && git commit"); !strings.Contains(out, "Passed") {
		t.Errorf("the hook did not run:\n%s", out)
	}
	n.succeeds(clone, "git checkout --quiet change -- "+patchFile)
	if code, out := n.types(clone, "git commit"); code == 0 || !strings.Contains(out, patchFile) {
		t.Errorf("the hook let the change pass:\n%s", out)
	}
}

// "go install" takes a module from a proxy: its files have to be what a module may have, and its go.mod what the module of
// a program that is installed may say. Nothing is compiled: that takes minutes, as paths are other ones.
func TestReadmeGoInstall(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	lines := strings.Split(strings.TrimSpace(documentBlocks(t, "deploy/README.md", "## Install the program", "sh", 3)[0]), "\n")
	line := lines[len(lines)-1]
	const module, version = "github.com/lintel-bot/lintel", "v1.0.0"
	if !strings.Contains(line, "go install "+module+"/cmd/lintel@latest") {
		t.Fatalf("the last line is %q", line)
	}
	n := newNewcomer(t, "go")
	cached := strings.TrimSpace(says(t, "go", "env", "GOMODCACHE"))
	proxy := filepath.Join(t.TempDir(), filepath.FromSlash(module), "@v")
	top := filepath.Join("..", "..")
	writeFile(t, filepath.Join(proxy, "list"), version+"\n")
	writeFile(t, filepath.Join(proxy, version+".info"), `{"Version": "`+version+`"}`)
	writeFile(t, filepath.Join(proxy, version+".mod"), readFile(t, filepath.Join(top, "go.mod")))
	file, err := os.Create(filepath.Join(proxy, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := zip.NewWriter(file)
	for _, name := range strings.Split(strings.TrimSuffix(git(t, top, "ls-files", "-z"), "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(top, name))
		if err != nil || !info.Mode().IsRegular() { // as for a module: links are left out
			continue
		}
		part, err := w.Create(module + "@" + version + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write([]byte(readFile(t, filepath.Join(top, name)))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	// The other modules are there already, as links, so that nothing is written where they are.
	modules := filepath.Join(t.TempDir(), "mod")
	links(t, filepath.Join(cached, "cache", "download", "github.com"), filepath.Join(modules, "cache", "download", "github.com"))
	links(t, filepath.Join(cached, "cache", "download"), filepath.Join(modules, "cache", "download"))
	links(t, filepath.Join(cached, "github.com"), filepath.Join(modules, "github.com"))
	links(t, cached, modules)
	n.env["GOMODCACHE"], n.env["GOFLAGS"], n.env["GOSUMDB"], n.env["GOTOOLCHAIN"] = modules, "-modcacherw", "off", "local"
	n.env["GOPROXY"] = "file://" + strings.TrimSuffix(proxy, filepath.FromSlash("/"+module+"/@v"))
	out := n.succeeds(n.home, strings.Replace(line, "go install ", "go install -n ", 1))
	if !strings.Contains(out, filepath.Join(n.home, "go", "bin", "lintel")) {
		t.Errorf("nothing would be installed:\n%s", out[max(0, len(out)-2000):])
	}
}

func says(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// links makes a folder with links to what another has, but for what is there.
func links(t *testing.T, from, to string) {
	t.Helper()
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := filepath.Join(to, e.Name())
		if _, err := os.Lstat(name); err == nil {
			continue
		}
		if err := os.Symlink(filepath.Join(from, e.Name()), name); err != nil {
			t.Fatal(err)
		}
	}
}
