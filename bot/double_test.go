package bot

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/queue"
	"github.com/lintel-bot/lintel/checks/report"
)

const (
	headA   = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	headB   = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	baseTip = "cccccccccccccccccccccccccccccccccccccccc"
	token   = "ghs_0123456789abcdefghijABCDEFGHIJ012345"
)

var clock = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// hub is the double of GitHub: the state that the worker reads and the check runs it wrote.
type hub struct {
	github.Door // what a test does not expect panics

	pr      *github.PullRequest
	prErr   error
	heads   []int // PullRequestsOfCommit
	open    []github.PullRequest
	repos   []github.Repo
	branch  string // the tip of every branch
	teams   []string
	archive bool
	runs    []github.CheckRun
	history []string // status or conclusion of each Publish
	fail    func(run *github.CheckRun) error
	after   func() // called after each Publish
}

func (h *hub) PullRequest(context.Context, github.Repo, int) (*github.PullRequest, error) {
	if h.prErr != nil {
		return nil, h.prErr
	}
	pr := *h.pr
	return &pr, nil
}

func (h *hub) PullRequestsOfCommit(context.Context, github.Repo, string) ([]int, error) {
	return h.heads, nil
}

func (h *hub) OpenPullRequests(context.Context, github.Repo) ([]github.PullRequest, error) {
	return h.open, nil
}

func (h *hub) Repositories(context.Context, int64) ([]github.Repo, error) { return h.repos, nil }

func (h *hub) Repository(context.Context, github.Repo) (*github.Settings, error) {
	return &github.Settings{DefaultBranch: "main", Archived: h.archive}, nil
}

func (h *hub) Branch(_ context.Context, _ github.Repo, name string) (string, error) {
	if h.branch == "" {
		return "", &github.Gone{What: "branch " + name}
	}
	return h.branch, nil
}

func (h *hub) TeamMember(_ context.Context, _ github.Repo, team, _ string) (bool, error) {
	return slices.Contains(h.teams, team), nil
}

func (h *hub) CheckRuns(_ context.Context, _ github.Repo, sha string) (found []github.CheckRun, _ error) {
	for i := len(h.runs) - 1; i >= 0; i-- {
		if h.runs[i].HeadSHA == sha {
			found = append(found, h.runs[i])
		}
	}
	return found, nil
}

func (h *hub) Publish(_ context.Context, _ github.Repo, run *github.CheckRun) error {
	if h.fail != nil {
		if err := h.fail(run); err != nil {
			return err
		}
	}
	if run.ID == 0 {
		run.ID = int64(len(h.runs) + 1)
		h.runs = append(h.runs, github.CheckRun{})
	}
	h.runs[run.ID-1] = *run
	state := run.Status
	if state == "completed" {
		state = run.Conclusion
	}
	h.history = append(h.history, strconv.FormatInt(run.ID, 10)+" "+state)
	if h.after != nil {
		h.after()
	}
	return nil
}

func (h *hub) CloneURL(repo github.Repo) string {
	return "https://github.com/" + repo.String() + ".git"
}

// ledger is the double of a job of the queue.
type ledger struct {
	superseded bool
	note       string
	mark       string
}

func (l *ledger) Mark(context.Context) (string, error)         { return l.mark, nil }
func (l *ledger) SetMark(_ context.Context, text string) error { l.mark = text; return nil }

func (l *ledger) Superseded(context.Context) (bool, error)     { return l.superseded, nil }
func (l *ledger) Note(context.Context) (string, error)         { return l.note, nil }
func (l *ledger) SetNote(_ context.Context, text string) error { l.note = text; return nil }

type mirrorDouble struct {
	err     error
	want    mirror.Want
	changed []string          // paths between any two commits
	files   map[string]string // by path, at any commit
	commits []string          // of a merge group
}

func (m *mirrorDouble) Changed(context.Context, string, string, string) ([]string, error) {
	return m.changed, nil
}

func (m *mirrorDouble) Commits(context.Context, string, string, string) ([]string, error) {
	return m.commits, nil
}

func (m *mirrorDouble) Holds(_ context.Context, _, _ string, paths, words []string) (bool, error) {
	for _, p := range paths {
		for _, word := range words {
			if strings.Contains(m.files[p], word) {
				return true, nil
			}
		}
	}
	return false, nil
}

func (m *mirrorDouble) Fetch(_ context.Context, _ github.Repo, want mirror.Want) (mirror.State, error) {
	m.want = want
	return mirror.State{GitDir: "/data/mirrors/11", MergeBase: "base", BaseTip: baseTip}, m.err
}

// sandboxDouble is the double of the sandbox: what is asked first, and what is checked then.
type sandboxDouble struct {
	asked      []report.Change // to inspect
	inspection *report.Inspection
	trouble    error // of Inspect
	changes    []report.Change
	run        func(ctx context.Context, change report.Change) (*report.Report, error)
}

func (b *sandboxDouble) Inspect(_ context.Context, change report.Change) (*report.Inspection, error) {
	b.asked = append(b.asked, change)
	return b.inspection, b.trouble
}

func (b *sandboxDouble) Run(ctx context.Context, change report.Change) (*report.Report, error) {
	b.changes = append(b.changes, change)
	return b.run(ctx, change)
}

type approverDouble struct {
	reviews []report.Review
	err     error
	asked   []int // numbers of pull requests
}

func (a *approverDouble) Decide(_ context.Context, _ github.Repo, pr *github.PullRequest, _, _ string, _ *report.Inspection) ([]report.Review, error) {
	a.asked = append(a.asked, pr.Number)
	return a.reviews, a.err
}

type publisher struct {
	keys     []queue.Key
	messages []queue.Message
}

func (p *publisher) Publish(_ context.Context, key queue.Key, m queue.Message, _ string) error {
	p.keys, p.messages = append(p.keys, key), append(p.messages, m)
	return nil
}

// bench is a worker among doubles: an open pull request at headA that checks out well.
type bench struct {
	*Worker
	hub      *hub
	mirror   *mirrorDouble
	sandbox  *sandboxDouble
	approver *approverDouble
	jobs     *publisher
	ledger   *ledger
	task     Task
	log      bytes.Buffer
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{
		hub:    &hub{pr: &github.PullRequest{Number: 12, State: "open", Author: "octocat", BaseRef: "main", BaseSHA: baseTip, HeadSHA: headA}},
		mirror: &mirrorDouble{}, approver: &approverDouble{}, jobs: &publisher{}, ledger: &ledger{},
		sandbox: &sandboxDouble{inspection: &report.Inspection{}, run: func(context.Context, report.Change) (*report.Report, error) {
			return &report.Report{Conclusion: report.Success, Title: "No violations"}, nil
		}},
	}
	b.task = Task{Key: queue.Key{Installation: 7, Repository: 11, Number: 12}, Sequence: 1, Try: 1, Tries: 3, Ledger: b.ledger,
		Message: queue.Message{Delivery: "d-1", Event: "pull_request.opened", Owner: "octo-org", Name: "fleet", At: clock}}
	b.Worker = &Worker{Door: b.hub, Mirror: b.mirror, Sandbox: b.sandbox, Approver: b.approver, Jobs: b.jobs, Version: "1",
		Summary: func(r *report.Report, blob BlobURL) string {
			return "summary of " + r.Title + " " + blob("a b.yaml", 3)
		},
		Now: func() time.Time { return clock }, Log: slog.New(slog.NewJSONHandler(&b.log, nil))}
	return b
}

// waits makes the change one with an exception that waits for approval.
func (b *bench) waits() {
	b.sandbox.inspection.Exceptions = []report.Exception{{Path: "e.yaml", Blob: "1", State: report.Pending}}
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

// demand makes the task one that a person asked for with a button.
func (b *bench) demand(delivery string) {
	b.task.Message.Fresh, b.task.Message.Delivery = true, delivery
	b.task.Sequence++
}

// last is the newest check run.
func (b *bench) last(t *testing.T) github.CheckRun {
	t.Helper()
	if len(b.hub.runs) == 0 {
		t.Fatal("there is no check run")
	}
	return b.hub.runs[len(b.hub.runs)-1]
}
