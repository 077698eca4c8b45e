package github

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	gh "github.com/google/go-github/v62/github"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/checks/report"
)

const (
	pageSize = 100
	maxPages = 100 // of any list: 10,000 entries
	// listedCommits is the maximum length of GitHub's list of a pull request's commits, over all pages
	// (https://docs.github.com/en/rest/pulls/pulls#list-commits-on-a-pull-request).
	listedCommits = 250
)

// pages returns a list of which fetch returns one page. A list of more than maxPages pages is a *TooMany.
func pages[T any](a *Client, what string, fetch func(gh.ListOptions) ([]T, *gh.Response, error)) (all []T, _ error) {
	options := gh.ListOptions{PerPage: pageSize}
	for range maxPages {
		page, resp, err := fetch(options)
		all = append(all, page...)
		if err != nil {
			return all, a.classify(what, err)
		}
		if resp.NextPage == 0 {
			return all, nil
		}
		options.Page = resp.NextPage
	}
	return all, &forge.TooMany{What: what, Limit: maxPages * pageSize}
}

// PullRequest returns the present state of a pull request. BaseSHA is the present tip of the base branch; GitHub's pull
// request object has the tip at the time of the last push to the head. If the base branch was deleted, BaseSHA is that
// older commit.
func (a *Client) PullRequest(ctx context.Context, repo forge.Repo, number int) (*forge.PullRequest, error) {
	what := fmt.Sprintf("pull request %d of %s", number, repo)
	p, _, err := a.of(repo).PullRequests.Get(ctx, repo.Owner, repo.Name, number)
	if err != nil {
		return nil, a.classify(what, err)
	}
	pr := pullRequest(p)
	if pr.BaseRef == "" {
		return &pr, nil
	}
	sha, err := a.Branch(ctx, repo, pr.BaseRef)
	switch {
	case err == nil:
		pr.BaseSHA = sha
	case !forge.IsGone(err):
		return nil, err
	}
	return &pr, nil
}

// Branch returns the commit at the tip of a branch. If the branch does not exist, the error is a *Gone.
func (a *Client) Branch(ctx context.Context, repo forge.Repo, name string) (string, error) {
	what := "branch " + name + " of " + repo.String()
	ref, _, err := a.of(repo).Git.GetRef(ctx, repo.Owner, repo.Name, "refs/heads/"+name)
	if err != nil {
		return "", a.classify(what, err)
	}
	sha := ref.GetObject().GetSHA()
	if sha == "" {
		return "", fmt.Errorf("%s: GitHub's answer has no commit", what)
	}
	return sha, nil
}

// MergeGroups returns the heads of the open merge groups into a branch whose last pull request is the given one, by the names
// of the branches that the queue makes.
func (a *Client) MergeGroups(ctx context.Context, repo forge.Repo, base string, number int) (heads []string, _ error) {
	refs, _, err := a.of(repo).Git.ListMatchingRefs(ctx, repo.Owner, repo.Name, &gh.ReferenceListOptions{
		Ref: fmt.Sprintf("heads/%s%s/pr-%d-", queuePrefix, base, number)})
	heads = report.Mapped(refs, func(r *gh.Reference) string { return r.GetObject().GetSHA() })
	return heads, a.classify("merge groups of "+repo.String(), err)
}

// Repository returns the present settings of a repository.
func (a *Client) Repository(ctx context.Context, repo forge.Repo) (*forge.Settings, error) {
	r, _, err := a.of(repo).Repositories.Get(ctx, repo.Owner, repo.Name)
	if err != nil {
		return nil, a.classify("repository "+repo.String(), err)
	}
	return &forge.Settings{ID: r.GetID(), Owner: r.GetOwner().GetLogin(), Name: r.GetName(), Private: r.GetPrivate(),
		DefaultBranch: r.GetDefaultBranch(), Archived: r.GetArchived() || r.GetDisabled()}, nil
}

func pullRequest(p *gh.PullRequest) forge.PullRequest {
	head, base := p.GetHead(), p.GetBase()
	return forge.PullRequest{
		Number: p.GetNumber(), State: p.GetState(), Title: p.GetTitle(), Author: p.GetUser().GetLogin(),
		BaseRef: base.GetRef(), BaseSHA: base.GetSHA(), HeadRef: head.GetRef(), HeadSHA: head.GetSHA(),
		HeadRepo: head.GetRepo().GetFullName(),
		Updated:  p.GetUpdatedAt().Time,
		// The head's repository is null when the fork was deleted.
		Fork: head.GetRepo().GetID() == 0 || head.GetRepo().GetID() != base.GetRepo().GetID(),
	}
}

// PullRequestsOfCommit returns the numbers of the open pull requests whose head is sha, ascending. It searches the list
// of open pull requests, because GitHub's list by commit does not reliably include those from forks.
func (a *Client) PullRequestsOfCommit(ctx context.Context, repo forge.Repo, sha string) ([]int, error) {
	open, err := a.OpenPullRequests(ctx, repo, "")
	if err != nil {
		return nil, err
	}
	open = report.Kept(open, func(p forge.PullRequest) bool { return p.HeadSHA == sha })
	numbers := report.Mapped(open, func(p forge.PullRequest) int { return p.Number })
	slices.Sort(numbers)
	return numbers, nil
}

// OpenPullRequests returns the open pull requests into a branch, or all if base is empty, oldest first. BaseSHA is from
// GitHub's list, and may be older than the tip of the base branch.
func (a *Client) OpenPullRequests(ctx context.Context, repo forge.Repo, base string) ([]forge.PullRequest, error) {
	return pages(a, "open pull requests of "+repo.String(),
		func(o gh.ListOptions) ([]forge.PullRequest, *gh.Response, error) {
			list, resp, err := a.of(repo).PullRequests.List(ctx, repo.Owner, repo.Name,
				&gh.PullRequestListOptions{State: "open", Base: base, Sort: "created", Direction: "asc", ListOptions: o})
			return report.Mapped(list, pullRequest), resp, err
		})
}

// Reviews returns all reviews of a pull request, oldest first. Reviews of deleted accounts have no user.
func (a *Client) Reviews(ctx context.Context, repo forge.Repo, number int) ([]forge.Review, error) {
	all, err := pages(a, fmt.Sprintf("reviews of pull request %d of %s", number, repo),
		func(o gh.ListOptions) ([]forge.Review, *gh.Response, error) {
			list, resp, err := a.of(repo).PullRequests.ListReviews(ctx, repo.Owner, repo.Name, number, &o)
			return report.Mapped(list, func(r *gh.PullRequestReview) forge.Review {
				return forge.Review{User: r.GetUser().GetLogin(), State: strings.ToUpper(r.GetState()),
					CommitSHA: r.GetCommitID(), Submitted: r.GetSubmittedAt().Time}
			}), resp, err
		})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(x, y forge.Review) int { return x.Submitted.Compare(y.Submitted) })
	return all, nil
}

// Commits returns the commits of a pull request by their ids, each with the logins of its author and committer. A commit
// by an address without an account has none. GitHub lists at most 250 commits of a pull request; if there are more, the
// commits of the comparison of base and head are added.
func (a *Client) Commits(ctx context.Context, repo forge.Repo, number int) (map[string][]string, error) {
	commits := map[string][]string{}
	add := func(list []*gh.RepositoryCommit) {
		for _, c := range list {
			commits[c.GetSHA()] = nil
			for _, u := range []*gh.User{c.GetAuthor(), c.GetCommitter()} {
				// web-flow is GitHub itself, which signs what is committed on the web.
				if login := u.GetLogin(); login != "" && login != "web-flow" {
					commits[c.GetSHA()] = append(commits[c.GetSHA()], login)
				}
			}
		}
	}
	what := fmt.Sprintf("commits of pull request %d of %s", number, repo)
	_, err := pages(a, what, func(o gh.ListOptions) ([]string, *gh.Response, error) {
		list, resp, err := a.of(repo).PullRequests.ListCommits(ctx, repo.Owner, repo.Name, number, &o)
		add(list)
		return nil, resp, err
	})
	if err != nil {
		return nil, err
	}
	if len(commits) >= listedCommits {
		p, _, err := a.of(repo).PullRequests.Get(ctx, repo.Owner, repo.Name, number)
		if err != nil {
			return nil, a.classify(what, err)
		}
		_, err = pages(a, what, func(o gh.ListOptions) ([]string, *gh.Response, error) {
			c, resp, err := a.of(repo).Repositories.CompareCommits(ctx, repo.Owner, repo.Name, p.GetBase().GetSHA(),
				p.GetHead().GetSHA(), &o)
			if err == nil {
				add(c.Commits)
			}
			return nil, resp, err
		})
		if err != nil {
			return nil, err
		}
	}
	return commits, nil
}

// loginPattern matches what a GitHub login can be; other logins are not sent to GitHub. Compiling a repetition count is
// slow, so the pattern is compiled at first use, and never at the start of the command line.
var loginPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}(\[bot\])?$`)
})

// Permission returns none, read, write or admin: the user's permission on the repository, however it was granted.
// Triage counts as read, maintain as write
// (https://docs.github.com/en/rest/collaborators/collaborators#get-repository-permissions-for-a-user). An account that
// does not exist has none.
func (a *Client) Permission(ctx context.Context, repo forge.Repo, login string) (string, error) {
	_, permission, err := a.permission(ctx, repo, login, login)
	return permission, err
}

// permission is like Permission, and also returns the id of the account with the login, zero if there is none. Errors
// use name for the account.
func (a *Client) permission(ctx context.Context, repo forge.Repo, login, name string) (id int64, level string, _ error) {
	if !loginPattern().MatchString(login) {
		return 0, "none", nil
	}
	p, _, err := a.of(repo).Repositories.GetPermissionLevel(ctx, repo.Owner, repo.Name, url.PathEscape(login))
	switch err = a.classify("permission of "+name+" on "+repo.String(), err); {
	case notFound(err):
		return 0, "none", nil
	case err != nil:
		return 0, "", err
	}
	switch level = p.GetPermission(); level {
	case "admin", "write", "read":
	default:
		level = "none"
	}
	return p.GetUser().GetID(), level, nil
}

var teamPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9_-]{0,99})/([A-Za-z0-9][A-Za-z0-9._-]{0,254})$`)
})

// TeamMember reports whether the user is an active member of a team or of a team below it. team is org/slug. A team
// that does not exist, or that the App may not see, such as one of another organization, has no members. If the App
// lacks the permission to read members, the error is a *Gone, without a request.
func (a *Client) TeamMember(ctx context.Context, repo forge.Repo, team, login string) (bool, error) {
	m := teamPattern().FindStringSubmatch(team)
	if m == nil || !loginPattern().MatchString(login) || !strings.EqualFold(m[1], repo.Owner) {
		return false, nil
	}
	if !a.installed(repo.Installation).may(ctx, func(p *gh.InstallationPermissions) bool { return p.GetMembers() != "" }) {
		return false, &forge.Gone{What: "members of team " + team, Err: errors.New("the installation does not grant it")}
	}
	membership, _, err := a.of(repo).Teams.GetTeamMembershipBySlug(ctx, m[1], m[2], url.PathEscape(login))
	switch err = a.classify("members of team "+team, err); {
	case notFound(err):
		return false, nil
	case err != nil:
		return false, err
	}
	return membership.GetState() == "active", nil
}

// Present finds a repository by its id, even if it was renamed or transferred, or another repository has its old name.
// The error is a *Gone if the repository or the installation does not exist, or the installation does not include the
// repository.
func (a *Client) Present(ctx context.Context, repo forge.Repo) (*forge.Repository, error) {
	what := "repository " + repo.String()
	r, _, err := a.of(repo).Repositories.Get(ctx, repo.Owner, repo.Name)
	if err = a.classify(what, err); err != nil && (!notFound(err) || repo.ID == 0) {
		return nil, err
	}
	if err != nil || repo.ID != 0 && r.GetID() != repo.ID {
		// This address identifies a repository by id, whatever its name.
		if r, _, err = a.of(repo).Repositories.GetByID(ctx, repo.ID); err != nil {
			return nil, a.classify(what, err)
		}
	}
	if r.GetID() == 0 || repo.ID != 0 && r.GetID() != repo.ID || r.GetOwner().GetLogin() == "" || r.GetName() == "" ||
		r.Private == nil {
		return nil, fmt.Errorf("%s: GitHub's answer is not that repository", what)
	}
	visibility := r.GetVisibility()
	return &forge.Repository{
		Repo: forge.Repo{Installation: repo.Installation, ID: r.GetID(), Owner: r.GetOwner().GetLogin(), Name: r.GetName()},
		// Both fields should agree; if they do not, the repository counts as private.
		Private: r.GetPrivate() || visibility != "" && visibility != "public",
	}, nil
}

// MayRead reports whether an account may read a repository, however this was granted. The account is identified by id:
// after it was renamed, its present login is used, and another account with its old login does not count.
// (https://docs.github.com/en/rest/collaborators/collaborators#get-repository-permissions-for-a-user)
func (a *Client) MayRead(ctx context.Context, repo forge.Repo, account forge.Account) (bool, error) {
	const reader = "a reader"
	id, level, err := a.permission(ctx, repo, account.Login, reader)
	if err != nil || id == account.ID {
		return err == nil && level != "none", err
	}
	user, _, err := a.of(repo).Users.GetByID(ctx, account.ID)
	switch err = a.classify("an account that signed in", err); {
	case notFound(err): // the account was deleted
		return false, nil
	case err != nil:
		return false, err
	case user.GetID() != account.ID:
		return false, nil
	}
	id, level, err = a.permission(ctx, repo, user.GetLogin(), reader)
	return err == nil && level != "none" && id == account.ID, err
}
