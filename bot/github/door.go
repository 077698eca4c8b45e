// Package github is the one door to GitHub's API: everything the App asks or tells GitHub goes through
// the Door interface, and every rule about GitHub's limits is kept here.
package github

import (
	"context"
	"fmt"
	"time"
)

// Repo addresses a repository within an installation of the App. Owner and Name may be outdated after a
// rename; ID stays.
type Repo struct {
	Installation int64  `json:"installation"`
	ID           int64  `json:"id"`
	Owner        string `json:"owner"`
	Name         string `json:"name"`
}

// String is owner/name.
func (r Repo) String() string { return r.Owner + "/" + r.Name }

// PullRequest is the present state of a pull request, as far as a check depends on it.
type PullRequest struct {
	Number  int
	State   string // open or closed
	Draft   bool
	Author  string
	BaseRef string // branch name
	BaseSHA string // tip of the base branch as GitHub knows it
	HeadSHA string
	HeadRef string
	Fork    bool
	Updated time.Time // by GitHub's clock; older than an event's tells that GitHub answers from the past
}

// Settings of a repository, as far as a check depends on them.
type Settings struct {
	DefaultBranch string
	Archived      bool // takes no check runs
}

// CheckRun is a check run to create or update. ID is zero before it is created.
type CheckRun struct {
	ID          int64
	Part        string // what the run's name says behind the App's, in parentheses; "" for the run that merging may require
	HeadSHA     string
	Status      string // queued, in_progress or completed
	Conclusion  string // with completed
	ExternalID  string
	DetailsURL  string
	StartedAt   time.Time
	CompletedAt time.Time
	Title       string
	Summary     string // markdown; cut to GitHub's limit with a count, see Fit
	Text        string
	Annotations []Annotation // any number; sent in batches of 50
	Actions     []Action     // at most 3
}

// Annotation is a note on lines of a file.
type Annotation struct {
	Path        string
	StartLine   int
	EndLine     int
	StartColumn int // only sent when StartLine equals EndLine
	EndColumn   int
	Level       string // notice, warning or failure
	Title       string
	Message     string
	RawDetails  string
}

// Action is a button on a check run: GitHub allows 20, 40 and 20 characters.
type Action struct{ Label, Description, Identifier string }

// Review is one review of a pull request, oldest first in lists.
type Review struct {
	User      string
	State     string // APPROVED, CHANGES_REQUESTED, COMMENTED, DISMISSED, PENDING
	CommitSHA string
	Submitted time.Time
}

// Delivery is a webhook delivery that GitHub recorded.
type Delivery struct {
	ID         int64
	GUID       string
	Event      string
	StatusCode int
	At         time.Time
	Redelivery bool
}

// Installation is an account that installed the App.
type Installation struct {
	ID        int64
	Account   string
	Suspended bool
}

// Door is everything Lintel asks of GitHub. Its errors are *RetryLater, *Gone or plain errors that a
// later try may cure. Implementations are safe for concurrent use.
type Door interface {
	PullRequest(ctx context.Context, repo Repo, number int) (*PullRequest, error)
	PullRequestsOfCommit(ctx context.Context, repo Repo, sha string) ([]int, error) // open ones
	OpenPullRequests(ctx context.Context, repo Repo) ([]PullRequest, error)
	Repository(ctx context.Context, repo Repo) (*Settings, error)
	Branch(ctx context.Context, repo Repo, name string) (string, error) // its tip
	Reviews(ctx context.Context, repo Repo, number int) ([]Review, error)
	Pushers(ctx context.Context, repo Repo, number int) ([]string, error)         // logins of the authors and committers of the pull request's commits
	Permission(ctx context.Context, repo Repo, login string) (string, error)      // none, read, write or admin
	TeamMember(ctx context.Context, repo Repo, team, login string) (bool, error)  // team as org/slug
	CheckRuns(ctx context.Context, repo Repo, headSHA string) ([]CheckRun, error) // ours only, newest first, without annotations
	Publish(ctx context.Context, repo Repo, run *CheckRun) error                  // creates or updates; sets run.ID; idempotent by ExternalID
	GitToken(ctx context.Context, repo Repo) (string, error)                      // installation token for git, contents:read of this repository only
	CloneURL(repo Repo) string                                                    // https URL without credentials
	Installations(ctx context.Context) ([]Installation, error)
	Repositories(ctx context.Context, installation int64) ([]Repo, error)
	FailedDeliveries(ctx context.Context, since time.Time) ([]Delivery, error)
	Redeliver(ctx context.Context, id int64) error
}

// RetryLater is the answer while GitHub asks us to wait (rate limits) or cannot serve: the job is to be
// put back until then, not slept on.
type RetryLater struct {
	After  time.Duration
	Reason string
	Err    error
}

func (e *RetryLater) Error() string {
	return fmt.Sprintf("github asks to wait %s: %s", e.After.Round(time.Second), e.Reason)
}
func (e *RetryLater) Unwrap() error { return e.Err }

// Gone means that the thing asked for does not exist (any more) or the App has no access to it: trying
// again does not help.
type Gone struct {
	What string
	Err  error
}

func (e *Gone) Error() string { return e.What + " is not there or the App has no access to it" }
func (e *Gone) Unwrap() error { return e.Err }
