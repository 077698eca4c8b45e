package worker

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/forgetest"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/remotes"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
)

const (
	headA   = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	headB   = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	baseTip = "cccccccccccccccccccccccccccccccccccccccc"
	token   = "ghs_0123456789abcdefghijABCDEFGHIJ012345"
)

var clock = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// ledger is a fake of a job's state in the queue.
type ledger struct {
	superseded bool
	note       string
	mark       string
}

func (l *ledger) of(kind store.Text) *string {
	return map[store.Text]*string{store.Note: &l.note, store.Mark: &l.mark}[kind]
}

func (l *ledger) Text(_ context.Context, kind store.Text) (string, error) { return *l.of(kind), nil }

func (l *ledger) SetText(_ context.Context, kind store.Text, text string) error {
	*l.of(kind) = text
	return nil
}

func (l *ledger) Exclusively(ctx context.Context, _ store.Key, do func(context.Context) error) error {
	return do(ctx)
}

func (l *ledger) Superseded(context.Context) (bool, error) { return l.superseded, nil }

type mirrorDouble struct {
	err      error
	wants    []mirror.Want
	changed  []string // paths between any two commits
	commits  []string // that the base lacks
	*fakeGit          // with the files of some commits
}

func (m *mirrorDouble) Changed(context.Context, string, string, string) ([]string, error) {
	return m.changed, nil
}

func (m *mirrorDouble) Commits(context.Context, string, string, string) ([]string, error) {
	return m.commits, nil
}

func (m *mirrorDouble) Fetch(_ context.Context, _ forge.Repo, want mirror.Want) (mirror.State, error) {
	m.wants = append(m.wants, want)
	return mirror.State{GitDir: "/data/mirrors/11", MergeBase: "base", BaseTip: baseTip}, m.err
}

// sandboxDouble is a fake sandbox, which inspects a change first and then checks it.
type sandboxDouble struct {
	asked      []report.Change // to inspect
	inspection *report.Inspection
	versions   map[string]*report.Inspection // of the rules, by commit
	trouble    error                         // of Inspect
	changes    []report.Change
	run        func(ctx context.Context, change report.Change) (*report.Report, error)
}

func (b *sandboxDouble) Inspect(_ context.Context, change report.Change) (*report.Inspection, error) {
	if change.All {
		return b.versions[change.Rules], b.trouble
	}
	b.asked = append(b.asked, change)
	return b.inspection, b.trouble
}

func (b *sandboxDouble) Run(ctx context.Context, change report.Change) (*report.Report, error) {
	b.changes = append(b.changes, change)
	return b.run(ctx, change)
}

// asksUser makes the sandbox do no check before it knows who makes the change.
func (b *bench) asksUser() {
	check := b.sandbox.run
	b.sandbox.run = func(ctx context.Context, c report.Change) (*report.Report, error) {
		if c.User.Unasked {
			return &report.Report{AsksUser: true}, nil
		}
		return check(ctx, c)
	}
}

// publisher is a Queue in memory.
type publisher struct {
	dependentsDouble
	keys     []store.Key
	messages []store.Message
	drafts   string // commit for which drafts are wanted
	pushLog
	asked []int // numbers of the pull requests whose pushers were asked for
}

func (p *publisher) Pushers(ctx context.Context, repository int64, number int) ([]string, error) {
	p.asked = append(p.asked, number)
	return p.pushLog.Pushers(ctx, repository, number)
}

func (p *publisher) DraftsAsked(_ context.Context, repository int64, head string) (bool, error) {
	return repository == 11 && head == p.drafts, nil
}

func (p *publisher) Publish(_ context.Context, key store.Key, m store.Message, _ string) error {
	p.keys, p.messages = append(p.keys, key), append(p.messages, m)
	return nil
}

// bench is a worker with fakes, and an open pull request at headA whose check succeeds.
type bench struct {
	*Worker
	hub     *forgetest.GitHub
	pr      *forge.PullRequest // the open one
	mirror  *mirrorDouble
	sandbox *sandboxDouble
	jobs    *publisher
	ledger  *ledger
	task    Task
	log     bytes.Buffer
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{
		pr: &forge.PullRequest{Number: 12, State: "open", Author: "octocat", BaseRef: "main", BaseSHA: baseTip,
			HeadSHA: headA},
		mirror: &mirrorDouble{fakeGit: &fakeGit{commits: map[string]map[string]string{
			headA: {"e.yaml": "1", "cm.yaml": "7"}, baseTip: {}}}},
		jobs: &publisher{dependentsDouble: dependentsDouble{outlooks: map[int64]store.Preview{}},
			pushLog: pushLog{4: {}, 5: {}, 12: {}}},
		ledger: &ledger{},
		sandbox: &sandboxDouble{inspection: &report.Inspection{},
			run: func(context.Context, report.Change) (*report.Report, error) {
				return &report.Report{Conclusion: report.Success, Title: "No violations"}, nil
			}},
	}
	b.hub = &forgetest.GitHub{Pulls: map[int64][]*forge.PullRequest{11: {b.pr}}}
	b.task = Task{Ledger: b.ledger, Job: store.Job{Sequence: 1, Try: 1, Tries: 3,
		Key:     store.Key{Installation: 7, Repository: 11, Target: forge.Target{Number: 12}},
		Message: store.Message{Delivery: "d-1", Event: "pull_request.opened", Owner: "octo-org", Name: "fleet", At: clock}}}
	b.Worker = &Worker{Client: b.hub, Mirror: b.mirror, Sandbox: b.sandbox, Jobs: b.jobs,
		Version: "1", Fitness: &Fitness{}, Pace: unlimited{},
		Alarm:   NewAlarm(b.jobs, slog.New(slog.DiscardHandler)),
		Remotes: func(context.Context, remotes.Change) (*remotes.Resolver, error) { return nil, nil },
		Now:     func() time.Time { return clock }, Log: slog.New(slog.NewJSONHandler(&b.log, nil)), Metrics: NewMetrics(nil, nil)}
	return b
}

// unlimited is a Pace that lets in every job.
type unlimited struct{}

func (unlimited) Admit(ctx context.Context, _ int64, _ bool) (context.Context, func(), error) {
	return ctx, func() {}, nil
}

// waits gives the change a pending exception.
func (b *bench) waits() {
	b.sandbox.inspection.Exceptions = []report.Exception{{Path: "e.yaml", Blob: "1", State: report.Pending}}
}

// votes gives each pull request the review of headA by somebody who may approve.
func (b *bench) votes(user, state string) {
	b.hub.PullReviews, b.hub.Rights = []forge.Review{{User: user, State: state, CommitSHA: headA}}, map[string]string{user: "write"}
}

// reviewed checks as the sandbox does: the state of the exception that waits is what the reviews say.
func reviewed(_ context.Context, c report.Change) (*report.Report, error) {
	e := report.Exception{Path: "e.yaml", Blob: "1", State: report.Pending}
	if len(c.Reviews) > 0 {
		e.Review, e.State, e.By = &c.Reviews[0], c.Reviews[0].State(), c.Reviews[0].By()
	}
	conclusion := map[report.State]report.Conclusion{
		report.Pending: report.ActionRequired, report.Approved: report.Success, report.Refused: report.Failure,
	}[e.State]
	return &report.Report{Conclusion: conclusion, Exceptions: []report.Exception{e}}, nil
}

// refuse makes the fake GitHub answer one kind of calls with an error.
func (b *bench) refuse(call string, err error) {
	b.hub.Fail = func(name string, _ any) error {
		if name == call {
			return err
		}
		return nil
	}
}

// demand makes the task a request by a button.
func (b *bench) demand(delivery string) {
	b.task.Message.Fresh, b.task.Message.Delivery = true, delivery
	b.task.Sequence++
}

// isAbout reports whether a check run is about the pull request with that number.
func isAbout(run forge.CheckRun, number int) bool {
	id, err := forge.ParseRunID(run.ExternalID)
	return err == nil && id.Target == (forge.Target{Number: number})
}

// last is the newest check run.
func (b *bench) last(t *testing.T) forge.CheckRun {
	t.Helper()
	if len(b.hub.Runs) == 0 {
		t.Fatal("there is no check run")
	}
	return b.hub.Runs[len(b.hub.Runs)-1]
}
