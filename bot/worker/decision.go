package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/checks/report"
)

// decision is about one pull request: what was asked once is remembered.
type decision struct {
	*Approvals
	repo   forge.Repo
	pr     *forge.PullRequest
	gitDir string
	rules  report.Approvers

	reviews     []forge.Review
	pushers     map[string]bool // in lower case
	owners      *CodeOwners
	teams       map[string]bool   // "team\nlogin" -> member
	permissions map[string]string // login -> permission
}

// gather finds out what bears on all exceptions; owners is whether CODEOWNERS bears on any.
func (d *decision) gather(ctx context.Context, rulesCommit string, owners bool) error {
	all, err := d.client.Reviews(ctx, d.repo, d.pr.Number)
	if err != nil {
		return err
	}
	d.reviews = latestReviews(all)
	d.pushers = map[string]bool{}
	if len(d.reviews) > 0 {
		if err := d.findPushers(ctx, rulesCommit); err != nil {
			return err
		}
	}
	d.owners = &CodeOwners{}
	if !owners {
		return nil
	}
	for _, path := range OwnersPaths() {
		data, _, err := d.git.Blob(ctx, d.gitDir, rulesCommit, path)
		var none *mirror.NoFile
		switch {
		case errors.As(err, &none):
			continue
		case err != nil:
			return fmt.Errorf("reading %s: %w", path, err)
		}
		d.owners = ParseCodeOwners(data)
		return nil
	}
	return nil
}

// review finds the reviews that bear on an exception.
func (d *decision) review(ctx context.Context, e report.Exception) (report.Review, error) {
	var owners []string
	if d.rules.CodeOwners {
		owners = d.owners.Owners(e.Path)
	}
	out := report.Review{Path: e.Path, Blob: e.Blob, With: e.With, Needed: max(d.rules.Count, 1), Who: d.approvers(owners)}
	for _, r := range d.reviews {
		vote := report.Vote{User: r.User, Commit: r.CommitSHA}
		if r.State == refuses {
			refused, err := d.refused(ctx, e, r, owners)
			if err != nil {
				return out, err
			}
			if refused {
				out.Refused = append(out.Refused, vote)
			}
			continue
		}
		why, err := d.objection(ctx, e, r, owners)
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

// refused reports whether somebody who may approve asked for changes when the file had its present content. Where that
// content is not known any more, the refusal stands.
func (d *decision) refused(ctx context.Context, e report.Exception, r forge.Review, owners []string) (bool, error) {
	may, err := d.allowed(ctx, r.User, owners)
	if err != nil || !may {
		return false, err
	}
	why, err := d.sameContent(ctx, e, r)
	return err == nil && (why == "" || why == gone), err
}

// What a review decides, as GitHub names it.
const (
	approves = "APPROVED"
	refuses  = "CHANGES_REQUESTED"
	nothing  = "DISMISSED"
)

// latestReviews returns each user's latest decisive review, if that approves or asks for changes, oldest first. A
// comment decides nothing; GitHub turns a dismissed review into DISMISSED.
func latestReviews(reviews []forge.Review) []forge.Review {
	last := map[string]int{}
	for i, r := range reviews {
		switch r.State {
		case approves, refuses, nothing:
			last[strings.ToLower(r.User)] = i
		}
	}
	var deciding []forge.Review
	for i, r := range reviews {
		if r.User != "" && (r.State == approves || r.State == refuses) && last[strings.ToLower(r.User)] == i {
			deciding = append(deciding, r)
		}
	}
	return deciding
}
