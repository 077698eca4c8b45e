package worker

import (
	"context"
	"slices"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/checks/report"
)

// Git reads from a mirror. Its errors about absent things are *mirror.Vanished and *mirror.NoFile.
type Git interface {
	Blob(ctx context.Context, gitDir, commit, path string) ([]byte, string, error)
	BlobID(ctx context.Context, gitDir, commit, path string) (string, error)
	// makes a commit available that may be in no branch any more
	Ensure(ctx context.Context, repo forge.Repo, sha string) error
	Commits(ctx context.Context, gitDir, old, now string) ([]string, error)
}

// Pushes remembers who pushed to the heads of pull requests, and who pushed commits to any branch before or while there
// was no open pull request, in any case of letters; store.Queue does. Commits say who made them, but whoever pushes can
// write any name into them.
type Pushes interface {
	Pushers(ctx context.Context, repository int64, number int) ([]string, error)
	TipPushers(ctx context.Context, repository int64, commits []string) ([]string, error)
}

// Approvals decides which exceptions of a pull request were approved in review, by whom, and what is missing for the
// others. An approval is for a content, not for a commit: it counts as long as the file has exactly what the approver saw.
// It is immutable and safe for concurrent use.
type Approvals struct {
	client forge.Client
	git    Git
	pushes Pushes
}

// NewApprovals returns an Approvals that asks GitHub through the client and reads files with git. Without pushes it has to
// believe the commits.
func NewApprovals(client forge.Client, git Git, pushes Pushes) *Approvals {
	return &Approvals{client: client, git: git, pushes: pushes}
}

func sameException(a, b report.Exception) bool {
	return a.Path == b.Path && a.Blob == b.Blob && slices.Equal(a.With, b.With)
}

// Decide finds the reviews of every exception file of the inspection that waits for approval, in its order. rulesCommit
// is where CODEOWNERS is read: the tip of the base branch. Errors are those of the client, and of git where it
// fails on what it has.
func (a *Approvals) Decide(ctx context.Context, repo forge.Repo, pr *forge.PullRequest, gitDir, rulesCommit string,
	in *report.Inspection) ([]report.Review, error) {
	var waiting []report.Exception
	for _, e := range in.Exceptions {
		if e.State != report.Pending || e.Path == "" || e.Blob == "" && !e.Object {
			continue
		}
		i := slices.IndexFunc(waiting, func(w report.Exception) bool { return sameException(w, e) })
		switch {
		case i < 0:
			waiting = append(waiting, e)
		case e.Approvers != nil: // who decides about one of a file decides about all of it
			waiting[i].Approvers = e.Approvers
		}
	}
	if len(waiting) == 0 {
		return nil, nil
	}
	d := &decision{Approvals: a, repo: repo, pr: pr, gitDir: gitDir, rules: in.Approvers,
		teams: map[string]bool{}, permissions: map[string]string{}}
	owners := in.Approvers.CodeOwners || slices.ContainsFunc(waiting, func(e report.Exception) bool {
		return e.Approvers != nil && e.Approvers.CodeOwners
	})
	if err := d.gather(ctx, rulesCommit, owners); err != nil {
		return nil, err
	}
	reviews := make([]report.Review, 0, len(waiting))
	for _, e := range waiting {
		if d.rules = in.Approvers; e.Approvers != nil {
			d.rules = *e.Approvers
		}
		r, err := d.review(ctx, e)
		if err != nil {
			return nil, err
		}
		reviews = append(reviews, r)
	}
	return reviews, nil
}
