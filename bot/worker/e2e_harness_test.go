package worker_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/githubtest"
)

// patience is how long a test waits for anything before it fails. A job that was in work when a server was
// killed comes back after the queue's AckWait (30 s), and a try that failed after its pause (5 s, 30 s).
const patience = 2 * time.Minute

const (
	sampleRepo   = "../../testdata/sample"
	sampleChange = "../../testdata/sample-change"
	patchPath    = "apps/shop/overlays/production/deployment-patch.yaml"
)

// built is the program under test, compiled once; TestMain removes it. Without C it is the one that "make build" makes,
// so that most of it is compiled already.
var built = sync.OnceValues(func() (binary string, err error) {
	if builtIn, err = os.MkdirTemp("", "lintel-test"); err != nil {
		return "", err
	}
	binary = filepath.Join(builtIn, "lintel")
	cmd := exec.Command("go", "build", "-o", binary, "../../cmd/lintel")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return binary, fmt.Errorf("building lintel: %w\n%s", err, out)
	}
	return binary, nil
})

var builtIn string // the folder of it, once it is there

// buildLintel returns the path of the program under test.
func buildLintel(t *testing.T) string {
	t.Helper()
	binary, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

func newHub(t *testing.T) *githubtest.Server {
	t.Helper()
	hub, err := githubtest.New(githubtest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	return hub
}

// hosting is what "lintel serve" has to know of the GitHub it talks to.
type hosting struct {
	URL    string
	AppID  int64
	Key    []byte
	Secret string
}

func hostingOf(hub *githubtest.Server) hosting {
	app := hub.App()
	return hosting{hub.URL(), app.ID, app.PrivateKey, app.Secret}
}

// process is a running "lintel serve".
type process struct {
	t    *testing.T
	url  string
	cmd  *exec.Cmd
	logs *logs
	done chan struct{} // closed when it ended; err is set before
	err  error
}

// serve starts the program on a data folder and waits until it is ready. It ends with the test.
func serve(t *testing.T, binary string, at hosting, data string, env ...string) *process {
	t.Helper()
	key := filepath.Join(t.TempDir(), "app.pem")
	if err := os.WriteFile(key, at.Key, 0o600); err != nil {
		t.Fatal(err)
	}
	p := launch(t, binary, data, append([]string{"LINTEL_GITHUB_URL=" + at.URL, "LINTEL_GITHUB_APP_ID=" +
		strconv.FormatInt(at.AppID, 10),
		"LINTEL_GITHUB_PRIVATE_KEY_FILE=" + key, "LINTEL_GITHUB_WEBHOOK_SECRET=" + at.Secret}, env...)...)
	p.awaitReady()
	return p
}

// launch starts the program on a data folder. It ends with the test.
func launch(t *testing.T, binary, data string, env ...string) *process {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listen := listener.Addr().String()
	_ = listener.Close()
	p := &process{t: t, url: "http://" + listen, logs: &logs{}, done: make(chan struct{})}
	p.cmd = exec.Command(binary, "serve")
	p.cmd.Env = append(append(os.Environ(), "LINTEL_LISTEN="+listen, "LINTEL_DATA_DIR="+data), env...)
	p.cmd.Stdout, p.cmd.Stderr = p.logs, p.logs
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.err = p.cmd.Wait(); close(p.done) }()
	t.Cleanup(func() {
		p.terminate()
		if t.Failed() {
			t.Logf("lintel serve logged:\n%s", p.logs)
		}
	})
	return p
}

func (p *process) awaitReady() {
	p.t.Helper()
	p.await("is not ready", func() bool {
		res, err := http.Get(p.url + "/readyz")
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
}

// await waits until something is so; wrong says what is not, otherwise.
func (p *process) await(wrong string, met func() bool) {
	p.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(30 * time.Second)
	for !met() {
		select {
		case <-tick.C:
		case <-p.done:
			p.t.Fatalf("lintel serve %s, and ended: %v", wrong, p.err)
		case <-late:
			p.t.Fatalf("lintel serve %s", wrong)
		}
	}
}

// kill ends the program the hard way.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// terminate asks the program to end and requires that it does, with exit code 0.
func (p *process) terminate() {
	select {
	case <-p.done:
		return
	default:
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
		if p.err != nil {
			p.t.Errorf("lintel serve ended with %v", p.err)
		}
	case <-time.After(30 * time.Second):
		p.t.Error("lintel serve does not end when it is asked to")
		p.kill()
	}
}

// logs is a buffer that can be read while the program writes.
type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// scene is a hub, a program that serves it, and one repository.
type scene struct {
	t    *testing.T
	ctx  context.Context
	hub  *githubtest.Server
	repo string
}

func newScene(t *testing.T, hub *githubtest.Server, repo, folder string) *scene {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	if _, err := hub.AddRepo(ctx, repo, folder); err != nil {
		t.Fatal(err)
	}
	return &scene{t, ctx, hub, repo}
}

// push commits files to a branch; it returns the commit.
func (s *scene) push(branch string, files map[string]string) string {
	s.t.Helper()
	sha, err := s.hub.Push(s.ctx, s.repo, githubtest.Commit{Branch: branch, Files: files})
	if err != nil {
		s.t.Fatal(err)
	}
	return sha
}

// open opens a pull request; it returns its number.
func (s *scene) open(branch string) int {
	s.t.Helper()
	number, err := s.hub.OpenPull(s.ctx, s.repo, githubtest.Pull{Head: branch})
	if err != nil {
		s.t.Fatal(err)
	}
	return number
}

// completed waits for the completed check run of a commit.
func (s *scene) completed(sha string) githubtest.Run { return s.await(sha, nil) }

// await waits until the newest check run of a commit meets a condition.
func (s *scene) await(sha string, met func(githubtest.Run) bool) githubtest.Run {
	s.t.Helper()
	run, err := s.hub.WaitRun(s.ctx, s.repo, sha, met)
	if err != nil {
		s.t.Fatalf("%v\n%s", err, show(run))
	}
	return run
}

// clean requires that the program did nothing GitHub refuses.
func clean(t *testing.T, hub *githubtest.Server) {
	t.Helper()
	for _, v := range hub.Violations() {
		t.Errorf("GitHub would not like this: %s", v)
	}
}

// read is the content of a file of the test data.
func read(t *testing.T, folder, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// show is everything that a person sees of a check run.
func show(run githubtest.Run) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n%s\n%s\n%s\n", run.Status, run.Conclusion, run.Title, run.Summary, run.Text)
	for _, a := range run.Annotations {
		fmt.Fprintf(&b, "%s:%d-%d %s: %s: %s\n%s\n", a.Path, a.StartLine, a.EndLine, a.Level, a.Title, a.Message,
			a.RawDetails)
	}
	return b.String()
}
