package worker

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
)

func newServer(t *testing.T, b *bench) *Server {
	t.Helper()
	q, err := store.Open(t.Context(), store.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	m := NewMetrics(q.Depth, func() float64 { return 3 })
	b.Metrics = m
	return &Server{Queue: q, Metrics: m, Worker: b.Worker, Workers: 1,
		Webhook: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })}
}

func get(t *testing.T, h http.Handler, method, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w.Code, w.Body.String()
}

func TestPaths(t *testing.T) {
	s := newServer(t, newBench(t))
	h := s.Handler()
	for path, code := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 200, "/": 404,
		"/debug/pprof/": 404} {
		if got, _ := get(t, h, http.MethodGet, path); got != code {
			t.Errorf("GET %s: %d, want %d", path, got, code)
		}
	}
	if code, _ := get(t, h, http.MethodPost, "/webhook"); code != http.StatusAccepted {
		t.Errorf("webhook: %d", code)
	}
	if err := s.Queue.Publish(t.Context(), store.Key{Installation: 1, Repository: 1, Target: forge.Target{Number: 1}}, store.Message{},
		""); err != nil {
		t.Fatal(err)
	}
	_, metrics := get(t, h, http.MethodGet, "/metrics")
	for _, line := range []string{`lintel_webhook_answers_total{code="202"} 1`, `lintel_queue_depth{state="waiting"} 1`,
		`lintel_queue_depth{state="taken"} 0`, `lintel_sandbox_restarts_total 3`} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("metrics lack %q", line)
		}
	}
	s.Metrics.work(&report.Work{Rendered: 2, Recalled: 5})
	s.Metrics.work(nil)
	budgets := map[int64]forge.Budget{}
	for id := range int64(maxBudgets + 5) {
		budgets[id+1] = forge.Budget{Limit: 5000, Remaining: int(100 * id)}
	}
	s.Metrics.WatchBudgets(func() map[int64]forge.Budget { return budgets })
	s.Metrics.WatchDisk(func() map[string]int64 { return map[string]int64{"cache": 7} })
	s.Metrics.SetBuild(report.Build{Number: "v1.2.3", Commit: "abc", Go: "go1.26.0"})
	_, metrics = get(t, h, http.MethodGet, "/metrics")
	for line, want := range map[string]bool{`lintel_renderings_total{source="built"} 2`: true,
		`lintel_build_info{commit="abc",goversion="go1.26.0",version="v1.2.3"} 1`: true,
		`lintel_renderings_total{source="cached"} 5`:                              true,
		`lintel_disk_bytes{kind="cache"} 7`:                                       true,
		`lintel_github_requests_remaining{installation="1"} 0`:                    true,
		`lintel_github_requests_limit{installation="20"} 5000`:                    true,
		`lintel_github_requests_remaining{installation="21"} 2000`:                false} {
		if strings.Contains(metrics, line+"\n") != want {
			t.Errorf("metrics with %q: want %v", line, want)
		}
	}
	s.Ready = map[string]func(context.Context) error{"sandbox": func(context.Context) error {
		return errors.New("open /data/x: no")
	}}
	if code, body := get(t, h, http.MethodGet, "/readyz"); code != 503 || body != "not ready: sandbox\n" {
		t.Errorf("broken sandbox: %d %q", code, body)
	}
	s.Ready = nil
	s.Queue.Close()
	if code, _ := get(t, h, http.MethodGet, "/readyz"); code != 503 {
		t.Errorf("closed queue: %d", code)
	}
	if code, _ := get(t, h, http.MethodGet, "/healthz"); code != 200 {
		t.Errorf("health with a closed queue: %d", code)
	}
}

// A stop with a job in work ends Run, and the job is there for the next one.
func TestRunStopsAndHandsBack(t *testing.T) {
	b := newBench(t)
	s := newServer(t, b)
	begun := make(chan struct{})
	b.sandbox.run = func(ctx context.Context, _ report.Change) (*report.Report, error) {
		close(begun)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	swept := make(chan struct{})
	s.Sweep = func(ctx context.Context) { <-ctx.Done(); close(swept) }
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, listener) }()
	res, err := http.Get("http://" + listener.Addr().String() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	if body, _ := io.ReadAll(res.Body); string(body) != "ok\n" {
		t.Errorf("health says %q", body)
	}
	_ = res.Body.Close()
	if err := s.Queue.Publish(t.Context(), b.task.Key, b.task.Message, ""); err != nil {
		t.Fatal(err)
	}
	wait(t, begun)
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("Run: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("Run does not end")
	}
	wait(t, swept)
	if has, err := s.Queue.Has(t.Context(), b.task.Key); err != nil || !has {
		t.Errorf("the job in work is gone: %v, %v", has, err)
	}
	if run := b.last(t); run.Status != "in_progress" {
		t.Errorf("the check run is %s", run.Status)
	}
}

func wait(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(20 * time.Second):
		t.Fatal("timed out")
	}
}

func TestFront(t *testing.T) {
	var f Front
	if code, _ := get(t, &f, http.MethodGet, "/healthz"); code != http.StatusServiceUnavailable {
		t.Errorf("no handler: %d", code)
	}
	for _, want := range []int{http.StatusTeapot, http.StatusAccepted} {
		f.Set(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(want) }))
		if code, _ := get(t, &f, http.MethodGet, "/"); code != want {
			t.Errorf("handler: %d, want %d", code, want)
		}
	}
}

// Work that fails ends Serve with its error.
func TestServeEndsWithItsWork(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err = Serve(t.Context(), listener, &Front{}, nil, func(context.Context) error { return broken })
	if !errors.Is(err, broken) {
		t.Errorf("Serve: %v", err)
	}
	if _, err := listener.Accept(); err == nil {
		t.Error("the listener is still open")
	}
}
