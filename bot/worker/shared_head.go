package worker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/checks/report"
)

// sharedHead is the check runs with one name on a commit. GitHub merges by the newest of them alone. Several pull
// requests can have the same head, and the head of a merge group can become that of a pull request. So the newest run
// is never better than the worst result of all subjects with this head.
type sharedHead struct {
	newest  forge.CheckRun                     // ID zero: there is none
	results map[forge.Target]report.Conclusion // of each subject, as if it were alone; "" while it is being checked
	about   []forge.Target                     // what else has the commit as its head now
}

// sharedHead asks GitHub for these runs. The answer is valid while no other job publishes a run for the head, see
// Ledger.Exclusively.
func (c *headRun) sharedHead(ctx context.Context) (*sharedHead, error) {
	runs, err := c.Client.CheckRuns(ctx, c.repo, c.head)
	if err != nil {
		return nil, fmt.Errorf("looking for check runs of the head: %w", err)
	}
	s := &sharedHead{results: map[forge.Target]report.Conclusion{}}
	for _, run := range runs { // newest first
		if run.Part != c.part {
			continue
		}
		if s.newest.ID == 0 {
			s.newest = run
		}
		id, err := forge.ParseRunID(run.ExternalID)
		if _, known := s.results[id.Target]; known || err != nil || run.Conclusion == forge.Cancelled {
			continue
		}
		s.results[id.Target] = report.Conclusion(cmp.Or(id.Own, run.Conclusion))
		if id.Target.Group != "" && id.Target != c.task.Key.Target {
			s.about = append(s.about, id.Target)
		}
	}
	if c.task.Key.Branch != "" { // its runs have a name of their own
		return s, nil
	}
	pulls, err := c.otherPulls(ctx)
	s.about = append(s.about, report.Mapped(pulls, func(n int) forge.Target { return forge.Target{Number: n} })...)
	return s, err
}

// otherPulls returns the numbers of the other open pull requests that have the head, smallest first.
func (c *headRun) otherPulls(ctx context.Context) (numbers []int, _ error) {
	listed, err := c.Client.PullRequestsOfCommit(ctx, c.repo, c.head)
	if err != nil {
		return nil, fmt.Errorf("listing the pull requests of the head: %w", err)
	}
	for _, number := range listed {
		if number == c.task.Key.Number {
			continue
		}
		// The list may be older than the pull request.
		pr, err := c.Client.PullRequest(ctx, c.repo, number)
		if err != nil && !forge.IsGone(err) {
			return nil, fmt.Errorf("reading a pull request with the same head: %w", err)
		}
		if err == nil && pr.State == "open" && pr.HeadSHA == c.head {
			numbers = append(numbers, number)
		}
	}
	return numbers, nil
}

// badness orders conclusions; an unknown one blocks merging like a pending approval.
func badness(c report.Conclusion) int {
	return slices.Index([]report.Conclusion{report.Success, report.Neutral, "", report.ActionRequired, report.Failure}, c)
}

// worst returns the other subjects with a worse result than own, and that result; "" if it is unknown.
func (s *sharedHead) worst(own report.Conclusion) (about []forge.Target, result report.Conclusion) {
	result = own
	for _, subject := range s.about {
		theirs := s.results[subject]
		switch at, worst := badness(theirs), badness(result); {
		case at > worst:
			about, result = []forge.Target{subject}, theirs
		case at == worst && len(about) > 0:
			about = append(about, subject)
		}
	}
	return about, result
}

// share gives the run the worst result on its head, names its subject, and stores jobs for subjects without a result.
func (c *headRun) share(ctx context.Context, s *sharedHead) error {
	own := report.Conclusion(c.run.Conclusion)
	about, result := s.worst(own)
	if len(about) == 0 {
		return nil
	}
	id, err := forge.ParseRunID(c.run.ExternalID)
	if err != nil {
		return fmt.Errorf("the id of the result: %w", err)
	}
	if id.State == forge.Result {
		id.Own = string(own)
	}
	c.run.ExternalID = id.String()
	who := strings.Join(report.Mapped(about, nameOf), ", ")
	does, they := "fails", "has"
	switch result {
	case "":
		does = "is not checked yet"
	case report.ActionRequired:
		does = "waits for approval"
	case report.Neutral:
		does = "is neutral"
	}
	if len(about) > 1 {
		they = "have"
		does = strings.NewReplacer("fails", "fail", "waits", "wait", "is ", "are ").Replace(does)
	}
	c.run.Summary = fmt.Sprintf("%s %s the same head commit, and %s. GitHub shows one result per commit, so Lintel reports the "+
		"worst one. By itself, this pull request would have the result **%s** "+
		"(%s).\n\n", who, they, does, c.run.Title, own) + c.run.Summary
	c.run.Title = fmt.Sprintf("%s with the same head commit %s", who, does)
	c.run.Conclusion = string(cmp.Or(result, report.ActionRequired))
	if result != "" {
		return nil
	}
	for _, subject := range about { // the queue has at most one job for each
		key, err := c.task.Key.Of(subject)
		if err != nil {
			return err
		}
		message := c.task.following(c.Now())
		message.Missing = true
		if err := c.Jobs.Publish(ctx, key, message, ""); err != nil {
			return err
		}
	}
	return nil
}

// nameOf is what people call the subject of a check run.
func nameOf(s forge.Target) string {
	if s.Group != "" {
		return "the merge group"
	}
	return fmt.Sprintf("#%d", s.Number)
}
