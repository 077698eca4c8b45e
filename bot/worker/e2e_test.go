package worker_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/lintel-bot/lintel/bot/githubtest"
	"golang.org/x/sys/unix"
)

// TestServe runs the real program against the imitation of GitHub.
func TestServe(t *testing.T) {
	binary := buildLintel(t)
	for _, c := range []struct {
		name string
		test func(t *testing.T, binary string)
		long bool
	}{
		{"pull request", pullRequest, false},
		{"exceptions by review", exceptionsByReview, false},
		{"objects by review", objectsByReview, false},
		{"exception with history", exceptionWithHistory, true},
		{"planted exception", plantedException, false},
		{"suggested changes", suggestedChanges, false},
		{"bad input", badInput, true},
		{"head vanishes", headVanishes, true},
		{"webhooks of strangers", strangers, false},
		{"box crashes", boxCrashes, false},
		{"trouble", trouble, true},
		{"webhook is lost", lostWebhook, false},
		{"rate limits", rateLimits, true},
		{"server is killed", serverKilled, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.long && testing.Short() {
				t.Skip("long: make test-all")
			}
			t.Parallel()
			c.test(t, binary)
		})
	}
}

// pullRequest follows one pull request from its opening to the repaired, reopened and repeated check.
func pullRequest(t *testing.T, binary string) {
	hub := newHub(t)
	s := newScene(t, hub, "octo-org/fleet", sampleRepo)
	p := serve(t, binary, hostingOf(hub), t.TempDir())
	hub.SetHook(p.url + "/webhook")

	broken := s.push("change", map[string]string{patchPath: read(t, sampleChange, patchPath)})
	number := s.open("change")
	run := s.completed(broken)
	if run.Conclusion != "failure" {
		t.Errorf("a pull request that breaks policies:\n%s", show(run))
	}
	// One that takes longer says so before.
	if want := "completed failure"; strings.TrimPrefix(strings.Join(distinct(run.History), " "), "in_progress ") != want {
		t.Errorf("the run was %v, want %s", run.History, want)
	}
	lines := strings.Split(read(t, sampleChange, patchPath), "\n")
	for policy, text := range map[string]string{"disallow-privileged": "privileged: true",
		"disallow-latest-tag": ":latest"} {
		found := false
		for _, a := range run.Annotations {
			found = found || strings.Contains(a.Title+a.Message, policy) && a.Path == patchPath && a.StartLine == a.EndLine &&
				strings.Contains(lines[a.StartLine-1], text)
		}
		if !found {
			t.Errorf("no annotation of %s is on the line with %q:\n%s", policy, text, show(run))
		}
	}

	// Asked for again, by the run and by its suite: a new run each, with the same result.
	if err := hub.Rerequest(s.repo, run.ID); err != nil {
		t.Fatal(err)
	}
	again := s.await(broken, newer(run))
	if again.Conclusion != "failure" || len(again.Annotations) != len(run.Annotations) {
		t.Errorf("the repeated run:\n%s", show(again))
	}
	if err := hub.RerequestSuite(s.repo, broken); err != nil {
		t.Fatal(err)
	}
	s.await(broken, newer(again))

	repaired := s.push("change", map[string]string{patchPath: read(t, sampleRepo, patchPath) + "# checked\n"})
	if run := s.completed(repaired); run.Conclusion != "success" {
		t.Errorf("the repaired pull request:\n%s", show(run))
	}

	// What was pushed while it was closed is checked when it is reopened.
	if err := hub.ClosePull(s.repo, number); err != nil {
		t.Fatal(err)
	}
	late := s.push("change", map[string]string{patchPath: read(t, sampleChange, patchPath)})
	if err := hub.ReopenPull(s.repo, number); err != nil {
		t.Fatal(err)
	}
	if run := s.completed(late); run.Conclusion != "failure" {
		t.Errorf("the reopened pull request:\n%s", show(run))
	}
	clean(t, hub)
}

// newer waits for a completed run after another one.
func newer(than githubtest.Run) func(githubtest.Run) bool {
	return func(r githubtest.Run) bool {
		return r.Status == "completed" && (r.ID != than.ID || len(r.History) > len(than.History))
	}
}

// distinct drops repetitions of the same status.
func distinct(history []string) []string {
	var out []string
	for _, h := range history {
		if len(out) == 0 || out[len(out)-1] != h {
			out = append(out, h)
		}
	}
	return out
}

// headVanishes: a forced push replaces the head, and GitHub forgets it, while it is being fetched.
func headVanishes(t *testing.T, binary string) {
	hub := newHub(t)
	s := newScene(t, hub, "octo-org/fleet", sampleRepo)
	p := serve(t, binary, hostingOf(hub), t.TempDir())
	hub.SetHook(p.url + "/webhook")
	release := make(chan struct{})
	hub.Inject(githubtest.Fault{Git: true, Hang: true, Release: release})

	old := s.push("change", map[string]string{"platform/notes.txt": "one\n"})
	s.open("change")
	s.await(old, func(r githubtest.Run) bool { return r.Status != "" }) // the job is under way
	head, err := hub.Push(s.ctx, s.repo, githubtest.Commit{Branch: "change", Parent: "main",
		Files: map[string]string{patchPath: read(t, sampleChange, patchPath)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := hub.Vanish(s.ctx, s.repo); err != nil {
		t.Fatal(err)
	}
	close(release)
	if run := s.completed(head); run.Conclusion != "failure" {
		t.Errorf("the new head:\n%s", show(run))
	}
	if run := s.completed(old); run.Conclusion == "success" || run.Title == "" {
		t.Errorf("the old head:\n%s", show(run))
	}
	clean(t, hub)
}

// strangers: webhooks that GitHub did not send, or not like this.
func strangers(t *testing.T, binary string) {
	hub := newHub(t)
	s := newScene(t, hub, "octo-org/fleet", sampleRepo)
	p := serve(t, binary, hostingOf(hub), t.TempDir())
	hub.SetHook(p.url + "/webhook")
	post := func(body []byte, signature string) int {
		req, err := http.NewRequestWithContext(s.ctx, http.MethodPost, p.url+"/webhook", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "X-Github-Event": {"pull_request"},
			"X-Github-Delivery": {"d-1"}, "X-Hub-Signature-256": {signature}}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	huge := bytes.Repeat([]byte(" "), 26<<20)
	for name, tc := range map[string]struct {
		body      []byte
		signature string
		want      int
	}{
		"oversized":         {huge, sign(hub, huge), http.StatusRequestEntityTooLarge},
		"badly signed":      {[]byte("{}"), sign(hub, []byte("{ }")), http.StatusUnauthorized},
		"not signed":        {[]byte("{}"), "", http.StatusUnauthorized},
		"signed, no JSON":   {[]byte("{"), sign(hub, []byte("{")), http.StatusBadRequest},
		"signed, not whole": {[]byte(`{"action":"opened"}`), sign(hub, []byte(`{"action":"opened"}`)), http.StatusBadRequest},
	} {
		if got := post(tc.body, tc.signature); got != tc.want {
			t.Errorf("%s: answered with %d, want %d", name, got, tc.want)
		}
	}
	// One on the way is tampered with: nothing happens. The next event is served.
	hub.TamperHook(githubtest.HookFault{Event: "pull_request", Do: githubtest.BadSignature})
	first := s.push("change", map[string]string{"platform/notes.txt": "one\n"})
	s.open("change")
	second := s.push("change", map[string]string{"platform/notes.txt": "two\n"})
	s.completed(second)
	for _, run := range hub.Runs(s.repo) {
		if run.HeadSHA == first {
			t.Errorf("the forged event caused a check run:\n%s", show(run))
		}
	}
	clean(t, hub)
}

func sign(hub *githubtest.Server, body []byte) string {
	mac := hmac.New(sha256.New, []byte(hub.App().Secret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// boxCrashes: the child process dies in the middle of a check.
func boxCrashes(t *testing.T, binary string) {
	if runtime.GOOS != "linux" {
		t.Skip("finds the child process in /proc")
	}
	hub := newHub(t)
	s := newScene(t, hub, "octo-org/fleet", sampleRepo)
	p := serve(t, binary, hostingOf(hub), t.TempDir(), "LINTEL_WORKERS=1")
	hub.SetHook(p.url + "/webhook")
	s.completed(s.pushOpen("one")) // now the box is warm
	boxes := childrenOf(t, p.cmd.Process.Pid)
	if len(boxes) == 0 {
		t.Fatal("lintel serve has no child process")
	}
	for _, pid := range boxes {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	head := s.pushOpen("two")
	s.await(head, func(r githubtest.Run) bool { return r.Status == "in_progress" })
	handedAJob(t, boxes)
	for _, pid := range boxes {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	run := s.completed(head)
	if run.Conclusion != "failure" || !strings.Contains(run.Title+run.Summary, "killed") {
		t.Errorf("the run whose box was killed:\n%s", show(run))
	}
	if run := s.completed(s.pushOpen("three")); run.Conclusion != "success" {
		t.Errorf("the run after it:\n%s", show(run))
	}
	clean(t, hub)
}

// handedAJob waits until there is something to read on the standard input of a child that is stopped: one that dies
// before is replaced, and no check is lost with it.
func handedAJob(t *testing.T, pids []int) {
	t.Helper()
	var inputs []unix.PollFd
	for _, pid := range pids {
		f, err := os.Open(fmt.Sprintf("/proc/%d/fd/0", pid))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		inputs = append(inputs, unix.PollFd{Fd: int32(f.Fd()), Events: unix.POLLIN})
	}
	for {
		n, err := unix.Poll(inputs, 30_000)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			t.Fatalf("no child was handed a job: %v", err)
		}
		return
	}
}

// pushOpen opens a pull request with a harmless change; it returns the head.
func (s *scene) pushOpen(branch string) string {
	s.t.Helper()
	sha := s.push(branch, map[string]string{"apps/shop/base/config/shop.properties": "currency=" + branch + "\n"})
	s.open(branch)
	return sha
}

// childrenOf lists the child processes of a process.
func childrenOf(t *testing.T, pid int) []int {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil || len(files) == 0 {
		t.Skip("the kernel does not list child processes")
	}
	var out []int
	for _, file := range files {
		data, _ := os.ReadFile(file) // the thread may be gone
		for _, field := range strings.Fields(string(data)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, child)
		}
	}
	return out
}

// serverKilled: kill -9 while one job is in work and another waits; the next start finishes both, with one
// check run for each head.
func serverKilled(t *testing.T, binary string) {
	hub := newHub(t)
	s := newScene(t, hub, "octo-org/fleet", sampleRepo)
	data := t.TempDir()
	p := serve(t, binary, hostingOf(hub), data, "LINTEL_WORKERS=1")
	hub.SetHook(p.url + "/webhook")
	hub.Inject(githubtest.Fault{Git: true, Hang: true, Times: -1})
	first := s.pushOpen("one")
	s.await(first, func(r githubtest.Run) bool { return r.Status != "" }) // created, and not further than the fetch
	second := s.pushOpen("two")
	if err := hub.WaitHooks(s.ctx); err != nil {
		t.Fatal(err)
	}
	p.kill()
	hub.ClearFaults()
	hub.SetHook("") // no webhook helps

	serve(t, binary, hostingOf(hub), data, "LINTEL_WORKERS=1", "LINTEL_SWEEP_INTERVAL=1h")
	for _, head := range []string{first, second} {
		if run := s.completed(head); run.Conclusion != "success" {
			t.Errorf("after the restart:\n%s", show(run))
		}
		count := 0
		for _, run := range hub.Runs(s.repo) {
			if run.HeadSHA == head {
				count++
			}
		}
		if count != 1 {
			t.Errorf("%.8s has %d check runs, want one", head, count)
		}
	}
	clean(t, hub)
}
