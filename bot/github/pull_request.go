package github

import (
	"errors"

	gh "github.com/google/go-github/v62/github"

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
		w.Pusher = &Pusher{from.repo.GetID(), e.PullRequest.GetNumber(), from.sender}
	}
	return w, nil
}

func onReview(from eventOrigin, e *gh.PullRequestReviewEvent) (Work, error) {
	switch from.action {
	case "submitted", "edited", "dismissed":
		return ofPull(from, e.PullRequest)
	}
	return Work{}, nil
}

func ofPull(from eventOrigin, pr *gh.PullRequest) (Work, error) {
	key, err := from.key()
	if err != nil {
		return Work{}, err
	}
	if pr == nil {
		return Work{}, errors.New("the payload has no pull_request")
	}
	key.Number = pr.GetNumber()
	message := store.Message{Head: objectID(pr.GetHead().GetSHA()), Updated: pr.GetUpdatedAt().Time}
	return Work{Jobs: []Job{{key, message}}}, nil
}
