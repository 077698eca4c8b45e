package worker

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/sandbox"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/settings"
)

// decide returns a review for every pending exception file of the inspection, in order: who approved it in a pull
// request, and what is missing. An approval is for a content, not for a commit: it counts as long as the file has exactly
// the reviewed content, and other files do not change its effect. CODEOWNERS is read at the tip of the base branch. It
// fails for errors of the client, and of the mirror except for missing commits and files.
func (c *check) decide(ctx context.Context, state mirror.State, pr *forge.PullRequest,
	in *report.Inspection) ([]report.Review, error) {
	var waiting []report.Exception
	for _, e := range in.Exceptions {
		if e.State != report.Pending || e.Path == "" || e.Blob == "" && !e.Object {
			continue
		}
		i := slices.IndexFunc(waiting, func(w report.Exception) bool {
			return w.Path == e.Path && w.Blob == e.Blob && slices.Equal(w.Terms, e.Terms)
		})
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
	d := &decision{of: c, state: state, pr: pr, rules: in.Approvers,
		teams: map[string]bool{}, permissions: map[string]string{}, terms: map[reviewedCommit]termsOrError{}}
	owners := in.Approvers.CodeOwners || slices.ContainsFunc(waiting, func(e report.Exception) bool {
		return e.Approvers != nil && e.Approvers.CodeOwners
	})
	if err := d.gather(ctx, owners); err != nil {
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

// decision is about one pull request. It caches answers of GitHub.
type decision struct {
	of    *check
	state mirror.State
	pr    *forge.PullRequest
	rules report.Approvers

	reviews     []forge.Review
	people      *People
	owners      *CodeOwners
	teams       map[string]bool   // "team\nlogin" -> member
	permissions map[string]string // login -> permission
	terms       map[reviewedCommit]termsOrError
}

type termsOrError struct {
	terms []string
	err   error
}

// reviewedCommit is a reviewed commit: its exceptions, or the objects in it that policies look up.
type reviewedCommit struct {
	commit  string
	objects bool
}

// gather collects what concerns all exceptions; owners says whether CODEOWNERS concerns any.
func (d *decision) gather(ctx context.Context, owners bool) error {
	all, err := d.of.Client.Reviews(ctx, d.of.repo, d.pr.Number)
	if err != nil {
		return err
	}
	d.reviews = latestReviews(all)
	if len(d.reviews) > 0 {
		if d.people, err = d.of.peopleOf(ctx, d.state, d.pr); err != nil {
			return err
		}
	}
	d.owners = &CodeOwners{}
	if !owners {
		return nil
	}
	for _, path := range settings.OwnersPaths() {
		data, _, err := d.of.Mirror.Blob(ctx, d.state.GitDir, d.state.BaseTip, path)
		switch {
		case forge.Is[*mirror.NoFile](err):
			continue
		case err != nil:
			return fmt.Errorf("reading %s: %w", path, err)
		}
		d.owners = ParseCodeOwners(data)
		return nil
	}
	return nil
}

// review collects the reviews of an exception.
func (d *decision) review(ctx context.Context, e report.Exception) (report.Review, error) {
	var owners []string
	if d.rules.CodeOwners {
		owners = d.owners.Owners(e.Path)
	}
	out := report.Review{Path: e.Path, Blob: e.Blob, Terms: e.Terms, Needed: max(d.rules.Count, 1), Who: d.approvers(owners)}
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

// refused reports whether an approver requested changes when the file had its present content. If the reviewed content
// is not known, the refusal counts.
func (d *decision) refused(ctx context.Context, e report.Exception, r forge.Review, owners []string) (bool, error) {
	may, err := d.allowed(ctx, r.User, owners)
	if err != nil || !may {
		return false, err
	}
	why, err := d.sameContent(ctx, e, r)
	return err == nil && (why == "" || why == gone || why == uncheckable), err
}

// The decisions of reviews, as GitHub names them.
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

// objection returns why an approval does not count; "" if it does.
func (d *decision) objection(ctx context.Context, e report.Exception, r forge.Review,
	owners []string) (string, error) {
	if strings.EqualFold(r.User, d.pr.Author) {
		return "the author cannot approve", nil
	}
	if d.people.Has(r.User) {
		return "somebody who pushed to the pull request cannot approve", nil
	}
	may, err := d.allowed(ctx, r.User, owners)
	if err != nil {
		return "", err
	}
	if !may {
		return "not among those who may approve", nil
	}
	return d.sameContent(ctx, e, r)
}

// gone is the objection for a review whose commit is unknown.
const gone = "the reviewed commit is no longer on GitHub"

// uncheckable is the objection for a review of a commit that cannot be checked, as one that a later push mended.
const uncheckable = "the reviewed commit cannot be checked"

// other is the objection for a review of something with another effect.
const other = "in the reviewed commit it was not waiting for approval as it is now: other files decide about it, too"

// sameContent compares the file that was reviewed with the present one, and its effect in the reviewed commit with the present one.
func (d *decision) sameContent(ctx context.Context, e report.Exception, r forge.Review) (string, error) {
	id, err := d.of.Mirror.BlobID(ctx, d.state.GitDir, r.CommitSHA, e.Path)
	if forge.Is[*mirror.Vanished](err) {
		// The commit was replaced by a push before this mirror was made.
		if err = d.of.Mirror.Ensure(ctx, d.of.repo, r.CommitSHA); err == nil {
			id, err = d.of.Mirror.BlobID(ctx, d.state.GitDir, r.CommitSHA, e.Path)
		}
	}
	noFile := forge.Is[*mirror.NoFile](err)
	switch {
	case forge.Is[*mirror.Vanished](err):
		return gone, nil
	case noFile && e.Blob != "":
		return "the file was not in the reviewed commit", nil
	case err != nil && !noFile:
		return "", err
	case id != e.Blob:
		return "the file changed after the review", nil
	case r.CommitSHA == d.of.head:
		return "", nil
	}
	terms, err := d.termsAt(ctx, reviewedCommit{r.CommitSHA, e.Object})
	switch {
	case forge.Is[*mirror.Vanished](err) || forge.Is[*mirror.NoMergeBase](err):
		return gone, nil
	case forge.Is[*sandbox.Crash](err) || forge.Is[*sandbox.Failed](err) || forge.Is[*mirror.TooLarge](err):
		return uncheckable, d.of.unfit(err)
	case err != nil:
		return "", fmt.Errorf("looking at the reviewed commit: %w", err)
	case !report.Among(terms, e.Terms):
		return other, nil
	}
	return "", nil
}

// termsAt returns the terms of all that waits for approval in a reviewed commit, by the present rules of the base branch. It
// looks once.
func (d *decision) termsAt(ctx context.Context, at reviewedCommit) ([]string, error) {
	known, ok := d.terms[at]
	if !ok {
		list, err := d.waitingAt(ctx, at)
		for _, e := range list {
			known.terms = append(known.terms, e.Terms...)
		}
		known.err = err
		d.terms[at] = known
	}
	return known.terms, known.err
}

func (d *decision) waitingAt(ctx context.Context, at reviewedCommit) ([]report.Exception, error) {
	state, err := d.of.Mirror.Fetch(ctx, d.of.repo, mirror.Want{BaseSHA: d.state.BaseTip, HeadSHA: at.commit})
	if err != nil {
		return nil, err
	}
	change, err := d.of.describe(ctx, state)
	if err != nil {
		return nil, err
	}
	change.Head, change.Drafts, change.Differences = at.commit, false, false
	if at.objects {
		rep, err := d.of.evaluate(ctx, state, &change)
		if err != nil {
			return nil, err
		}
		return rep.Exceptions, nil
	}
	in, err := d.of.inspect(ctx, change)
	if err != nil {
		return nil, err
	}
	return in.Exceptions, nil
}

// everyone describes the approvers if neither the settings nor CODEOWNERS name anybody.
const everyone = "anyone with write access"

func (d *decision) approvers(owners []string) []string {
	if d.rules.Nobody {
		return []string{"nobody, until the settings can be read"}
	}
	named := slices.Concat(d.rules.Users, d.rules.Teams)
	out := report.Mapped(named, func(name string) string { return "@" + strings.TrimPrefix(name, "@") })
	if out = append(out, owners...); len(out) == 0 {
		return []string{everyone}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// allowed reports whether a user is among those who may approve: the users and teams of the settings and the
// owners of the file. Where there is none of them, it takes write access. Bots may approve only if the
// settings name them, because the author of a change could make one approve by a workflow.
func (d *decision) allowed(ctx context.Context, login string, owners []string) (bool, error) {
	if d.rules.Nobody {
		return false, nil
	}
	for _, u := range d.rules.Users {
		if strings.EqualFold(strings.TrimPrefix(u, "@"), login) {
			return true, nil
		}
	}
	if strings.HasSuffix(login, "[bot]") {
		return false, nil
	}
	for _, t := range d.rules.Teams {
		if member, err := d.member(ctx, strings.TrimPrefix(t, "@"), login); err != nil || member {
			return member, err
		}
	}
	if len(owners) == 0 {
		if len(d.rules.Users) > 0 || len(d.rules.Teams) > 0 {
			return false, nil
		}
		return d.writes(ctx, login)
	}
	owns, err := d.owns(ctx, owners, login)
	if err != nil || !owns {
		return false, err
	}
	// Code owners must have write access to count as such on GitHub.
	return d.writes(ctx, login)
}

func (d *decision) owns(ctx context.Context, owners []string, login string) (bool, error) {
	for _, o := range owners {
		name, ok := strings.CutPrefix(o, "@")
		if !ok {
			continue // an address: GitHub's API does not tell whose it is
		}
		if strings.Contains(name, "/") {
			if member, err := d.member(ctx, name, login); err != nil || member {
				return member, err
			}
		} else if strings.EqualFold(name, login) {
			return true, nil
		}
	}
	return false, nil
}

// member asks for a membership once. A team that the App cannot see has no members.
func (d *decision) member(ctx context.Context, team, login string) (bool, error) {
	key := strings.ToLower(team + "\n" + login)
	if known, ok := d.teams[key]; ok {
		return known, nil
	}
	member, err := d.of.Client.TeamMember(ctx, d.of.repo, team, login)
	if err != nil && !forge.IsGone(err) {
		return false, err
	}
	d.teams[key] = member && err == nil
	return d.teams[key], nil
}

func (d *decision) writes(ctx context.Context, login string) (bool, error) {
	key := strings.ToLower(login)
	permission, ok := d.permissions[key]
	if !ok {
		var err error
		if permission, err = d.of.Client.Permission(ctx, d.of.repo, login); forge.IsGone(err) {
			permission = "none"
		} else if err != nil {
			return false, err
		}
		d.permissions[key] = permission
	}
	return permission == "write" || permission == "admin", nil
}
