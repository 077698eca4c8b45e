package worker

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/sandbox"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
)

// What fails on a server whose own folders cannot be written to is no result: another one gets the job. Nobody did it
// for a long time: people are told whose problem it is.
func TestFailureOfServerIsNoResult(t *testing.T) {
	for name, err := range map[string]error{
		"fetch":   &mirror.Failed{Command: "fetch", Reason: "index-pack failed"},
		"sandbox": &sandbox.Failed{Message: "x"},
		"crash":   &sandbox.Crash{Reason: "ended"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			dir := filepath.Join(t.TempDir(), "data")
			b.Fitness = &Fitness{Folders: map[string]string{"LINTEL_DATA_DIR": dir}}
			h := newServer(t, b).Handler()
			if code, body := get(t, h, http.MethodGet, "/readyz"); code != http.StatusOK {
				t.Fatalf("%d %q before", code, body)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
				t.Errorf("%v, %v: something stays", left, err)
			}
			if err := errors.Join(os.Remove(dir), os.WriteFile(dir, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			b.Fitness.at = time.Time{}
			if b.mirror.err = err; name != "fetch" {
				b.mirror.err, b.sandbox.trouble, b.sandbox.run = nil, err, answer(nil, err)
			}
			for try := range 4 {
				b.task.Try = min(try+1, 3)
				err := b.Do(t.Context(), b.task)
				var later *store.Later
				if !errors.As(err, &later) || !later.Elsewhere {
					t.Fatalf("try %d: %v", try, err)
				}
				if run := b.hub.Runs; len(run) > 0 && run[len(run)-1].Status == forge.Completed {
					t.Fatalf("try %d concluded", try)
				}
			}
			if n := len(b.hub.Runs); n != 1 {
				t.Errorf("%d runs: it went on though it knew", n)
			}
			if code, body := get(t, h, http.MethodGet, "/readyz"); code != 503 ||
				body != "not ready: LINTEL_DATA_DIR cannot be written to: not a directory\n" {
				t.Errorf("%d %q", code, body)
			}
			b.task.Message.At = clock.Add(-unfitFor - time.Second)
			b.task.Try = 3
			if err := b.Do(t.Context(), b.task); err != nil {
				t.Fatal(err)
			}
			if run := b.last(t); !strings.Contains(run.Title, "a problem of its own") || !strings.Contains(run.Summary, "not a directory") ||
				strings.Contains(run.Summary, dir) {
				t.Errorf("%q %q", run.Title, run.Summary)
			}
			if err := os.Remove(dir); err != nil {
				t.Fatal(err)
			}
			b.Fitness.at, b.mirror.err, b.sandbox.trouble = time.Time{}, nil, nil
			b.sandbox.run = answer(&report.Report{Conclusion: report.Success}, nil)
			b.task.Message.At, b.task.Try = clock, 1
			if err := b.Do(t.Context(), b.task); err != nil || b.last(t).Conclusion != "success" {
				t.Errorf("mended: %v, %s", err, b.last(t).Conclusion)
			}
		})
	}
}

// A failure that says so itself is one of the server, too, also when its folders are well by then.
func TestNoDescriptorsIsNoResult(t *testing.T) {
	b := newBench(t)
	b.mirror.err = &mirror.Failed{Command: "fetch", Err: &os.PathError{Op: "open", Path: "/dev/null", Err: syscall.EMFILE}}
	b.task.Try = 3
	var later *store.Later
	if err := b.Do(t.Context(), b.task); !errors.As(err, &later) || !later.Elsewhere {
		t.Errorf("%v", err)
	}
}
