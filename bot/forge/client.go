package forge

import (
	"context"
	"time"
)

// Client is the only door to a forge; *github.Client is one. Its methods return *RetryLater and *Gone, which say what
// another try is good for.
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
	// PullRequestsOfCommit are the open ones.
	PullRequestsOfCommit(ctx context.Context, repo Repo, sha string) ([]int, error)
	// OpenPullRequests are those into a branch; "": all.
	OpenPullRequests(ctx context.Context, repo Repo, base string) ([]PullRequest, error)
	Reviews(ctx context.Context, repo Repo, number int) ([]Review, error)
	Pushers(ctx context.Context, repo Repo, number int) ([]string, error)

	// TeamMember and Permission return a *Gone where there is no such team or permission.
	TeamMember(ctx context.Context, repo Repo, team, login string) (bool, error)
	Permission(ctx context.Context, repo Repo, login string) (string, error)
	// MayRead reports whether the account with this id may read a repository, in whatever way.
	MayRead(ctx context.Context, repo Repo, account Account) (bool, error)

	// CheckRuns are those of the App for a commit, newest first.
	CheckRuns(ctx context.Context, repo Repo, headSHA string) ([]CheckRun, error)
	// Publish creates or updates a check run, and sets run.ID.
	Publish(ctx context.Context, repo Repo, run *CheckRun) error

	FailedDeliveries(ctx context.Context, since time.Time) ([]Delivery, error)
	Redeliver(ctx context.Context, id int64) error
}
