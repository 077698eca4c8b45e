package store

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
)

// If jobs arrive faster than GitHub's limits allow, the newest begins first; an installation that caught up is in order
// again.
func TestPausedQueueBeginsWithTheNewest(t *testing.T) {
	q := open(t, Config{})
	key := func(n int) Key { return Key{Installation: 7, Repository: 11, Target: forge.Target{Number: n}} }
	for n := 1; n <= 5; n++ {
		publish(t, q, key(n), "")
	}
	var order []int
	tried := map[int]bool{}
	got := make(chan int, 20)
	work(t, q, 1, func(_ context.Context, j *Job) error {
		n := j.Key.Number
		if !tried[n] && len(tried) == 0 { // GitHub wants no requests for a while
			tried[n] = true
			return &Later{After: time.Second, Pause: true, Err: errors.New("limit")}
		}
		got <- n
		return nil
	})
	for range 5 {
		order = append(order, receive(t, got, "a job"))
	}
	if want := []int{5, 4, 1, 3, 2}; !slices.Equal(order, want) { // the fourth that begins is the oldest
		t.Errorf("order %v, want %v", order, want)
	}
}

// What may take a good result away begins before all that was pushed, also while GitHub wants fewer requests.
func TestRevocationsBeginFirst(t *testing.T) {
	later := func(key int) Key { return Key{Installation: 7, Repository: 11, Target: forge.Target{Number: key}} }
	now := time.Now()
	for name, tt := range map[string]struct {
		at   tenant
		want []int
	}{
		"in order":                     {tenant{}, []int{3, 6, 1, 2, 4, 5, 7}},
		"the newest":                   {tenant{short: true}, []int{3, 6, 7, 1, 5, 4, 2}},
		"no others":                    {tenant{short: true, quiet: now.Add(time.Hour)}, []int{3, 6}},
		"the oldest gets turns though": {tenant{short: true, begun: 3}, []int{1, 3, 6, 7, 2, 5, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			at := tt.at
			at.later = map[Key]wait{later(8): {seq: 8, urgent: true, until: now.Add(time.Minute)}}
			for n := 1; n <= 7; n++ {
				at.later[later(n)] = wait{seq: uint64(n), urgent: n%3 == 0}
			}
			var order []int
			for key, found := at.due(now); found; key, found = at.due(now) {
				order = append(order, key.Number)
				delete(at.later, key)
				at.begun++
			}
			if !slices.Equal(order, tt.want) {
				t.Errorf("order %v, want %v", order, tt.want)
			}
		})
	}
}

// A job stays urgent when it is postponed, and begins while the others of its installation pause.
func TestRevocationsDoNotPause(t *testing.T) {
	q := open(t, Config{})
	key := func(n int) Key { return Key{Installation: 7, Repository: 11, Target: forge.Target{Number: n}} }
	got := make(chan int, 20)
	tried := 0
	work(t, q, 1, func(_ context.Context, j *Job) error {
		got <- j.Key.Number
		switch {
		case j.Key.Number == 1:
			return &Later{After: time.Hour, Pause: true, Err: errors.New("limit")}
		case tried == 0:
			tried++
			return &Later{After: time.Millisecond, Err: errors.New("not yet")}
		}
		return nil
	})
	publish(t, q, key(1), "")
	if n := receive(t, got, "a job"); n != 1 {
		t.Fatal(n)
	}
	publish(t, q, key(2), "")
	if err := q.Publish(t.Context(), key(3), Message{Event: "pull_request_review.submitted"}, ""); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if n := receive(t, got, "the review"); n != 3 {
			t.Errorf("%d begins while all pause", n)
		}
	}
}

func TestRevokes(t *testing.T) {
	for event, want := range map[string]bool{"pull_request_review.submitted": true, "pull_request_review.dismissed": true,
		"pull_request.edited": true, "pull_request.reopened": true, "pull_request.synchronize": false, "push": false, "sweep": false} {
		if got := (Message{Event: event}).Revokes(); got != want {
			t.Errorf("%s: %v", event, got)
		}
	}
}

// All processes of a queue know their number.
func TestProcessesAreCounted(t *testing.T) {
	now := time.Now()
	var p processes
	if p.count(now) != 1 {
		t.Error("nobody counts as one: this process")
	}
	p.hear("a", now)
	p.hear("b", now)
	p.hear("b", now)
	if n := p.count(now.Add(aliveFor)); n != 2 {
		t.Errorf("%d, want 2", n)
	}
	p.hear("a", now.Add(aliveFor))
	if n := p.count(now.Add(aliveFor + 1)); n != 1 {
		t.Errorf("%d after one has been silent, want 1", n)
	}

	url := natsServer(t)
	idle := func(context.Context, *Job) error { return nil }
	one, two := open(t, Config{URL: url}), open(t, Config{URL: url})
	work(t, one, 1, idle)
	work(t, two, 1, idle)
	for _, q := range []*Queue{one, two} {
		for late := time.After(10 * time.Second); q.Processes() != 2; {
			select {
			case <-time.After(time.Millisecond):
			case <-late:
				t.Fatalf("%d processes, want 2", q.Processes())
			}
		}
	}
}

// One installation has all workers while no other has jobs. Another one gets a worker soon, however long the jobs take,
// and no job is lost or counts as tried.
func TestWorkersAreShared(t *testing.T) {
	q := open(t, Config{Courtesy: time.Millisecond})
	key := func(installation int64, n int) Key {
		return Key{Installation: installation, Repository: 11, Target: forge.Target{Number: n}}
	}
	begun, ended := make(chan Key, 20), make(chan error, 20)
	release := make(chan struct{})
	for n := 1; n <= 3; n++ {
		publish(t, q, key(7, n), "")
	}
	work(t, q, 2, func(ctx context.Context, j *Job) error {
		if j.Try != 1 {
			t.Errorf("%v: try %d", j.Key, j.Try)
		}
		begun <- j.Key
		if j.Key.Installation == 7 {
			select {
			case <-release:
			case <-ctx.Done():
				ended <- context.Cause(ctx)
				return ctx.Err()
			}
		}
		return nil
	})
	both := []Key{receive(t, begun, "a long job"), receive(t, begun, "another, on the worker that would be idle")}
	if !slices.Contains(both, key(7, 1)) || !slices.Contains(both, key(7, 2)) {
		t.Errorf("%v were begun", both)
	}
	for n := 1; n <= 3; n++ {
		publish(t, q, key(8, n), "")
		if k := receive(t, begun, "a job of who comes"); k != key(8, n) {
			t.Fatalf("%v was begun, want the job of who comes", k)
		}
		if err := receive(t, ended, "the end of a long job"); !errors.Is(err, errYielded) {
			t.Errorf("a long job ended for %v", err)
		}
		if k := receive(t, begun, "the one that made room"); k != key(7, 2) {
			t.Errorf("%v is begun again, want the one that was begun last", k)
		}
	}
	close(release)
	if k := receive(t, begun, "the rest"); k != key(7, 3) {
		t.Errorf("%v is begun, want the rest", k)
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		if d, err := q.Depth(t.Context()); err == nil && d.Waiting+d.InWork == 0 {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("%+v, %v", d, err)
		}
	}
}

// No worker is freed for a job that another process runs or postponed, or that has not waited, and never the only
// worker of an installation.
func TestPreemptionSparesOnlyWorkers(t *testing.T) {
	q := open(t, Config{})
	theirs := Key{Installation: 8, Repository: 11, Target: forge.Target{Number: 1}}
	publish(t, q, theirs, "")
	held, err := q.acquire(t.Context(), theirs, "another process")
	if err != nil || held == nil {
		t.Fatalf("%v, %v", held, err)
	}
	l := &tenants{queue: q, byID: map[int64]*tenant{}}
	var yielded []int
	begin := func(n int) {
		l.turns++
		key := Key{Installation: 7, Repository: 11, Target: forge.Target{Number: n}}
		l.tenant(7).busy[key] = &running{turn: l.turns, yield: func() { yielded = append(yielded, n) }}
	}
	l.tenant(8)
	now := time.Now()
	for _, step := range []struct {
		name  string
		do    func()
		after time.Duration
		free  bool
		want  []int
	}{
		{name: "the only one", do: func() { begin(1) }},
		{name: "after a while", after: time.Hour},
		{name: "one of two, for a job in work", do: func() { begin(2) }, after: q.config.Courtesy},
		{name: "which was postponed", do: func() {
			held.release(t.Context())
			seq, err := q.newest(t.Context(), theirs)
			if err = errors.Join(err, q.count(t.Context(), theirs, counts{Seq: seq, Until: now.Add(time.Hour)})); err != nil {
				t.Fatal(err)
			}
		}, after: q.config.Courtesy},
		{name: "until then", after: time.Hour, want: []int{2}},
		{name: "once", want: []int{2}},
		{name: "it has ended", do: func() { l.settle(Key{Installation: 7, Repository: 11, Target: forge.Target{Number: 2}}, outcome{}) }, want: []int{2}},
		{name: "a worker was free", do: func() { begin(3) }, free: true, want: []int{2}},
		{name: "the wait begins anew", want: []int{2}},
		{name: "not yet over", after: q.config.Courtesy - time.Second, want: []int{2}},
		{name: "over", after: time.Second, want: []int{2, 3}},
	} {
		if step.do != nil {
			step.do()
		}
		now = now.Add(step.after)
		if l.preempt(t.Context(), now, step.free); !slices.Equal(yielded, step.want) {
			t.Errorf("%s: %v yielded, want %v", step.name, yielded, step.want)
		}
		l.nextSearch = now.Add(time.Hour)
		if idle := l.untilNext(now, step.free); idle <= time.Millisecond && !step.free { // or it would never rest
			t.Errorf("%s: it looks again after %s", step.name, idle)
		}
	}
}
