// Package bot is the GitHub App: it turns jobs into check runs, and serves webhooks, health and metrics.
//
// A job is only a key. The worker reads the present state of the pull request, fetches its commits, has
// them checked in the box, and writes what came of it into a check run, which it always completes. All it
// needs comes through small interfaces, so that its decisions can be tested without GitHub, git or a
// child process.
package bot

import (
	"context"

	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/queue"
	"github.com/lintel-bot/lintel/checks/report"
)

// Runner checks one change; box.Box is one. *box.Crash and *box.Failed are final, other errors may pass.
type Runner interface {
	Run(ctx context.Context, change report.Change) (*report.Report, error)
}

// Mirror brings the commits of a pull request onto this machine; mirror.Mirrors is one. *mirror.Vanished
// says that GitHub no longer has a commit.
type Mirror interface {
	Fetch(ctx context.Context, repo github.Repo, want mirror.Want) (mirror.State, error)
	Changed(ctx context.Context, gitDir, old, now string) ([]string, error)
	Commits(ctx context.Context, gitDir, old, now string) ([]string, error)
	Holds(ctx context.Context, gitDir, commit string, paths, words []string) (bool, error)
}

// Approver says what the reviews of a pull request say about the exceptions that wait for approval;
// review.Judge is one.
type Approver interface {
	Decide(ctx context.Context, repo github.Repo, pr *github.PullRequest, gitDir, rulesCommit string, in *report.Inspection) ([]report.Review, error)
}

// Ledger is what the queue remembers about a job; queue.Job is one.
type Ledger interface {
	Superseded(ctx context.Context) (bool, error)
	Note(ctx context.Context) (string, error)
	SetNote(ctx context.Context, text string) error
	Mark(ctx context.Context) (string, error)
	SetMark(ctx context.Context, text string) error
}

// Publisher stores a job; queue.Queue is one.
type Publisher interface {
	Publish(ctx context.Context, key queue.Key, m queue.Message, id string) error
}

// Task is one delivery of a job.
type Task struct {
	Key      queue.Key
	Message  queue.Message
	Sequence uint64 // of the publication: the same for each delivery of it
	Try      int    // from 1
	Tries    int    // what cannot be done in this many is reported instead
	Ledger   Ledger
}

// TaskOf describes a job of the queue.
func TaskOf(j *queue.Job) Task {
	return Task{Key: j.Key, Message: j.Message, Sequence: j.Sequence(), Try: j.Try, Tries: j.Tries, Ledger: j}
}

func (t Task) last() bool      { return t.Try >= t.Tries }
func (t Task) exhausted() bool { return t.Try > t.Tries }

func (t Task) repo() github.Repo {
	return github.Repo{Installation: t.Key.Installation, ID: t.Key.Repository, Owner: t.Message.Owner, Name: t.Message.Name}
}
