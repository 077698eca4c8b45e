package github

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	gh "github.com/google/go-github/v62/github"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
)

// onPullRequest: a new base is wanted fresh: until it is checked, what the old base gave must not stand. A closed pull
// request ends the work on it. A head that it leaves may be that of others, whose result it had a part in. Who opens
// one again has not pushed to it, and what was pushed meanwhile has events of its own.
func onPullRequest(from eventOrigin, e *gh.PullRequestEvent) (Work, error) {
	fresh, pushed, left := false, false, ""
	switch from.action {
	case "opened":
		pushed = true
	case "synchronize":
		pushed, left = true, objectID(e.GetBefore())
	case "reopened", "ready_for_review":
	case "closed":
		left = objectID(e.GetPullRequest().GetHead().GetSHA())
	case "edited":
		if e.GetChanges().GetBase() == nil {
			return Work{}, nil
		}
		fresh = true
	default:
		return Work{}, nil
	}
	w, err := ofPull(from, e.PullRequest)
	if err != nil {
		return w, err
	}
	w.Jobs[0].Message.Fresh = fresh
	if left != "" {
		head := w.Jobs[0].Key
		head.Number, head.Commit = 0, left
		w.Jobs = append(w.Jobs, Job{head, store.Message{Head: left}})
	}
	if pushed && from.sender != "" {
		w.Push = &store.Push{Repository: from.repo.GetID(), Number: e.PullRequest.GetNumber(), Login: from.sender}
	}
	return w, nil
}

func onReview(from eventOrigin, e *gh.PullRequestReviewEvent) (Work, error) {
	if e.GetReview().GetUser().GetType() == "Bot" && strings.EqualFold(e.GetReview().GetState(), "commented") {
		return Work{}, nil // such as our own: a comment decides nothing
	}
	switch from.action {
	case "submitted", "edited", "dismissed":
		return ofPull(from, e.PullRequest)
	}
	return Work{}, nil
}

func ofPull(from eventOrigin, pr *gh.PullRequest) (Work, error) {
	key := from.key()
	if pr == nil {
		return Work{}, errors.New("the payload has no pull_request")
	}
	key.Number = pr.GetNumber()
	message := store.Message{Head: objectID(pr.GetHead().GetSHA()), Updated: pr.GetUpdatedAt().Time}
	return Work{Jobs: []Job{{key, message}}}, nil
}

// queuePrefix begins the names of the branches that a merge queue makes.
const queuePrefix = "gh-readonly-queue/"

// pushedTo is the repository of a push, which has a type of its own.
func pushedTo(r *gh.PushEventRepository) *gh.Repository {
	if r == nil {
		return nil
	}
	return &gh.Repository{ID: r.ID, Name: r.Name, FullName: r.FullName, Owner: r.Owner, DefaultBranch: r.DefaultBranch}
}

// onPush is about the branch: its own report, and the pull requests that go into it. A branch that is new is not a pull
// request's base, unless it is the first of its repository. Who pushed is remembered, as it may become the head of one,
// or be one whose reviews were counted without knowing that.
func onPush(from eventOrigin, e *gh.PushEvent) (Work, error) {
	branch, ok := strings.CutPrefix(e.GetRef(), "refs/heads/")
	if !ok || e.GetDeleted() || strings.HasPrefix(branch, queuePrefix) {
		return Work{}, nil
	}
	key := from.key()
	w := Work{Push: tip(from, e)}
	if w.Push != nil {
		pushed := key
		pushed.Commit = w.Push.Commit
		w.Jobs = append(w.Jobs, Job{pushed, store.Message{Head: pushed.Commit}})
	}
	if !e.GetCreated() || branch == from.repo.GetDefaultBranch() {
		key.Branch = branch
		message := store.Message{Head: objectID(e.GetAfter())}
		if other := from.repo.GetDefaultBranch(); other != branch {
			message.Default = other
		}
		w.Jobs = append(w.Jobs, Job{key, message})
	}
	return w, nil
}

// tip is nil where GitHub names the pusher as the commit's author or committer, too.
func tip(from eventOrigin, e *gh.PushEvent) *store.Push {
	author, committer := e.GetHeadCommit().GetAuthor().GetLogin(), e.GetHeadCommit().GetCommitter().GetLogin()
	if from.sender == "" || objectID(e.GetAfter()) == "" ||
		strings.EqualFold(from.sender, author) || strings.EqualFold(from.sender, committer) {
		return nil
	}
	return &store.Push{Repository: from.repo.GetID(), Commit: e.GetAfter(), Login: from.sender}
}

// queueBranch is the name of a merge group's branch; its end names the last pull request.
var queueBranch = regexp.MustCompile(`/pr-([0-9]{1,9})-[0-9a-f]+$`)

func onMergeGroup(from eventOrigin, e *gh.MergeGroupEvent) (Work, error) {
	if from.action != "checks_requested" {
		return Work{}, nil
	}
	key := from.key()
	g := e.MergeGroup
	if objectID(g.GetBaseSHA()) == "" {
		return Work{}, errors.New("the payload has no merge_group with a base")
	}
	key.Group = g.GetHeadSHA()
	group := &store.Group{Base: g.GetBaseSHA(), BaseRef: strings.TrimPrefix(g.GetBaseRef(), "refs/heads/")}
	if m := queueBranch.FindStringSubmatch(g.GetHeadRef()); m != nil {
		group.Number, _ = strconv.Atoi(m[1]) // digits only
	}
	return Work{Jobs: []Job{{key, store.Message{Head: objectID(g.GetHeadSHA()), Group: group}}}}, nil
}

// onCheckRun is what people ask for at a check run. Its external id says what it is about; one that this version did not
// write is about the pull requests of its commit.
func onCheckRun(from eventOrigin, e *gh.CheckRunEvent) (Work, error) {
	wanted := from.action
	if e.RequestedAction != nil {
		wanted += " " + e.RequestedAction.Identifier
	}
	const button = "requested_action "
	if from.action != "rerequested" && wanted != button+RerunAction && wanted != button+DraftAction {
		return Work{}, nil
	}
	key := from.key()
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
	w.Drafts = wanted == button+DraftAction && message.Head != ""
	return w, nil
}

// onCheckSuite: requested comes with every push and tells of pull requests what pull_request tells, too; it helps when
// that got lost.
func onCheckSuite(from eventOrigin, e *gh.CheckSuiteEvent) (Work, error) {
	if from.action != "requested" && from.action != "rerequested" {
		return Work{}, nil
	}
	key := from.key()
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

// onInstallation is the life of an installation.
func onInstallation(from eventOrigin) (Work, error) {
	id := from.installation.GetID()
	switch from.action {
	case "created", "unsuspend", "new_permissions_accepted":
		// Results of before may be out of date: what happened meanwhile has no events.
		return Work{Jobs: []Job{{store.Key{Installation: id, All: true}, store.Message{}}}}, nil
	case "deleted":
		return Work{Drop: []Scope{{id, 0}}, Gone: true}, nil
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
		w.Jobs = append(w.Jobs, Job{key, store.Message{Owner: owner, Name: name}})
	}
	if slices.ContainsFunc(slices.Concat(e.RepositoriesAdded, e.RepositoriesRemoved), func(r *gh.Repository) bool {
		_, name := ownerAndName(r)
		return forge.Repo{Name: name}.HasDefaults()
	}) { // the rules of all others change
		w.Jobs = append(w.Jobs, Job{store.Key{Installation: id, All: true}, store.Message{Rules: true}})
	}
	for _, repo := range e.RepositoriesRemoved {
		w.Drop, w.Gone = append(w.Drop, Scope{id, repo.GetID()}), true
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

// onRepository: an archived one takes no check runs, one that is back or was transferred may lack some.
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
	key := from.key()
	if key.Repository == 0 {
		return Work{}, errors.New("the payload names no repository") // a scope without one is all of the installation
	}
	scope := []Scope{{key.Installation, key.Repository}}
	switch from.action {
	case "archived":
		return Work{Drop: scope}, nil
	case "deleted":
		return Work{Drop: scope, Gone: true}, nil
	}
	key.All = true
	return Work{Jobs: []Job{{key, store.Message{Missing: true}}}}, nil
}
