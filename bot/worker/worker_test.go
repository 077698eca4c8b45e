package worker

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/sandbox"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
)

func TestCheckIsPublished(t *testing.T) {
	b := newBench(t)
	b.sandbox.run = func(context.Context, report.Change) (*report.Report, error) {
		return &report.Report{Conclusion: report.Failure, Title: "1 new violation", Findings: []report.Finding{{
			Policy: "p", Rule: "r", Result: report.Fail, New: true, Blocks: true, Message: "m",
			Origin: &report.Origin{Path: "a b.yaml", StartLine: 3, EndLine: 3}}}}, nil
	}
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	if want := []string{"1 in_progress", "1 failure"}; !slices.Equal(b.hub.History(), want) {
		t.Errorf("history %v, want %v", b.hub.History(), want)
	}
	run := b.last(t)
	if run.HeadSHA != headA || run.Title != "1 new violation" || !strings.Contains(run.Summary,
		"https://github.com/octo-org/fleet/blob/"+headA+"/a%20b.yaml#L3") || len(run.Annotations) != 1 ||
		!run.CompletedAt.Equal(clock) || len(run.Actions) != 2 || !isAbout(run, 12) || isAbout(run, 1) {
		t.Errorf("run %+v", run)
	}
	want := report.Change{GitDir: "/data/mirrors/11", Rules: baseTip, Base: "base", Head: headA,
		User: report.User{Unasked: true}, Now: clock, Repository: []string{"fleet"}}
	if got := b.sandbox.changes[0]; got.GitDir != want.GitDir || got.Rules != want.Rules || got.Base != want.Base ||
		got.Head != want.Head ||
		got.User.Unasked != want.User.Unasked || got.User.Login != "" || got.Now != want.Now || !slices.Equal(got.Repository, want.Repository) {
		t.Errorf("change %+v, want %+v", got, want)
	}
	if b.mirror.wants[0] != (mirror.Want{Number: 12, BaseRef: "main", BaseSHA: baseTip, HeadSHA: headA}) {
		t.Errorf("fetched %+v", b.mirror.wants[0])
	}
	if b.ledger.note != "" {
		t.Errorf("the note %q stays", b.ledger.note)
	}
}

// Each way in which a check can end without a report: what is published, and on which try.
func TestFailures(t *testing.T) {
	plain := errors.New("open /data/mirrors/11/config: " + token)
	for name, c := range map[string]struct {
		set   func(b *bench)
		at    int    // the try that concludes; those before ask for another
		title string // of the concluded run
	}{
		"fetch":                 {func(b *bench) { b.mirror.err = plain }, 3, "could not be fetched"},
		"sandbox":               {func(b *bench) { b.sandbox.run = answer(nil, plain) }, 3, "did not start"},
		"inspection":            {func(b *bench) { b.sandbox.trouble = plain }, 3, "did not start"},
		"inspection of nothing": {func(b *bench) { b.sandbox.inspection = nil }, 3, "did not start"},
		"inspection that failed": {func(b *bench) { b.sandbox.trouble = &sandbox.Failed{Message: "x"} }, 1,
			"could not be run"},
		"inspection that crashed": {func(b *bench) {
			b.sandbox.trouble = &sandbox.Crash{Reason: "ran out of its memory limit of 2 GiB"}
		}, 1, "The check ran out of its memory limit of 2 GiB"},
		"nothing from the sandbox": {func(b *bench) { b.sandbox.run = answer(nil, nil) }, 3, "did not start"},
		"crash": {func(b *bench) {
			b.sandbox.run = answer(nil, &sandbox.Crash{Reason: "ran out of its memory limit of 2 GiB", Err: plain})
		}, 1, "The check ran out of its memory limit of 2 GiB"},
		"failed": {func(b *bench) {
			b.sandbox.run = answer(nil, &sandbox.Failed{Message: "cannot read /data/mirrors/11/x " + token})
		}, 1, "could not be run"},
		"panic": {func(b *bench) {
			b.sandbox.run = answer(nil,
				&sandbox.Failed{Message: "x", Panicked: true})
		}, 1, "defect of Lintel"},
		"vanished, but still the head": {func(b *bench) { b.mirror.err = &mirror.Vanished{} }, 3, "no longer on GitHub"},
		"no common history": {func(b *bench) { b.mirror.err = &mirror.NoMergeBase{Base: baseTip, Head: headA} },
			1, "no commit in common"},
		"too large": {func(b *bench) {
			b.mirror.err = &mirror.TooLarge{Repo: "octo-org/fleet",
				Limit: 4 << 30}
		}, 1, "larger than the limit"},
		"git says why": {func(b *bench) {
			b.mirror.err = &mirror.Failed{Command: "fetch", Reason: "early EOF", Err: plain}
		}, 3, "could not be fetched"},
		"reviews": {func(b *bench) {
			b.waits()
			b.refuse("Reviews", plain)
		}, 3, "reviews could not be read"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			c.set(b)
			for try := 1; try < c.at; try++ {
				b.task.Try = try
				if err := b.Do(t.Context(), b.task); err == nil {
					t.Fatalf("try %d is done, want another", try)
				}
				if run := b.last(t); run.Status == "completed" {
					t.Fatalf("try %d concluded with %q", try, run.Title)
				}
			}
			b.task.Try = c.at
			if err := b.Do(t.Context(), b.task); err != nil {
				t.Fatalf("try %d: %v", c.at, err)
			}
			run := b.last(t)
			if len(b.hub.Runs) != 1 || run.Conclusion != "failure" || !strings.Contains(run.Title, c.title) ||
				run.Summary == "" {
				t.Errorf("%d runs, the last %s %q: %s", len(b.hub.Runs), run.Conclusion, run.Title, run.Summary)
			}
			for _, hidden := range []string{token, "/data/"} {
				if strings.Contains(run.Title+run.Summary+b.log.String(), hidden) {
					t.Errorf("%q is in the check run or the log", hidden)
				}
			}
		})
	}
}

func answer(r *report.Report, err error) func(context.Context, report.Change) (*report.Report, error) {
	return func(context.Context, report.Change) (*report.Report, error) { return r, err }
}

// If GitHub asks to wait, the job is delivered again later on any try, and continues with the same run.
func TestRetryLater(t *testing.T) {
	wait := &forge.RetryLater{After: time.Minute, Reason: "rate limit"}
	for name, set := range map[string]func(b *bench, err error){
		"pull request": func(b *bench, err error) { b.refuse("PullRequest", err) },
		"create":       func(b *bench, err error) { b.refuse("Publish", err) },
		"fetch":        func(b *bench, err error) { b.mirror.err = err },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			set(b, errors.Join(errors.New("wrapped"), wait))
			b.task.Try = b.task.Tries
			var later *store.Later
			if err := b.Do(t.Context(), b.task); !errors.As(err, &later) || later.After != time.Minute {
				t.Fatalf("got %v, want to come back in a minute", err)
			}
			b.hub.Fail, b.mirror.err = nil, nil
			if err := b.Do(t.Context(), b.task); err != nil {
				t.Fatal(err)
			}
			if len(b.hub.Runs) != 1 || b.last(t).Conclusion != "success" {
				t.Errorf("runs %+v, want one success", b.hub.Runs)
			}
		})
	}
}

func TestExhaustedIsOnlyReported(t *testing.T) {
	b := newBench(t)
	b.task.Try = b.task.Tries + 1
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	if run := b.last(t); run.Conclusion != "failure" || len(b.sandbox.changes) != 0 {
		t.Errorf("run %+v after %d checks, want a failure without another check", run, len(b.sandbox.changes))
	}
}

func TestExhaustedWithoutCommit(t *testing.T) {
	b := newBench(t)
	b.task.Try = b.task.Tries + 1
	b.refuse("Publish", &forge.Gone{What: "commit"})
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Errorf("%v; a job that nothing can be reported to must end", err)
	}
}

func TestShutdownHandsBackWithoutConclusion(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	b.sandbox.run = func(ctx context.Context, _ report.Change) (*report.Report, error) {
		cancel()
		return nil, &sandbox.Crash{Reason: "was ended"} // the sandbox dies with the server
	}
	b.task.Try = b.task.Tries
	if err := b.Do(ctx, b.task); err == nil {
		t.Error("the job is done, want it handed back")
	}
	if run := b.last(t); run.Status != "in_progress" || b.ledger.note != headA {
		t.Errorf("run is %s, note %q; want it open and remembered", run.Status, b.ledger.note)
	}
}

func TestClosedAndGone(t *testing.T) {
	b := newBench(t)
	b.pr.State = "closed"
	if err := b.Do(t.Context(), b.task); err != nil || len(b.hub.Runs) != 0 {
		t.Errorf("closed: %v, %v", err, b.hub.Runs)
	}
	b.hub.Pulls = nil
	// Asked again after 1, 3 and 8 s, none of which counts as a try.
	for waited, pause := range map[time.Duration]time.Duration{0: 1, 900 * time.Millisecond: 1, 1200 * time.Millisecond: 3,
		4500 * time.Millisecond: 8, 11 * time.Second: 8, 13 * time.Second: 0, time.Hour: 0} {
		b.task.Message.At = clock.Add(-waited)
		err := b.Do(t.Context(), b.task)
		var later *store.Later
		if errors.As(err, &later) != (pause > 0) || later != nil && later.After != pause*time.Second ||
			pause == 0 && err != nil {
			t.Errorf("gone, %s after the event: %v, want another look in %d s", waited, err, pause)
		}
	}
}

func TestClosedWhileTheServerWasDown(t *testing.T) {
	b := newBench(t)
	b.hub.Runs = []forge.CheckRun{{ID: 1, HeadSHA: headA, Status: "in_progress", ExternalID: "pr-12/begun-1"}}
	b.ledger.note, b.pr.State = headA, "closed"
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	if run := b.last(t); run.Conclusion != "cancelled" || b.ledger.note != "" {
		t.Errorf("run %+v, note %q", run, b.ledger.note)
	}
}

// If the head changes while its check runs, the run is cancelled and no result is published.
func TestSupersededByNewHead(t *testing.T) {
	for name, vanished := range map[string]bool{"at the end": false, "head vanished": true} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			push := func() {
				b.pr.HeadSHA = headB
				b.ledger.superseded = true
			}
			b.sandbox.run = func(context.Context, report.Change) (*report.Report, error) {
				push()
				return &report.Report{Conclusion: report.Success}, nil
			}
			if vanished {
				b.mirror.err = &mirror.Vanished{}
				b.hub.Published = push
			}
			if err := b.Do(t.Context(), b.task); err != nil {
				t.Fatal(err)
			}
			if run := b.last(t); len(b.hub.Runs) != 1 || run.Conclusion != "cancelled" || b.ledger.note != "" {
				t.Errorf("runs %+v, note %q", b.hub.Runs, b.ledger.note)
			}
		})
	}
}

// A newer job for the same head does not make this result void, and keeps it.
func TestSupersededOnTheSameHead(t *testing.T) {
	b := newBench(t)
	b.ledger.superseded = true
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	b.ledger.superseded = false
	b.task.Sequence, b.task.Message.Event = 2, "pull_request_review.submitted"
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	if len(b.hub.Runs) != 1 || b.last(t).Conclusion != "success" || len(b.hub.History()) != 2 {
		t.Errorf("history %v, want one run and no change after its success", b.hub.History())
	}
}

// A run left open on an earlier head is completed by the next job of the pull request.
func TestEarlierHeadIsTidied(t *testing.T) {
	b := newBench(t)
	b.hub.Runs = []forge.CheckRun{
		{ID: 1, HeadSHA: headB, Status: "in_progress", ExternalID: "pr-12/begun-1"},
		{ID: 2, HeadSHA: headB, Status: "in_progress", ExternalID: "pr-1/begun-1"}, // another pull request on the same head
	}
	b.ledger.note = headB
	b.task.Sequence = 2
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	if b.hub.Runs[0].Conclusion != "cancelled" || b.hub.Runs[1].Status != "in_progress" ||
		b.last(t).Conclusion != "success" {
		t.Errorf("runs %+v", b.hub.Runs)
	}
}

// If the process dies after any Publish, the next delivery ends with one correct run.
func TestCrashAtEachStepEndsWithOneRun(t *testing.T) {
	for steps := 1; steps <= 3; steps++ {
		for _, fresh := range []bool{false, true} {
			b := newBench(t)
			if fresh {
				b.demand("d-9")
			}
			ctx, cancel := context.WithCancel(t.Context())
			left := steps
			b.hub.Published = func() {
				if left--; left == 0 {
					cancel()
				}
			}
			b.hub.Fail = func(call string, _ any) error {
				if call == "Publish" {
					return ctx.Err()
				}
				return nil
			}
			dead := *b.ledger
			_ = b.Do(ctx, b.task)
			if steps == 3 {
				*b.ledger = dead // the note was not cleared either
				b.ledger.note = headA
			}
			b.hub.Published, b.hub.Fail = nil, nil
			b.task.Try = 2
			if err := b.Do(t.Context(), b.task); err != nil {
				t.Fatal(err)
			}
			if len(b.hub.Runs) != 1 || b.last(t).Conclusion != "success" || b.ledger.note != "" {
				t.Errorf("died after %d (fresh %v): runs %+v, note %q", steps, fresh, b.hub.Runs, b.ledger.note)
			}
		}
	}
}

func TestDemandGivesAnotherRun(t *testing.T) {
	b := newBench(t)
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	b.demand("d-2")
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	if len(b.hub.Runs) != 2 || b.last(t).Conclusion != "success" || b.hub.Runs[0].ExternalID == b.hub.Runs[1].ExternalID {
		t.Errorf("runs %+v, want two", b.hub.Runs)
	}
	// A later event without effect finds the same result, although another request led to it.
	b.task.Message = store.Message{Event: "sweep", Owner: "octo-org", Name: "fleet"}
	if err := b.Do(t.Context(), b.task); err != nil || len(b.hub.Runs) != 2 {
		t.Errorf("%v, %d runs, want no third", err, len(b.hub.Runs))
	}
}

func TestChangedInputsGiveAnotherRun(t *testing.T) {
	for name, change := range map[string]func(b *bench){
		"engine that finds something else": func(b *bench) {
			b.sandbox.run = answer(&report.Report{Conclusion: report.Success, Title: "No violations",
				Findings: []report.Finding{{Policy: "p", Rule: "r"}}}, nil)
		},
		"engine that cannot read a file": func(b *bench) {
			b.sandbox.run = answer(&report.Report{Conclusion: report.Success, Title: "No violations",
				Errors: []report.Problem{{Path: "a.yaml"}}}, nil)
		},
		"author": func(b *bench) { b.asksUser() },
		"conclusion": func(b *bench) {
			b.sandbox.run = answer(&report.Report{Conclusion: report.Failure}, nil)
		},
		"reviews": func(b *bench) {
			b.waits()
			b.sandbox.inspection.Approvers.Count = 2
			b.votes("bob", approves)
		},
		"exception state": func(b *bench) {
			b.sandbox.run = answer(&report.Report{Conclusion: report.Success,
				Exceptions: []report.Exception{{State: "expired"}}}, nil)
		},
	} {
		b := newBench(t)
		if err := b.Do(t.Context(), b.task); err != nil {
			t.Fatal(err)
		}
		change(b)
		b.task.Sequence = 2
		if err := b.Do(t.Context(), b.task); err != nil || len(b.hub.Runs) != 2 {
			t.Errorf("%s: %v, %d runs, want two", name, err, len(b.hub.Runs))
		}
	}
}

// Where two versions work side by side, neither replaces the other's result by the same.
func TestOtherVersionWithSameFindingsGivesNoRun(t *testing.T) {
	b := newBench(t)
	findings := []report.Finding{{Policy: "p", Rule: "r", Message: "as it was said"}, {Policy: "q", Rule: "r"}}
	b.sandbox.run = func(context.Context, report.Change) (*report.Report, error) {
		return &report.Report{Conclusion: report.Success, Title: "2 warnings", Findings: findings}, nil
	}
	for n := range 3 {
		b.Version, b.task.Sequence = []string{"1", "2"}[n%2], uint64(n)+1
		if err := b.Do(t.Context(), b.task); err != nil || len(b.hub.Runs) != 1 {
			t.Errorf("%v, %d runs, want one", err, len(b.hub.Runs))
		}
		findings = []report.Finding{findings[1], findings[0]}
		findings[n%2].Message = "as it is said now"
	}
}

// GitHub is asked before the check, so that one check suffices; the answers are part of the change.
func TestApprovedExceptions(t *testing.T) {
	b := newBench(t)
	b.waits()
	b.votes("alice", approves)
	b.sandbox.run = reviewed
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	if b.last(t).Conclusion != "success" || len(b.sandbox.asked) != 1 || len(b.sandbox.changes) != 1 {
		t.Errorf("%s after %d inspections and %d checks", b.last(t).Conclusion, len(b.sandbox.asked), len(b.sandbox.changes))
	}
	b.hub.PullReviews = nil // the review was dismissed
	b.task.Sequence = 2
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	if run := b.last(t); run.ID != 2 || run.Conclusion != "action_required" || len(b.sandbox.changes) != 2 {
		t.Errorf("after the dismissal: run %d %s", run.ID, run.Conclusion)
	}
}

// The reviews of a change without pending exceptions are not requested.
func TestNothingToApprove(t *testing.T) {
	b := newBench(t)
	b.sandbox.inspection.Exceptions = []report.Exception{{Path: "e.yaml", Blob: "1", State: report.Expired}}
	b.refuse("Reviews", errors.New("asked in vain"))
	if err := b.Do(t.Context(), b.task); err != nil || b.last(t).Conclusion != "success" {
		t.Errorf("%v, %s", err, b.last(t).Conclusion)
	}
}

func TestCommitJobFansOut(t *testing.T) {
	b := newBench(t)
	b.hub.Pulls[11] = append(b.hub.Pulls[11], &forge.PullRequest{Number: 3, HeadSHA: headA})
	b.task.Key.Number, b.task.Key.Commit = 0, headA
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	want := []store.Key{{Installation: 7, Repository: 11, Target: forge.Target{Number: 3}}, {Installation: 7, Repository: 11, Target: forge.Target{Number: 12}}}
	slices.SortFunc(b.jobs.keys, func(x, y store.Key) int { return x.Number - y.Number })
	if !slices.Equal(b.jobs.keys, want) {
		t.Errorf("jobs %v, want %v", b.jobs.keys, want)
	}
}

func TestScrub(t *testing.T) {
	for in, want := range map[string]string{
		"fatal: https://x-access-token:" + token + "@github.com/o/r.git": "fatal: https://github.com/o/r.git",
		"token " + token + " expired":                                    "[credential] expired",
		"Authorization: Bearer abcdefghijklmnopqrst":                     "Authorization: [credential]",
		"open /var/lib/lintel/x: permission denied":                      "open [path]: permission denied",
		"overlays/prod/kustomization.yaml: no such base":                 "overlays/prod/kustomization.yaml: no such base",
		"field /spec is missing":                                         "field /spec is missing",
	} {
		if got := scrub(in); got != want {
			t.Errorf("scrub(%q) = %q, want %q", in, got, want)
		}
	}
}
