package github

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	gh "github.com/google/go-github/v62/github"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/render/tree/gitcmd"
)

// The identifiers of the check run's buttons.
const (
	RerunAction = "rerun"            // another check
	DraftAction = "draft-exceptions" // another check, which drafts exceptions for what blocks
)

// Work is what the App must do for an event. The zero value is for an event that affects no result.
type Work struct {
	Jobs   []Job
	Drop   []Scope     // whose jobs nobody needs any more
	Gone   bool        // nor may anybody see the results of Drop
	Push   *store.Push // to be remembered before the jobs are stored
	Drafts bool        // likewise: drafts of exceptions are wanted for the head of the jobs
	// Account is the login of whose installation it is; empty where the event does not say.
	Account string
	// Revoked is the account of a person who revoked the authorization of the sign-in; zero: nobody did.
	Revoked int64
}

// Job is one job to store.
type Job struct {
	Key     store.Key
	Message store.Message
}

// Scope is an installation, or one of its repositories unless that is zero.
type Scope struct{ Installation, Repository int64 }

// WorkOf returns the work for an event of GitHub (https://docs.github.com/en/webhooks/webhook-events-and-payloads).
// Events and actions that affect no result, or are not for a GitHub App, return no work and no error. It fails for a
// payload that GitHub does not send; the error quotes nothing of it.
func WorkOf(event string, data []byte) (Work, error) {
	if !slices.Contains(Events(), event) {
		return Work{}, nil
	}
	payload := gh.EventForType(event)
	if !decodePayload(data, payload) {
		return Work{}, errors.New("the payload is not a JSON object of a " + event + " event")
	}
	from := originOf(payload)
	foreign := from.installation == nil
	if foreign {
		from.installation = &gh.Installation{ID: gh.Int64(1)} // to see whether the rest is whole
	}
	w, err := workOf(from, payload)
	if err != nil {
		return Work{}, err
	}
	for i := range w.Jobs {
		job := &w.Jobs[i]
		job.Message.Event = strings.TrimSuffix(event+"."+from.action, ".")
		if job.Message.Owner == "" {
			job.Message.Owner, job.Message.Name = ownerAndName(from.repo)
		}
		if err := job.Key.Validate(); err != nil {
			return Work{}, fmt.Errorf("the payload does not name what to check: %w", err)
		}
	}
	if foreign {
		return Work{Revoked: w.Revoked}, nil // that is between a person and the App
	}
	// The owner of a repository is the account of the installation; most events contain only the installation's id.
	if w.Account = from.installation.GetAccount().GetLogin(); from.repo != nil {
		w.Account, _ = ownerAndName(from.repo)
	} else if w.Account == "" && len(w.Jobs) > 0 {
		w.Account = w.Jobs[0].Message.Owner
	}
	return w, nil
}

// ending returns the part of the work that is done for every account, also for one that is not served: what the event
// ends.
func (w Work) ending() Work {
	return Work{Drop: w.Drop, Gone: w.Gone, Account: w.Account, Revoked: w.Revoked}
}

// decodePayload decodes a payload. Fields of another type than go-github expects count as missing. Most of them are not
// needed, and GitHub changes them: a custom property of a repository, for example, can be a list.
func decodePayload(data []byte, payload any) bool {
	tolerable := func(err error) bool {
		other, ok := errors.AsType[*json.UnmarshalTypeError](err)
		return err == nil || ok && other.Field != ""
	}
	err := json.Unmarshal(data, payload)
	if !forge.Is[*time.ParseError](err) {
		return tolerable(err)
	}
	// A time in another format stops the decoding, unlike a field of another type. Without such times, it completes.
	var values any
	numbers := json.NewDecoder(bytes.NewReader(data))
	numbers.UseNumber()
	if numbers.Decode(&values) != nil {
		return false
	}
	dropTimes(values)
	data, err = json.Marshal(values)
	return err == nil && tolerable(json.Unmarshal(data, payload))
}

// dropTimes removes times that are not in RFC 3339.
func dropTimes(value any) {
	switch v := value.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(name string, value any) bool {
			text, is := value.(string)
			_, err := time.Parse(time.RFC3339, text)
			return is && err != nil && (strings.HasSuffix(name, "_at") || name == "timestamp" || name == "date")
		})
		for _, child := range v {
			dropTimes(child)
		}
	case []any:
		for _, child := range v {
			dropTimes(child)
		}
	}
}

// eventOrigin is the common data of all events.
type eventOrigin struct {
	action       string
	installation *gh.Installation // nil: the event is not for a GitHub App
	repo         *gh.Repository   // nil: it is about an installation
	sender       string
}

// Events are the events that may affect a result.
func Events() []string {
	return []string{"pull_request", "pull_request_review", "check_run", "check_suite", "push", mergeGroupEvent,
		"installation", "installation_repositories", "repository", "github_app_authorization"}
}

// workOf returns the work for the payload of one of Events.
func workOf(from eventOrigin, payload any) (Work, error) {
	switch e := payload.(type) {
	case *gh.PullRequestEvent:
		return onPullRequest(from, e)
	case *gh.PullRequestReviewEvent:
		return onReview(from, e)
	case *gh.CheckRunEvent:
		return onCheckRun(from, e)
	case *gh.CheckSuiteEvent:
		return onCheckSuite(from, e)
	case *gh.PushEvent:
		return onPush(from, e)
	case *gh.MergeGroupEvent:
		return onMergeGroup(from, e)
	case *gh.InstallationEvent:
		return onInstallation(from)
	case *gh.InstallationRepositoriesEvent:
		return onSelected(from, e), nil
	case *gh.GitHubAppAuthorizationEvent:
		return onAuthorization(from, e)
	case *gh.RepositoryEvent:
		return onRepository(from, e)
	}
	return Work{}, nil
}

// originOf returns the origin of a payload of one of Events.
func originOf(payload any) (o eventOrigin) {
	if e, ok := payload.(interface {
		GetAction() string
		GetInstallation() *gh.Installation
		GetSender() *gh.User
	}); ok {
		o = eventOrigin{e.GetAction(), e.GetInstallation(), nil, e.GetSender().GetLogin()}
	}
	switch e := payload.(type) {
	case *gh.PushEvent:
		o.repo = pushedTo(e.Repo)
	case interface{ GetRepo() *gh.Repository }:
		o.repo = e.GetRepo()
	}
	return o
}

// key returns a key for the repository of the event, without a subject. It is not valid if the event names none.
func (o eventOrigin) key() store.Key {
	return store.Key{Installation: o.installation.GetID(), Repository: o.repo.GetID()}
}

// ownerAndName is owner and name; lists of repositories have no owner beside the full name.
func ownerAndName(r *gh.Repository) (owner, name string) {
	owner = r.GetOwner().GetLogin()
	if owner == "" {
		owner, _, _ = strings.Cut(r.GetFullName(), "/")
	}
	return owner, r.GetName()
}

// objectID returns a valid object id, or "" for other text.
func objectID(s string) string {
	if gitcmd.IsObjectID(s) {
		return s
	}
	return ""
}
