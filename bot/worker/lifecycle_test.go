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
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
)

// GitHub's answer is older than its event: the job waits for a newer answer for a limited time.
func TestAnswerFromThePast(t *testing.T) {
	b := newBench(t)
	b.pr.Updated = clock.Add(-time.Minute)
	b.task.Message.Updated, b.task.Message.At = clock, clock
	var later *store.Later
	if err := b.Do(t.Context(), b.task); !errors.As(err, &later) || later.Pause || len(b.hub.Runs) != 0 {
		t.Fatalf("%v with %d runs, want to come back soon", err, len(b.hub.Runs))
	}
	b.task.Message.At = clock.Add(-lagLimit)
	if err := b.Do(t.Context(), b.task); err != nil || b.last(t).Conclusion != "success" {
		t.Errorf("%v; a job that waited long enough works with what there is", err)
	}
}

// A head that could not be checked for reasons outside of the change is checked again, in the same run.
func TestAbandonedHeadIsCheckedAgain(t *testing.T) {
	b := newBench(t)
	b.mirror.err = errors.New("no answer")
	b.task.Try = b.task.Tries
	for n := 1; n <= 5; n++ {
		if err := b.Do(t.Context(), b.task); err != nil {
			t.Fatal(err)
		}
		run := b.last(t)
		id, err := forge.ParseRunID(run.ExternalID)
		if len(b.hub.Runs) != 1 || run.Conclusion != "failure" || err != nil || id.State != forge.Abandoned || id.Times != n {
			t.Fatalf("after %d times: %d runs, %s %s", n, len(b.hub.Runs), run.Conclusion, run.ExternalID)
		}
		// The package sweep has it done again for as long as this is so.
		if _, again := id.Retry(); again != (n < 5) || strings.Contains(run.Summary, "tries again automatically") != again {
			t.Errorf("after %d times: again %v, %q", n, again, run.Summary)
		}
		b.task.Message.Event, b.task.Message.Missing, b.task.Sequence = "sweep", true, b.task.Sequence+1
	}
	b.mirror.err = nil
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	if run := b.last(t); len(b.hub.Runs) != 1 || run.Conclusion != "success" || b.ledger.note != "" {
		t.Errorf("%d runs, the last %s; want the same one to succeed", len(b.hub.Runs), run.Conclusion)
	}
}

// A job of the sweep that finds a result does nothing.
func TestMissingOnly(t *testing.T) {
	b := newBench(t)
	b.task.Message.Missing = true
	for range 2 {
		if err := b.Do(t.Context(), b.task); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.hub.Runs) != 1 || len(b.sandbox.changes) != 1 {
		t.Errorf("%d runs after %d checks, want one of each", len(b.hub.Runs), len(b.sandbox.changes))
	}
}

// A head that was replaced and restored is checked again: its cancelled run is no result.
func TestHeadThatCameBack(t *testing.T) {
	b := newBench(t)
	b.hub.Runs = []forge.CheckRun{{ID: 1, HeadSHA: headA, Status: "completed", Conclusion: "cancelled",
		ExternalID: "pr-12/begun-1"}}
	b.task.Message.Missing, b.task.Sequence = true, 2
	if err := b.Do(t.Context(), b.task); err != nil || b.last(t).Conclusion != "success" || len(b.hub.Runs) != 2 {
		t.Errorf("%v, runs %+v", err, b.hub.Runs)
	}
}

// A request for the run of an old head, which GitHub opens again: that run is closed, and the present head gets its
// run.
func TestRunOfAnOldHeadIsAskedFor(t *testing.T) {
	b := newBench(t)
	b.hub.Runs = []forge.CheckRun{{ID: 1, HeadSHA: headB, Status: "queued", ExternalID: "pr-12/x"}}
	b.demand("d-5")
	b.task.Message.Head = headB
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	if b.hub.Runs[0].Conclusion != "cancelled" || b.last(t).Conclusion != "success" || b.last(t).HeadSHA != headA {
		t.Errorf("runs %+v", b.hub.Runs)
	}
}

// If the settings map teams and the rules look at the user, the author's membership is part of the check.
func TestTeamsOfTheAuthor(t *testing.T) {
	for name, member := range map[string][]string{"member of one": {"org/ops"}, "member of none": nil} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.hub.Teams = map[string][]string{"org/dev": {"hubot"}, "org/ops": {"hubot"}}
			for _, team := range member {
				b.hub.Teams[team] = []string{"octocat"}
			}
			b.sandbox.inspection.Teams = []string{"org/dev", "org/ops"}
			b.asksUser()
			if err := b.Do(t.Context(), b.task); err != nil {
				t.Fatal(err)
			}
			last := b.sandbox.changes[len(b.sandbox.changes)-1]
			if len(b.sandbox.changes) != 2 || !slices.Equal(last.User.Teams, member) || last.User.Login != "octocat" {
				t.Errorf("%d checks, the last as %+v", len(b.sandbox.changes), last.User)
			}
		})
	}
}

// ofBranch makes the task one for a branch whose tip is headB.
func (b *bench) ofBranch(name string) {
	b.hub.Tips, b.hub.Pulls[11] = map[string]string{name: headB}, nil
	b.task.Key.Number, b.task.Key.Branch = 0, name
}

func TestDefaultBranchHasItsReport(t *testing.T) {
	b := newBench(t)
	b.ofBranch("main")
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	run, change := b.last(t), b.sandbox.changes[0]
	if run.HeadSHA != headB || run.Part != "branch" || run.Conclusion != "success" || isAbout(run, 12) {
		t.Errorf("run %+v", run)
	}
	if !change.All || change.Rules != headB || change.Head != headB || change.Base != "" || change.User.Login != "" {
		t.Errorf("change %+v", change)
	}
	if b.mirror.wants[0] != (mirror.Want{BaseRef: "main", BaseSHA: headB, HeadSHA: headB}) {
		t.Errorf("fetched %+v", b.mirror.wants[0])
	}
	if b.ledger.mark != headB || len(b.sandbox.asked) != 0 {
		t.Errorf("mark %q, %d inspections of what has no author and no reviews", b.ledger.mark, len(b.sandbox.asked))
	}
	// The button on that run.
	id, foreign := forge.ParseRunID(run.ExternalID)
	if again, err := b.task.Key.Of(id.Target); foreign != nil || err != nil || again != b.task.Key {
		t.Errorf("the run is about %+v", id.Target)
	}
	// Pushed over in the meantime: the old run is canceled.
	b.sandbox.run = func(context.Context, report.Change) (*report.Report, error) {
		b.hub.Tips["main"], b.ledger.superseded = headA, true
		return &report.Report{Conclusion: report.Success}, nil
	}
	b.demand("d-2")
	if err := b.Do(t.Context(), b.task); err != nil || b.last(t).Conclusion != "cancelled" {
		t.Errorf("%v, run %+v", err, b.last(t))
	}
}

// A push to a base branch checks those open pull requests again that its rules may affect.
func TestPushToBase(t *testing.T) {
	open := []*forge.PullRequest{{Number: 1, BaseRef: "release"}, {Number: 2, BaseRef: "main"},
		{Number: 3, BaseRef: "release"}}
	type version = report.Inspection
	for name, tc := range map[string]struct {
		mark     string
		changed  []string
		old, now *version // of the rules
		want     []int
	}{
		"never looked at": {"", nil, nil, nil, []int{1, 3}},
		"seen":            {headB, []string{".lintel.yaml"}, nil, nil, nil},
		"code owners":     {headA, []string{"docs/CODEOWNERS"}, nil, nil, []int{1, 3}},
		"other rules":     {headA, []string{"overlay/patch.yaml"}, &version{Rules: "1"}, &version{Rules: "2"}, []int{1, 3}},
		"the same rules":  {headA, []string{"apps/a.yaml"}, &version{Rules: "1"}, &version{Rules: "1"}, nil},
		"what rules look up": {headA, []string{"allowed.env"}, &version{Rules: "1", LooksUp: true},
			&version{Rules: "1", LooksUp: true}, []int{1, 3}},
		"rules that cannot be read": {headA, []string{"a.yaml"}, nil, &version{Rules: "1"}, []int{1, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.ofBranch("release")
			b.hub.Pulls[11], b.ledger.mark, b.mirror.changed = open, tc.mark, tc.changed
			b.sandbox.versions = map[string]*version{headA: tc.old, headB: tc.now}
			if err := b.Do(t.Context(), b.task); err != nil {
				t.Fatal(err)
			}
			var got []int
			for _, key := range b.jobs.keys {
				got = append(got, key.Number)
			}
			if !slices.Equal(got, tc.want) || b.ledger.mark != headB || len(b.hub.Runs) != 0 {
				t.Errorf("jobs for %v, mark %q, %d runs; want jobs for %v and no run on a branch that is not the default", got,
					b.ledger.mark, len(b.hub.Runs), tc.want)
			}
		})
	}
}

// A push to a branch without pull requests costs one request, and its rules are not compared.
func TestPushToNobodysBase(t *testing.T) {
	users := func(ref string) *dependentsDouble {
		return &dependentsDouble{list: []store.Dependent{{ID: 21, Owner: "octo-org", Name: "a", RuleSources: []report.RuleSource{{Ref: ref}}}}}
	}
	for name, tc := range map[string]struct {
		told  string // the default branch, as the event has it
		pulls []*forge.PullRequest
		users *dependentsDouble
		idle  bool
	}{
		"nobody's":              {told: "main", pulls: []*forge.PullRequest{{Number: 1, BaseRef: "main", HeadRef: "feature"}}, idle: true},
		"somebody's":            {told: "main", pulls: []*forge.PullRequest{{Number: 1, BaseRef: "feature"}}},
		"with rules for others": {told: "main", users: users("feature")},
		"others take another":   {told: "main", users: users(""), idle: true},
		"the default one":       {told: "feature"},
		"an event without it":   {},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.ofBranch("feature")
			b.hub.Pulls[11], b.task.Message.Default, b.ledger.mark = tc.pulls, tc.told, headA
			if tc.users != nil {
				b.jobs.dependentsDouble = *tc.users
			}
			if err := b.Do(t.Context(), b.task); err != nil {
				t.Fatal(err)
			}
			mark, others := headB, b.hub.Calls("Repository")+b.hub.Calls("Branch")
			if tc.idle {
				mark = ""
			}
			if b.ledger.mark != mark || b.hub.Calls("OpenPullRequests") != 1 || others > 0 == tc.idle {
				t.Errorf("mark %q, %d lists and %d other requests", b.ledger.mark, b.hub.Calls("OpenPullRequests"), others)
			}
		})
	}
}

func TestMergeGroup(t *testing.T) {
	b := newBench(t)
	b.task.Key.Number, b.task.Key.Group = 0, headB
	b.task.Message.Group = &store.Group{Base: baseTip, BaseRef: "main", Number: 4}
	b.hub.Pulls[11] = []*forge.PullRequest{{Number: 4, HeadSHA: "squashed"}, {Number: 5, HeadSHA: headA},
		{Number: 6, HeadSHA: "elsewhere"}}
	b.mirror.commits = []string{headB, headA}
	b.waits()
	b.sandbox.run = reviewed
	b.votes("bob", approves)
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	if run := b.last(t); run.HeadSHA != headB || run.Part != "" || run.Conclusion != "success" {
		t.Errorf("run %+v", run)
	}
	if !slices.Equal(b.jobs.asked, []int{4, 5}) {
		t.Errorf("the approvals of %v count, want those of the group", b.jobs.asked)
	}
	if b.mirror.wants[0] != (mirror.Want{BaseSHA: baseTip, HeadSHA: headB}) || b.sandbox.changes[0].User.Login != "" {
		t.Errorf("fetched %+v for %+v", b.mirror.wants[0], b.sandbox.changes[0].User)
	}
	// The button: GitHub does not tell the base again.
	b.demand("d-7")
	b.task.Message.Group = nil
	if err := b.Do(t.Context(), b.task); err != nil || len(b.hub.Runs) != 2 || b.mirror.wants[2].BaseSHA != baseTip {
		t.Errorf("asked for again: %v, %d runs", err, len(b.hub.Runs))
	}
	b.ledger.mark = ""
	if err := b.Do(t.Context(), b.task); err != nil || len(b.hub.Runs) != 2 {
		t.Errorf("forgotten: %v, %d runs", err, len(b.hub.Runs))
	}
}

// What has a result is checked again, too: it may be from before the App was away.
func TestNewInstallation(t *testing.T) {
	b := newBench(t)
	b.hub.Repos = []forge.Repo{{Installation: 7, ID: 21, Owner: "o", Name: "a"},
		{Installation: 7, ID: 22, Owner: "o", Name: "b"}}
	b.task.Key = store.Key{Installation: 7, All: true}
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	want := []store.Key{{Installation: 7, Repository: 21, All: true}, {Installation: 7, Repository: 22, All: true}}
	if !slices.Equal(b.jobs.keys, want) || b.jobs.messages[1].Name != "b" || b.jobs.messages[1].Missing {
		t.Fatalf("jobs %v %+v", b.jobs.keys, b.jobs.messages)
	}
	b.hub.Pulls[21] = []*forge.PullRequest{{Number: 1}, {Number: 9}}
	b.task.Key, b.jobs.keys = want[0], nil
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	want = []store.Key{{Installation: 7, Repository: 21, Target: forge.Target{Number: 1}}, {Installation: 7, Repository: 21, Target: forge.Target{Number: 9}},
		{Installation: 7, Repository: 21, Target: forge.Target{Branch: "main"}}}
	if !slices.Equal(b.jobs.keys, want) {
		t.Errorf("jobs %v, want %v", b.jobs.keys, want)
	}
	b.hub.Archived, b.jobs.keys = true, nil
	if err := b.Do(t.Context(), b.task); err != nil || len(b.jobs.keys) != 0 {
		t.Errorf("archived: %v, jobs %v", err, b.jobs.keys)
	}
}

// A request for all runs of a commit checks every subject of these runs.
func TestSuiteOfABranchIsAskedFor(t *testing.T) {
	b := newBench(t)
	b.ofBranch("main")
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	branch := b.task.Key
	b.task.Key, b.task.Message.Fresh = store.Key{Installation: 7, Repository: 11, Commit: headB}, true
	if err := b.Do(t.Context(), b.task); err != nil || !slices.Equal(b.jobs.keys, []store.Key{branch}) {
		t.Errorf("%v, jobs %v, want the branch's", err, b.jobs.keys)
	}
}

// A review counts in the open merge groups of its pull request, which are checked again. Other events ask for none.
func TestReviewChecksMergeGroups(t *testing.T) {
	for event, want := range map[string]int{"pull_request_review.submitted": 1, "pull_request.synchronize": 0} {
		b := newBench(t)
		b.hub.Groups, b.task.Message.Event = []string{headB}, event
		if err := b.Do(t.Context(), b.task); err != nil {
			t.Fatal(err)
		}
		if len(b.jobs.keys) != want || want > 0 && b.jobs.keys[0].Group != headB || b.hub.Calls("MergeGroups") != want {
			t.Errorf("%s: jobs %v", event, b.jobs.keys)
		}
	}
}
