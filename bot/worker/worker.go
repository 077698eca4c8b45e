// Package worker does the work of the GitHub App: it turns jobs into check runs, and serves webhooks, health and
// metrics.
//
// A job is only a key. The worker reads the present state of the pull request and fetches its commits. The sandbox
// inspects these, and the worker asks GitHub for the teams and reviews that the inspection names. The sandbox then
// checks the change, and the worker publishes the report as a check run, which it always completes. All dependencies
// are small interfaces, so that decisions can be tested without GitHub, git or a child process. A Sweeper finds lost
// webhooks.
package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/remotes"
	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
)

const (
	// lagPause is the pause before GitHub is asked again if its answer is older than the event; lagLimit is the limit
	// of these pauses.
	lagPause = 2 * time.Second
	lagLimit = time.Minute
	// backgroundPause is the pause before a background job is tried again for which there was no room.
	backgroundPause = 15 * time.Second
)

// Worker turns jobs into check runs. All fields but Results, Cache and Patience are required; it is safe for concurrent
// use.
type Worker struct {
	Client  forge.Client
	Mirror  Mirror
	Sandbox remotes.Sandbox // *sandbox.Crash and *sandbox.Failed are final, other errors may be temporary
	Jobs    Queue
	// Remotes returns the resolver of remote sources for a check; nil where nothing is fetched.
	Remotes func(ctx context.Context, change remotes.Change) (*remotes.Resolver, error)
	// Results stores results. Nil: nothing is stored, and check runs have no pages.
	Results Results
	// PreviewSummary is the markdown that says what a pull request would change in other repositories.
	PreviewSummary func(o *report.FleetPreview) string
	// of the engine; part of what a preview depends on
	Version string
	// folder that has one for the checks of each installation, absolute; empty: none
	Cache string
	Alarm *Alarm
	// Pace lets jobs in where GitHub's limits have room for them.
	Pace Pace
	// Patience is how long a check may take before its check run says that it is under way. Zero: it says so at first.
	Patience time.Duration
	// Fitness says what keeps this server from working, which is no result.
	Fitness *Fitness
	Now     func() time.Time
	Log     *slog.Logger
	Metrics *Metrics

	outbox outbox
}

// Do works on one task. Nil means that it is finished, with a result or with a reported failure. *store.Later asks for
// another delivery at a time, any other error for a retry.
func (w *Worker) Do(ctx context.Context, t Task) error {
	log := w.Log.With("delivery", t.Message.Delivery, "event", t.Message.Event, "repository", t.repo().String(),
		"job", t.Key.String(), "try", t.Try)
	err := w.elsewhere(t, w.Fitness.failing())
	if err == nil {
		err = w.paced(ctx, t, log)
	}
	if (forge.IsGone(err) || forge.Is[*mirror.Vanished](err)) && w.early(t) {
		err = &store.Later{After: w.untilFound(t), Err: err}
	}
	if ctx.Err() == nil {
		err = w.handBack(t, err)
	}
	var limit *forge.RetryLater
	var later *store.Later
	outcome := "done"
	switch {
	case err == nil:
	case ctx.Err() != nil:
		outcome = "handed_back"
		log.Info("job returned to the queue")
	case errors.As(err, &later) && later.Elsewhere:
		outcome = "handed_back"
		log.Error("job returned to the queue", "reason", scrub(err.Error()))
	case errors.As(err, &later):
		outcome = "postponed"
		log.Info("job postponed", "after", later.After.String(), "reason", scrub(later.Err.Error()))
	case errors.As(err, &limit):
		outcome = "postponed"
		log.Warn("job postponed", "after", limit.After.String(), "reason", scrub(limit.Reason))
		err = &store.Later{After: limit.After, Pause: true, Err: err}
	default:
		outcome = "failed"
		log.Error("job failed", "error", scrub(err.Error()))
	}
	w.Metrics.jobs.WithLabelValues(outcome).Inc()
	return err
}

// untilFound returns the pause before GitHub is asked again for something that it does not find, since it may be
// visible only some time after a webhook. The pauses are 1, 3 and 8 s; zero means that there is no further one.
func (w *Worker) untilFound(t Task) time.Duration {
	waited := w.Now().Sub(t.Message.At)
	for _, pause := range []time.Duration{time.Second, 3 * time.Second, 8 * time.Second} {
		if waited < pause {
			return pause
		}
		waited -= pause
	}
	return 0
}

// early reports whether something that GitHub does not find may exist a moment later.
func (w *Worker) early(t Task) bool { return !t.exhausted() && w.untilFound(t) > 0 }

// paced works on a task that GitHub's limits have room for.
func (w *Worker) paced(ctx context.Context, t Task, log *slog.Logger) error {
	ctx, done, err := w.admit(ctx, t)
	if err != nil {
		return err
	}
	defer done()
	return w.route(ctx, t, log)
}

// admit waits until a task, or a part of it, may begin; the caller calls done afterwards. *store.Later says that a
// background task must wait, which does not delay other jobs of the installation.
func (w *Worker) admit(ctx context.Context, t Task) (_ context.Context, done func(), err error) {
	if t.Message.Revokes() {
		ctx = github.Urgent(ctx)
	}
	paced, done, err := w.Pace.Admit(ctx, t.Key.Installation, t.background())
	if full, ok := errors.AsType[*forge.RetryLater](err); ok {
		w.Metrics.delay(t.background())
		if t.background() {
			err = &store.Later{After: max(full.After, backgroundPause), Err: err}
		}
	}
	return paced, done, err
}

func (w *Worker) route(ctx context.Context, t Task, log *slog.Logger) error {
	switch {
	case t.Key.Commit != "":
		return w.ofCommit(ctx, t, log)
	case t.Key.All:
		return w.everything(ctx, t, log)
	case t.Key.Branch != "":
		return w.branch(ctx, t, log)
	case t.Key.Group != "":
		return w.group(ctx, t, log)
	case t.Key.Preview != 0:
		return w.fleetPreview(ctx, t, log)
	}
	return w.pull(ctx, t, log)
}

// pull checks a pull request.
func (w *Worker) pull(ctx context.Context, t Task, log *slog.Logger) error {
	repo := t.repo()
	pr, err := w.Client.PullRequest(ctx, repo, t.Key.Number)
	gone, err := w.reachable(ctx, t, log, "pull request", err)
	switch {
	case gone || err != nil:
		return err
	case pr.Updated.Before(t.Message.Updated) && w.Now().Sub(t.Message.At) < lagLimit:
		return &store.Later{After: lagPause, Err: errors.New("GitHub does not show the change of the webhook yet")}
	}
	c := w.check(t, log.With("pull_request", pr.Number, "head", pr.HeadSHA))
	c.pr, c.head, c.closed = pr, pr.HeadSHA, pr.State != "open"
	c.want.Number, c.want.BaseRef, c.want.BaseSHA = pr.Number, pr.BaseRef, pr.BaseSHA
	c.change.Branches = []string{pr.BaseRef}
	c.moved = c.pullMoved
	if err := c.checkGroups(ctx); err != nil {
		return err
	}
	return c.see(ctx)
}

// checkGroups stores jobs for the merge groups of a pull request whose reviews changed, which count there, too.
func (c *check) checkGroups(ctx context.Context) error {
	if !strings.HasPrefix(c.task.Message.Event, "pull_request_review.") || c.closed {
		return nil
	}
	heads, err := c.Client.MergeGroups(ctx, c.repo, c.pr.BaseRef, c.pr.Number)
	if err != nil && !forge.IsGone(err) {
		return fmt.Errorf("listing the merge groups of the pull request: %w", err)
	}
	for _, head := range heads {
		key, err := c.task.Key.Of(forge.Target{Group: head})
		if err != nil {
			return err
		}
		if err := c.Jobs.Publish(ctx, key, c.task.following(c.task.Message.At), c.task.Message.Delivery); err != nil {
			return err
		}
	}
	return nil
}

func (w *Worker) headRun(t Task, log *slog.Logger) *headRun {
	return &headRun{Worker: w, task: t, repo: t.repo(), log: log}
}

// check is the work on one head: of a pull request, a merge group or a branch.
func (w *Worker) check(t Task, log *slog.Logger) *check {
	c := &check{headRun: w.headRun(t, log)}
	if c.repo.Name != "" {
		c.change.Repository = []string{c.repo.Name}
	}
	return c
}

// pullMoved reports whether the pull request has left the head that was checked.
func (c *check) pullMoved(ctx context.Context) (bool, error) {
	pr, err := c.Client.PullRequest(ctx, c.repo, c.pr.Number)
	if forge.IsGone(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the pull request again: %w", err)
	}
	return pr.HeadSHA != c.head || pr.State != "open", nil
}

func (w *Worker) webURL(repo forge.Repo) string {
	return strings.TrimSuffix(w.Client.CloneURL(repo), ".git")
}

// maxAddress is how long an address may be: GitHub and the proxies before it take 8 KiB for the whole first line of a
// request.
const maxAddress = 7000

// newFileURL is the web address of GitHub's form for a new file on the branch of the head, filled in; "" for what is
// too long for an address, and where there is no such branch.
func (c *check) newFileURL(path, content string) string {
	owner, name, ok := strings.Cut(c.pr.HeadRepo, "/")
	if !ok || c.pr.HeadRef == "" {
		return ""
	}
	query := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
	address := c.webURL(forge.Repo{Owner: owner, Name: name}) + "/new/" +
		(&url.URL{Path: c.pr.HeadRef}).EscapedPath() + "?filename=" + query(path) + "&value=" + query(content)
	if len(address) > maxAddress {
		return ""
	}
	return address
}

// Pace keeps below GitHub's limits; *github.Client does.
type Pace interface {
	// lets a job in until done, whose requests have the context that is returned; else *forge.RetryLater
	Admit(ctx context.Context, installation int64, background bool) (_ context.Context, done func(), err error)
}

// Mirror fetches and reads the commits of a pull request; mirror.Mirrors is one. *mirror.Vanished says that GitHub no
// longer has a commit, *mirror.NoFile that a commit does not have a file.
type Mirror interface {
	Fetch(ctx context.Context, repo forge.Repo, want mirror.Want) (mirror.State, error)
	Changed(ctx context.Context, gitDir, old, now string) ([]string, error)
	Commits(ctx context.Context, gitDir, old, now string) ([]string, error)
	Blob(ctx context.Context, gitDir, commit, path string) (content []byte, id string, err error)
	BlobID(ctx context.Context, gitDir, commit, path string) (string, error)
	// makes a commit available that may be in no branch any more
	Ensure(ctx context.Context, repo forge.Repo, sha string) error
}

// Queue stores jobs. It also stores for which commits drafts are requested, which repositories take rules from others,
// previews for these, and who pushed; store.Queue implements it.
type Queue interface {
	Publisher
	DraftsAsked(ctx context.Context, repository int64, head string) (bool, error)
	AddDependent(ctx context.Context, installation, from int64, u store.Dependent) error
	Dependents(ctx context.Context, installation, from int64) ([]store.Dependent, error)
	PutPreview(ctx context.Context, key store.Key, user int64, o store.Preview) error
	Previews(ctx context.Context, key store.Key, of string) (map[int64]store.Preview, error)
	// Both are in lower case: who pushed to the head of a pull request, and who pushed commits to any branch while there
	// was no open one. The author in a commit is not reliable, since whoever pushes can write any name.
	Pushers(ctx context.Context, repository int64, number int) ([]string, error)
	TipPushers(ctx context.Context, repository int64, commits []string) ([]string, error)
}

// Ledger stores the state of a job in the queue; store.Job implements it.
type Ledger interface {
	Superseded(ctx context.Context) (bool, error)
	Text(ctx context.Context, kind store.Text) (string, error)
	SetText(ctx context.Context, kind store.Text, text string) error
	// calls do while nobody else is alone with the key
	Exclusively(ctx context.Context, key store.Key, do func(ctx context.Context) error) error
}

// Results stores results and knows their pages; *results.Recorder implements it.
type Results interface {
	// stores a result and returns the address of its page; "": it has none, and is not stored
	Record(ctx context.Context, r *results.Stored) (address string, err error)
	Published(ctx context.Context, r *results.Stored, checkRun int64) error
	// returns the address of the page of a repository; "": it has none
	Overview(r forge.Repository) string
}

// Publisher stores a job; store.Queue is one.
type Publisher interface {
	Publish(ctx context.Context, key store.Key, m store.Message, id string) error
}

// Task is one delivery of a job.
type Task struct {
	store.Job
	Ledger Ledger
}

// reachable handles an error of a request about the subject of a task. done says that the subject is out of reach, so
// that there is nothing to do.
func (w *Worker) reachable(ctx context.Context, t Task, log *slog.Logger, what string, err error) (done bool, _ error) {
	switch {
	case forge.IsGone(err) && !w.early(t):
		log.Warn("the " + what + " is not accessible; nothing to do")
		return true, t.Ledger.SetText(ctx, store.Note, "")
	case err != nil:
		return false, fmt.Errorf("reading the %s: %w", what, err)
	}
	return false, nil
}

// following is the message of the job that continues the task.
func (t Task) following(at time.Time) store.Message {
	m := t.Message
	return store.Message{Delivery: m.Delivery, Event: m.Event, Owner: m.Owner, Name: m.Name, At: at}
}

// background reports whether nobody waits for the task: it is about a branch or other repositories, or a repeated
// check.
func (t Task) background() bool {
	if t.Message.Fresh {
		return false
	}
	event, _, _ := strings.Cut(t.Message.Event, ".")
	return t.Message.Missing || t.Message.Rules || t.Key.Branch != "" || t.Key.All || t.Key.Preview != 0 ||
		slices.Contains([]string{"push", "sweep", "alarm", "installation", "installation_repositories"}, event)
}

func (t Task) last() bool      { return t.Try >= t.Tries }
func (t Task) exhausted() bool { return t.Try > t.Tries }

func (t Task) repo() forge.Repo {
	return forge.Repo{Installation: t.Key.Installation, ID: t.Key.Repository, Owner: t.Message.Owner,
		Name: t.Message.Name}
}
