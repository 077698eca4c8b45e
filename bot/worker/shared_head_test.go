package worker

import (
	"context"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
)

// pairBench is a bench with a second pull request, 14, of the same head; results are what each comes to by itself.
type pairBench struct {
	*bench
	results map[int]report.Conclusion
}

func newPair(t *testing.T) *pairBench {
	b := &pairBench{bench: newBench(t), results: map[int]report.Conclusion{}}
	b.hub.Pulls[11] = append(b.hub.Pulls[11], &forge.PullRequest{Number: 14, State: "open", Author: "mallory",
		BaseRef: "lax", BaseSHA: baseTip, HeadSHA: headA})
	return b
}

// check does the job of a pull request, which comes to a conclusion by itself.
func (b *pairBench) check(t *testing.T, number int, by report.Conclusion) {
	t.Helper()
	b.task.Key.Number, b.results[number] = number, by
	b.task.Sequence++
	b.sandbox.run = func(context.Context, report.Change) (*report.Report, error) {
		return &report.Report{Conclusion: by, Title: "By itself: " + string(by)}, nil
	}
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
}

// shows requires what GitHub lets people merge by: the newest run on the head.
func (b *pairBench) shows(t *testing.T, want report.Conclusion, words ...string) {
	t.Helper()
	run := b.last(t)
	if run.Status != "completed" || run.Conclusion != string(want) {
		t.Errorf("the newest run is %s %s, want %s", run.Status, run.Conclusion, want)
	}
	for _, word := range words {
		if !strings.Contains(run.Title+"\n"+run.Summary, word) {
			t.Errorf("the run does not say %q:\n%s\n%s", word, run.Title, run.Summary)
		}
	}
}

func TestLaxerBaseDoesNotTurnAHeadGreen(t *testing.T) {
	b := newPair(t)
	b.hub.Pulls[11][1].State = "closed"
	b.check(t, 12, report.Failure)
	b.hub.Pulls[11][1].State = "open"
	b.check(t, 14, report.Success)
	b.shows(t, report.Failure, "#12 with the same head commit fails", "By itself, this pull request would have the result **By itself: success**")

	b.demand("d-2") // a fresh run of the lax one
	b.check(t, 14, report.Success)
	b.shows(t, report.Failure)

	b.task.Message.Fresh = false
	b.check(t, 12, report.Success) // its author mended the rules
	b.shows(t, report.Success)
	b.check(t, 12, report.ActionRequired)
	b.shows(t, report.ActionRequired)
	b.check(t, 14, report.Neutral)
	b.shows(t, report.ActionRequired, "#12 with the same head commit waits for approval")

	b.hub.Pulls[11][0].State = "closed"
	b.check(t, 14, report.Neutral) // what the webhook of the closed one asks for
	b.shows(t, report.Neutral)
}

func TestHeadWaitsForWhoIsNotChecked(t *testing.T) {
	b := newPair(t)
	b.check(t, 14, report.Success)
	b.shows(t, report.ActionRequired, "#12 with the same head commit is not checked yet")
	want := store.Key{Installation: 7, Repository: 11, Target: forge.Target{Number: 12}}
	if len(b.jobs.keys) != 1 || b.jobs.keys[0] != want || !b.jobs.messages[0].Missing {
		t.Errorf("jobs %v %+v, want one for what is missing", b.jobs.keys, b.jobs.messages)
	}
	b.check(t, 12, report.Success)
	b.shows(t, report.Success)
	runs := len(b.hub.Runs)
	b.check(t, 14, report.Success)
	b.check(t, 12, report.Success)
	if len(b.hub.Runs) != runs {
		t.Errorf("%d runs are %d after nothing changed", runs, len(b.hub.Runs))
	}
}

func TestAbandonedNeighbourBlocks(t *testing.T) {
	b := newPair(t)
	b.hub.Runs = []forge.CheckRun{{ID: 1, HeadSHA: headA, Status: "completed", Conclusion: "failure",
		ExternalID: forge.RunID{Target: forge.Target{Number: 12}, State: forge.Abandoned, Times: 1, Job: 5}.String()}}
	b.check(t, 14, report.Success)
	b.shows(t, report.Failure, "#12 with the same head commit fails")
}

func TestMergeGroupHasTheHeadOfAPullRequest(t *testing.T) {
	b := newPair(t)
	b.hub.Pulls[11] = b.hub.Pulls[11][1:]
	group := forge.RunID{Target: forge.Target{Group: headA}, Digest: "00"}
	b.hub.Runs = []forge.CheckRun{{ID: 1, HeadSHA: headA, Status: "completed", Conclusion: "failure",
		ExternalID: group.String()}}
	b.check(t, 14, report.Success)
	b.shows(t, report.Failure, "the merge group with the same head commit fails")
}

// A result goes to the newest run or to a new one: the report of a branch has a name of its own.
func TestResultGoesToTheNewestRun(t *testing.T) {
	b := newPair(t)
	b.hub.Pulls[11] = b.hub.Pulls[11][:1]
	begun := forge.RunID{Target: forge.Target{Number: 12}, State: forge.HasBegun, Job: 1}
	b.hub.Runs = []forge.CheckRun{
		{ID: 1, HeadSHA: headA, Status: "in_progress", ExternalID: begun.String()},
		{ID: 2, HeadSHA: headA, Status: "completed", Conclusion: "success",
			ExternalID: forge.RunID{Target: forge.Target{Number: 14}, Digest: "00"}.String()},
		{ID: 3, HeadSHA: headA, Part: "branch", Status: "completed", Conclusion: "success",
			ExternalID: forge.RunID{Target: forge.Target{Branch: "main"}, Digest: "00"}.String()},
	}
	b.check(t, 12, report.Failure)
	if run := b.last(t); run.ID != 4 || run.Conclusion != "failure" {
		t.Errorf("the newest run is %d %s, want a new one that fails", run.ID, run.Conclusion)
	}
}
