package githubtest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strings"
	"time"
)

// pull is a pull request.
type pull struct {
	id       int64
	number   int
	title    string
	author   string
	open     bool
	baseRef  string
	headRef  string
	headSHA  string
	created  time.Time
	reviews  []*review
	comments []Comment
	fromFork bool
}

type review struct {
	id        int64
	user      string
	state     string
	commit    string
	submitted time.Time
}

// Pull is a pull request to open.
type Pull struct {
	Head   string // branch
	Base   string // branch; default main
	Title  string
	Author string // login; default "alice"
	Fork   bool   // report to the App that the head is in another repository
}

// OpenPull opens a pull request, and sends the webhook pull_request opened. It returns the number.
func (s *Server) OpenPull(ctx context.Context, fullName string, in Pull) (int, error) {
	r, err := s.repo(fullName)
	if err != nil {
		return 0, err
	}
	in.Base = cmp.Or(in.Base, "main")
	in.Author = cmp.Or(in.Author, "alice")
	in.Title = cmp.Or(in.Title, "Change")
	head, err := s.run(ctx, r, "", nil, "rev-parse", "--verify", "refs/heads/"+in.Head)
	if err != nil {
		return 0, err
	}
	if _, err := s.run(ctx, r, "", nil, "rev-parse", "--verify", "refs/heads/"+in.Base); err != nil {
		return 0, err
	}
	s.mu.Lock()
	p := &pull{id: s.id(), number: len(r.pulls) + 1, title: in.Title, author: in.Author, open: true,
		baseRef: in.Base, headRef: in.Head, headSHA: head, created: s.now(), fromFork: in.Fork}
	r.pulls = append(r.pulls, p)
	s.touch()
	s.mu.Unlock()
	if _, err := s.run(ctx, r, "", nil, "update-ref", fmt.Sprintf("refs/pull/%d/head", p.number), head); err != nil {
		return 0, err
	}
	s.sendPull("opened", r, p, in.Author, nil)
	return p.number, nil
}

// pull finds a pull request. The caller does not hold the lock.
func (s *Server) pull(fullName string, number int) (*repository, *pull, error) {
	r, err := s.repo(fullName)
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := r.pull(number); p != nil {
		return r, p, nil
	}
	return nil, nil, fmt.Errorf("%s has no pull request %d", fullName, number)
}

func (r *repository) pull(number int) *pull {
	if number < 1 || number > len(r.pulls) {
		return nil
	}
	return r.pulls[number-1]
}

// ClosePull closes a pull request, and sends the webhook pull_request closed.
func (s *Server) ClosePull(fullName string, number int) error {
	return s.setOpen(fullName, number, false, "closed")
}

// ReopenPull reopens a closed pull request, with the present tip of its branch as head. It sends the webhook
// pull_request reopened.
func (s *Server) ReopenPull(fullName string, number int) error {
	return s.setOpen(fullName, number, true, "reopened")
}

func (s *Server) setOpen(fullName string, number int, open bool, action string) error {
	r, p, err := s.pull(fullName, number)
	if err != nil {
		return err
	}
	s.mu.Lock()
	p.open = open
	if tip := s.tip(r, p.headRef); open && tip != "" {
		p.headSHA = tip
	}
	s.touch()
	s.mu.Unlock()
	s.sendPull(action, r, p, p.author, nil)
	return nil
}

// Review submits a review of the present head, and sends the webhook pull_request_review submitted. state is APPROVED,
// CHANGES_REQUESTED or COMMENTED. It returns the review's id.
func (s *Server) Review(fullName string, number int, login, state string) (int64, error) {
	r, p, err := s.pull(fullName, number)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	v := &review{id: s.id(), user: login, state: state, commit: p.headSHA, submitted: s.now()}
	p.reviews = append(p.reviews, v)
	s.mu.Unlock()
	s.sendReview("submitted", r, p, v, login)
	return v.id, nil
}

func (s *Server) sendReview(action string, r *repository, p *pull, v *review, sender string) {
	s.mu.Lock()
	payload := object{"action": action, "review": reviewObject(v), "pull_request": s.pullObject(r, p)}
	payload["review"].(object)["state"] = strings.ToLower(v.state) // lower case in webhooks only
	s.mu.Unlock()
	s.send("pull_request_review", r, sender, payload)
}

func (s *Server) sendPull(action string, r *repository, p *pull, sender string, more object) {
	s.mu.Lock()
	payload := object{"action": action, "number": p.number, "pull_request": s.pullObject(r, p)}
	s.mu.Unlock()
	maps.Copy(payload, more)
	s.send("pull_request", r, sender, payload)
}

// Rerequest sends the webhook check_run rerequested, like "Re-run" in the checks tab.
func (s *Server) Rerequest(fullName string, runID int64) error {
	return s.sendRun(fullName, runID, object{"action": "rerequested"})
}

// RequestAction presses a button of a check run: it sends the webhook check_run requested_action.
func (s *Server) RequestAction(fullName string, runID int64, identifier string) error {
	return s.sendRun(fullName, runID,
		object{"action": "requested_action", "requested_action": object{"identifier": identifier}})
}

func (s *Server) sendRun(fullName string, runID int64, payload object) error {
	r, err := s.repo(fullName)
	if err != nil {
		return err
	}
	s.mu.Lock()
	run := r.run(runID)
	if run == nil {
		s.mu.Unlock()
		return fmt.Errorf("%s has no check run %d", fullName, runID)
	}
	payload["check_run"] = s.runObject(r, run)
	s.mu.Unlock()
	s.send("check_run", r, "alice", payload)
	return nil
}

// RerequestSuite requests all checks of a commit again: it sends the webhook check_suite rerequested.
func (s *Server) RerequestSuite(fullName, sha string) error {
	r, err := s.repo(fullName)
	if err != nil {
		return err
	}
	s.mu.Lock()
	suite := s.suiteObject(r, sha)
	s.mu.Unlock()
	s.send("check_suite", r, "alice", object{"action": "rerequested", "check_suite": suite})
	return nil
}
