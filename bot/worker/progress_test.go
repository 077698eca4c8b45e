package worker

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
)

// A check that completes soon publishes its result only. A slower one first publishes its progress; if GitHub rejects
// that, the result is still published.
func TestProgressIsPublished(t *testing.T) {
	for name, c := range map[string]struct {
		patience time.Duration
		refused  bool
		want     []string
	}{
		"soon":    {time.Hour, false, []string{"1 success"}},
		"later":   {time.Nanosecond, false, []string{"1 in_progress", "1 success"}},
		"refused": {time.Nanosecond, true, []string{"1 success"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.Patience = c.patience
			told := make(chan struct{}, 2)
			b.hub.Published = func() { told <- struct{}{} }
			b.hub.Fail = func(_ string, about any) error {
				if run, ok := about.(*forge.CheckRun); ok && run.Status == forge.InProgress && c.refused {
					told <- struct{}{}
					return errors.New("no")
				}
				return nil
			}
			b.sandbox.run = func(ctx context.Context, _ report.Change) (*report.Report, error) {
				if c.patience < time.Second {
					<-told
				}
				return &report.Report{Conclusion: report.Success}, nil
			}
			if err := b.Do(t.Context(), b.task); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(b.hub.History(), c.want) || b.ledger.note != "" {
				t.Errorf("history %v, want %v; note %q", b.hub.History(), c.want, b.ledger.note)
			}
			if run := b.last(t); !run.StartedAt.Equal(clock) || !isAbout(run, 12) {
				t.Errorf("run %+v", run)
			}
			// Who asks for a check has it, though it comes to the same.
			b.demand("again")
			if err := b.Do(t.Context(), b.task); err != nil || len(b.hub.Runs) != 2 {
				t.Errorf("asked for again: %v, %v", err, b.hub.History())
			}
		})
	}
}

// A result that GitHub does not accept is sent later without another check, unless there is a newer job.
func TestOutboxSendsRefusedResult(t *testing.T) {
	for name, c := range map[string]struct {
		change func(b *bench)
		checks int
	}{
		"the same job": {func(*bench) {}, 1},
		"news":         {func(b *bench) { b.task.Sequence++ }, 2},
		"another head": {func(b *bench) { b.pr.HeadSHA = headB }, 2},
		"long ago":     {func(b *bench) { b.Now = func() time.Time { return clock.Add(3 * time.Hour) } }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.Patience = time.Hour
			b.refuse("Publish", &forge.RetryLater{After: time.Minute, Reason: "limit"})
			var later *store.Later
			for range 2 {
				if err := b.Do(t.Context(), b.task); !errors.As(err, &later) || !later.Pause {
					t.Fatalf("refused: %v", err)
				}
			}
			b.hub.Fail = nil
			c.change(b)
			if err := b.Do(t.Context(), b.task); err != nil {
				t.Fatal(err)
			}
			if run := b.last(t); run.Conclusion != "success" || len(b.hub.Runs) != 1 || run.Summary == "" {
				t.Errorf("run %+v of %v", run, b.hub.History())
			}
			if n := len(b.sandbox.changes); n != c.checks {
				t.Errorf("%d checks, want %d", n, c.checks)
			}
		})
	}
}

// A result that was ready when its worker was stopped is sent without another check.
func TestOutboxSendsResultOfStoppedWorker(t *testing.T) {
	b := newBench(t)
	b.Patience = time.Hour
	ctx, yield := context.WithCancel(t.Context())
	b.hub.Fail = func(call string, _ any) error {
		if call == "Publish" && ctx.Err() == nil {
			yield()
			return ctx.Err()
		}
		return nil
	}
	if err := b.Do(ctx, b.task); err == nil || len(b.hub.Runs) != 0 {
		t.Fatalf("%v, %v", err, b.hub.History())
	}
	if err := b.Do(t.Context(), b.task); err != nil || len(b.sandbox.changes) != 1 || len(b.hub.Runs) != 1 {
		t.Errorf("%v, %d checks, %v", err, len(b.sandbox.changes), b.hub.History())
	}
}

// A rejected result expires, counted from its first attempt.
func TestOutboxResultExpires(t *testing.T) {
	var u outbox
	task := Task{Job: store.Job{Key: store.Key{Installation: 7, Repository: 11, Target: forge.Target{Number: 12}}, Sequence: 1}}
	u.put(task, headA, result{}, clock)
	for now := clock.Add(time.Hour); ; now = now.Add(time.Hour) {
		r, ok := u.take(task, headA, now)
		if age := now.Sub(clock); ok != (age <= outboxAge) {
			t.Fatalf("after %s: %t", age, ok)
		}
		if !ok {
			break
		}
		u.put(task, headA, r, now)
	}
}

// Where GitHub's limits have no room for a worse result, the better one is taken away by an update, and the job is done
// later.
func TestBetterResultIsTakenAway(t *testing.T) {
	for name, tt := range map[string]struct {
		now  report.Conclusion
		want []string
	}{
		"worse":  {report.Failure, []string{"1 success", "1 in_progress", "1 failure"}},
		"better": {report.Success, []string{"1 neutral", "2 success"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.Patience = time.Hour
			first := report.Success
			if tt.now == first {
				first = report.Neutral
			}
			b.sandbox.run = answer(&report.Report{Conclusion: first}, nil)
			if err := b.Do(t.Context(), b.task); err != nil {
				t.Fatal(err)
			}
			b.sandbox.run = answer(&report.Report{Conclusion: tt.now}, nil)
			room := false
			b.hub.Fail = func(call string, about any) error {
				if run, is := about.(*forge.CheckRun); is && call == "Publish" && run.ID == 0 && !room {
					return &forge.RetryLater{After: time.Minute, Reason: "full"}
				}
				return nil
			}
			b.task.Message.Event, b.task.Sequence = "pull_request_review.submitted", 2
			if err := b.Do(t.Context(), b.task); err == nil {
				t.Fatal("it has no room")
			}
			room = true
			if err := b.Do(t.Context(), b.task); err != nil || !slices.Equal(b.hub.History(), tt.want) {
				t.Errorf("%v, %q, want %q", err, b.hub.History(), tt.want)
			}
		})
	}
}

// full is a Pace without room.
type full struct{}

func (full) Admit(_ context.Context, installation int64, background bool) (context.Context, func(), error) {
	return nil, nil, &forge.RetryLater{After: 40 * time.Second, Reason: "full"}
}

// A job for which GitHub's limits have no room does not begin. For a person's change, the whole installation waits;
// background work lets other jobs go first.
func TestPacedJobs(t *testing.T) {
	for name, c := range map[string]struct {
		change func(task *Task)
		pause  bool
	}{
		"pull request":         {func(*Task) {}, true},
		"review":               {func(task *Task) { task.Message.Event = "pull_request_review.submitted" }, true},
		"asked for":            {func(task *Task) { task.Message = store.Message{Event: "sweep", Fresh: true} }, true},
		"merge group":          {func(task *Task) { task.Key.Number, task.Key.Group = 0, headA }, true},
		"rules changed":        {func(task *Task) { task.Message.Event = "push" }, false},
		"branch":               {func(task *Task) { task.Key.Number, task.Key.Branch = 0, "main" }, false},
		"back after a while":   {func(task *Task) { task.Message.Event = "installation.unsuspend" }, false},
		"found missing":        {func(task *Task) { task.Message.Missing = true }, false},
		"the end of a result":  {func(task *Task) { task.Message.Event = "alarm" }, false},
		"rules from elsewhere": {func(task *Task) { task.Message.Rules = true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.Pace = full{}
			c.change(&b.task)
			var later *store.Later
			if err := b.Do(t.Context(), b.task); !errors.As(err, &later) || later.Pause != c.pause || later.After != 40*time.Second {
				t.Errorf("%v, %+v", err, later)
			}
			if n := b.hub.Calls("PullRequest") + b.hub.Calls("Branch"); n != 0 {
				t.Errorf("%d requests", n)
			}
		})
	}
}
