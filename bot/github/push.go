package github

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	gh "github.com/google/go-github/v62/github"

	"github.com/lintel-bot/lintel/bot/store"
)

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
	key, err := from.key()
	if err != nil {
		return Work{}, err
	}
	w := Work{Tip: tip(from, e)}
	if w.Tip != nil {
		pushed := key
		pushed.Commit = w.Tip.Commit
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
func tip(from eventOrigin, e *gh.PushEvent) *Tip {
	author, committer := e.GetHeadCommit().GetAuthor().GetLogin(), e.GetHeadCommit().GetCommitter().GetLogin()
	if from.sender == "" || objectID(e.GetAfter()) == "" ||
		strings.EqualFold(from.sender, author) || strings.EqualFold(from.sender, committer) {
		return nil
	}
	return &Tip{from.repo.GetID(), e.GetAfter(), from.sender}
}

// queueBranch is the name of a merge group's branch; its end names the last pull request.
var queueBranch = regexp.MustCompile(`/pr-([0-9]{1,9})-[0-9a-f]+$`)

func onMergeGroup(from eventOrigin, e *gh.MergeGroupEvent) (Work, error) {
	if from.action != "checks_requested" {
		return Work{}, nil
	}
	key, err := from.key()
	if err != nil {
		return Work{}, err
	}
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
