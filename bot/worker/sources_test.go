package worker

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/remotes"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/remote"
)

// fetcherDouble is what gets one thing, which has some content.
type fetcherDouble struct {
	tree  string
	err   error
	asked int
	fails *remote.Failure
}

func (f *fetcherDouble) Fetch(_ context.Context, wants []remote.Want) (lock remote.Lock, _ error) {
	f.asked++
	for _, w := range wants {
		lock = append(lock, remote.Entry{Want: w, Tree: f.tree, Revision: "1", Failure: f.fails})
	}
	return lock, f.err
}

func (f *fetcherDouble) Known(context.Context, []remote.Want) (remote.Lock, error) { return nil, nil }

// wants has the sandbox want one thing before it has a result, and returns what gets it.
func (b *bench) wants(t *testing.T) (f *fetcherDouble, changes *[]remotes.Change) {
	t.Helper()
	f, changes = &fetcherDouble{tree: "one"}, &[]remotes.Change{}
	wanted, err := json.Marshal(remote.Request{Wants: []remote.Asked{{Want: remote.Want{Kind: remote.Git,
		URL: "https://github.com/octo-org/base", Ref: "main"}}}})
	if err != nil {
		t.Fatal(err)
	}
	b.Remotes = func(_ context.Context, c remotes.Change) (*remotes.Resolver, error) {
		*changes = append(*changes, c)
		return &remotes.Resolver{GitDir: "/data/sources/7/objects.git", Open: func(remotes.Request) (base, head remotes.Fetcher,
			done func(), err error) {
			return f, f, func() {}, nil
		}}, nil
	}
	b.sandbox.run = func(_ context.Context, c report.Change) (*report.Report, error) {
		if string(c.Sources.Lock) == "null" {
			return &report.Report{Wanted: wanted}, nil
		}
		return &report.Report{Conclusion: report.Success, Title: "No violations"}, nil
	}
	return f, changes
}

// A result is another one where what was fetched is: the same tag or branch may stand for something else now.
func TestResultDependsOnWhatWasFetched(t *testing.T) {
	b := newBench(t)
	f, changes := b.wants(t)
	var digests []string
	for _, tree := range []string{"one", "one", "two"} {
		f.tree = tree
		if err := b.Do(t.Context(), b.task); err != nil {
			t.Fatal(err)
		}
		_, digest, _ := strings.Cut(b.last(t).ExternalID, "/")
		digests = append(digests, digest)
		b.task.Message.Fresh, b.task.Message.Delivery = true, "again "+tree
		b.task.Sequence++
	}
	if digests[0] != digests[1] || digests[1] == digests[2] {
		t.Errorf("%q", digests)
	}
	c := (*changes)[0]
	if c.Repo.Installation != 7 || c.Fork {
		t.Errorf("%+v", c)
	}
	if authors, err := c.Authors(t.Context()); err != nil || !slices.Equal(authors, []string{"octocat"}) {
		t.Errorf("%q, %v", authors, err)
	}
	if got := b.sandbox.changes[0]; got.Owner != "7.11" {
		t.Errorf("the change is %q's", got.Owner)
	}
	if !strings.Contains(b.log.String(), `"msg":"fetched remote sources"`) {
		t.Error("the log says nothing")
	}
}

// A fork is told, and with a deleted account nobody is known to ask.
func TestWhoAsks(t *testing.T) {
	b := newBench(t)
	_, changes := b.wants(t)
	b.pr.Fork, b.pr.Author = true, ""
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	c := (*changes)[0]
	if authors, err := c.Authors(t.Context()); err != nil || !c.Fork || len(authors) > 0 {
		t.Errorf("%+v, %q, %v", c, authors, err)
	}
}

// What did not answer is asked again by itself, a few times, however it fails; what is refused or gone is not.
func TestSourceDoesNotAnswer(t *testing.T) {
	b := newBench(t)
	f, _ := b.wants(t)
	now := clock
	b.Now = func() time.Time { return now }
	b.Alarm = NewAlarm(b.jobs, nil)
	var pauses []time.Duration
	for try := range 10 {
		f.fails = &remote.Failure{Message: "it fails, another way each time: " + strconv.Itoa(try), Passing: true}
		b.task.Sequence++
		if err := b.Do(t.Context(), b.task); err != nil {
			t.Fatal(err)
		}
		at := b.Alarm.set[b.task.Key].at
		if at.IsZero() {
			break
		}
		pauses = append(pauses, at.Sub(now))
		now = at
	}
	if want := []time.Duration{time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour}; !slices.Equal(pauses, want) {
		t.Errorf("tried again after %s, want %s", pauses, want)
	}
	for _, failure := range []*remote.Failure{nil, {Message: "it does not exist", Broken: true}, {Message: "not allowed"}} {
		b := newBench(t)
		b.Alarm = NewAlarm(b.jobs, nil)
		f, _ := b.wants(t)
		f.fails = failure
		if err := b.Do(t.Context(), b.task); err != nil {
			t.Fatal(err)
		}
		if len(b.Alarm.set) > 0 || strings.Contains(b.last(t).ExternalID, "!") {
			t.Errorf("%+v is asked for again: %v", failure, b.Alarm.set)
		}
	}
}

// Trouble of the store or with GitHub says nothing about the change: the job comes back, and ends after its tries.
func TestFetchingFails(t *testing.T) {
	b := newBench(t)
	f, _ := b.wants(t)
	f.err = errors.New("writing /data/sources/7: no space left on device")
	for try := 1; try < 3; try++ {
		b.task.Try = try
		if err := b.Do(t.Context(), b.task); err == nil {
			t.Fatalf("try %d is done, want another", try)
		}
	}
	b.task.Try = 3
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	if run := b.last(t); !strings.Contains(run.Title, "could not be fetched") || strings.Contains(run.Summary, "/data") {
		t.Errorf("%s\n%s", run.Title, run.Summary)
	}

	b = newBench(t)
	f, _ = b.wants(t)
	f.err = &forge.RetryLater{After: 60e9}
	if err := b.Do(t.Context(), b.task); err == nil || b.last(t).Status == "completed" {
		t.Errorf("%v, the run is %s", err, b.last(t).Status)
	}
}

// A worker that dies between fetching and checking: the job comes back, and the check has a result.
func TestCrashBetweenFetchAndCheck(t *testing.T) {
	b := newBench(t)
	f, _ := b.wants(t)
	run := b.sandbox.run
	ctx, die := context.WithCancel(t.Context())
	b.sandbox.run = func(_ context.Context, c report.Change) (*report.Report, error) {
		if string(c.Sources.Lock) != "null" {
			die()
			return nil, context.Cause(ctx)
		}
		return run(ctx, c)
	}
	if err := b.Do(ctx, b.task); err == nil {
		t.Fatal("the job is done")
	}
	b.sandbox.run, b.task.Try = run, 2
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	if b.last(t).Conclusion != "success" || f.asked != 2 {
		t.Errorf("%+v, asked %d times", b.last(t), f.asked)
	}
}
