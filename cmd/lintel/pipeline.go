package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// pipeline is the change for which a GitHub Actions workflow runs, according to its variables and event file
// (https://docs.github.com/en/actions/reference/workflows-and-actions/variables).
type pipeline struct {
	event  string
	bases  []string // revisions that the base may be at, the best first
	merge  string   // commit that GitHub made of the base and the head, in this order; empty: it made none
	branch string   // that the change goes to, if it is known
	author string
	tip    bool // the head may be the tip of that branch: the workflow runs for no change
}

// maxEvent limits the size of an event file; GitHub's own limit is 25 MB
// (https://docs.github.com/en/webhooks/webhook-events-and-payloads).
const maxEvent = 25 << 20

// noCommit is the value of the previous commit in an event if a branch is new.
const noCommit = "0000000000000000000000000000000000000000"

// readPipeline returns the change of the running workflow, nil if there is none or its change is not known. If the
// event is no change, it is compared with the default branch. The error is about the event's file.
func readPipeline(getenv func(string) string) (*pipeline, error) {
	if getenv("GITHUB_ACTIONS") != "true" {
		return nil, nil
	}
	var event struct {
		Before     string `json:"before"`
		Ref        string `json:"ref"`
		Repository struct {
			DefaultBranch string `json:"default_branch"`
		} `json:"repository"`
		PullRequest struct {
			Base struct {
				SHA string `json:"sha"`
				Ref string `json:"ref"`
			} `json:"base"`
			User struct {
				Login string `json:"login"`
			} `json:"user"`
		} `json:"pull_request"`
		MergeGroup struct {
			BaseSHA string `json:"base_sha"`
			BaseRef string `json:"base_ref"`
		} `json:"merge_group"`
	}
	if name := getenv("GITHUB_EVENT_PATH"); name != "" {
		if err := readJSON(name, &event); err != nil {
			return nil, fmt.Errorf("the event of this workflow (GITHUB_EVENT_PATH): %w", err)
		}
	}
	p := &pipeline{event: getenv("GITHUB_EVENT_NAME")}
	byDefault := func() (*pipeline, error) {
		if p.branch = event.Repository.DefaultBranch; p.branch == "" {
			return nil, nil
		}
		p.bases, p.tip = []string{"refs/remotes/origin/" + p.branch, "refs/heads/" + p.branch}, true
		return p, nil
	}
	switch p.event {
	case "pull_request", "pull_request_target", "pull_request_review", "pull_request_review_comment":
		pr := event.PullRequest
		p.branch, p.author = pr.Base.Ref, pr.User.Login
		if ref := getenv("GITHUB_BASE_REF"); ref != "" {
			p.branch = ref
		}
		if p.branch != "" {
			p.bases = append(p.bases, "refs/remotes/origin/"+p.branch)
		}
		p.bases, p.merge = append(p.bases, pr.Base.SHA), getenv("GITHUB_SHA")
	case "merge_group":
		p.branch = strings.TrimPrefix(event.MergeGroup.BaseRef, "refs/heads/")
		p.bases = []string{event.MergeGroup.BaseSHA}
	case "push":
		branch, isBranch := strings.CutPrefix(event.Ref, "refs/heads/")
		if !isBranch || event.Before == noCommit || event.Before == "" {
			return byDefault() // a new branch goes to it, as it would elsewhere
		}
		p.branch, p.bases = branch, []string{event.Before}
	default:
		return byDefault()
	}
	return p, nil
}

func readJSON(name string, into any) error {
	data, err := readAtMost(name, maxEvent)
	switch {
	case err != nil:
		return plainCause(err)
	case len(data) > maxEvent:
		return fmt.Errorf("it is larger than %d MiB", maxEvent>>20)
	}
	return json.Unmarshal(data, into)
}

// base finds the commit to compare head with, in what was checked out. The error says what the workflow has to fetch.
func (p *pipeline) base(ctx context.Context, r *repository, head string) (string, error) {
	bases := p.bases
	depth := 0 // all of it
	if p.merge != "" && p.merge == head {
		depth = 2
		if _, ok := r.resolve(ctx, head+"^2"); ok {
			// GitHub may have merged with a newer base than the event has.
			bases = slices.Insert(slices.Clone(bases), len(bases)-1, head+"^1")
		}
	}
	for _, rev := range bases {
		id, ok := r.resolve(ctx, rev)
		switch {
		case rev == "" || !ok:
		case id == head && !p.tip:
			return "", p.checkedOutBase()
		default:
			return id, nil
		}
	}
	return "", fmt.Errorf("the workflow's clone lacks the commit to compare this %s with: add \"fetch-depth: %d\" to "+
		"the actions/checkout step, or use --base", strings.ReplaceAll(p.event, "_", " "), depth)
}

func (p *pipeline) checkedOutBase() error {
	return fmt.Errorf("the workflow checked out the base branch, not the change: for %s, check out the head, or use "+
		"the event pull_request", p.event)
}

// nothing decides about a head that is part of the base. If a push removed commits, it is compared with the commits
// that were there; for any other change, the workflow did not check it out.
func (p *pipeline) nothing(change *report.Change) error {
	switch {
	case p.tip:
	case p.event == "push":
		change.Base = change.Rules
	default:
		return p.checkedOutBase()
	}
	return nil
}
