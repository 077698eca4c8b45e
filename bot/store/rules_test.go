package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
)

// A request for a fresh run is fulfilled exactly once, even if an event without the request replaces its job.
func TestDemandOutlivesItsJob(t *testing.T) {
	q := open(t, Config{})
	if err := q.Publish(t.Context(), one, Message{Event: "button", Delivery: "d-1", Fresh: true}, "d-1"); err != nil {
		t.Fatal(err)
	}
	publish(t, q, one, "review")
	got := make(chan Message, 4)
	fail := true
	work(t, q, 1, func(_ context.Context, j *Job) error {
		got <- j.Message
		if fail {
			fail = false
			return errors.New("not yet")
		}
		return nil
	})
	for range 2 {
		if m := receive(t, got, "the job"); m.Event != "review" || !m.Fresh || m.Demand != "d-1" {
			t.Errorf("message %+v, want the review's with the demand", m)
		}
	}
	publish(t, q, one, "later")
	if m := receive(t, got, "the next job"); m.Event != "later" || m.Fresh {
		t.Errorf("message %+v, want none of the demand after it was met", m)
	}
}

// A job with Missing never replaces one that does more.
func TestMissingGivesWay(t *testing.T) {
	q := open(t, Config{})
	publish(t, q, one, "review")
	if err := q.Publish(t.Context(), one, Message{Event: "sweep", Missing: true}, ""); err != nil {
		t.Fatal(err)
	}
	two := Key{Installation: 7, Repository: 11, Target: forge.Target{Number: 2}}
	if err := q.Publish(t.Context(), two, Message{Event: "sweep", Missing: true}, ""); err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 4)
	work(t, q, 1, func(_ context.Context, j *Job) error { got <- j.Message.Event; return nil })
	if a, b := receive(t, got, "one"), receive(t, got, "two"); a != "review" || b != "sweep" {
		t.Errorf("got %q and %q, want the review and, where nothing waited, the sweep", a, b)
	}
}

// The first deaths of the process do not count as tries of a job; later ones do.
func TestDeathsAreForgivenAtFirst(t *testing.T) {
	for _, c := range []struct {
		begun, errors, pardons int
		try                    int
		last, exhausted        bool
	}{
		{1, 0, 0, 1, false, false}, {2, 0, 1, 1, false, false},
		{3, 2, 0, 3, true, false}, {4, 3, 0, 4, true, true}, // failed
		{4, 0, 0, 4, false, false}, {5, 0, 0, 5, true, false}, {6, 0, 0, 6, true, true}, // died
		{4, 2, 0, 4, true, false}, {5, 3, 0, 5, true, true}, // both
	} {
		job := &Job{}
		job.Try, job.Tries = counts{Begun: c.begun, Errors: c.errors, Pardons: c.pardons}.try(3)
		if job.Try != c.try || job.Try >= job.Tries != c.last || job.Try > job.Tries != c.exhausted {
			t.Errorf("%+v: try %d of %d", c, job.Try, job.Tries)
		}
	}
}

// An installation with many jobs does not delay one with few: with two workers, its job is among the next.
func TestInstallationsTakeTurns(t *testing.T) {
	const busy = 200
	q := open(t, Config{})
	for n := range busy {
		publish(t, q, Key{Installation: 1, Repository: 1, Target: forge.Target{Number: n + 1}}, "busy")
	}
	var mu sync.Mutex
	done, quiet := 0, []int{}
	all := make(chan struct{})
	work(t, q, 2, func(_ context.Context, j *Job) error {
		mu.Lock()
		defer mu.Unlock()
		if j.Key.Installation != 1 {
			quiet = append(quiet, done)
		}
		if done++; done == busy+3 {
			close(all)
		}
		if done == 10 {
			for id := int64(2); id <= 4; id++ {
				if err := q.Publish(context.Background(), Key{Installation: id, Repository: 1, Target: forge.Target{Number: 1}}, Message{},
					""); err != nil {
					t.Error(err)
				}
			}
		}
		return nil
	})
	receive(t, all, "all jobs")
	// Published at the tenth, with two in work; what was fetched before goes first.
	if len(quiet) != 3 || quiet[2] > 20 {
		t.Errorf("the three quiet installations were served after %v jobs, want within the first 20 of %d", quiet, busy+3)
	}
}

// While one installation is at its rate limit, only its own jobs wait.
func TestPausedInstallationDelaysNoOther(t *testing.T) {
	q := open(t, Config{})
	got := make(chan int64, 16)
	var mu sync.Mutex
	var limited []time.Time
	work(t, q, 1, func(_ context.Context, j *Job) error {
		got <- j.Key.Installation
		mu.Lock()
		defer mu.Unlock()
		if j.Key.Installation == 1 {
			limited = append(limited, time.Now())
			if len(limited) == 1 {
				return &Later{After: 2 * time.Second, Pause: true, Err: errors.New("rate limit")}
			}
		}
		return nil
	})
	for n := range 3 {
		publish(t, q, Key{Installation: 1, Repository: 1, Target: forge.Target{Number: n + 1}}, "")
	}
	if id := receive(t, got, "the first job"); id != 1 {
		t.Fatalf("installation %d", id)
	}
	for n := range 3 {
		publish(t, q, Key{Installation: 2, Repository: 1, Target: forge.Target{Number: n + 1}}, "")
		if id := receive(t, got, "a job of another installation"); id != 2 {
			t.Errorf("a job of installation %d was begun, which is to wait", id)
		}
	}
	for range 3 {
		receive(t, got, "the jobs of the first, later")
	}
	mu.Lock()
	defer mu.Unlock()
	if early := limited[1].Sub(limited[0]); early < 1900*time.Millisecond {
		t.Errorf("the installation was left in peace for %s, want 2s", early)
	}
}

func TestDrop(t *testing.T) {
	q := open(t, Config{})
	keys := []Key{{Installation: 1, Repository: 1, Target: forge.Target{Number: 1}}, {Installation: 1, Repository: 2, Target: forge.Target{Number: 1}},
		{Installation: 11, Repository: 1, Target: forge.Target{Number: 1}}, {Installation: 1, Repository: 2, Target: forge.Target{Branch: "a.b"}}}
	left := func() (list []int) {
		for i, key := range keys {
			if has, err := q.Has(t.Context(), key); err != nil {
				t.Fatal(err)
			} else if has {
				list = append(list, i)
			}
		}
		return list
	}
	for _, key := range keys {
		publish(t, q, key, "")
	}
	if err := q.Drop(t.Context(), 1, 2); err != nil || !slices.Equal(left(), []int{0, 2}) {
		t.Errorf("%v; %v are left of one repository's", err, left())
	}
	if err := q.Drop(t.Context(), 1, 0); err != nil || !slices.Equal(left(), []int{2}) {
		t.Errorf("%v; %v are left of one installation's", err, left())
	}
}

// A job in work learns that it was dropped.
func TestDroppedInWork(t *testing.T) {
	q := open(t, Config{})
	begun, release, got := make(chan struct{}), make(chan struct{}), make(chan bool, 1)
	work(t, q, 1, func(ctx context.Context, j *Job) error {
		close(begun)
		<-release
		superseded, err := j.Superseded(ctx)
		got <- superseded && err == nil
		return nil
	})
	publish(t, q, one, "")
	receive(t, begun, "the job")
	if err := q.Drop(t.Context(), one.Installation, 0); err != nil {
		t.Fatal(err)
	}
	close(release)
	if !receive(t, got, "its end") {
		t.Error("the job does not know")
	}
}

const (
	objectA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	objectB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

func TestPushersAreRemembered(t *testing.T) {
	dir := t.TempDir()
	q, err := Open(t.Context(), Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			if err := q.AddPush(context.Background(), Push{Repository: 11, Number: 3, Login: fmt.Sprintf("User%d", n%4)}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	q.Close()
	q = open(t, Config{Dir: dir})
	got, err := q.Pushers(t.Context(), 11, 3)
	slices.Sort(got)
	if err != nil || !slices.Equal(got, []string{"user0", "user1", "user2", "user3"}) {
		t.Errorf("%v, %v after a restart", got, err)
	}
	if got, err := q.Pushers(t.Context(), 11, 33); err != nil || len(got) != 0 {
		t.Errorf("another pull request: %v, %v", got, err)
	}
	if err := q.AddPush(t.Context(), Push{Repository: 11, Commit: objectA, Login: "Mallory"}); err != nil {
		t.Fatal(err)
	}
	if got, err := q.TipPushers(t.Context(), 11, []string{objectB, objectA}); err != nil ||
		!slices.Equal(got, []string{"mallory"}) {
		t.Errorf("of commits: %v, %v", got, err)
	}
	if got, err := q.TipPushers(t.Context(), 12, []string{objectA}); err != nil || len(got) != 0 {
		t.Errorf("of the same commit elsewhere: %v, %v", got, err)
	}
	if got, err := q.TipPushers(t.Context(), 11, make([]string, maxTips+1)); err != nil ||
		!slices.Equal(got, []string{Everybody}) {
		t.Errorf("of more commits than are looked at: %v, %v", got, err)
	}
	if err := q.AddPush(t.Context(), Push{Repository: 11, Commit: "main", Login: "mallory"}); err == nil {
		t.Error("a name was taken for a commit")
	}
	if err := q.pushers.Put(t.Context(), pusherName(11, 3), []byte("{")); err != nil {
		t.Fatal(err)
	}
	if got, err := q.Pushers(t.Context(), 11, 3); err != nil || !slices.Equal(got, []string{Everybody}) {
		t.Errorf("a damaged record: %v, %v; want everybody", got, err)
	}
}
