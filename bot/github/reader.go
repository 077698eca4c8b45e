package github

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	gh "github.com/google/go-github/v62/github"

	"github.com/lintel-bot/lintel/bot/forge"
)

// Present finds a repository by its id, also where it was renamed or moved, and where another one has its old name by
// now. A *Gone means that it does not exist, that the installation does not (any more), or does not have it.
func (a *Client) Present(ctx context.Context, repo forge.Repo) (*forge.Repository, error) {
	what := "repository " + repo.String()
	r, _, err := a.of(repo).Repositories.Get(ctx, repo.Owner, repo.Name)
	if err = a.classify(what, err); err != nil && (statusOf(err) != http.StatusNotFound || repo.ID == 0) {
		return nil, err
	}
	if err != nil || repo.ID != 0 && r.GetID() != repo.ID {
		// GitHub redirects from old names to this address.
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
		// Both say the same; who doubts is not let in.
		Private: r.GetPrivate() || visibility != "" && visibility != "public",
	}, nil
}

// MayRead reports whether an account may read a repository, by whatever way. It is the account with this id: one that
// was renamed is asked for by its login of today, and another one that has its old login by now does not count.
// (https://docs.github.com/en/rest/collaborators/collaborators#get-repository-permissions-for-a-user)
func (a *Client) MayRead(ctx context.Context, repo forge.Repo, account forge.Account) (bool, error) {
	id, may, err := a.mayRead(ctx, repo, account.Login)
	if err != nil || id == account.ID {
		return may, err
	}
	user, _, err := a.of(repo).Users.GetByID(ctx, account.ID)
	if err = a.classify("an account that signed in", err); err != nil {
		if statusOf(err) == http.StatusNotFound {
			return false, nil // deleted
		}
		return false, err
	}
	if user.GetID() != account.ID {
		return false, nil
	}
	id, may, err = a.mayRead(ctx, repo, user.GetLogin())
	return may && id == account.ID, err
}

// mayRead is the id of the account that has a login, zero if there is none, and whether it may read.
func (a *Client) mayRead(ctx context.Context, repo forge.Repo, login string) (int64, bool, error) {
	if !loginPattern().MatchString(login) {
		return 0, false, nil
	}
	var level *gh.RepositoryPermissionLevel
	level, _, err := a.of(repo).Repositories.GetPermissionLevel(ctx, repo.Owner, repo.Name, url.PathEscape(login))
	if err = a.classify("permission of a reader on "+repo.String(), err); err != nil {
		if statusOf(err) == http.StatusNotFound {
			return 0, false, nil
		}
		return 0, false, err
	}
	switch level.GetPermission() {
	case "admin", "write", "read":
		return level.GetUser().GetID(), true, nil
	}
	return level.GetUser().GetID(), false, nil
}
