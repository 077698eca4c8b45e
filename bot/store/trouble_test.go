package store

import (
	"context"
	"errors"
	"net"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/lintel-bot/lintel/bot/forge"
)

// A request to a server that died is soon repeated, however long the caller would wait.
func TestUnansweredRequestIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		begun, tries := time.Now(), 0
		err := (&Queue{}).do(ctx, requestFor, func(ctx context.Context) error {
			if tries++; tries < 3 {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		})
		if took := time.Since(begun); tries != 3 || err != nil || took != 2*(requestTry+requestPause) {
			t.Errorf("%d tries, %v after %s", tries, err, took)
		}
		begun = time.Now()
		err = (&Queue{}).do(ctx, requestFor, func(context.Context) error { return nats.ErrNoResponders })
		if took := time.Since(begun); !errors.Is(err, nats.ErrNoResponders) || took != requestFor {
			t.Errorf("%v after %s, want the error after %s", err, took, requestFor)
		}
		begun = time.Now()
		err = (&Queue{}).do(ctx, requestFor, func(context.Context) error { return errLost })
		if took := time.Since(begun); !errors.Is(err, errLost) || took != 0 {
			t.Errorf("%v after %s, want a final error at once", err, took)
		}
	})
}

// A job without an announcement is found; so is one that the walk has passed.
func TestUnannouncedJobIsDone(t *testing.T) {
	q := open(t, Config{})
	got := make(chan int, 4)
	work(t, q, 1, func(_ context.Context, j *Job) error { got <- j.Key.Number; return nil })
	publish(t, q, one, "")
	receive(t, got, "the announced job")
	for n := 2; n <= 3; n++ { // the lane sleeps, or is forgotten
		key := Key{Installation: one.Installation, Repository: 1, Target: forge.Target{Number: n}}
		if _, err := q.js.Publish(t.Context(), key.natsSubject(), []byte("{}")); err != nil {
			t.Fatal(err)
		}
		if number := receive(t, got, "the silent job"); number != n {
			t.Errorf("job %d, want %d", number, n)
		}
	}
	quiet := open(t, Config{}) // where nobody works
	publish(t, quiet, one, "")
	l := &tenants{queue: quiet, byID: map[int64]*tenant{}}
	l.tenant(one.Installation).next = 1_000_000
	l.tenant(one.Installation).awake = false
	l.tenant(99).awake = false
	if err := l.search(t.Context()); err != nil {
		t.Fatal(err)
	}
	if key, found := l.take(t.Context(), func() {}); !found || key != one {
		t.Errorf("%v, %v of a lane that was walked too far", key, found)
	}
	if l.byID[99] != nil {
		t.Error("a lane without jobs is kept")
	}
}

// A message that is no job is removed, and does not block later ones.
func TestForeignMessageIsRemoved(t *testing.T) {
	q := open(t, Config{})
	if _, err := q.js.Publish(t.Context(), prefix+"7.x.y", nil); err != nil {
		t.Fatal(err)
	}
	publish(t, q, one, "job")
	got := make(chan string, 1)
	stop := work(t, q, 1, func(_ context.Context, j *Job) error { got <- j.Message.Event; return nil })
	if event := receive(t, got, "the job"); event != "job" {
		t.Errorf("got %q", event)
	}
	stop()
	if d, err := q.Depth(t.Context()); err != nil || d.Waiting+d.InWork != 0 {
		t.Errorf("depth %+v, %v", d, err)
	}
}

// A newer job of a key does not wait for the postponement of an older one.
func TestNewerJobDoesNotWaitForPostponedOne(t *testing.T) {
	q := open(t, Config{Backoff: []time.Duration{time.Hour}})
	got := make(chan *Job, 4)
	fail := make(chan struct{})
	work(t, q, 2, func(ctx context.Context, j *Job) error {
		got <- j
		if j.Message.Event == "other" {
			return nil
		}
		<-fail
		return errors.New("failed")
	})
	publish(t, q, one, "old")
	receive(t, got, "the old job")
	publish(t, q, one, "during")
	publish(t, q, Key{Installation: one.Installation, Repository: 1, Target: forge.Target{Number: 2}}, "other")
	receive(t, got, "the job behind the newer one")
	close(fail)
	if j := receive(t, got, "the newer job"); j.Message.Event != "during" || j.Try != 1 {
		t.Errorf("job %q try %d", j.Message.Event, j.Try)
	}
	publish(t, q, one, "after")
	if j := receive(t, got, "the newest job"); j.Message.Event != "after" || j.Try != 1 {
		t.Errorf("job %q try %d", j.Message.Event, j.Try)
	}
}

// A postponement is stored on the server, so that other processes respect it.
func TestPostponementOutlivesProcess(t *testing.T) {
	q := open(t, Config{})
	publish(t, q, one, "")
	handle := func(context.Context, *Job) error {
		return &Later{After: time.Hour, Err: errors.New("not now")}
	}
	if o := q.process(t.Context(), one, "a", handle); time.Until(o.again) < 50*time.Minute {
		t.Errorf("again %s", o.again)
	}
	handle = func(context.Context, *Job) error { t.Error("begun too early"); return nil }
	if o := q.process(t.Context(), one, "b", handle); time.Until(o.again) < 50*time.Minute {
		t.Errorf("again %s in another process", o.again)
	}
	if d, err := q.Depth(t.Context()); err != nil || d.Waiting != 1 || d.InWork != 0 {
		t.Errorf("depth %+v, %v", d, err)
	}
}

func TestLeaseHasOneOwner(t *testing.T) {
	q := open(t, Config{AckWait: time.Hour})
	first, err := q.acquire(t.Context(), one, "a")
	if err != nil || first == nil {
		t.Fatal(first, err)
	}
	if other, err := q.acquire(t.Context(), one, "b"); err != nil || other != nil {
		t.Errorf("a second owner got %v, %v", other, err)
	}
	// An answer was lost: the owner asks again, and has it; so it does when the answer to a renewal was.
	again, err := q.acquire(t.Context(), one, "a")
	if err != nil || again == nil || again.revision <= first.revision {
		t.Fatalf("the owner itself got %v, %v", again, err)
	}
	if err := first.renew(t.Context()); err != nil {
		t.Errorf("renewing at an old revision: %v", err)
	}
	again.release(t.Context()) // knows an older revision
	other, err := q.acquire(t.Context(), one, "b")
	if err != nil || other == nil {
		t.Fatalf("after the release: %v, %v", other, err)
	}
	if err := first.renew(t.Context()); !errors.Is(err, errLost) {
		t.Errorf("renewing what another has: %v", err)
	}
	first.release(t.Context())
	if third, err := q.acquire(t.Context(), one, "c"); err != nil || third != nil {
		t.Errorf("a lease was released by who lost it: %v, %v", third, err)
	}
}

// The lease of a long job is renewed, so that no other process takes it.
func TestHeartbeatKeepsLease(t *testing.T) {
	config := Config{URL: natsServer(t), AckWait: time.Second, Occupied: 10 * time.Millisecond}
	first, second := open(t, config), open(t, config)
	begun := make(chan string, 2)
	finish := make(chan struct{})
	work(t, first, 1, func(ctx context.Context, j *Job) error {
		begun <- "first"
		select {
		case <-finish:
		case <-ctx.Done():
			t.Error("the lease was lost")
		}
		return nil
	})
	publish(t, first, one, "")
	receive(t, begun, "the job")
	stop := work(t, second, 1, func(context.Context, *Job) error { begun <- "second"; return nil })
	select {
	case who := <-begun:
		t.Errorf("the job was begun by the %s, too", who)
	case <-time.After(2500 * time.Millisecond): // the passing of time is what is tested
	}
	stop()
	close(finish)
}

// A worker that loses the lease is stopped and stores nothing, and another one does the job.
func TestLostLeaseEndsWork(t *testing.T) {
	q := open(t, Config{AckWait: time.Second, Occupied: 10 * time.Millisecond})
	causes, tries := make(chan error, 1), make(chan int, 2)
	work(t, q, 1, func(ctx context.Context, j *Job) error {
		tries <- j.Try
		if j.Try > 1 {
			return nil
		}
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return nil // as if it were done: not for this one to say
	})
	publish(t, q, one, "")
	receive(t, tries, "the job")
	if err := q.leases.kv.Purge(t.Context(), one.String()); err != nil {
		t.Fatal(err)
	}
	if _, err := q.leases.kv.Create(t.Context(), one.String(), []byte("thief")); err != nil {
		t.Fatal(err)
	}
	if err := receive(t, causes, "the end of the work"); !errors.Is(err, errLost) {
		t.Errorf("cause %v", err)
	}
	if has, err := q.Has(t.Context(), one); err != nil || !has {
		t.Errorf("the job is gone: %v, %v", has, err)
	}
	if try := receive(t, tries, "the next try, after the thief's lease ended"); try != 2 {
		t.Errorf("try %d, want 2", try)
	}
}

// A process that ends returns its job at once: the next one does not wait for the end of the lease.
func TestShutdownHandsBackToOthers(t *testing.T) {
	config := Config{URL: natsServer(t), AckWait: time.Hour, Occupied: 10 * time.Millisecond}
	first, second := open(t, config), open(t, config)
	begun := make(chan int, 2)
	handle := func(ctx context.Context, j *Job) error {
		begun <- j.Try
		<-ctx.Done()
		return ctx.Err()
	}
	stop := work(t, first, 1, handle)
	publish(t, first, one, "")
	receive(t, begun, "the job")
	work(t, second, 1, handle)
	stop()
	if try := receive(t, begun, "the job in the other process"); try != 1 {
		t.Errorf("try %d, want 1", try)
	}
}

// A NATS server that restarts still knows the leases.
func TestLeaseSurvivesServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	dir := t.TempDir()
	start := func() *server.Server {
		s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir,
			NoSigs: true, NoLog: true})
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		if !s.ReadyForConnections(20 * time.Second) {
			t.Fatal("the NATS server is not ready")
		}
		return s
	}
	stop := func(s *server.Server) { s.Shutdown(); s.WaitForShutdown() }
	s := start()
	q := open(t, Config{URL: "nats://127.0.0.1:" + strconv.Itoa(port), AckWait: time.Hour})
	held, err := q.acquire(t.Context(), one, "a")
	if err != nil || held == nil {
		t.Fatal(held, err)
	}
	stop(s)
	s = start()
	t.Cleanup(func() { stop(s) })
	if other, err := q.acquire(t.Context(), one, "b"); err != nil || other != nil {
		t.Errorf("another got %v, %v", other, err)
	}
	if err := held.renew(t.Context()); err != nil {
		t.Errorf("renewing: %v", err)
	}
}

// The content that earlier versions left in the store is migrated or removed.
func TestOpenMigratesOldStore(t *testing.T) {
	dir := t.TempDir()
	q, err := Open(t.Context(), Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	publish(t, q, one, "old")
	_, err = q.stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "installation-7",
		FilterSubject: "check.7.>", AckPolicy: jetstream.AckExplicitPolicy})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []jetstream.KeyValueConfig{{Bucket: "LINTEL_LEASES", TTL: time.Minute,
		Storage: jetstream.MemoryStorage},
		{Bucket: stateBucket, TTL: stateTTL}, {Bucket: pusherBucket, TTL: pusherTTL}} {
		_ = q.js.DeleteKeyValue(t.Context(), c.Bucket)
		kv, err := q.js.CreateKeyValue(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := kv.PutString(t.Context(), "note."+one.String(), "kept"); err != nil {
			t.Fatal(err)
		}
	}
	q.Close()
	q = open(t, Config{Dir: dir})
	if c := q.stream.CachedInfo(); c.State.Msgs != 1 {
		t.Errorf("%d jobs", c.State.Msgs)
	}
	for name := range q.stream.ConsumerNames(t.Context()).Name() {
		t.Errorf("consumer %s stays", name)
	}
	if _, err := q.js.KeyValue(t.Context(), "LINTEL_LEASES"); !errors.Is(err, jetstream.ErrBucketNotFound) {
		t.Errorf("the old bucket of leases: %v", err)
	}
	for _, bucket := range []string{leaseBucket, stateBucket, pusherBucket} {
		stream, err := q.js.Stream(t.Context(), bucketPrefix+bucket)
		if err != nil || stream.CachedInfo().Config.AllowDirect {
			t.Errorf("%s may answer from the past, %v", bucket, err)
		}
	}
	got := make(chan string, 1)
	work(t, q, 1, func(ctx context.Context, j *Job) error {
		note, err := j.Text(ctx, Note)
		got <- j.Message.Event + note
		return err
	})
	if text := receive(t, got, "the old job"); text != "oldkept" {
		t.Errorf("got %q", text)
	}
}
