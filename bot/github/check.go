package github

import (
	"errors"
	"slices"

	gh "github.com/google/go-github/v62/github"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
)

// onCheckRun is what people ask for at a check run. Its external id says what it is about; one that this version did not
// write is about the pull requests of its commit.
func onCheckRun(from eventOrigin, e *gh.CheckRunEvent) (Work, error) {
	drafts := false
	button := ""
	if e.RequestedAction != nil {
		button = e.RequestedAction.Identifier
	}
	switch {
	case from.action == "rerequested":
	case from.action == "requested_action" && button == RerunAction:
	case from.action == "requested_action" && button == DraftAction:
		drafts = true
	default:
		return Work{}, nil
	}
	key, err := from.key()
	if err != nil {
		return Work{}, err
	}
	run := e.CheckRun
	if run == nil {
		return Work{}, errors.New("the payload has no check_run")
	}
	message := store.Message{Fresh: true, Head: objectID(run.GetHeadSHA())}
	w := ofCommit(key, message, run.GetHeadSHA(), run.PullRequests)
	id, foreign := forge.ParseRunID(run.GetExternalID())
	if about, err := key.Of(id.Target); foreign == nil && err == nil {
		w.Jobs = []Job{{about, message}}
	}
	if drafts && message.Head != "" {
		w.Drafts = &Drafts{key.Repository, message.Head}
	}
	return w, nil
}

// onCheckSuite: requested comes with every push and tells of pull requests what pull_request tells, too; it helps when
// that got lost.
func onCheckSuite(from eventOrigin, e *gh.CheckSuiteEvent) (Work, error) {
	if from.action != "requested" && from.action != "rerequested" {
		return Work{}, nil
	}
	key, err := from.key()
	if err != nil {
		return Work{}, err
	}
	suite := e.CheckSuite
	if suite == nil {
		return Work{}, errors.New("the payload has no check_suite")
	}
	message := store.Message{Fresh: true, Head: objectID(suite.GetHeadSHA())}
	if from.action == "requested" {
		message = store.Message{Missing: true}
	}
	w := ofCommit(key, message, suite.GetHeadSHA(), suite.PullRequests)
	if from.action == "requested" {
		w.Jobs = slices.DeleteFunc(w.Jobs, func(j Job) bool { return j.Key.Commit != "" })
	}
	return w, nil
}

// ofCommit is about the pull requests that GitHub lists, as far as they are of this repository (the list also has those
// of forks). For pull requests from forks it lists none; then the commit stands for them.
func ofCommit(repo store.Key, message store.Message, sha string, pulls []*gh.PullRequest) (w Work) {
	for _, pr := range pulls {
		key := repo
		key.Number = pr.GetNumber()
		here := pr.GetBase().GetRepo().GetID() == repo.Repository
		if here && !slices.ContainsFunc(w.Jobs, func(j Job) bool { return j.Key == key }) {
			w.Jobs = append(w.Jobs, Job{key, message})
		}
	}
	if len(w.Jobs) == 0 {
		repo.Commit = sha
		w.Jobs = append(w.Jobs, Job{repo, message})
	}
	return w
}
