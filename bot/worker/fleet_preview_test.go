package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/remotes"
	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/bot/sandbox"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// dependentsDouble is a fake of the stored repositories that take rules, and of their previews.
type dependentsDouble struct {
	list     []store.Dependent
	outlooks map[int64]store.Preview
}

func (u *dependentsDouble) AddDependent(context.Context, int64, int64, store.Dependent) error {
	return nil
}

func (u *dependentsDouble) Dependents(context.Context, int64, int64) ([]store.Dependent, error) {
	return u.list, nil
}

func (u *dependentsDouble) PutPreview(_ context.Context, _ store.Key, user int64, o store.Preview) error {
	u.outlooks[user] = o
	return nil
}

func (u *dependentsDouble) Previews(_ context.Context, _ store.Key, of string) (map[int64]store.Preview, error) {
	all := maps.Clone(u.outlooks)
	maps.DeleteFunc(all, func(_ int64, o store.Preview) bool { return o.Of != of })
	return all, nil
}

// recorderDouble keeps the results of repositories.
type recorderDouble map[int64]*results.Stored

func (k recorderDouble) Record(_ context.Context, r *results.Stored) (string, error) {
	k[r.Repository.ID] = r
	return fmt.Sprint("https://pages/", r.Repository.ID), nil
}

func (recorderDouble) Overview(r forge.Repository) string { return "https://pages/" + r.String() }

func (recorderDouble) Published(context.Context, *results.Stored, int64) error { return nil }

// previewBench is a bench whose task is to look ahead for a pull request with rules that three repositories take.
type previewBench struct {
	*bench
	dependents *dependentsDouble
	pages      recorderDouble
	now        time.Time
	published  report.FleetPreview // what the check run said last
}

func newPreviewBench(t *testing.T) *previewBench {
	t.Helper()
	b := &previewBench{bench: newBench(t), pages: recorderDouble{}, now: clock}
	b.dependents = &b.jobs.dependentsDouble
	for id := range int64(3) {
		b.dependents.list = append(b.dependents.list, store.Dependent{ID: 21 + id, Owner: "octo-org", Name: string(rune('a' + id)),
			RuleSources: []report.RuleSource{{Name: "https://github.com/octo-org/fleet"}}})
	}
	b.mirror.changed = []string{"policies/p.yaml"}
	b.hub.Tips = map[string]string{"main": headB}
	b.hub.Private = map[int64]bool{11: true, 21: true, 22: true}
	b.task.Key = store.Key{Installation: 7, Repository: 11, Target: forge.Target{Preview: 12}}
	b.Results = b.pages
	b.Now = func() time.Time { return b.now }
	b.Remotes = func(context.Context, remotes.Change) (*remotes.Resolver, error) { return nil, nil }
	b.PreviewSummary = func(o *report.FleetPreview) string { b.published = *o; return "summary" }
	b.sandbox.run = func(context.Context, report.Change) (*report.Report, error) { return b.failing(), nil }
	return b
}

// failing is a report in which a policy newly fails at one place, as does a policy of the repository itself.
func (b *previewBench) failing() *report.Report {
	r := &report.Report{Concerned: true, Preview: &report.Preview{
		Policies: []report.PolicyPreview{
			{Policy: "p", Path: "https://github.com/octo-org/fleet@" + headA + "//policies/p.yaml", Line: 3, Edit: report.Changed,
				PreviewCounts: report.PreviewCounts{Fails: 1}, Applies: 2},
			{Policy: "own", Path: "hidden/own.yaml", Line: 1, PreviewCounts: report.PreviewCounts{Fails: 1}, Applies: 1}},
		Findings: []report.PreviewFinding{{Effect: report.EffectFails, Policy: "p", Message: "hush", Roots: []string{"x"}}},
		Stats:    report.PreviewStats{Resources: 2}}}
	r.ConcludeProposed()
	return r
}

// states are those of the repositories as the check run shows them.
func (b *previewBench) states() (list []string) {
	for _, u := range b.published.Dependents {
		state := string(u.State)
		if u.State == report.DependentWaits {
			state = "waits"
		}
		list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s %s", strings.TrimPrefix(u.Repository, "octo-org/"), state, u.Reason)))
	}
	return list
}

// The check run in a private repository shows only numbers for private repositories that take its rules, and only its
// own policies. Details and names are on pages for their readers.
func TestFleetPreviewHidesPrivateRepositories(t *testing.T) {
	b := newPreviewBench(t)
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"seen", "seen", "c seen"}, b.states()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, u := range b.published.Dependents {
		open := u.Repository == "octo-org/c"
		if got := len(u.Findings) == 1; got != open {
			t.Errorf("%s: places are shown: %t", u.Repository, got)
		}
		if got := len(u.Policies) == 2; got != open {
			t.Errorf("%s: its own policies are shown: %t", u.Repository, got)
		}
		if open != (u.Page != "") || open != (u.URL != "") || open != (u.Head != "") || u.Fails != 2 {
			t.Errorf("%s: page %q, %q at %q, %d fail", u.Repository, u.Page, u.URL, u.Head, u.Fails)
		}
	}
	if b.published.Page != "https://pages/octo-org/fleet" {
		t.Errorf("readers find them on %q", b.published.Page)
	}
	for id, r := range b.pages {
		if r.Of.String() != "octo-org/fleet#12" || len(r.Report.Preview.Findings) != 1 || r.Head != headB || r.Pull != nil {
			t.Errorf("page of %d: %+v", id, r.Meta)
		}
	}
	run := b.last(t)
	id, err := forge.ParseRunID(run.ExternalID)
	if err != nil || id.Target != (forge.Target{Preview: 12}) || run.Conclusion != "neutral" || run.Part != previewPart ||
		run.Title != "Once merged: 6 new failures in 3 repositories of 3" {
		t.Errorf("%+v (%v)", run, err)
	}
	want := []report.Annotation{{Path: "policies/p.yaml", StartLine: 3, EndLine: 3, Level: string(view.Notice), Title: "Other repositories",
		Message: "Once this is merged: policy p: 3 new failures in 3 other repositories"}}
	if diff := cmp.Diff(want, run.Annotations); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, c := range b.sandbox.changes {
		if p := c.Proposed; p == nil || !c.All || c.Head != headB || p.Head != headA || p.Base != "base" || c.Differences ||
			!cmp.Equal(p.Refs, []string{"main", "refs/heads/main", ""}) || !cmp.Equal(p.Addresses, []string{"https://github.com/octo-org/fleet"}) {
			t.Errorf("the sandbox was asked about %+v %+v", c, p)
		}
	}
	// Another job for the same head finds the preview complete; a requested one checks again.
	published := len(b.hub.History())
	if err := b.Do(t.Context(), b.task); err != nil || len(b.hub.History()) != published || len(b.sandbox.changes) != 3 {
		t.Errorf("again: %v, %d looks, %v", err, len(b.sandbox.changes), b.hub.History())
	}
	b.demand("d-2")
	if err := b.Do(t.Context(), b.task); err != nil || len(b.sandbox.changes) != 6 || len(b.hub.Runs) != 2 {
		t.Errorf("asked for: %v, %d looks, %d runs", err, len(b.sandbox.changes), len(b.hub.Runs))
	}
}

// A public repository counts private ones without checking them.
func TestFleetPreviewOfPublicRules(t *testing.T) {
	b := newPreviewBench(t)
	b.hub.Private[11] = false
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	if len(b.published.Dependents) != 1 || b.published.Dependents[0].Repository != "octo-org/c" || b.published.Hidden != 2 || len(b.sandbox.changes) != 1 {
		t.Errorf("%d looks: %+v", len(b.sandbox.changes), b.published)
	}
	b.sandbox.run = func(context.Context, report.Change) (*report.Report, error) {
		r := &report.Report{Concerned: true}
		r.ConcludeProposed()
		return r, nil
	}
	b.demand("d-2")
	if err := b.Do(t.Context(), b.task); err != nil || b.last(t).Conclusion != "neutral" {
		t.Errorf("where nothing changes in what can be named: %v %+v", err, b.last(t))
	}
}

// Each turn ends after a while and updates the check run at most every half minute; the next turn continues.
func TestFleetPreviewContinuesInTurns(t *testing.T) {
	b := newPreviewBench(t)
	b.sandbox.run = func(context.Context, report.Change) (*report.Report, error) {
		b.now = b.now.Add(previewTurn)
		return b.failing(), nil
	}
	for turn, want := range [][]string{{"seen", "waits", "waits"}, {"seen", "waits", "waits"}, {"seen", "seen", "c seen"}} {
		err := b.Do(t.Context(), b.task)
		var later *store.Later
		if last := turn == 2; last != (err == nil) || !last && (!errors.As(err, &later) || later.After != previewPause || later.Pause) {
			t.Fatalf("turn %d: %v", turn, err)
		}
		if diff := cmp.Diff(want, b.states()); diff != "" {
			t.Errorf("turn %d (-want +got)\n%s", turn, diff)
		}
	}
	if want := []string{"1 in_progress", "1 neutral"}; !cmp.Equal(b.hub.History(), want) || len(b.sandbox.changes) != 3 {
		t.Errorf("%v, %d looks", b.hub.History(), len(b.sandbox.changes))
	}
}

// fewPace admits a few jobs, and counts those that are not done.
type fewPace struct{ room, open int }

func (p *fewPace) Admit(ctx context.Context, _ int64, background bool) (context.Context, func(), error) {
	if p.room == 0 || !background {
		return nil, nil, &forge.RetryLater{After: 40 * time.Second, Reason: "full"}
	}
	p.room--
	p.open++
	return ctx, func() { p.open-- }, nil
}

// Each repository is checked when there is room for background work, and other checks do not have to wait.
func TestFleetPreviewIsPaced(t *testing.T) {
	b := newPreviewBench(t)
	pace := &fewPace{room: 3} // for the turn, and two
	b.Pace = pace
	var later *store.Later
	if err := b.Do(t.Context(), b.task); !errors.As(err, &later) || later.Pause || later.After != 40*time.Second {
		t.Errorf("%v, %+v", err, later)
	}
	if diff := cmp.Diff([]string{"seen", "seen", "waits"}, b.states()); diff != "" || pace.open != 0 {
		t.Errorf("%d are under way (-want +got)\n%s", pace.open, diff)
	}
	pace.room = 2
	if err := b.Do(t.Context(), b.task); err != nil || len(b.sandbox.changes) != 3 || pace.open != 0 {
		t.Errorf("%v, %d looks, %d are under way", err, len(b.sandbox.changes), pace.open)
	}
}

// If no repository is affected any more, no check run stays open.
func TestFleetPreviewEndsEarly(t *testing.T) {
	b := newPreviewBench(t)
	b.sandbox.run = func(context.Context, report.Change) (*report.Report, error) {
		b.now = b.now.Add(previewTurn)
		return b.failing(), nil
	}
	if err := b.Do(t.Context(), b.task); err == nil || b.last(t).Status != forge.InProgress {
		t.Fatalf("%v %+v", err, b.last(t))
	}
	b.mirror.changed = nil // the base has it by now
	if err := b.Do(t.Context(), b.task); err != nil || b.last(t).Conclusion != forge.Cancelled || b.ledger.note != "" {
		t.Errorf("%v %+v, note %q", err, b.last(t), b.ledger.note)
	}
}

// A new head makes the preview of the earlier head void, and a closed pull request needs none.
func TestFleetPreviewOfANewHead(t *testing.T) {
	b := newPreviewBench(t)
	b.sandbox.run = func(context.Context, report.Change) (*report.Report, error) {
		b.now = b.now.Add(previewTurn)
		return b.failing(), nil
	}
	if err := b.Do(t.Context(), b.task); err == nil {
		t.Fatal("all in one turn")
	}
	b.pr.HeadSHA = headB
	if err := b.Do(t.Context(), b.task); err == nil {
		t.Fatal("all in one turn")
	}
	if first := b.hub.Runs[0]; first.HeadSHA != headA || first.Conclusion != forge.Cancelled {
		t.Errorf("the run of the head before: %+v", first)
	}
	b.pr.State = "closed"
	if err := b.Do(t.Context(), b.task); err != nil || b.last(t).Conclusion != forge.Cancelled {
		t.Errorf("closed: %v %+v", err, b.last(t))
	}
}

// The reason why a repository could not be checked is reported, and retried if that may help. It contains nothing about
// a private repository.
func TestFleetPreviewReportsUnreadableRepositories(t *testing.T) {
	limit := &forge.RetryLater{After: time.Minute, Reason: "limit"}
	for name, tt := range map[string]struct {
		err   error
		want  string // of a
		looks int
	}{
		"may pass": {errors.New("connection reset"), "fails it could not be fetched from GitHub", 4},
		"crash": {&sandbox.Crash{Reason: "took longer than 5m"}, "fails the check could not be run; the " +
			"server's log has the reason", 3},
		"failed": {&sandbox.Failed{Message: "hush"}, "fails the check could not be run; the server's log has the " +
			"reason", 3},
		"too large":  {&mirror.TooLarge{Repo: "octo-org/a", Limit: 64 << 20}, "fails it is larger than the limit of 64 MB for a mirror", 3},
		"gone":       {&forge.Gone{What: "the commit"}, "fails the App has no access to it", 3},
		"GitHub's":   {limit, "", 1},
		"fetching":   {&remotes.Error{Err: errors.New("store")}, "fails its remote sources could not be fetched", 4},
		"with error": {nil, "fails there are errors", 3},
	} {
		t.Run(name, func(t *testing.T) {
			b := newPreviewBench(t)
			b.sandbox.run = func(_ context.Context, c report.Change) (*report.Report, error) {
				if !strings.HasSuffix(c.Repository[0], "a") {
					return b.failing(), nil
				}
				if tt.err == nil {
					r := &report.Report{Concerned: true, Errors: []report.Problem{{Path: "x", Message: "hush"}}}
					r.ConcludeProposed()
					return r, nil
				}
				return nil, tt.err
			}
			err := b.Do(t.Context(), b.task)
			if tt.want == "" {
				var later *store.Later
				if !errors.As(err, &later) || !later.Pause || len(b.hub.Runs) != 0 {
					t.Errorf("%v, %v", err, b.hub.Runs)
				}
				return
			}
			if err != nil || len(b.sandbox.changes) != tt.looks {
				t.Fatalf("%v, %d looks", err, len(b.sandbox.changes))
			}
			if diff := cmp.Diff([]string{"seen", "c seen", tt.want}, b.states()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if run := b.last(t); run.Conclusion != "neutral" || !strings.Contains(run.Title, "1 repository not checked") {
				t.Errorf("%+v", run)
			}
		})
	}
}

// A public repository may include a private base: text of the base is shown to readers of that base only.
func TestFleetPreviewOfPrivateBases(t *testing.T) {
	b := newPreviewBench(t)
	base := forge.Repo{Installation: 7, ID: 31, Owner: "octo-org", Name: "base"}
	b.Remotes = func(context.Context, remotes.Change) (*remotes.Resolver, error) {
		return &remotes.Resolver{Private: func(_ context.Context, address string) (forge.Repo, bool) {
			return base, address == "https://github.com/octo-org/base"
		}}, nil
	}
	b.sandbox.run = func(context.Context, report.Change) (*report.Report, error) {
		r := &report.Report{Concerned: true, RemoteSources: []report.RemoteSource{{URL: "https://github.com/octo-org/base"}},
			Errors: []report.Problem{{Path: "x", Message: "hush", Quotes: true}}}
		r.ConcludeProposed()
		return r, nil
	}
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	for _, u := range b.published.Dependents {
		if strings.Contains(u.Reason, "hush") || u.State != report.DependentFails {
			t.Errorf("%s: %s %q", u.Repository, u.State, u.Reason)
		}
	}
	for id, r := range b.pages {
		if len(r.Foreign) != 1 || r.Foreign[0].Repository.ID != base.ID || r.Report.Errors[0].Message != "hush" {
			t.Errorf("page of %d: %+v", id, r.Foreign)
		}
	}
	if len(b.pages) != 3 {
		t.Errorf("%d pages", len(b.pages))
	}
}

// A fork's rules are not evaluated unless somebody with write access requests it.
func TestFleetPreviewOfAFork(t *testing.T) {
	b := newPreviewBench(t)
	b.pr.Fork = true
	if err := b.Do(t.Context(), b.task); err != nil || len(b.sandbox.changes) != 0 || b.last(t).Conclusion != "neutral" {
		t.Fatalf("%v, %d looks, %+v", err, len(b.sandbox.changes), b.last(t))
	}
	b.demand("d-2")
	b.task.Message.Head = headA
	if err := b.Do(t.Context(), b.task); err != nil || len(b.sandbox.changes) != 3 {
		t.Errorf("asked for: %v, %d looks", err, len(b.sandbox.changes))
	}
	b.demand("d-3")
	b.pr.HeadSHA = headB // pushed after somebody looked at the one before
	if err := b.Do(t.Context(), b.task); err != nil || len(b.sandbox.changes) != 3 {
		t.Errorf("another head: %v, %d looks", err, len(b.sandbox.changes))
	}
}

// If no repository is affected, there is no check run; and the preview never delays checks.
func TestFleetPreviewWithoutDependents(t *testing.T) {
	for name, prepare := range map[string]func(*previewBench){
		"no users": func(b *previewBench) { b.dependents.list = nil },
		"no rules": func(b *previewBench) { b.mirror.changed = []string{"README.md"} },
		"gone":     func(b *previewBench) { b.pr.Number = 13; b.now = clock.Add(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newPreviewBench(t)
			prepare(b)
			if err := b.Do(t.Context(), b.task); err != nil || len(b.hub.Runs)+len(b.sandbox.changes) != 0 {
				t.Errorf("%v, %v", err, b.hub.Runs)
			}
		})
	}
	b := newPreviewBench(t)
	b.hub.Left = func(int64) (forge.Budget, bool) {
		return forge.Budget{Limit: 5000, Remaining: 1249, Reset: clock.Add(10 * time.Minute)}, true
	}
	var later *store.Later
	if err := b.Do(t.Context(), b.task); !errors.As(err, &later) || later.After != 10*time.Minute || later.Pause || len(b.sandbox.changes) != 0 {
		t.Errorf("little left of the hour: %v, %d looks", err, len(b.sandbox.changes))
	}
	b = newPreviewBench(t)
	b.task.Try = 4
	if err := b.Do(t.Context(), b.task); err != nil || b.last(t).Title != "Not known: the preview could not be "+
		"created" || len(b.sandbox.changes) != 0 {
		t.Errorf("after three deaths: %v, %d looks", err, len(b.sandbox.changes))
	}
}

// The check of a pull request starts the preview after it has a result.
func TestFleetPreviewFollowsTheCheck(t *testing.T) {
	b := newPreviewBench(t)
	b.task.Key.Preview, b.task.Key.Number = 0, 12
	b.sandbox.run = func(context.Context, report.Change) (*report.Report, error) {
		return &report.Report{Conclusion: report.Failure}, nil
	}
	if err := b.Do(t.Context(), b.task); err != nil {
		t.Fatal(err)
	}
	if want := []store.Key{{Installation: 7, Repository: 11, Target: forge.Target{Preview: 12}}}; !cmp.Equal(b.jobs.keys, want) {
		t.Errorf("jobs %v", b.jobs.keys)
	}
	b.dependents.list, b.jobs.keys = nil, nil
	b.demand("d-2")
	if err := b.Do(t.Context(), b.task); err != nil || len(b.jobs.keys) != 0 {
		t.Errorf("without users: %v, jobs %v", err, b.jobs.keys)
	}
}
