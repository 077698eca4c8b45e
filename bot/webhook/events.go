package webhook

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/bot/queue"
	"github.com/lintel-bot/lintel/bot/runid"
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
	Pusher *Pusher // to be remembered before the jobs are stored
	Tip    *Tip    // likewise
	Drafts *Drafts // likewise
}

// Job is one job to store.
type Job struct {
	Key     queue.Key
	Message queue.Message
}

// Scope is an installation, or one of its repositories unless that is zero.
type Scope struct{ Installation, Repository int64 }

// Pusher says who moved the head of a pull request.
type Pusher struct {
	Repository int64
	Number     int
	Login      string
}

// Tip says who pushed a commit as the new tip of a branch, if the commit itself does not say so.
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

// payload is the part of GitHub's payloads that decides on jobs
// (https://docs.github.com/en/webhooks/webhook-events-and-payloads).
type payload struct {
	Action       string        `json:"action"`
	Installation *installation `json:"installation"`
	Repository   *repository   `json:"repository"`
	Sender       struct {
		Login string `json:"login"`
	} `json:"sender"`
	Changes struct {
		Base          *struct{} `json:"base"`
		DefaultBranch *struct{} `json:"default_branch"`
	} `json:"changes"`
	PullRequest     *pullRequest `json:"pull_request"`
	CheckRun        *check       `json:"check_run"`
	CheckSuite      *check       `json:"check_suite"`
	RequestedAction struct {
		Identifier string `json:"identifier"`
	} `json:"requested_action"`
	MergeGroup *struct {
		HeadSHA string `json:"head_sha"`
		HeadRef string `json:"head_ref"`
		BaseSHA string `json:"base_sha"`
		BaseRef string `json:"base_ref"`
	} `json:"merge_group"`
	Ref     string       `json:"ref"` // of a push
	After   string       `json:"after"`
	Tip     *commit      `json:"head_commit"`
	Deleted bool         `json:"deleted"`
	Created bool         `json:"created"`
	Added   []repository `json:"repositories_added"`
	Removed []repository `json:"repositories_removed"`
}

type installation struct {
	ID int64 `json:"id"`
}

type repository struct {
	ID       int64  `json:"id"`
	Name     string `json:"name"`
	FullName string `json:"full_name"`
	Default  string `json:"default_branch"`
	Owner    struct {
		Login string `json:"login"`
	} `json:"owner"`
}

// address is owner and name; lists of repositories have no owner beside the full name.
func (r *repository) address() (owner, name string) {
	if r.Owner.Login != "" {
		return r.Owner.Login, r.Name
	}
	owner, _, _ = strings.Cut(r.FullName, "/")
	return owner, r.Name
}

type commit struct {
	Author    account `json:"author"`
	Committer account `json:"committer"`
}

// account is missing where GitHub knows none with the address.
type account struct {
	Username string `json:"username"`
}

type check struct {
	HeadSHA      string        `json:"head_sha"`
	ExternalID   string        `json:"external_id"`
	PullRequests []pullRequest `json:"pull_requests"`
}

type pullRequest struct {
	Number  int       `json:"number"`
	Updated time.Time `json:"updated_at"`
	Head    struct {
		SHA string `json:"sha"`
	} `json:"head"`
	Base struct {
		Repo struct {
			ID int64 `json:"id"`
		} `json:"repo"`
	} `json:"base"`
}

// Jobs says what an event of GitHub asks for. Events and actions that change no result give nothing and no
// error, and so do those that are not for a GitHub App: nothing could be done about them. An error means that the
// payload is not what GitHub sends; it quotes nothing of it.
func Jobs(event string, data []byte) (Work, error) {
	read, ok := map[string]func(*payload) (Work, error){
		"pull_request":              (*payload).pull,
		"pull_request_review":       (*payload).review,
		"check_run":                 (*payload).checkRun,
		"check_suite":               (*payload).checkSuite,
		"push":                      (*payload).push,
		"merge_group":               (*payload).mergeGroup,
		"installation":              (*payload).installed,
		"installation_repositories": (*payload).selected,
		"repository":                (*payload).changed,
	}[event]
	if !ok {
		return Work{}, nil
	}
	var p payload
	if err := json.Unmarshal(data, &p); err != nil {
		return Work{}, errors.New("the payload is no JSON object of a " + event + " event")
	}
	foreign := p.Installation == nil
	if foreign {
		p.Installation = &installation{ID: 1} // to see whether the rest is whole
	}
	w, err := read(&p)
	if err != nil {
		return Work{}, err
	}
	for i := range w.Jobs {
		job := &w.Jobs[i]
		job.Message.Event = strings.TrimSuffix(event+"."+p.Action, ".")
		if job.Message.Owner == "" && p.Repository != nil {
			job.Message.Owner, job.Message.Name = p.Repository.address()
		}
		if err := job.Key.Validate(); err != nil {
			return Work{}, fmt.Errorf("the payload does not say what to check: %w", err)
		}
	}
	if foreign {
		return Work{}, nil
	}
	return w, nil
}

// place is the key of nothing yet, in the repository of the event.
func (p *payload) place() (queue.Key, error) {
	if p.Repository == nil {
		return queue.Key{}, errors.New("the payload names no repository")
	}
	return queue.Key{Installation: p.Installation.ID, Repository: p.Repository.ID}, nil
}

// pull is pull_request. A new base is wanted fresh: until it is checked, what the old base gave must not
// stand. A closed pull request ends the work on it. Who opens one again has not pushed to it, and what was pushed
// meanwhile has events of its own.
func (p *payload) pull() (Work, error) {
	fresh, pushed := false, false
	switch p.Action {
	case "opened", "synchronize":
		pushed = true
	case "reopened", "ready_for_review", "closed":
	case "edited":
		if p.Changes.Base == nil {
			return Work{}, nil
		}
		fresh = true
	default:
		return Work{}, nil
	}
	w, err := p.ofPull()
	if err != nil {
		return w, err
	}
	w.Jobs[0].Message.Fresh = fresh
	if pushed && p.Sender.Login != "" {
		w.Pusher = &Pusher{p.Repository.ID, p.PullRequest.Number, p.Sender.Login}
	}
	return w, nil
}

func (p *payload) review() (Work, error) {
	switch p.Action {
	case "submitted", "edited", "dismissed":
		return p.ofPull()
	}
	return Work{}, nil
}

func (p *payload) ofPull() (Work, error) {
	key, err := p.place()
	if err != nil {
		return Work{}, err
	}
	if p.PullRequest == nil {
		return Work{}, errors.New("the payload has no pull_request")
	}
	key.Number = p.PullRequest.Number
	return Work{Jobs: []Job{{key, queue.Message{Head: objectID(p.PullRequest.Head.SHA),
		Updated: p.PullRequest.Updated}}}}, nil
}

var objectIDs = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// objectID keeps hints tame.
func objectID(s string) string {
	if objectIDs.MatchString(s) {
		return s
	}
	return ""
}

// checkRun is what people ask for at a check run. Its external id says what it is about; one that this
// version did not write is about the pull requests of its commit.
func (p *payload) checkRun() (Work, error) {
	drafts := false
	switch {
	case p.Action == "rerequested":
	case p.Action == "requested_action" && p.RequestedAction.Identifier == RerunAction:
	case p.Action == "requested_action" && p.RequestedAction.Identifier == DraftAction:
		drafts = true
	default:
		return Work{}, nil
	}
	key, err := p.place()
	if err != nil {
		return Work{}, err
	}
	if p.CheckRun == nil {
		return Work{}, errors.New("the payload has no check_run")
	}
	message := queue.Message{Fresh: true, Head: objectID(p.CheckRun.HeadSHA)}
	w := p.CheckRun.work(key, message)
	id, foreign := runid.Parse(p.CheckRun.ExternalID)
	if about, err := key.Of(id.Subject); foreign == nil && err == nil {
		w.Jobs = []Job{{about, message}}
	}
	if drafts && message.Head != "" {
		w.Drafts = &Drafts{p.Repository.ID, message.Head}
	}
	return w, nil
}

// checkSuite: requested comes with every push and tells of pull requests what pull_request tells, too; it
// helps when that got lost.
func (p *payload) checkSuite() (Work, error) {
	if p.Action != "requested" && p.Action != "rerequested" {
		return Work{}, nil
	}
	key, err := p.place()
	if err != nil {
		return Work{}, err
	}
	if p.CheckSuite == nil {
		return Work{}, errors.New("the payload has no check_suite")
	}
	message := queue.Message{Fresh: true, Head: objectID(p.CheckSuite.HeadSHA)}
	if p.Action == "requested" {
		message = queue.Message{Missing: true}
	}
	w := p.CheckSuite.work(key, message)
	if p.Action == "requested" {
		w.Jobs = slices.DeleteFunc(w.Jobs, func(j Job) bool { return j.Key.Commit != "" })
	}
	return w, nil
}

// work is about the pull requests that GitHub lists, as far as they are of this repository (the list also has
// those of forks). For pull requests from forks it lists none; then the commit stands for them.
func (c *check) work(base queue.Key, message queue.Message) (w Work) {
	for _, pr := range c.PullRequests {
		key := base
		key.Number = pr.Number
		if pr.Base.Repo.ID == base.Repository && !slices.ContainsFunc(w.Jobs, func(j Job) bool { return j.Key == key }) {
			w.Jobs = append(w.Jobs, Job{key, message})
		}
	}
	if len(w.Jobs) == 0 {
		base.Commit = c.HeadSHA
		w.Jobs = append(w.Jobs, Job{base, message})
	}
	return w
}

// queuePrefix begins the names of the branches that a merge queue makes.
const queuePrefix = "gh-readonly-queue/"

// push is about the branch: its own report, and the pull requests that go into it. A branch that is new is no
// pull request's base, unless it is the first of its repository. Who pushed is remembered, as it may become the head of
// one, or be one whose reviews were counted without knowing that.
func (p *payload) push() (Work, error) {
	branch, ok := strings.CutPrefix(p.Ref, "refs/heads/")
	if !ok || p.Deleted || strings.HasPrefix(branch, queuePrefix) {
		return Work{}, nil
	}
	key, err := p.place()
	if err != nil {
		return Work{}, err
	}
	w := Work{Tip: p.tip()}
	if w.Tip != nil {
		pushed := key
		pushed.Commit = w.Tip.Commit
		w.Jobs = append(w.Jobs, Job{pushed, queue.Message{Head: pushed.Commit}})
	}
	if !p.Created || branch == p.Repository.Default {
		key.Branch = branch
		w.Jobs = append(w.Jobs, Job{key, queue.Message{Head: objectID(p.After)}})
	}
	return w, nil
}

// tip is nil where GitHub names the pusher as the commit's author or committer, too.
func (p *payload) tip() *Tip {
	login, tip := p.Sender.Login, cmp.Or(p.Tip, &commit{})
	if login == "" || objectID(p.After) == "" || strings.EqualFold(login, tip.Author.Username) ||
		strings.EqualFold(login, tip.Committer.Username) {
		return nil
	}
	return &Tip{p.Repository.ID, p.After, login}
}

// queueBranch is the name of a merge group's branch; its end names the last pull request.
var queueBranch = regexp.MustCompile(`/pr-([0-9]{1,9})-[0-9a-f]+$`)

func (p *payload) mergeGroup() (Work, error) {
	if p.Action != "checks_requested" {
		return Work{}, nil
	}
	key, err := p.place()
	if err != nil {
		return Work{}, err
	}
	g := p.MergeGroup
	if g == nil || objectID(g.BaseSHA) == "" {
		return Work{}, errors.New("the payload has no merge_group with a base")
	}
	key.Group = g.HeadSHA
	group := &queue.Group{Base: g.BaseSHA, BaseRef: strings.TrimPrefix(g.BaseRef, "refs/heads/")}
	if m := queueBranch.FindStringSubmatch(g.HeadRef); m != nil {
		group.Number, _ = strconv.Atoi(m[1]) // digits only
	}
	return Work{Jobs: []Job{{key, queue.Message{Head: objectID(g.HeadSHA), Group: group}}}}, nil
}

// installed is the life of an installation.
func (p *payload) installed() (Work, error) {
	switch p.Action {
	case "created", "unsuspend", "new_permissions_accepted":
		return Work{Jobs: []Job{{queue.Key{Installation: p.Installation.ID, All: true}, queue.Message{Missing: true}}}}, nil
	case "deleted", "suspend":
		return Work{Drop: []Scope{{p.Installation.ID, 0}}}, nil
	}
	return Work{}, nil
}

// selected is installation_repositories: access was given or taken away.
func (p *payload) selected() (w Work, _ error) {
	for i := range p.Added {
		owner, name := p.Added[i].address()
		w.Jobs = append(w.Jobs, Job{queue.Key{Installation: p.Installation.ID, Repository: p.Added[i].ID, All: true},
			queue.Message{Missing: true, Owner: owner, Name: name}})
	}
	for i := range p.Removed {
		w.Drop = append(w.Drop, Scope{p.Installation.ID, p.Removed[i].ID})
	}
	return w, nil
}

// changed is repository: an archived one takes no check runs, one that is back or elsewhere may lack some.
func (p *payload) changed() (Work, error) {
	switch p.Action {
	case "archived", "deleted", "unarchived", "renamed", "transferred":
	case "edited":
		if p.Changes.DefaultBranch == nil {
			return Work{}, nil
		}
	default:
		return Work{}, nil
	}
	key, err := p.place()
	if err != nil {
		return Work{}, err
	}
	if p.Action == "archived" || p.Action == "deleted" {
		return Work{Drop: []Scope{{key.Installation, key.Repository}}}, nil
	}
	key.All = true
	return Work{Jobs: []Job{{key, queue.Message{Missing: true}}}}, nil
}
