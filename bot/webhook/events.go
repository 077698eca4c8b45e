package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/lintel-bot/lintel/bot/queue"
)

// RerunAction is the identifier of the check run's button that asks for another check.
const RerunAction = "rerun"

// Work is what an event asks for: jobs (none for an event that changes no result) that share a message.
type Work struct {
	Keys    []queue.Key
	Message queue.Message
}

// payload is the part of GitHub's payloads that decides on jobs
// (https://docs.github.com/en/webhooks/webhook-events-and-payloads).
type payload struct {
	Action       string `json:"action"`
	Number       int    `json:"number"`
	Installation *struct {
		ID int64 `json:"id"`
	} `json:"installation"`
	Repository *struct {
		ID    int64  `json:"id"`
		Name  string `json:"name"`
		Owner struct {
			Login string `json:"login"`
		} `json:"owner"`
	} `json:"repository"`
	Changes struct {
		Base *struct{} `json:"base"`
	} `json:"changes"`
	PullRequest     *pullRequest `json:"pull_request"`
	CheckRun        *check       `json:"check_run"`
	CheckSuite      *check       `json:"check_suite"`
	RequestedAction struct {
		Identifier string `json:"identifier"`
	} `json:"requested_action"`
}

type check struct {
	HeadSHA      string        `json:"head_sha"`
	PullRequests []pullRequest `json:"pull_requests"`
}

type pullRequest struct {
	Number int `json:"number"`
	Base   struct {
		Repo struct {
			ID int64 `json:"id"`
		} `json:"repo"`
	} `json:"base"`
}

// Jobs says what an event of GitHub asks for. Events and actions that change no result give no keys and no
// error. An error means that the payload is not what GitHub sends; it quotes nothing of it.
func Jobs(event string, data []byte) (Work, error) {
	switch event {
	case "pull_request", "pull_request_review", "check_run", "check_suite":
	default:
		return Work{}, nil
	}
	var p payload
	if err := json.Unmarshal(data, &p); err != nil {
		return Work{}, errors.New("the payload is no JSON object of a " + event + " event")
	}
	wanted, fresh := p.wants(event)
	if !wanted {
		return Work{}, nil
	}
	if p.Repository == nil || p.Installation == nil {
		return Work{}, errors.New("the payload names no repository or no installation of a GitHub App")
	}
	w := Work{Message: queue.Message{
		Event: event + "." + p.Action, Fresh: fresh,
		Owner: p.Repository.Owner.Login, Name: p.Repository.Name,
	}}
	var err error
	w.Keys, err = p.keys(event)
	return w, err
}

// wants decides by event and action. Fresh are those that a person sent to see the check run again, and a
// new base: until it is checked, what the old base gave must not stand.
func (p *payload) wants(event string) (wanted, fresh bool) {
	switch event + "." + p.Action {
	case "pull_request.opened", "pull_request.synchronize", "pull_request.reopened", "pull_request.ready_for_review":
		return true, false
	case "pull_request.edited":
		return p.Changes.Base != nil, true
	case "pull_request_review.submitted", "pull_request_review.edited", "pull_request_review.dismissed":
		return true, false
	case "check_run.rerequested", "check_suite.rerequested":
		return true, true
	case "check_run.requested_action":
		return p.RequestedAction.Identifier == RerunAction, true
	}
	// check_suite.requested comes with every push; pull_request tells the same and names the number.
	return false, false
}

func (p *payload) keys(event string) ([]queue.Key, error) {
	base := queue.Key{Installation: p.Installation.ID, Repository: p.Repository.ID}
	var keys []queue.Key
	switch event {
	case "pull_request", "pull_request_review":
		if p.PullRequest == nil {
			return nil, errors.New("the payload has no pull_request")
		}
		base.Number = p.PullRequest.Number
		keys = append(keys, base)
	default:
		subject := p.CheckRun
		if event == "check_suite" {
			subject = p.CheckSuite
		}
		if subject == nil {
			return nil, errors.New("the payload has no " + event)
		}
		keys = subject.keys(base)
	}
	for _, key := range keys {
		if err := key.Validate(); err != nil {
			return nil, fmt.Errorf("the payload does not say what to check: %w", err)
		}
	}
	return keys, nil
}

// keys are the pull requests that GitHub lists, as far as they are of this repository (the list also has
// those of forks). For pull requests from forks it lists none; then the commit stands for them.
func (c *check) keys(base queue.Key) []queue.Key {
	var keys []queue.Key
	for _, pr := range c.PullRequests {
		key := base
		key.Number = pr.Number
		if pr.Base.Repo.ID == base.Repository && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		base.Commit = c.HeadSHA
		keys = append(keys, base)
	}
	return keys
}
