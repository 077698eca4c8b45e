package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/bot/store"
)

const (
	// readyTimeout is below the one second that Kubernetes gives a probe by default.
	readyTimeout = 800 * time.Millisecond
	// drainTimeout is for webhooks under way when the server ends; a pod has 30 s.
	drainTimeout = 10 * time.Second
	maxHeader    = 64 << 10
)

// Server answers HTTP and works on jobs until it is told to stop. All fields but Routes, Pages, Ready and Log are
// required.
type Server struct {
	Webhook http.Handler
	Metrics *Metrics
	Queue   *store.Queue
	Worker  *Worker
	Workers int                                    // jobs in work at a time
	Routes  func(mux *http.ServeMux)               // adds what else is served
	Sweep   func(ctx context.Context)              // runs until ctx ends
	Pages   *results.Handler                       // nil: there are none
	Ready   map[string]func(context.Context) error // named parts besides the queue that must answer
	Log     *slog.Logger
}

// Handler serves the pages, /webhook, /healthz (the process answers), /readyz (its parts answer) and /metrics.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/webhook", counted(s.Webhook, s.Metrics.webhooks, s.Metrics.answers))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("GET /metrics", s.Metrics.Handler())
	if s.Pages != nil {
		pages := counted(s.Pages, s.Metrics.pages, s.Metrics.paged)
		for _, pattern := range s.Pages.Patterns() {
			mux.Handle(pattern, pages)
		}
	}
	if s.Routes != nil {
		s.Routes(mux)
	}
	return mux
}

func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	if err := s.Queue.Ready(ctx); err != nil {
		http.Error(w, "not ready: queue", http.StatusServiceUnavailable)
		return
	}
	if err := s.Worker.Fitness.Check(); err != nil {
		http.Error(w, "not ready: "+scrub(err.Error()), http.StatusServiceUnavailable)
		return
	}
	for name, check := range s.Ready {
		if err := check(ctx); err != nil {
			http.Error(w, "not ready: "+name, http.StatusServiceUnavailable)
			return
		}
	}
	_, _ = io.WriteString(w, "ok\n")
}

// Run serves on the listener, works and sweeps until ctx ends. Then it takes no more webhooks, hands the
// jobs in work back, and returns nil. An error means that a part ended by itself.
func (s *Server) Run(ctx context.Context, listener net.Listener) error {
	return Serve(ctx, listener, s.Handler(), s.Log, s.Work)
}

// Work is Run without HTTP: it works on jobs and sweeps until ctx ends.
func (s *Server) Work(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var sweeping sync.WaitGroup
	defer sweeping.Wait()
	defer stop()
	sweeping.Go(func() { s.Sweep(ctx) })
	sweeping.Go(func() { s.Worker.Alarm.Run(ctx) })
	return s.Queue.Work(ctx, s.Workers, func(ctx context.Context, j *store.Job) error {
		return s.Worker.Do(ctx, Task{*j, j})
	})
}

// Front passes requests to a handler that can be replaced while it serves. Requests in progress stay with the handler
// that began them. It answers 503 while there is none. It is safe for concurrent use.
type Front struct{ now atomic.Pointer[http.Handler] }

// Set replaces the handler.
func (f *Front) Set(h http.Handler) { f.now.Store(&h) }

// ServeHTTP implements http.Handler.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := f.now.Load()
	if h == nil {
		http.Error(w, "starting", http.StatusServiceUnavailable)
		return
	}
	(*h).ServeHTTP(w, r)
}

// Serve answers HTTP on the listener and does the work beside it until ctx ends. Then it takes no more requests,
// waits for those under way and for the work, and returns nil. An error means that one of both ended by itself.
// A nil log is none.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, log *slog.Logger,
	work func(context.Context) error) error {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	parts, running := errgroup.WithContext(ctx)
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      45 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	parts.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serving HTTP: %w", err)
		}
		return nil
	})
	parts.Go(func() error { return work(running) })
	<-running.Done()
	asked := ctx.Err() != nil
	log.Info("stopping: webhooks are no longer accepted, jobs in work are returned to the queue")
	draining, done := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer done()
	if err := server.Shutdown(draining); err != nil {
		_ = server.Close()
	}
	if err := parts.Wait(); !asked {
		return err
	}
	return nil // what the parts say about the end of ctx is no news
}
