package worker

import (
	"context"
	"fmt"
	"slices"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/checks/report"
)

// ask adds what only GitHub knows to the change: the author's teams, and what the reviews say about exceptions.
func (c *check) ask(ctx context.Context, state mirror.State, in *report.Inspection, change *report.Change) (err error) {
	defer c.timed(stageReview)()
	if change.User.Teams, err = c.teams(ctx, in.Teams); err != nil {
		return err
	}
	if slices.ContainsFunc(in.Exceptions, func(e report.Exception) bool { return e.State == report.Pending }) {
		change.Reviews, err = c.reviews(ctx, state, in)
	}
	return err
}

// askAgain adds what the reviews say about objects by which alone policies let something pass, which only a check finds
// out. It reports whether something was decided about them, so that the change is to be checked again.
func (c *check) askAgain(ctx context.Context, state mirror.State, in *report.Inspection, change *report.Change,
	rep *report.Report) (decided bool, err error) {
	relied := &report.Inspection{Approvers: in.Approvers}
	for _, e := range rep.Exceptions {
		if e.Object && e.Review == nil {
			relied.Exceptions = append(relied.Exceptions, e)
		}
	}
	if len(relied.Exceptions) == 0 {
		return false, nil
	}
	defer c.timed(stageReview)()
	reviews, err := c.reviews(ctx, state, relied)
	if err != nil {
		return false, err
	}
	change.Reviews = append(change.Reviews, reviews...)
	for i := range rep.Exceptions {
		e := &rep.Exceptions[i]
		at := slices.IndexFunc(reviews, func(r report.Review) bool { return e.Object && r.Of(e.Path, e.Blob, e.With) })
		if at >= 0 {
			e.Review = &reviews[at]
			decided = decided || reviews[at].State() != report.Pending
		}
	}
	rep.Conclude()
	return decided, nil
}

// teams are those that the author is a member of. A team that the App may not see has no members.
func (c *check) teams(ctx context.Context, all []string) (member []string, _ error) {
	if c.change.User.Login == "" {
		return nil, nil
	}
	for _, team := range all {
		is, err := c.Client.TeamMember(ctx, c.repo, team, c.change.User.Login)
		if err != nil && !forge.IsGone(err) {
			return nil, fmt.Errorf("asking for the members of a team: %w", err)
		}
		if is {
			member = append(member, team)
		}
	}
	return member, nil
}

// reviews asks what the reviews of all pull requests that are part of the change say about its exceptions. Where
// several decide about the same content, a refusal outweighs an approval, and that what is missing.
func (c *check) reviews(ctx context.Context, state mirror.State,
	in *report.Inspection) (all []report.Review, err error) {
	pulls := []*forge.PullRequest{c.pr}
	if c.reviewedPulls != nil {
		if pulls, err = c.reviewedPulls(ctx, state); err != nil {
			return nil, err
		}
	}
	weight := func(r report.Review) int {
		return slices.Index([]report.State{report.Pending, report.Approved, report.Refused}, r.State())
	}
	for _, pr := range pulls {
		if pr == nil {
			continue
		}
		found, err := c.Approvals.Decide(ctx, c.repo, pr, state.GitDir, state.BaseTip, in)
		if err != nil {
			return nil, err
		}
		for _, r := range found {
			i := slices.IndexFunc(all, func(a report.Review) bool { return a.Of(r.Path, r.Blob, r.With) })
			if i < 0 {
				all = append(all, r)
			} else if weight(r) > weight(all[i]) {
				all[i] = r
			}
		}
	}
	return all, nil
}
