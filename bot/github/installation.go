package github

import (
	"errors"

	gh "github.com/google/go-github/v62/github"

	"github.com/lintel-bot/lintel/bot/store"
)

// onInstallation is the life of an installation.
func onInstallation(from eventOrigin) (Work, error) {
	id := from.installation.GetID()
	switch from.action {
	case "created", "unsuspend", "new_permissions_accepted":
		return Work{Jobs: []Job{{store.Key{Installation: id, All: true}, store.Message{Missing: true}}}}, nil
	case "deleted":
		return Work{Drop: []Scope{{id, 0}}, Gone: []Scope{{id, 0}}}, nil
	case "suspend":
		return Work{Drop: []Scope{{id, 0}}}, nil
	}
	return Work{}, nil
}

// onSelected is installation_repositories: access was given or taken away.
func onSelected(from eventOrigin, e *gh.InstallationRepositoriesEvent) (w Work) {
	id := from.installation.GetID()
	for _, repo := range e.RepositoriesAdded {
		owner, name := ownerAndName(repo)
		key := store.Key{Installation: id, Repository: repo.GetID(), All: true}
		w.Jobs = append(w.Jobs, Job{key, store.Message{Missing: true, Owner: owner, Name: name}})
	}
	for _, repo := range e.RepositoriesRemoved {
		w.Drop = append(w.Drop, Scope{id, repo.GetID()})
		w.Gone = append(w.Gone, Scope{id, repo.GetID()})
	}
	return w
}

// onAuthorization is github_app_authorization, which every App gets without asking
// (https://docs.github.com/en/webhooks/webhook-events-and-payloads#github_app_authorization).
func onAuthorization(from eventOrigin, e *gh.GitHubAppAuthorizationEvent) (Work, error) {
	switch {
	case from.action != "revoked":
		return Work{}, nil
	case e.GetSender().GetID() <= 0:
		return Work{}, errors.New("the payload names no account")
	}
	return Work{Revoked: e.GetSender().GetID()}, nil
}

// onRepository: an archived one takes no check runs, one that is back or elsewhere may lack some.
func onRepository(from eventOrigin, e *gh.RepositoryEvent) (Work, error) {
	switch from.action {
	case "archived", "deleted", "unarchived", "renamed", "transferred":
	case "edited":
		if e.GetChanges().GetDefaultBranch() == nil {
			return Work{}, nil
		}
	default:
		return Work{}, nil
	}
	key, err := from.key()
	if err != nil {
		return Work{}, err
	}
	scope := []Scope{{key.Installation, key.Repository}}
	switch from.action {
	case "archived":
		return Work{Drop: scope}, nil
	case "deleted":
		return Work{Drop: scope, Gone: scope}, nil
	}
	key.All = true
	return Work{Jobs: []Job{{key, store.Message{Missing: true}}}}, nil
}
