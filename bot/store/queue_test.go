package store

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/lintel-bot/lintel/bot/forge"
)

var one = Key{Installation: 7, Repository: 11, Target: forge.Target{Number: 1}}

func open(t *testing.T, c Config) *Queue {
	t.Helper()
	if c.Dir == "" && c.URL == "" {
		c.Dir = t.TempDir()
	}
	if c.Backoff == nil {
		c.Backoff = []time.Duration{time.Millisecond}
	}
	q, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

func publish(t *testing.T, q *Queue, key Key, event string) {
	t.Helper()
	if err := q.Publish(t.Context(), key, Message{Event: event}, ""); err != nil {
		t.Fatal(err)
	}
}

// work runs Work in the background; the returned function ends it and waits.
func work(t *testing.T, q *Queue, workers int, handle Handler) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- q.Work(ctx, workers, handle) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("Work: %v", err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

// receive waits for a value; the limit only matters when the test fails.
func receive[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("timed out waiting for %s", what)
		panic("unreachable")
	}
}

func TestKeys(t *testing.T) {
	sha := strings.Repeat("0a", 20)
	about := func(t forge.Target) Key { return Key{Installation: 1, Repository: 2, Target: t} }
	for _, key := range []Key{one, {Installation: 1, Repository: 2, Commit: sha}, about(forge.Target{Group: sha}),
		{Installation: 1, Repository: 2, All: true}, about(forge.Target{Preview: 12}), {Installation: 1, All: true},
		about(forge.Target{Branch: "release/1.0 *>"}), about(forge.Target{Branch: strings.Repeat("é", 127)})} {
		got, err := parseKey(key.natsSubject())
		if err != nil || got != key {
			t.Errorf("parseKey(%q) = %v, %v", key.natsSubject(), got, err)
		}
	}
	for _, key := range []Key{
		{}, {Installation: 1, Repository: 2}, {Installation: -1, Repository: 2, Target: forge.Target{Number: 3}},
		{Installation: 1, Target: forge.Target{Number: 3}},
		{Installation: 1, Repository: 2, Target: forge.Target{Number: 3}, Commit: sha},
		{Installation: 1, Repository: 2, Commit: "a.b"}, {Installation: 1, Repository: 2, Commit: strings.ToUpper(sha)},
		about(forge.Target{Group: "x"}), {Installation: 1, Target: forge.Target{Branch: "main"}},
		about(forge.Target{Branch: strings.Repeat("b", 256)}),
		{Installation: 1, Repository: 2, Target: forge.Target{Branch: "b"}, All: true}, about(forge.Target{Preview: -1}),
		about(forge.Target{Preview: 3, Number: 3}), {Installation: 1, Target: forge.Target{Preview: 3}},
	} {
		if key.Validate() == nil {
			t.Errorf("%+v is valid", key)
		}
	}
	for _, subject := range []string{"", "check.1.2", "check.1.2.3.4", "other.1.2.3", "check.x.2.3", "check.1.x.3",
		"check.1.2.x", "check.1.2.0", "check.1.2.branch-zz", "check.1.2.branch-", "check.1.2.group-1", "check.1.0.1", "check.1.2.outlook-0", "check.1.2.outlook-x"} {
		if key, err := parseKey(subject); err == nil {
			t.Errorf("parseKey(%q) = %v", subject, key)
		}
	}
}

func TestNewestOfWaitingJobsWins(t *testing.T) {
	q := open(t, Config{})
	for _, event := range []string{"a", "b", "c"} {
		publish(t, q, one, event)
	}
	if d, err := q.Depth(t.Context()); err != nil || d.Waiting != 1 {
		t.Fatalf("depth %+v, %v; want one job waiting", d, err)
	}
	got := make(chan string, 3)
	work(t, q, 2, func(_ context.Context, j *Job) error { got <- j.Message.Event; return nil })
	if event := receive(t, got, "the job"); event != "c" {
		t.Errorf("event %q, want the newest, c", event)
	}
	publish(t, q, one, "d")
	if event := receive(t, got, "the next job"); event != "d" {
		t.Errorf("after c came %q, want d and nothing between", event)
	}
}

func TestDuplicateDeliveryIsOneJob(t *testing.T) {
	q := open(t, Config{})
	for _, event := range []string{"first", "again"} {
		if err := q.Publish(t.Context(), one, Message{Event: event}, "guid"); err != nil {
			t.Fatal(err)
		}
	}
	two := Key{Installation: 7, Repository: 11, Target: forge.Target{Number: 2}}
	if err := q.Publish(t.Context(), two, Message{Event: "other key of the event"}, "guid"); err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 3)
	work(t, q, 1, func(_ context.Context, j *Job) error { got <- j.Message.Event; return nil })
	a, b := receive(t, got, "first"), receive(t, got, "second")
	if a != "first" || b != "other key of the event" {
		t.Errorf("got %q and %q", a, b)
	}
}

// A job published while its predecessor is in work waits for its end, and other keys do not.
func TestKeyIsNeverInWorkTwice(t *testing.T) {
	q := open(t, Config{})
	begun, release := make(chan *Job, 4), make(chan struct{})
	var mu sync.Mutex
	active := map[Key]int{}
	work(t, q, 3, func(_ context.Context, j *Job) error {
		mu.Lock()
		active[j.Key]++
		if active[j.Key] > 1 {
			t.Errorf("%s is in work %d times", j.Key, active[j.Key])
		}
		mu.Unlock()
		begun <- j
		if j.Message.Event == "old" {
			<-release
		}
		mu.Lock()
		active[j.Key]--
		mu.Unlock()
		return nil
	})
	publish(t, q, one, "old")
	old := receive(t, begun, "the old job")
	if superseded, err := old.Superseded(t.Context()); err != nil || superseded {
		t.Errorf("Superseded = %v, %v before there is a newer job", superseded, err)
	}
	publish(t, q, one, "middle")
	publish(t, q, one, "new")
	if superseded, err := old.Superseded(t.Context()); err != nil || !superseded {
		t.Errorf("Superseded = %v, %v with a newer job", superseded, err)
	}
	for n := 2; n < 6; n++ {
		publish(t, q, Key{Installation: 7, Repository: 11, Target: forge.Target{Number: n}}, "other")
		if j := receive(t, begun, "another key"); j.Key.Number != n {
			t.Fatalf("%s %q began while the old job was in work", j.Key, j.Message.Event)
		}
	}
	close(release)
	j := receive(t, begun, "the new job")
	if j.Key != one || j.Message.Event != "new" || j.Try != 1 {
		t.Errorf("got %s %q try %d, want the newest job's first try", j.Key, j.Message.Event, j.Try)
	}
}

func TestTriesAreCounted(t *testing.T) {
	q := open(t, Config{})
	type seen struct {
		try             int
		last, exhausted bool
	}
	got := make(chan seen, 8)
	calls := 0
	stop := work(t, q, 1, func(_ context.Context, j *Job) error {
		calls++
		got <- seen{j.Try, j.Try >= j.Tries, j.Try > j.Tries}
		switch calls {
		case 1, 3:
			return errors.New("failed")
		case 2:
			return &Later{After: 0, Err: errors.New("rate limit")}
		case 4:
			panic("lost")
		}
		return nil
	})
	publish(t, q, one, "e")
	for i, want := range []seen{{1, false, false}, {2, false, false}, {2, false, false}, {3, true, false},
		{4, true, true}} {
		if s := receive(t, got, "a delivery"); s != want {
			t.Errorf("delivery %d: %+v, want %+v", i+1, s, want)
		}
	}
	stop()
	if has, err := q.Has(t.Context(), one); err != nil || has {
		t.Errorf("Has = %v, %v after the job was done", has, err)
	}
}

func TestShutdownHandsBack(t *testing.T) {
	q := open(t, Config{AckWait: time.Hour})
	begun := make(chan int, 1)
	block := func(ctx context.Context, j *Job) error { begun <- j.Try; <-ctx.Done(); return ctx.Err() }
	stop := work(t, q, 1, block)
	publish(t, q, one, "e")
	receive(t, begun, "the job")
	stop()
	work(t, q, 1, block)
	if try := receive(t, begun, "the job again"); try != 1 {
		t.Errorf("try %d, want 1: the end of the process is no failure of the job", try)
	}
}

// The server goes away with a job in work; after the next start the job is there and knows it.
func TestJobInWorkSurvivesCrash(t *testing.T) {
	dir := t.TempDir()
	q, err := Open(t.Context(), Config{Dir: dir, AckWait: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	publish(t, q, one, "e")
	begun, abort := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = q.Work(ctx, 1, func(context.Context, *Job) error { close(begun); <-abort; return errors.New("gone") })
	}()
	receive(t, begun, "the job")
	q.Close()
	close(abort)
	cancel()
	receive(t, ended, "the end of Work")

	q = open(t, Config{Dir: dir, AckWait: time.Second})
	got := make(chan *Job, 1)
	work(t, q, 1, func(_ context.Context, j *Job) error { got <- j; return nil })
	if j := receive(t, got, "the job after the restart"); j.Message.Event != "e" || j.Try != 2 {
		t.Errorf("job %q try %d, want e, try 2", j.Message.Event, j.Try)
	}
}

const childDir = "LINTEL_QUEUE_TEST_DIR"

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	dir := os.Getenv(childDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	q, err := Open(context.Background(), Config{Dir: dir})
	if err == nil {
		err = q.Publish(context.Background(), one, Message{Event: "published"}, "")
	}
	if err != nil {
		os.Stdout.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	os.Stdout.WriteString("published\n")
	select {}
}

func TestPublishedJobSurvivesKill(t *testing.T) {
	dir := t.TempDir()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != "published\n" {
		t.Errorf("the child said %q, %v", line, err)
	}
	if _, err := Open(t.Context(), Config{Dir: dir}); !errors.Is(err, ErrInUse) {
		t.Errorf("opening a folder in use: %v, want remote.ErrLocked", err)
	}
	_ = child.Process.Kill()
	_ = child.Wait()
	q := open(t, Config{Dir: dir})
	if has, err := q.Has(t.Context(), one); err != nil || !has {
		t.Errorf("Has = %v, %v after kill -9", has, err)
	}
}

// natsServer is a server as LINTEL_NATS_URL would name it.
func natsServer(t *testing.T) string {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(),
		NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the NATS server is not ready")
	}
	return s.ClientURL()
}

func TestTwoProcessesShareAndNeverCollide(t *testing.T) {
	config := Config{URL: natsServer(t), AckWait: 2 * time.Second, Occupied: 10 * time.Millisecond}
	first, second := open(t, config), open(t, config)
	begun, release := make(chan string, 4), make(chan struct{})
	worker := func(name string) Handler {
		return func(_ context.Context, j *Job) error {
			begun <- name + " " + j.Message.Event
			if j.Message.Event == "old" {
				<-release
			}
			return nil
		}
	}
	stop := work(t, first, 1, worker("first"))
	publish(t, first, one, "old")
	if got := receive(t, begun, "the old job"); got != "first old" {
		t.Fatal(got)
	}
	work(t, second, 1, worker("second"))
	publish(t, second, one, "new")
	publish(t, second, Key{Installation: 7, Repository: 11, Target: forge.Target{Number: 2}}, "other")
	if got := receive(t, begun, "the other key"); got != "second other" {
		t.Errorf("%q began while the old job was in work", got)
	}
	close(release)
	if got := receive(t, begun, "the new job"); !strings.HasSuffix(got, " new") {
		t.Errorf("got %q, want the new job", got)
	}
	stop()
}

func TestJobOfDeadProcessIsDoneByAnother(t *testing.T) {
	config := Config{URL: natsServer(t), AckWait: time.Second, Occupied: 10 * time.Millisecond}
	dying, heir := open(t, config), open(t, config)
	publish(t, heir, one, "e")
	begun, abort := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- dying.Work(t.Context(), 1, func(context.Context, *Job) error {
			close(begun)
			<-abort
			return errors.New("dead")
		})
	}()
	receive(t, begun, "the job")
	dying.conn.Close() // nothing it does from now on reaches the server
	got := make(chan *Job, 1)
	work(t, heir, 1, func(_ context.Context, j *Job) error { got <- j; return nil })
	if j := receive(t, got, "the takeover"); j.Try != 2 {
		t.Errorf("try %d, want 2", j.Try)
	}
	close(abort)
	if err := receive(t, ended, "the end of Work"); err == nil {
		t.Error("Work on a closed connection ended without an error")
	}
}

// Whatever is published while workers are busy, the newest job of each key is worked on last.
func TestNewestIsNeverLost(t *testing.T) {
	const keys, jobs = 4, 25
	q := open(t, Config{})
	var mu sync.Mutex
	active, final := map[Key]bool{}, 0
	all := make(chan struct{})
	last := strconv.Itoa(jobs)
	work(t, q, 3, func(_ context.Context, j *Job) error {
		mu.Lock()
		defer mu.Unlock()
		if active[j.Key] {
			t.Errorf("%s is in work twice", j.Key)
		}
		active[j.Key] = true
		mu.Unlock()
		runtime.Gosched()
		mu.Lock()
		active[j.Key] = false
		if j.Message.Event == last {
			if final++; final == keys {
				close(all)
			}
		}
		return nil
	})
	for i := range jobs {
		for n := range keys {
			publish(t, q, Key{Installation: 1, Repository: 1, Target: forge.Target{Number: n + 1}}, strconv.Itoa(i+1))
		}
	}
	receive(t, all, "the newest job of each key")
}

func TestNotesAndClaims(t *testing.T) {
	dir := t.TempDir()
	q, err := Open(t.Context(), Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if fresh, err := q.Claim(t.Context(), "redeliver.a-1"); err != nil || !fresh {
		t.Errorf("first claim: %v, %v", fresh, err)
	}
	job := &Job{Key: one, queue: q}
	if err := job.SetText(t.Context(), Note, "head"); err != nil {
		t.Fatal(err)
	}
	q.Close()

	q = open(t, Config{Dir: dir})
	if fresh, err := q.Claim(t.Context(), "redeliver.a-1"); err != nil || fresh {
		t.Errorf("second claim, after a restart: %v, %v", fresh, err)
	}
	if err := q.Forget(t.Context(), "redeliver.a-1"); err != nil {
		t.Fatal(err)
	}
	if fresh, err := q.Claim(t.Context(), "redeliver.a-1"); err != nil || !fresh {
		t.Errorf("claim after it was taken back: %v, %v", fresh, err)
	}
	job = &Job{Key: one, queue: q}
	if note, err := job.Text(t.Context(), Note); err != nil || note != "head" {
		t.Errorf("note %q, %v after a restart", note, err)
	}
	if err := job.SetText(t.Context(), Note, ""); err != nil {
		t.Fatal(err)
	}
	if note, err := job.Text(t.Context(), Note); err != nil || note != "" {
		t.Errorf("note %q, %v after its removal", note, err)
	}
}

func TestOpenErrorsNameNoSecrets(t *testing.T) {
	_, err := Open(t.Context(), Config{URL: "nats://user:hunter2@127.0.0.1:1"})
	if err == nil || err.Error() != "no NATS server answers at the configured address" {
		t.Errorf("error %v", err)
	}
	file := t.TempDir() + "/file"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Config{Dir: file}); err == nil || strings.Contains(err.Error(), file) {
		t.Errorf("data directory that is a file: %v", err)
	}
}
