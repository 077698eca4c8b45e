// Package forge defines the data of a forge such as GitHub for the App: repositories, pull requests, reviews, check
// runs with their external ids, and errors that say whether a retry helps. Package github implements it.
package forge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
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

// DefaultsNames are the names of the repository with an organisation's settings, in order of preference.
func DefaultsNames() []string { return []string{".lintel", ".github"} }

// HasDefaults reports whether the repository may have an organisation's settings.
func (r Repo) HasDefaults() bool { return slices.Contains(DefaultsNames(), strings.ToLower(r.Name)) }

// Repository is a repository as it was at some time: when GitHub was asked, or something about it was stored.
type Repository struct {
	Repo
	Private bool `json:"private"` // not everybody may read it; so is an internal one
}

// PullRequest is the present state of a pull request, as far as a check depends on it.
type PullRequest struct {
	Number  int
	State   string // open or closed
	Title   string
	Author  string
	BaseRef string // branch name
	BaseSHA string // tip of the base branch as GitHub knows it
	HeadSHA string
	HeadRef string
	// HeadRepo is where the head's branch is, "owner/name"; empty where that is gone.
	HeadRepo string
	Fork     bool
	Updated  time.Time // by GitHub's clock; older than an event's tells that GitHub answers from the past
}

// Settings of a repository, as far as a check depends on them.
type Settings struct {
	ID            int64
	Owner, Name   string // at present
	Private       bool   // not everybody may read it
	DefaultBranch string
	Archived      bool // takes no check runs
}

// The states of a check run, and the conclusion of one that nobody needs any more.
const (
	Queued     = "queued"
	InProgress = "in_progress"
	Completed  = "completed"
	Cancelled  = "cancelled"
)

// CheckRun is a check run to create or update. ID is zero before it is created.
type CheckRun struct {
	ID int64
	// what the run's name says behind the App's, in parentheses; "" for the run that merging may require
	Part        string
	HeadSHA     string
	Status      string // Queued, InProgress or Completed
	Conclusion  string // with completed
	ExternalID  string
	DetailsURL  string
	StartedAt   time.Time
	CompletedAt time.Time
	Title       string
	Summary     string // markdown; cut to GitHub's limit with a count, see Fit
	Text        string
	Annotations []report.Annotation // any number; sent in batches of 50
	Actions     []Action            // at most 3
}

// Action is a button on a check run: GitHub allows 20, 40 and 20 characters.
type Action struct{ Label, Description, Identifier string }

// MaxSuggestions is how many suggestions of the App a pull request has at most.
const MaxSuggestions = 30

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
}

// Installation is an account that installed the App.
type Installation struct {
	ID        int64
	Account   string
	Suspended bool
}

// Client is the only access to a forge; *github.Client implements it. Its methods return *RetryLater and *Gone, which
// say whether a retry helps.
type Client interface {
	Installations(ctx context.Context) ([]Installation, error)
	// Budget is what an installation has left of its hourly limit; false: not known.
	Budget(installation int64) (Budget, bool)

	Repositories(ctx context.Context, installation int64) ([]Repo, error)
	Repository(ctx context.Context, repo Repo) (*Settings, error)
	// Present finds a repository by its id, whatever it is called now.
	Present(ctx context.Context, repo Repo) (*Repository, error)
	// CloneURL is http or https, without credentials.
	CloneURL(repo Repo) string
	// GitToken may read the contents of this repository.
	GitToken(ctx context.Context, repo Repo) (string, error)
	// Branch is the tip of a branch.
	Branch(ctx context.Context, repo Repo, name string) (string, error)

	PullRequest(ctx context.Context, repo Repo, number int) (*PullRequest, error)
	// MergeGroups are the head commits of the open merge groups of a pull request.
	MergeGroups(ctx context.Context, repo Repo, base string, number int) ([]string, error)
	// PullRequestsOfCommit are the open ones.
	PullRequestsOfCommit(ctx context.Context, repo Repo, sha string) ([]int, error)
	// OpenPullRequests are those into a branch; "": all.
	OpenPullRequests(ctx context.Context, repo Repo, base string) ([]PullRequest, error)
	Reviews(ctx context.Context, repo Repo, number int) ([]Review, error)
	// Commits are those of a pull request, by id, each with the accounts of its author and committer.
	Commits(ctx context.Context, repo Repo, number int) (map[string][]string, error)

	// TeamMember and Permission return a *Gone where there is no such team or permission.
	TeamMember(ctx context.Context, repo Repo, team, login string) (bool, error)
	Permission(ctx context.Context, repo Repo, login string) (string, error)
	// MayRead reports whether the account with this id may read a repository, in whatever way.
	MayRead(ctx context.Context, repo Repo, account Account) (bool, error)

	// CheckRuns are those of the App for a commit, newest first.
	CheckRuns(ctx context.Context, repo Repo, headSHA string) ([]CheckRun, error)
	// Publish creates or updates a check run, and sets run.ID.
	Publish(ctx context.Context, repo Repo, run *CheckRun) error

	// Suggest makes a list the App's suggestions on a pull request. left is how many were too many. It is a *NotGranted
	// where the App may not post them.
	Suggest(ctx context.Context, repo Repo, number int, headSHA string, list []report.Replacement) (left int, err error)

	FailedDeliveries(ctx context.Context, since time.Time) ([]Delivery, error)
	Redeliver(ctx context.Context, id int64) error
}

// RetryLater means that GitHub asks to wait (rate limits) or cannot answer: the job must be returned to the queue until
// then.
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

func (e *Gone) Error() string { return e.What + " does not exist, or the App has no access to it" }
func (e *Gone) Unwrap() error { return e.Err }

// NotGranted means that the App lacks a permission, as its owner's page calls it.
type NotGranted struct{ Permission string }

func (e *NotGranted) Error() string { return "the App lacks the permission " + e.Permission }

// Is reports whether an error has one of a type in its tree.
func Is[E error](err error) bool {
	_, is := errors.AsType[E](err)
	return is
}

// IsGone reports whether an error is a *Gone.
func IsGone(err error) bool { return Is[*Gone](err) }

// TooMany is returned instead of a list that is too long for a check. A list is never cut silently, because a missing
// entry could be the important one.
type TooMany struct {
	What  string
	Limit int
}

func (e *TooMany) Error() string { return fmt.Sprintf("%s: more than %d", e.What, e.Limit) }

// Budget is an installation's hourly rate limit according to GitHub's latest answer, and what is left of the limits
// that answers do not mention.
type Budget struct {
	Limit     int
	Remaining int
	Reset     time.Time     // by GitHub's clock
	CheckRuns int           // that this process may still create within the hour
	Wait      time.Duration // until a check may begin; zero: at once
}

// Account is a person's account. The login can change, the id stays.
type Account struct {
	ID    int64  `json:"id"`
	Login string `json:"login"`
}
