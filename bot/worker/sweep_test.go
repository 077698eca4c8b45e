package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/forgetest"
	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/bot/store"
)

// sweepStart is the time at which a bubble of testing/synctest begins.
var sweepStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// sweepJobs is the double of the queue.
type sweepJobs struct {
	published []store.Key // whose head has no result
	again     []store.Key // whose result may be out of date
	waiting   []store.Key
	claims    map[string]bool
}

func (j *sweepJobs) Publish(_ context.Context, key store.Key, m store.Message, _ string) error {
	if m.Event != "sweep" || m.Owner != "o" || m.Fresh {
		return errors.New("unexpected message")
	}
	if m.Missing {
		j.published = append(j.published, key)
	} else {
		j.again = append(j.again, key)
	}
	return nil
}

func (j *sweepJobs) Has(_ context.Context, key store.Key) (bool, error) {
	return slices.Contains(j.waiting, key), nil
}

func (j *sweepJobs) Claim(_ context.Context, name string) (bool, error) {
	fresh := !j.claims[name]
	j.claims[name] = true
	return fresh, nil
}

func (j *sweepJobs) Forget(_ context.Context, name string) error {
	delete(j.claims, name)
	return nil
}

func newSweeper(h *forgetest.GitHub) (*Sweeper, *sweepJobs) {
	j := &sweepJobs{claims: map[string]bool{}}
	return NewSweeper(SweepConfig{Client: h, Queue: j}), j
}

// refuseSweep answers one kind of calls with an error: those about a repository, or all of them.
func refuseSweep(call string, repository int64, err error) func(string, any) error {
	return func(name string, about any) error {
		if repo, ok := about.(forge.Repo); name == call && (repository == 0 || ok && repo.ID == repository) {
			return err
		}
		return nil
	}
}

func TestFailedDeliveriesAreRequestedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &forgetest.GitHub{Lost: []forge.Delivery{
			{ID: 1, GUID: "a", Event: "pull_request", StatusCode: 503},
			{ID: 2, GUID: "b", Event: "star", StatusCode: 503},
			{ID: 4, GUID: "c", Event: "check_run"},
		}}
		s, _ := newSweeper(h)
		for range 2 {
			if err := s.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
		if want := []int64{1, 4}; !slices.Equal(h.Redelivered(), want) {
			t.Errorf("redelivered %v, want %v", h.Redelivered(), want)
		}
		want := []time.Time{sweepStart.Add(-72 * time.Hour), sweepStart.Add(-redeliveryOverlap)}
		if !slices.EqualFunc(h.Since(), want, time.Time.Equal) {
			t.Errorf("asked for deliveries since %v, want %v", h.Since(), want)
		}
		restarted := NewSweeper(s.config)
		if err := restarted.Sweep(t.Context()); err != nil || len(h.Redelivered()) != 2 {
			t.Errorf("after a restart: %v, redelivered %v", err, h.Redelivered())
		}
	})
}

// A redelivery can fail, too. It is requested again after growing pauses, a limited number of times.
func TestFailedRedeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &forgetest.GitHub{}
		s, _ := newSweeper(h)
		fail := func() {
			h.Lost = []forge.Delivery{{ID: int64(len(h.Redelivered()) + 1), GUID: "a", Event: "push", StatusCode: 502, At: time.Now()}}
		}
		fail()
		var asked []time.Duration
		for range 72 * 12 {
			before := len(h.Redelivered())
			if err := s.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if since := h.Since()[len(h.Since())-1]; since.After(h.Lost[0].At) && len(asked) < len(redeliveryPauses) {
				t.Fatalf("deliveries since %s do not have the one of %s", since, h.Lost[0].At)
			}
			if len(h.Redelivered()) > before {
				asked = append(asked, time.Since(sweepStart))
				fail()
			}
			time.Sleep(5 * time.Minute)
		}
		want := []time.Duration{0, 5 * time.Minute, 20 * time.Minute, 80 * time.Minute, 320 * time.Minute, 1040 * time.Minute}
		if !slices.Equal(asked, want) || !slices.Equal(h.Redelivered(), []int64{1, 2, 3, 4, 5, 6}) {
			t.Errorf("redelivered %v at %v, want at %v", h.Redelivered(), asked, want)
		}
	})
}

func TestFailedRequestIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &forgetest.GitHub{Lost: []forge.Delivery{{ID: 1, GUID: "a", Event: "pull_request"}}}
		h.Fail = refuseSweep("Redeliver", 0, &forge.RetryLater{Reason: "rate limit"})
		s, _ := newSweeper(h)
		if err := s.Sweep(t.Context()); err == nil {
			t.Error("no error")
		}
		h.Fail = nil
		if err := s.Sweep(t.Context()); err != nil || len(h.Redelivered()) != 1 {
			t.Errorf("%v, redelivered %v", err, h.Redelivered())
		}
		if !h.Since()[0].Equal(h.Since()[1]) {
			t.Errorf("the second sweep asked since %v; what the first did not finish must not be skipped", h.Since()[1])
		}
	})
}

func sweepFleet() *forgetest.GitHub {
	repo := func(installation, id int64) forge.Repo {
		return forge.Repo{Installation: installation, ID: id, Owner: "o", Name: "r"}
	}
	return &forgetest.GitHub{
		Installed: []forge.Installation{{ID: 1}, {ID: 2, Suspended: true}, {ID: 3}},
		Repos:     []forge.Repo{repo(1, 10), repo(1, 11), repo(2, 20), repo(3, 30)},
		Pulls: map[int64][]*forge.PullRequest{
			10: {{Number: 1, HeadSHA: "none"}, {Number: 2, HeadSHA: "done"}, {Number: 3, HeadSHA: "open"},
				{Number: 4, HeadSHA: "cancelled"}, {Number: 5, HeadSHA: "theirs"}, {Number: 6, HeadSHA: "none"}},
			11: {{Number: 1, HeadSHA: "none"}},
			20: {{Number: 1, HeadSHA: "none"}},
			30: {{Number: 1, HeadSHA: "none"}},
		},
		Runs: []forge.CheckRun{
			{HeadSHA: "done", Status: "completed", Conclusion: "failure", ExternalID: "pr-2/d"},
			{HeadSHA: "open", Status: "in_progress", ExternalID: "pr-3/begun-1"},
			{HeadSHA: "cancelled", Status: "completed", Conclusion: "cancelled", ExternalID: "pr-4/begun-1"},
			{HeadSHA: "theirs", Status: "completed", Conclusion: "success", ExternalID: "pr-2/d"}, // of another pull request
			{HeadSHA: "theirs", Status: "completed", Conclusion: "success", ExternalID: "of another App"},
		},
	}
}

func sweepKey(installation, repo int64, number int) store.Key {
	return store.Key{Installation: installation, Repository: repo, Target: forge.Target{Number: number}}
}

func TestUncheckedHeadsAreEnqueued(t *testing.T) {
	h := sweepFleet()
	s, j := newSweeper(h)
	j.waiting = []store.Key{sweepKey(1, 10, 6)}
	if err := s.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []store.Key{sweepKey(1, 10, 1), sweepKey(1, 10, 3), sweepKey(1, 10, 4), sweepKey(1, 10, 5), sweepKey(1, 11, 1), sweepKey(3, 30, 1)}
	if !slices.Equal(j.published, want) {
		t.Errorf("published %v, want %v", j.published, want)
	}
}

// What changed without a webhook is checked again, once: a result is as old as its check, not as its head.
func TestResultsOutOfDate(t *testing.T) {
	pull, branch := sweepKey(1, 10, 2), store.Key{Installation: 1, Repository: 10, Target: forge.Target{Branch: "main"}}
	for name, tt := range map[string]struct {
		change func(h *forgetest.GitHub, pr *forge.PullRequest, j *sweepJobs)
		want   []store.Key
		after  time.Duration
	}{
		"nothing":            {func(*forgetest.GitHub, *forge.PullRequest, *sweepJobs) {}, nil, 0},
		"nothing, for a day": {func(*forgetest.GitHub, *forge.PullRequest, *sweepJobs) {}, []store.Key{pull}, 24 * time.Hour},
		"a review, or another base": {func(_ *forgetest.GitHub, pr *forge.PullRequest, _ *sweepJobs) {
			pr.Updated = sweepStart.Add(time.Hour)
		}, []store.Key{pull}, 0},
		"another base, by a clock that is behind": {func(h *forgetest.GitHub, pr *forge.PullRequest, _ *sweepJobs) {
			pr.BaseRef = "lax"
		}, []store.Key{pull}, 0},
		"what a check saw since": {func(h *forgetest.GitHub, pr *forge.PullRequest, _ *sweepJobs) {
			pr.Updated, h.Runs[0].StartedAt = sweepStart.Add(time.Hour), sweepStart.Add(2*time.Hour)
		}, nil, 0},
		"a push to the base": {func(h *forgetest.GitHub, _ *forge.PullRequest, _ *sweepJobs) { h.Tips["main"] = "moved" },
			[]store.Key{branch}, 0},
		"a review, while a job runs that may not have seen it": {func(_ *forgetest.GitHub, pr *forge.PullRequest, j *sweepJobs) {
			pr.Updated, j.waiting = sweepStart.Add(time.Hour), []store.Key{pull}
		}, []store.Key{pull}, 0},
		"the App was suspended": {func(h *forgetest.GitHub, _ *forge.PullRequest, j *sweepJobs) { h.Installed[0].Suspended = true },
			[]store.Key{branch, pull}, 0},
		"the repository was taken away": {func(h *forgetest.GitHub, _ *forge.PullRequest, _ *sweepJobs) { h.Repos = nil },
			[]store.Key{branch, pull}, 0},
		"a permission was taken away": {func(h *forgetest.GitHub, _ *forge.PullRequest, _ *sweepJobs) {
			h.Fail = refuseSweep("OpenPullRequests", 10, &forge.Gone{What: "pull requests"})
		}, []store.Key{pull}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				repo := forge.Repo{Installation: 1, ID: 10, Owner: "o"}
				pr := &forge.PullRequest{Number: 2, HeadSHA: "done", BaseRef: "main", Updated: sweepStart}
				h := &forgetest.GitHub{Installed: []forge.Installation{{ID: 1}}, Repos: []forge.Repo{repo}, Tips: map[string]string{"main": "tip"},
					Pulls: map[int64][]*forge.PullRequest{10: {pr}},
					Runs: []forge.CheckRun{{HeadSHA: "done", Status: "completed", Conclusion: "success", ExternalID: "pr-2/d",
						StartedAt: sweepStart.Add(time.Second)}}}
				s, j := newSweeper(h)
				sweep := func() {
					t.Helper()
					if err := s.Sweep(t.Context()); err != nil || len(j.published) != 0 {
						t.Fatal(err, j.published)
					}
				}
				sweep()
				if want := []store.Key{branch, pull}; !slices.Equal(j.again, want) {
					t.Fatalf("at first %v, want %v", j.again, want)
				}
				sweep()
				j.again = nil
				tt.change(h, pr, j)
				time.Sleep(tt.after)
				sweep()
				h.Installed[0].Suspended, h.Repos, h.Fail, j.waiting = false, []forge.Repo{repo}, nil, nil
				for range 3 {
					sweep()
				}
				if !slices.Equal(j.again, tt.want) {
					t.Errorf("checked again: %v, want %v", j.again, tt.want)
				}
			})
		})
	}
}

func TestCheckedHeadIsNotAskedForAgain(t *testing.T) {
	h := &forgetest.GitHub{Installed: []forge.Installation{{ID: 1}},
		Repos: []forge.Repo{{Installation: 1, ID: 10, Owner: "o"}},
		Pulls: map[int64][]*forge.PullRequest{10: {{Number: 2, HeadSHA: "done"}}}, Runs: sweepFleet().Runs}
	s, j := newSweeper(h)
	for range 3 {
		if err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if h.Calls("CheckRuns") != 1 || len(j.published) != 0 || len(j.again) != 1 {
		t.Errorf("asked %d times for check runs of one head, published %v and again %v", h.Calls("CheckRuns"), j.published, j.again)
	}
	h.Pulls[10] = nil
	if err := s.Sweep(t.Context()); err != nil || len(s.done) != 0 {
		t.Errorf("%v, a closed pull request is still remembered: %v", err, s.done)
	}
}

// A head with the result of a pull request that left it is checked again. Results that expire are passed to Ends.
func TestResultsThatDoNotLast(t *testing.T) {
	run := func(id int64, external string) forge.CheckRun {
		return forge.CheckRun{ID: id, HeadSHA: "shared", Status: "completed", Conclusion: "failure", ExternalID: external}
	}
	h := &forgetest.GitHub{Installed: []forge.Installation{{ID: 1}},
		Repos: []forge.Repo{{Installation: 1, ID: 10, Owner: "o"}},
		Pulls: map[int64][]*forge.PullRequest{10: {{Number: 2, HeadSHA: "shared"}, {Number: 3, HeadSHA: "shared"}}},
		Runs:  []forge.CheckRun{run(1, "pr-2/00!1767225600"), run(2, "pr-3/00~success")}}
	s, j := newSweeper(h)
	ends := map[store.Key]time.Time{}
	s.config.Ends = func(key store.Key, _ forge.Repo, at time.Time) { ends[key] = at }
	if err := s.Sweep(t.Context()); err != nil || len(j.published) != 0 {
		t.Errorf("%v, published %v, want nothing: both are open", err, j.published)
	}
	if len(ends) != 1 || ends[sweepKey(1, 10, 2)].Unix() != 1767225600 {
		t.Errorf("ends %v, want that of the first", ends)
	}
	h.Pulls[10] = h.Pulls[10][:1]
	s, j = newSweeper(h) // after a restart
	for range 2 {
		if err := s.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if want := []store.Key{sweepKey(1, 10, 2), sweepKey(1, 10, 2)}; !slices.Equal(j.again, want) {
		t.Errorf("published %v, want %v until the head has a result of its own", j.published, want)
	}
}

func TestTroubleStaysWhereItIs(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want []store.Key
		fine bool
	}{
		"gone":       {&forge.Gone{What: "repository"}, []store.Key{sweepKey(1, 11, 1), sweepKey(3, 30, 1)}, true},
		"plain":      {errors.New("bad gateway"), []store.Key{sweepKey(1, 11, 1), sweepKey(3, 30, 1)}, false},
		"rate limit": {&forge.RetryLater{Reason: "rate limit"}, []store.Key{sweepKey(3, 30, 1)}, false},
	} {
		h := sweepFleet()
		h.Fail = refuseSweep("OpenPullRequests", 10, c.err)
		s, j := newSweeper(h)
		if err := s.Sweep(t.Context()); (err == nil) != c.fine {
			t.Errorf("%s: %v", name, err)
		}
		if !slices.Equal(j.published, c.want) {
			t.Errorf("%s: published %v, want %v", name, j.published, c.want)
		}
	}
}

func TestRunSweepsAtOnceAndAtTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &forgetest.GitHub{}
		ctx, cancel := context.WithCancel(t.Context())
		s := NewSweeper(SweepConfig{Client: h, Queue: &sweepJobs{claims: map[string]bool{}}, Interval: time.Minute})
		done := make(chan struct{})
		go func() { defer close(done); s.Run(ctx) }()
		for sweeps := range 4 {
			synctest.Wait()
			if len(h.Since()) != sweeps+1 {
				t.Errorf("%d sweeps after %s, want %d", len(h.Since()), time.Since(sweepStart), sweeps+1)
			}
			time.Sleep(time.Minute - 1)
			synctest.Wait()
			if len(h.Since()) != sweeps+1 {
				t.Errorf("it does not wait for the interval")
			}
			time.Sleep(time.Nanosecond)
		}
		cancel()
		<-done
	})
}

// When jobs were lost, what had been dealt with is checked again at once.
func TestLostJobsAreSweptAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &forgetest.GitHub{Installed: []forge.Installation{{ID: 1}},
			Repos: []forge.Repo{{Installation: 1, ID: 10, Owner: "o"}},
			Pulls: map[int64][]*forge.PullRequest{10: {{Number: 2, HeadSHA: "done"}}}, Runs: sweepFleet().Runs}
		j, lost := &sweepJobs{claims: map[string]bool{}}, make(chan struct{})
		s := NewSweeper(SweepConfig{Client: h, Queue: j, Lost: lost})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.Run(ctx) }()
		lost <- struct{}{}
		synctest.Wait()
		cancel()
		<-done
		if len(j.again) != 2 {
			t.Errorf("%d jobs, want one for each round", len(j.again))
		}
		if !time.Now().Equal(sweepStart) {
			t.Errorf("the second round began after %s", time.Since(sweepStart))
		}
	})
}

// An abandoned head is retried until its time is over.
func TestAbandonedHeadsAreRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &forgetest.GitHub{Installed: []forge.Installation{{ID: 1}},
			Repos: []forge.Repo{{Installation: 1, ID: 5, Owner: "o", Name: "r"}},
			Pulls: map[int64][]*forge.PullRequest{5: {{Number: 1, HeadSHA: "h"}}},
			Runs: []forge.CheckRun{{HeadSHA: "h", ExternalID: "pr-1/d", Status: "completed"},
				{HeadSHA: "h", ExternalID: "pr-1/gave-up-1-7", Status: "completed", CompletedAt: sweepStart}}}
		s, j := newSweeper(h)
		for want := range 2 {
			if err := s.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if len(j.published) != want {
				t.Errorf("%d jobs at %s, want %d", len(j.published), time.Now(), want)
			}
			time.Sleep(time.Minute)
		}
	})
}

// An abandoned head is final after the last retry.
func TestSettled(t *testing.T) {
	for n := 1; n <= 5; n++ {
		run := forge.CheckRun{Status: "completed", CompletedAt: sweepStart}
		id := forge.RunID{Target: forge.Target{Number: 1}, State: forge.Abandoned, Times: n, Job: 7}
		settled, final := isSettled(run, id, sweepStart)
		if last := n > 4; !settled || final != last {
			t.Errorf("after %d times: settled %v, final %v", n, settled, final)
		}
		if settled, _ := isSettled(run, id, sweepStart.Add(24*time.Hour)); settled != (n > 4) {
			t.Errorf("after %d times, a day later: settled %v", n, settled)
		}
	}
}

// If half of the rate limit is used, the sweep leaves the rest to the checks and continues in the next round.
func TestSweepLeavesBudget(t *testing.T) {
	h := &forgetest.GitHub{Installed: []forge.Installation{{ID: 1}}, Pulls: map[int64][]*forge.PullRequest{}}
	for id := int64(1); id <= 4; id++ {
		h.Repos = append(h.Repos, forge.Repo{Installation: 1, ID: id, Owner: "o", Name: "r"})
		h.Pulls[id] = []*forge.PullRequest{{Number: int(id), HeadSHA: "h"}}
	}
	s, j := newSweeper(h)
	left := 2
	budget := func(int64) (forge.Budget, bool) {
		left--
		return forge.Budget{Remaining: map[bool]int{true: 4000, false: 2000}[left >= 0], Limit: 5000}, true
	}
	h.Left = budget
	if err := s.Sweep(t.Context()); !errors.Is(err, errSpent) || len(j.published) != 2 {
		t.Fatalf("%d jobs, %v; want to stop after two", len(j.published), err)
	}
	h.Left = nil
	// So it does after a limit that GitHub tells of.
	limited, j2 := newSweeper(h)
	h.Fail = refuseSweep("OpenPullRequests", 3, &forge.RetryLater{Reason: "rate limit"})
	if err := limited.Sweep(t.Context()); err == nil || len(j2.published) != 2 {
		t.Fatalf("%d jobs, %v; want to stop at the limit", len(j2.published), err)
	}
	h.Fail = nil
	if err := limited.Sweep(t.Context()); err != nil || j2.published[2].Repository != 3 {
		t.Errorf("jobs %v, %v; want to go on with the third repository", j2.published, err)
	}
	h.Left, left = budget, 2
	if err := s.Sweep(t.Context()); !errors.Is(err, errSpent) || len(j.published) != 4 || j.published[2].Repository != 3 {
		t.Errorf("jobs %v, %v; want to go on with the third repository", j.published, err)
	}
}

// Reached is called only after a round that saw all repositories; unseen pull requests do not matter.
func TestWhatIsReached(t *testing.T) {
	h := &forgetest.GitHub{Installed: []forge.Installation{{ID: 7}, {ID: 8, Suspended: true}},
		Repos: []forge.Repo{{Installation: 7, ID: 11, Owner: "o", Name: "a"}}}
	s, _ := newSweeper(h)
	told := 0
	s.config.Reached = func(_ context.Context, reached results.Reached) error {
		told++
		for repository, want := range map[[2]int64]string{{7, 11}: "o/a of 7", {7, 12}: "gone", {8, 13}: "unknown",
			{9, 14}: "gone", {9, 11}: "o/a of 7"} {
			got := "gone"
			switch now, is, known := reached(repository[0], repository[1]); {
			case is:
				got = fmt.Sprint(now, " of ", now.Installation)
			case !known:
				got = "unknown"
			}
			if got != want {
				t.Errorf("repository %d of %d is %s, want %s", repository[1], repository[0], got, want)
			}
		}
		return errors.New("no")
	}
	if err := s.Sweep(t.Context()); err != nil || told != 1 {
		t.Errorf("%v, told %d times", err, told)
	}
	for _, call := range []string{"Installations", "Repositories", "OpenPullRequests"} {
		h.Fail = refuseSweep(call, 0, errors.New("no"))
		if call == "OpenPullRequests" {
			h.Fail = refuseSweep(call, 11, errors.New("no"))
		}
		want := 1
		if call == "OpenPullRequests" {
			want = 2
		}
		if err := s.Sweep(t.Context()); err == nil || told != want {
			t.Errorf("%s fails: %v, told %d times, want %d", call, err, told, want)
		}
	}
}

// An installation that is not served is ignored: it gets no requests, its jobs are dropped, and its results are not
// reached.
func TestServes(t *testing.T) {
	h := &forgetest.GitHub{Installed: []forge.Installation{{ID: 7, Account: "o"}, {ID: 8, Account: "mallory"}},
		Repos: []forge.Repo{{Installation: 7, ID: 11, Owner: "o", Name: "a"}, {Installation: 8, ID: 12, Owner: "mallory", Name: "b"}}}
	h.Fail = func(_ string, about any) error {
		if repo, ok := about.(forge.Repo); ok && repo.Installation == 8 {
			t.Errorf("asked about %v", repo)
		}
		return nil
	}
	s, _ := newSweeper(h)
	var dropped []int64
	s.config.Serves = func(login string) bool { return login == "o" }
	s.config.Drop = func(_ context.Context, installation, repository int64) error {
		if repository != 0 {
			t.Errorf("repository %d", repository)
		}
		dropped = append(dropped, installation)
		return nil
	}
	told := false
	s.config.Reached = func(_ context.Context, reached results.Reached) error {
		told = true
		_, ours, _ := reached(7, 11)
		_, theirs, known := reached(8, 12)
		if !ours || theirs || !known {
			t.Errorf("reached: ours %t, theirs %t (known: %t)", ours, theirs, known)
		}
		return nil
	}
	if err := s.Sweep(t.Context()); err != nil || !told || !slices.Equal(dropped, []int64{8}) {
		t.Errorf("%v, told %t, dropped %v", err, told, dropped)
	}
	s.config.Drop = func(context.Context, int64, int64) error { return errors.New("no") }
	if err := s.Sweep(t.Context()); err == nil {
		t.Error("that jobs could not be dropped is not said")
	}
}
