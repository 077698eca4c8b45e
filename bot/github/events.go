package github

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	gh "github.com/google/go-github/v62/github"

	"github.com/lintel-bot/lintel/bot/store"
)

// The identifiers of the check run's buttons.
const (
	RerunAction = "rerun"            // another check
	DraftAction = "draft-exceptions" // another check, which drafts exceptions for what blocks
)

// Work is what an event asks for. The zero value is an event that changes no result.
type Work struct {
	Jobs   []Job
	Drop   []Scope // whose jobs nobody needs any more
	Gone   []Scope // whose results nobody may see any more; they are in Drop, too
	Pusher *Pusher // to be remembered before the jobs are stored
	Tip    *Tip    // likewise
	Drafts *Drafts // likewise
	// Account is the login of whose installation it is; empty where the event does not say.
	Account string
	// Revoked is the account of a person who took back what the App was allowed at the sign-in; zero: nobody did.
	Revoked int64
}

// Job is one job to store.
type Job struct {
	Key     store.Key
	Message store.Message
}

// Scope is an installation, or one of its repositories unless that is zero.
type Scope struct{ Installation, Repository int64 }

// Pusher describes who moved the head of a pull request.
type Pusher struct {
	Repository int64
	Number     int
	Login      string
}

// Tip describes who pushed a commit as the new tip of a branch, if the commit itself does not say so.
type Tip struct {
	Repository int64
	Commit     string
	Login      string
}

// Drafts says for which commit somebody wants exceptions drafted.
type Drafts struct {
	Repository int64
	Head       string
}

// WorkOf returns what an event of GitHub asks for (https://docs.github.com/en/webhooks/webhook-events-and-payloads).
// Events and actions that change no result give nothing and no error, and so do those that are not for a GitHub App:
// nothing could be done about them. An error means that the payload is not what GitHub sends; it quotes nothing of it.
func WorkOf(event string, data []byte) (Work, error) {
	payload := gh.EventForType(event)
	if _, work := readPayload(payload); work == nil {
		return Work{}, nil
	}
	if !decodePayload(data, payload) {
		return Work{}, errors.New("the payload is not a JSON object of a " + event + " event")
	}
	from, work := readPayload(payload)
	foreign := from.installation == nil
	if foreign {
		from.installation = &gh.Installation{ID: gh.Int64(1)} // to see whether the rest is whole
	}
	w, err := work(from)
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
	// The owner of a repository is where the App is installed; most events say no more of the installation than its id.
	if w.Account = from.installation.GetAccount().GetLogin(); from.repo != nil {
		w.Account, _ = ownerAndName(from.repo)
	} else if w.Account == "" && len(w.Jobs) > 0 {
		w.Account = w.Jobs[0].Message.Owner
	}
	return w, nil
}

// ending is the part of the work that is done for every account: what it ends.
func (w Work) ending() Work {
	return Work{Drop: w.Drop, Gone: w.Gone, Account: w.Account, Revoked: w.Revoked}
}

// decodePayload fills in a payload. What is of another type than go-github expects is as if it were missing: most of a payload
// is of no use here, and GitHub changes it (a custom property of a repository can be a list, for one).
func decodePayload(data []byte, payload any) bool {
	tolerable := func(err error) bool {
		var other *json.UnmarshalTypeError
		return err == nil || errors.As(err, &other) && other.Field != ""
	}
	err := json.Unmarshal(data, payload)
	var moment *time.ParseError
	if !errors.As(err, &moment) {
		return tolerable(err)
	}
	// A time in words of its own ends the decoding, where other types do not: without such times it comes to its end.
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

// dropTimes removes the times that are not written as RFC 3339 has it.
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

// eventOrigin is what all events tell.
type eventOrigin struct {
	action       string
	installation *gh.Installation // nil: the event is not for a GitHub App
	repo         *gh.Repository   // nil: it is about an installation
	sender       string
}

// readPayload returns where a payload comes from, and how to work out what it asks for; nil if it can ask for nothing.
func readPayload(payload any) (eventOrigin, func(eventOrigin) (Work, error)) {
	switch e := payload.(type) {
	case *gh.PullRequestEvent:
		return originOf(e, e.Repo), func(from eventOrigin) (Work, error) { return onPullRequest(from, e) }
	case *gh.PullRequestReviewEvent:
		return originOf(e, e.Repo), func(from eventOrigin) (Work, error) { return onReview(from, e) }
	case *gh.CheckRunEvent:
		return originOf(e, e.Repo), func(from eventOrigin) (Work, error) { return onCheckRun(from, e) }
	case *gh.CheckSuiteEvent:
		return originOf(e, e.Repo), func(from eventOrigin) (Work, error) { return onCheckSuite(from, e) }
	case *gh.PushEvent:
		return originOf(e, pushedTo(e.Repo)), func(from eventOrigin) (Work, error) { return onPush(from, e) }
	case *gh.MergeGroupEvent:
		return originOf(e, e.Repo), func(from eventOrigin) (Work, error) { return onMergeGroup(from, e) }
	case *gh.InstallationEvent:
		return originOf(e, nil), onInstallation
	case *gh.InstallationRepositoriesEvent:
		return originOf(e, nil), func(from eventOrigin) (Work, error) { return onSelected(from, e), nil }
	case *gh.GitHubAppAuthorizationEvent:
		return originOf(e, nil), func(from eventOrigin) (Work, error) { return onAuthorization(from, e) }
	case *gh.RepositoryEvent:
		return originOf(e, e.Repo), func(from eventOrigin) (Work, error) { return onRepository(from, e) }
	}
	return eventOrigin{}, nil
}

// anyEvent is what the types of events have in common, except for the repository.
type anyEvent interface {
	GetAction() string
	GetInstallation() *gh.Installation
	GetSender() *gh.User
}

func originOf(e anyEvent, repo *gh.Repository) eventOrigin {
	return eventOrigin{e.GetAction(), e.GetInstallation(), repo, e.GetSender().GetLogin()}
}

// key is the key of nothing yet, in the repository of the event.
func (o eventOrigin) key() (store.Key, error) {
	if o.repo == nil {
		return store.Key{}, errors.New("the payload names no repository")
	}
	return store.Key{Installation: o.installation.GetID(), Repository: o.repo.GetID()}, nil
}

// ownerAndName is owner and name; lists of repositories have no owner beside the full name.
func ownerAndName(r *gh.Repository) (owner, name string) {
	owner = r.GetOwner().GetLogin()
	if owner == "" {
		owner, _, _ = strings.Cut(r.GetFullName(), "/")
	}
	return owner, r.GetName()
}

// objectID keeps hints tame.
func objectID(s string) string {
	if store.IsObjectID(s) {
		return s
	}
	return ""
}
