package sweep

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/queue"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// hub is the double of GitHub.
type hub struct {
	github.Door

	failed        []github.Delivery
	since         []time.Time
	redelivered   []int64
	redeliverErr  error
	installations []github.Installation
	repos         map[int64][]github.Repo
	pulls         map[int64][]github.PullRequest
	errs          map[int64]error // by repository
	runs          map[string][]github.CheckRun
	asked         int // for check runs
}

func (h *hub) FailedDeliveries(_ context.Context, since time.Time) ([]github.Delivery, error) {
	h.since = append(h.since, since)
	return h.failed, nil
}

func (h *hub) Redeliver(_ context.Context, id int64) error {
	if h.redeliverErr != nil {
		return h.redeliverErr
	}
	h.redelivered = append(h.redelivered, id)
	return nil
}

func (h *hub) Installations(context.Context) ([]github.Installation, error) {
	return h.installations, nil
}

func (h *hub) Repositories(_ context.Context, id int64) ([]github.Repo, error) {
	return h.repos[id], nil
}

func (h *hub) OpenPullRequests(_ context.Context, repo github.Repo) ([]github.PullRequest, error) {
	return h.pulls[repo.ID], h.errs[repo.ID]
}

func (h *hub) CheckRuns(_ context.Context, _ github.Repo, sha string) ([]github.CheckRun, error) {
	h.asked++
	return h.runs[sha], nil
}

// jobs is the double of the queue.
type jobs struct {
	published []queue.Key
	waiting   []queue.Key
	claims    map[string]bool
}

func (j *jobs) Publish(_ context.Context, key queue.Key, m queue.Message, _ string) error {
	if m.Event != "sweep" || m.Owner != "o" || m.Fresh || !m.Missing {
		return errors.New("unexpected message")
	}
	j.published = append(j.published, key)
	return nil
}

func (j *jobs) Has(_ context.Context, key queue.Key) (bool, error) {
	return slices.Contains(j.waiting, key), nil
}

func (j *jobs) Claim(_ context.Context, name string) (bool, error) {
	fresh := !j.claims[name]
	j.claims[name] = true
	return fresh, nil
}

func (j *jobs) Forget(_ context.Context, name string) error {
	delete(j.claims, name)
	return nil
}

func newSweeper(h *hub) (*Sweeper, *jobs, *time.Time) {
	j, now := &jobs{claims: map[string]bool{}}, start
	s := New(Config{Door: h, Queue: j, Now: func() time.Time { return now },
		Ours: func(run github.CheckRun, _ int) bool { return strings.HasPrefix(run.ExternalID, "ours") },
		Settled: func(run github.CheckRun, now time.Time) (bool, bool) {
			given := run.ExternalID == "ours given up"
			return run.Status == "completed" && !(given && now.After(start)), run.Status == "completed" && !given
		}})
	return s, j, &now
}

func TestFailedDeliveriesAreRequestedOnce(t *testing.T) {
	h := &hub{failed: []github.Delivery{
		{ID: 1, GUID: "a", Event: "pull_request", StatusCode: 503},
		{ID: 2, GUID: "b", Event: "star", StatusCode: 503},
		{ID: 4, GUID: "c", Event: "check_run"},
	}}
	s, _, now := newSweeper(h)
	for range 2 {
		if err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		*now = now.Add(time.Hour)
	}
	if want := []int64{1, 4}; !slices.Equal(h.redelivered, want) {
		t.Errorf("redelivered %v, want %v", h.redelivered, want)
	}
	if want := []time.Time{start.Add(-72 * time.Hour), start.Add(-overlap)}; !slices.Equal(h.since, want) {
		t.Errorf("asked for deliveries since %v, want %v", h.since, want)
	}
	restarted := New(s.config)
	if err := restarted.Sweep(t.Context()); err != nil || len(h.redelivered) != 2 {
		t.Errorf("after a restart: %v, redelivered %v", err, h.redelivered)
	}
}

// An attempt that was asked for can fail like the first one. It is asked for again, after longer and longer pauses, and
// not for ever.
func TestFailedRedeliveries(t *testing.T) {
	h := &hub{}
	s, _, now := newSweeper(h)
	fail := func() {
		h.failed = []github.Delivery{{ID: int64(len(h.redelivered) + 1), GUID: "a", Event: "push", StatusCode: 502, At: *now}}
	}
	fail()
	var asked []time.Duration
	for range 72 * 12 {
		before := len(h.redelivered)
		if err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if since := h.since[len(h.since)-1]; since.After(h.failed[0].At) && len(asked) < len(pauses) {
			t.Fatalf("deliveries since %s do not have the one of %s", since, h.failed[0].At)
		}
		if len(h.redelivered) > before {
			asked = append(asked, now.Sub(start))
			fail()
		}
		*now = now.Add(5 * time.Minute)
	}
	want := []time.Duration{0, 5 * time.Minute, 20 * time.Minute, 80 * time.Minute, 320 * time.Minute, 1040 * time.Minute}
	if !slices.Equal(asked, want) || !slices.Equal(h.redelivered, []int64{1, 2, 3, 4, 5, 6}) {
		t.Errorf("redelivered %v at %v, want at %v", h.redelivered, asked, want)
	}
}

func TestFailedRequestIsRepeated(t *testing.T) {
	h := &hub{failed: []github.Delivery{{ID: 1, GUID: "a", Event: "pull_request"}}, redeliverErr: &github.RetryLater{Reason: "rate limit"}}
	s, _, _ := newSweeper(h)
	if err := s.Sweep(t.Context()); err == nil {
		t.Error("no error")
	}
	h.redeliverErr = nil
	if err := s.Sweep(t.Context()); err != nil || len(h.redelivered) != 1 {
		t.Errorf("%v, redelivered %v", err, h.redelivered)
	}
	if h.since[0] != h.since[1] {
		t.Errorf("the second sweep asked since %v; what the first did not finish must not be skipped", h.since[1])
	}
}

func fleet() *hub {
	repo := func(installation, id int64) github.Repo {
		return github.Repo{Installation: installation, ID: id, Owner: "o", Name: "r"}
	}
	return &hub{
		installations: []github.Installation{{ID: 1}, {ID: 2, Suspended: true}, {ID: 3}},
		repos:         map[int64][]github.Repo{1: {repo(1, 10), repo(1, 11)}, 2: {repo(2, 20)}, 3: {repo(3, 30)}},
		pulls: map[int64][]github.PullRequest{
			10: {{Number: 1, HeadSHA: "none"}, {Number: 2, HeadSHA: "done"}, {Number: 3, HeadSHA: "open"}, {Number: 4, HeadSHA: "cancelled"}, {Number: 5, HeadSHA: "theirs"}, {Number: 6, HeadSHA: "none"}},
			11: {{Number: 1, HeadSHA: "none"}},
			20: {{Number: 1, HeadSHA: "none"}},
			30: {{Number: 1, HeadSHA: "none"}},
		},
		runs: map[string][]github.CheckRun{
			"done":      {{Status: "completed", Conclusion: "failure", ExternalID: "ours"}},
			"open":      {{Status: "in_progress", ExternalID: "ours"}},
			"cancelled": {{Status: "completed", Conclusion: "cancelled", ExternalID: "ours"}},
			"theirs":    {{Status: "completed", Conclusion: "success", ExternalID: "of another pull request"}},
		},
	}
}

func key(installation, repo int64, number int) queue.Key {
	return queue.Key{Installation: installation, Repository: repo, Number: number}
}

func TestUncheckedHeadsAreEnqueued(t *testing.T) {
	h := fleet()
	s, j, _ := newSweeper(h)
	j.waiting = []queue.Key{key(1, 10, 6)}
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []queue.Key{key(1, 10, 1), key(1, 10, 3), key(1, 10, 4), key(1, 10, 5), key(1, 11, 1), key(3, 30, 1)}
	if !slices.Equal(j.published, want) {
		t.Errorf("published %v, want %v", j.published, want)
	}
}

func TestCheckedHeadIsNotAskedForAgain(t *testing.T) {
	h := &hub{installations: []github.Installation{{ID: 1}}, repos: map[int64][]github.Repo{1: {{Installation: 1, ID: 10, Owner: "o"}}},
		pulls: map[int64][]github.PullRequest{10: {{Number: 2, HeadSHA: "done"}}}, runs: fleet().runs}
	s, j, _ := newSweeper(h)
	for range 3 {
		if err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if h.asked != 1 || len(j.published) != 0 {
		t.Errorf("asked %d times for check runs of one head, published %v", h.asked, j.published)
	}
	h.pulls[10] = nil
	if err := s.Sweep(t.Context()); err != nil || len(s.done) != 0 {
		t.Errorf("%v, a closed pull request is still remembered: %v", err, s.done)
	}
}

func TestTroubleStaysWhereItIs(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want []queue.Key
		fine bool
	}{
		"gone":       {&github.Gone{What: "repository"}, []queue.Key{key(1, 11, 1), key(3, 30, 1)}, true},
		"plain":      {errors.New("bad gateway"), []queue.Key{key(1, 11, 1), key(3, 30, 1)}, false},
		"rate limit": {&github.RetryLater{Reason: "rate limit"}, []queue.Key{key(3, 30, 1)}, false},
	} {
		h := fleet()
		h.errs = map[int64]error{10: c.err}
		s, j, _ := newSweeper(h)
		if err := s.Sweep(t.Context()); (err == nil) != c.fine {
			t.Errorf("%s: %v", name, err)
		}
		if !slices.Equal(j.published, c.want) {
			t.Errorf("%s: published %v, want %v", name, j.published, c.want)
		}
	}
}

func TestRunSweepsAtOnceAndAtTheInterval(t *testing.T) {
	h := &hub{}
	ctx, cancel := context.WithCancel(t.Context())
	tick := make(chan time.Time)
	waits := make(chan time.Duration)
	s := New(Config{Door: h, Queue: &jobs{claims: map[string]bool{}}, Interval: time.Minute,
		After: func(d time.Duration) <-chan time.Time { waits <- d; return tick }})
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx) }()
	for range 3 {
		if d := <-waits; d != time.Minute {
			t.Errorf("waits %s", d)
		}
		tick <- start
	}
	<-waits
	cancel()
	<-done
	if len(h.since) != 4 {
		t.Errorf("%d sweeps, want 4", len(h.since))
	}
}

// A head that was given up is looked at again and again, until its time has come.
func TestGivenUpHeadsAreTriedAgain(t *testing.T) {
	h := &hub{installations: []github.Installation{{ID: 1}}, repos: map[int64][]github.Repo{1: {{Installation: 1, ID: 5, Owner: "o", Name: "r"}}},
		pulls: map[int64][]github.PullRequest{5: {{Number: 1, HeadSHA: "h"}}},
		runs:  map[string][]github.CheckRun{"h": {{ExternalID: "ours given up", Status: "completed"}, {ExternalID: "ours", Status: "completed"}}}}
	s, j, now := newSweeper(h)
	for want := range 2 {
		if err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(j.published) != want {
			t.Errorf("%d jobs at %s, want %d", len(j.published), now, want)
		}
		*now = now.Add(time.Minute)
	}
}

// With half of the rate limit gone, the sweep leaves the rest to the checks and goes on where it stopped.
func TestSweepLeavesBudget(t *testing.T) {
	h := &hub{installations: []github.Installation{{ID: 1}}, repos: map[int64][]github.Repo{1: {}}, pulls: map[int64][]github.PullRequest{}}
	for id := int64(1); id <= 4; id++ {
		h.repos[1] = append(h.repos[1], github.Repo{Installation: 1, ID: id, Owner: "o", Name: "r"})
		h.pulls[id] = []github.PullRequest{{Number: int(id), HeadSHA: "h"}}
	}
	s, j, _ := newSweeper(h)
	left := 2
	s.config.Budget = func(int64) (int, int, bool) {
		left--
		return map[bool]int{true: 4000, false: 2000}[left >= 0], 5000, true
	}
	if err := s.Sweep(t.Context()); !errors.Is(err, errSpent) || len(j.published) != 2 {
		t.Fatalf("%d jobs, %v; want to stop after two", len(j.published), err)
	}
	// So it does after a limit that GitHub tells of.
	limited, j2, _ := newSweeper(h)
	h.errs = map[int64]error{3: &github.RetryLater{Reason: "rate limit"}}
	if err := limited.Sweep(t.Context()); err == nil || len(j2.published) != 2 {
		t.Fatalf("%d jobs, %v; want to stop at the limit", len(j2.published), err)
	}
	h.errs = nil
	if err := limited.Sweep(t.Context()); err != nil || j2.published[2].Repository != 3 {
		t.Errorf("jobs %v, %v; want to go on with the third repository", j2.published, err)
	}
	left = 2
	if err := s.Sweep(t.Context()); !errors.Is(err, errSpent) || len(j.published) != 4 || j.published[2].Repository != 3 {
		t.Errorf("jobs %v, %v; want to go on with the third repository", j.published, err)
	}
}
