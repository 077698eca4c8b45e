package store

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/lintel-bot/lintel/bot/forge"
)

// A stream that somebody removed, or that its server lost, is made again by the first request that needs it, or by the
// question whether the queue is ready.
func TestRemovedStreamIsMadeAgain(t *testing.T) {
	for _, name := range []string{streamName, bucketPrefix + leaseBucket, bucketPrefix + stateBucket, bucketPrefix + pusherBucket,
		"all"} {
		t.Run(name, func(t *testing.T) {
			q := open(t, Config{})
			results := q.Bucket("RESULTS", 1<<20, time.Hour)
			if err := results.Put(t.Context(), "a", []byte("1")); err != nil {
				t.Fatal(err)
			}
			got := make(chan int, 9)
			work(t, q, 1, func(_ context.Context, j *Job) error { got <- j.Key.Number; return nil })
			pull := func(n int) Key { return Key{Installation: 7, Repository: 11, Target: forge.Target{Number: n}} }
			for n := range 5 {
				publish(t, q, pull(n+1), "")
				receive(t, got, "a job before")
			}
			remove := func() {
				for other := range q.js.StreamNames(t.Context()).Name() {
					if name == "all" || name == other {
						if err := q.js.DeleteStream(t.Context(), other); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			remove()
			if name == streamName || name == "all" {
				select {
				case <-q.Lost():
				case <-time.After(10 * time.Second):
					t.Error("nobody is told that jobs may be lost")
				}
			}
			remove()
			publish(t, q, pull(6), "") // the sequences began again
			if n := receive(t, got, "a job after"); n != 6 {
				t.Errorf("job %d", n)
			}
			remove()
			if err := q.Ready(t.Context()); err != nil {
				t.Errorf("not ready: %v", err)
			}
			if err := results.Put(t.Context(), "a", []byte("2")); err != nil {
				t.Errorf("a bucket: %v", err)
			}
		})
	}
}

// The end of a job whose stream is gone does not remove the job that has its number in the new one.
func TestEndOfLostJobRemovesNoOther(t *testing.T) {
	q := open(t, Config{})
	publish(t, q, one, "")
	other := Key{Installation: 7, Repository: 12, Target: forge.Target{Number: 1}}
	q.process(t.Context(), one, "a", func(ctx context.Context, _ *Job) error {
		if err := q.js.DeleteStream(ctx, streamName); err != nil {
			t.Error(err)
		}
		publish(t, q, other, "")
		return nil
	})
	if has, err := q.Has(t.Context(), other); err != nil || !has {
		t.Errorf("%v, %v: the other job is gone", has, err)
	}
}

// The permissions that the documentation asks for are enough.
func TestDocumentedPermissions(t *testing.T) {
	text, err := os.ReadFile("../../deploy/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var allowed []string
	line := regexp.MustCompile(`(?m)^2\. Let its account use (.*)$`).FindSubmatch(text)
	if line == nil {
		t.Fatal("the documentation lists no permissions")
	}
	for _, subject := range regexp.MustCompile("`([^`]+)`").FindAllSubmatch(line[1], -1) {
		allowed = append(allowed, string(subject[1]))
	}
	only := &server.SubjectPermission{Allow: allowed}
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true,
		NoLog: true, Users: []*server.User{{Username: "lintel", Password: "secret",
			Permissions: &server.Permissions{Publish: only, Subscribe: only}}}})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the NATS server is not ready")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	q, err := Open(ctx, Config{URL: "nats://lintel:secret@" + s.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	got := make(chan int, 1)
	work(t, q, 1, func(_ context.Context, j *Job) error { got <- j.Key.Number; return nil })
	publish(t, q, one, "")
	receive(t, got, "the job")
	if err := q.Ready(ctx); err != nil {
		t.Error(err)
	}
	if _, _, err := q.Sessions(ctx); err != nil {
		t.Error(err)
	}
}

// A process that cannot work leaves its jobs to another one, and takes no more for a while.
func TestJobsOfUnfitProcessAreDoneElsewhere(t *testing.T) {
	config := Config{URL: natsServer(t), Occupied: 10 * time.Millisecond}
	unfit, fit := open(t, config), open(t, config)
	begun := make(chan int, 100)
	work(t, unfit, 2, func(_ context.Context, j *Job) error {
		begun <- j.Try
		return &Later{After: time.Hour, Elsewhere: true, Err: errors.New("the disk is full")}
	})
	pull := func(n int) Key { return Key{Installation: 7, Repository: 11, Target: forge.Target{Number: n}} }
	publish(t, unfit, pull(1), "")
	receive(t, begun, "the job where it fails")
	done := make(chan int, 100)
	work(t, fit, 1, func(_ context.Context, j *Job) error { done <- j.Try; return nil })
	for n := range 10 {
		publish(t, unfit, pull(n+2), "")
	}
	for range 11 {
		if try := receive(t, done, "a job elsewhere"); try != 1 {
			t.Errorf("try %d", try)
		}
	}
	if n := len(begun); n > 1 {
		t.Errorf("%d more jobs were begun by the process that cannot work", n)
	}
}

// Streams that belong to an App are refused for another one.
func TestStreamsBelongToOneApp(t *testing.T) {
	url := natsServer(t)
	for _, c := range []struct {
		app     int64
		refused bool
	}{{0, false}, {1, false}, {1, false}, {22, true}, {1, false}} {
		q, err := Open(t.Context(), Config{URL: url, App: c.app})
		if err == nil {
			q.Close()
		}
		if (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(), "belong to the GitHub App 1, and this is App 22.") {
			t.Errorf("App %d: %v", c.app, err)
		}
	}
}
