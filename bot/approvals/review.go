// Package approvals finds out which exceptions of a pull request were approved in review, by whom, and what is
// missing for the others.
//
// An approval is for a content, not for a commit: it counts as long as the file has exactly what the
// approver saw.
package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/queue"
	"github.com/lintel-bot/lintel/checks/report"
)

// Git reads from a mirror. Its errors about absent things are *mirror.Vanished and *mirror.NoFile.
type Git interface {
	Blob(ctx context.Context, gitDir, commit, path string) ([]byte, string, error)
	BlobID(ctx context.Context, gitDir, commit, path string) (string, error)
	Ensure(ctx context.Context, repo github.Repo, sha string) error // makes a commit available that may be in no branch any more
	Commits(ctx context.Context, gitDir, old, now string) ([]string, error)
}

var _ Git = (*mirror.Mirrors)(nil)

// Judge decides about approvals. It is immutable and safe for concurrent use.
type Judge struct {
	door   github.Door
	git    Git
	pushes Pushes
}

// Pushes remembers who pushed to the heads of pull requests, and who pushed commits to any branch before or while there
// was no open pull request, in any case of letters; queue.Queue does. Commits say who made them, but whoever pushes can
// write any name into them.
type Pushes interface {
	Pushers(ctx context.Context, repository int64, number int) ([]string, error)
	TipPushers(ctx context.Context, repository int64, commits []string) ([]string, error)
}

// New returns a Judge that asks GitHub through the door and reads files with git. Without pushes it has to
// believe the commits.
func New(door github.Door, git Git, pushes Pushes) *Judge {
	return &Judge{door: door, git: git, pushes: pushes}
}

// Decide judges every exception file of the inspection that waits for approval, in its order. rulesCommit
// is where CODEOWNERS is read: the tip of the base branch. Errors are those of the door, and of git where it
// fails on what it has.
func (j *Judge) Decide(ctx context.Context, repo github.Repo, pr *github.PullRequest, gitDir, rulesCommit string, in *report.Inspection) ([]report.Review, error) {
	var waiting []report.Exception
	for _, e := range in.Exceptions {
		if e.State == report.Pending && e.Path != "" && e.Blob != "" &&
			!slices.ContainsFunc(waiting, func(w report.Exception) bool { return w.Path == e.Path && w.Blob == e.Blob }) {
			waiting = append(waiting, e)
		}
	}
	if len(waiting) == 0 {
		return nil, nil
	}
	c := &court{judge: j, repo: repo, pr: pr, gitDir: gitDir, rules: in.Approvers, teams: map[string]bool{}, permissions: map[string]string{}}
	if err := c.open(ctx, rulesCommit); err != nil {
		return nil, err
	}
	reviews := make([]report.Review, 0, len(waiting))
	for _, e := range waiting {
		r, err := c.decide(ctx, e)
		if err != nil {
			return nil, err
		}
		reviews = append(reviews, r)
	}
	return reviews, nil
}

// What a review decides, as GitHub names it.
const (
	approves = "APPROVED"
	refuses  = "CHANGES_REQUESTED"
	nothing  = "DISMISSED"
)

// latest returns each user's latest decisive review, if that approves or asks for changes, oldest first. A
// comment decides nothing; GitHub turns a dismissed review into DISMISSED.
func latest(reviews []github.Review) []github.Review {
	last := map[string]int{}
	for i, r := range reviews {
		switch r.State {
		case approves, refuses, nothing:
			last[strings.ToLower(r.User)] = i
		}
	}
	var deciding []github.Review
	for i, r := range reviews {
		if r.User != "" && (r.State == approves || r.State == refuses) && last[strings.ToLower(r.User)] == i {
			deciding = append(deciding, r)
		}
	}
	return deciding
}

// court is one pull request's case: what was asked once is remembered.
type court struct {
	judge  *Judge
	repo   github.Repo
	pr     *github.PullRequest
	gitDir string
	rules  report.Approvers

	reviews     []github.Review
	pushers     map[string]bool // in lower case
	owners      *CodeOwners
	teams       map[string]bool   // "team\nlogin" -> member
	permissions map[string]string // login -> permission
}

// open gathers what all exceptions are judged by.
func (c *court) open(ctx context.Context, rulesCommit string) error {
	all, err := c.judge.door.Reviews(ctx, c.repo, c.pr.Number)
	if err != nil {
		return err
	}
	c.reviews = latest(all)
	c.pushers = map[string]bool{}
	if len(c.reviews) > 0 {
		if err := c.findPushers(ctx, rulesCommit); err != nil {
			return err
		}
	}
	c.owners = &CodeOwners{}
	if !c.rules.CodeOwners {
		return nil
	}
	for _, path := range OwnersPaths() {
		data, _, err := c.judge.git.Blob(ctx, c.gitDir, rulesCommit, path)
		var none *mirror.NoFile
		switch {
		case errors.As(err, &none):
			continue
		case err != nil:
			return fmt.Errorf("reading %s: %w", path, err)
		}
		c.owners = ParseCodeOwners(data)
		return nil
	}
	return nil
}

// findPushers asks GitHub who made the commits, and what is remembered about who pushed them.
func (c *court) findPushers(ctx context.Context, rulesCommit string) error {
	pushers, err := c.judge.door.Pushers(ctx, c.repo, c.pr.Number)
	if err != nil {
		return err
	}
	if c.judge.pushes != nil {
		known, err := c.judge.pushes.Pushers(ctx, c.repo.ID, c.pr.Number)
		if err != nil {
			return err
		}
		commits, err := c.commits(ctx, rulesCommit)
		if err != nil {
			return err
		}
		tips, err := c.judge.pushes.TipPushers(ctx, c.repo.ID, commits)
		if err != nil {
			return err
		}
		pushers = slices.Concat(pushers, known, tips)
	}
	for _, login := range pushers {
		c.pushers[strings.ToLower(login)] = true
	}
	return nil
}

// commits are those that the pull request brings. A merge group that squashes does not have its head.
func (c *court) commits(ctx context.Context, base string) ([]string, error) {
	list, err := c.judge.git.Commits(ctx, c.gitDir, base, c.pr.HeadSHA)
	var vanished *mirror.Vanished
	if errors.As(err, &vanished) {
		if err := c.judge.git.Ensure(ctx, c.repo, c.pr.HeadSHA); err != nil {
			return nil, err
		}
		list, err = c.judge.git.Commits(ctx, c.gitDir, base, c.pr.HeadSHA)
	}
	return list, err
}

func (c *court) decide(ctx context.Context, e report.Exception) (report.Review, error) {
	owners := c.owners.Owners(e.Path)
	out := report.Review{Path: e.Path, Blob: e.Blob, Needed: max(c.rules.Count, 1), Who: c.who(owners)}
	for _, r := range c.reviews {
		vote := report.Vote{User: r.User, Commit: r.CommitSHA}
		if r.State == refuses {
			refused, err := c.refused(ctx, e, r, owners)
			if err != nil {
				return out, err
			}
			if refused {
				out.Refused = append(out.Refused, vote)
			}
			continue
		}
		why, err := c.objection(ctx, e, r, owners)
		if err != nil {
			return out, err
		}
		if vote.Why = why; why == "" {
			out.Approved = append(out.Approved, vote)
		} else {
			out.Ignored = append(out.Ignored, vote)
		}
	}
	return out, nil
}

// refused says whether somebody who may approve asked for changes when the file had its present content. Where that
// content is not known any more, the refusal stands.
func (c *court) refused(ctx context.Context, e report.Exception, r github.Review, owners []string) (bool, error) {
	may, err := c.allowed(ctx, r.User, owners)
	if err != nil || !may {
		return false, err
	}
	why, err := c.sameContent(ctx, e, r)
	return err == nil && (why == "" || why == gone), err
}

// everyone is who may approve where neither the settings nor CODEOWNERS name anybody.
const everyone = "anyone with write access"

func (c *court) who(owners []string) []string {
	var out []string
	for _, u := range c.rules.Users {
		out = append(out, "@"+strings.TrimPrefix(u, "@"))
	}
	for _, t := range c.rules.Teams {
		out = append(out, "@"+strings.TrimPrefix(t, "@"))
	}
	if out = append(out, owners...); len(out) == 0 {
		return []string{everyone}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// objection says why an approval does not count, or "".
func (c *court) objection(ctx context.Context, e report.Exception, r github.Review, owners []string) (string, error) {
	if strings.EqualFold(r.User, c.pr.Author) {
		return "the author cannot approve", nil
	}
	if c.pushers[strings.ToLower(r.User)] || c.pushers[queue.Everybody] {
		return "who pushed to the pull request cannot approve", nil
	}
	may, err := c.allowed(ctx, r.User, owners)
	if err != nil {
		return "", err
	}
	if !may {
		return "not among those who may approve", nil
	}
	return c.sameContent(ctx, e, r)
}

// gone is the objection against a review of which nothing can be found out.
const gone = "the reviewed commit is not on GitHub any more"

// sameContent compares the file that was reviewed with the present one.
func (c *court) sameContent(ctx context.Context, e report.Exception, r github.Review) (string, error) {
	id, err := c.judge.git.BlobID(ctx, c.gitDir, r.CommitSHA, e.Path)
	var vanished *mirror.Vanished
	if errors.As(err, &vanished) {
		// Pushed over since, and this mirror is younger.
		err = c.judge.git.Ensure(ctx, c.repo, r.CommitSHA)
		if errors.As(err, &vanished) {
			return gone, nil
		}
		if err != nil {
			return "", err
		}
		if id, err = c.judge.git.BlobID(ctx, c.gitDir, r.CommitSHA, e.Path); errors.As(err, &vanished) {
			return gone, nil
		}
	}
	var none *mirror.NoFile
	switch {
	case errors.As(err, &none):
		return "the file was not in the reviewed commit", nil
	case err != nil:
		return "", err
	case id != e.Blob:
		return "the file changed after the review", nil
	}
	return "", nil
}

// allowed says whether a user is among those who may approve: the users and teams of the settings and the
// owners of the file. Where there is none of them, it takes write access. Bots may approve only if the
// settings name them, because the author of a change could make one approve by a workflow.
func (c *court) allowed(ctx context.Context, login string, owners []string) (bool, error) {
	for _, u := range c.rules.Users {
		if strings.EqualFold(strings.TrimPrefix(u, "@"), login) {
			return true, nil
		}
	}
	if strings.HasSuffix(login, "[bot]") {
		return false, nil
	}
	for _, t := range c.rules.Teams {
		if member, err := c.member(ctx, strings.TrimPrefix(t, "@"), login); err != nil || member {
			return member, err
		}
	}
	if len(owners) == 0 {
		if len(c.rules.Users) > 0 || len(c.rules.Teams) > 0 {
			return false, nil
		}
		return c.writes(ctx, login)
	}
	owns, err := c.owns(ctx, owners, login)
	if err != nil || !owns {
		return false, err
	}
	// Code owners must have write access to count as such on GitHub.
	return c.writes(ctx, login)
}

func (c *court) owns(ctx context.Context, owners []string, login string) (bool, error) {
	for _, o := range owners {
		name, ok := strings.CutPrefix(o, "@")
		if !ok {
			continue // an address: GitHub's API does not tell whose it is
		}
		if strings.Contains(name, "/") {
			if member, err := c.member(ctx, name, login); err != nil || member {
				return member, err
			}
		} else if strings.EqualFold(name, login) {
			return true, nil
		}
	}
	return false, nil
}

// member asks for a membership once. A team that the App cannot see has no members.
func (c *court) member(ctx context.Context, team, login string) (bool, error) {
	key := strings.ToLower(team + "\n" + login)
	if known, ok := c.teams[key]; ok {
		return known, nil
	}
	member, err := c.judge.door.TeamMember(ctx, c.repo, team, login)
	var gone *github.Gone
	if err != nil && !errors.As(err, &gone) {
		return false, err
	}
	c.teams[key] = member && err == nil
	return c.teams[key], nil
}

func (c *court) writes(ctx context.Context, login string) (bool, error) {
	key := strings.ToLower(login)
	permission, ok := c.permissions[key]
	if !ok {
		var err error
		if permission, err = c.judge.door.Permission(ctx, c.repo, login); err != nil {
			var gone *github.Gone
			if !errors.As(err, &gone) {
				return false, err
			}
			permission = "none"
		}
		c.permissions[key] = permission
	}
	return permission == "write" || permission == "admin", nil
}
