// Package forgetest is GitHub in memory, for unit tests: it does for a caller of github.Client what GitHub would, without
// HTTP. Package githubtest is the imitation for what has to be seen on the wire.
package forgetest

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/checks/report"
)

// GitHub implements methods of github.Client with the data in its fields. A test sets the fields between calls. It is
// not safe for concurrent use, except that Since may be called at any time.
type GitHub struct {
	forge.Client // nil: calls of methods that GitHub does not have panic

	Installed   []forge.Installation
	Repos       []forge.Repo                   // of all installations
	Archived    bool                           // every repository is archived
	Private     map[int64]bool                 // whether a repository is private, by id
	Tips        map[string]string              // commits of branches, in every repository
	Pulls       map[int64][]*forge.PullRequest // by repository; open unless they are closed
	PullReviews []forge.Review                 // of every pull request, oldest first
	Groups      []string                       // heads of the merge groups of every pull request
	Committers  []string                       // of the head of every pull request
	Rights      map[string]string              // by login; "none" by default
	Teams       map[string][]string            // members by team, as org/slug
	Lost        []forge.Delivery               // deliveries that failed
	Runs        []forge.CheckRun               // oldest first; the run with an ID is at index ID-1
	Suggestions []report.Replacement           // of every pull request
	// Left is what an installation has left of its hourly limit. Nil: it is not known.
	Left func(installation int64) (forge.Budget, bool)

	// Fail returns the error of a call before it has any effect. It gets the name of the method, and the repository,
	// check run or other subject. Nil: no errors.
	Fail func(call string, about any) error
	// Published is called after each publication of a check run. Nil: nothing.
	Published func()

	calls       map[string]int
	history     []string
	redelivered []int64

	mu    sync.Mutex // guards since
	since []time.Time
}

// Calls returns how often a method was called.
func (g *GitHub) Calls(method string) int {
	return g.calls[method]
}

// History returns the id and the status or conclusion of each published check run.
func (g *GitHub) History() []string { return g.history }

// Since returns the times since which failed deliveries were requested.
func (g *GitHub) Since() []time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.since)
}

// Redelivered returns the deliveries that were requested again.
func (g *GitHub) Redelivered() []int64 { return g.redelivered }

// Budget implements forge.Client.
func (g *GitHub) Budget(installation int64) (b forge.Budget, known bool) {
	if g.Left == nil {
		return b, false
	}
	return g.Left(installation)
}

func (g *GitHub) call(name string, about any) error {
	if g.calls == nil {
		g.calls = map[string]int{}
	}
	g.calls[name]++
	if g.Fail == nil {
		return nil
	}
	return g.Fail(name, about)
}

// Installations is as github.Client has it.
func (g *GitHub) Installations(context.Context) ([]forge.Installation, error) {
	return g.Installed, g.call("Installations", nil)
}

// Repositories is as github.Client has it.
func (g *GitHub) Repositories(_ context.Context, installation int64) (list []forge.Repo, _ error) {
	for _, repo := range g.Repos {
		if repo.Installation == installation {
			list = append(list, repo)
		}
	}
	return list, g.call("Repositories", installation)
}

// Repository is as github.Client has it.
func (g *GitHub) Repository(_ context.Context, repo forge.Repo) (*forge.Settings, error) {
	return &forge.Settings{DefaultBranch: "main", Archived: g.Archived, Private: g.Private[repo.ID]}, g.call("Repository", repo)
}

// Branch is as github.Client has it.
func (g *GitHub) Branch(_ context.Context, repo forge.Repo, name string) (string, error) {
	if err := g.call("Branch", repo); err != nil {
		return "", err
	}
	if g.Tips[name] == "" {
		return "", &forge.Gone{What: "branch " + name}
	}
	return g.Tips[name], nil
}

// PullRequest is as github.Client has it.
func (g *GitHub) PullRequest(_ context.Context, repo forge.Repo, number int) (*forge.PullRequest, error) {
	if err := g.call("PullRequest", repo); err != nil {
		return nil, err
	}
	for _, pr := range g.Pulls[repo.ID] {
		if pr.Number == number {
			found := *pr
			return &found, nil
		}
	}
	return nil, &forge.Gone{What: "pull request " + strconv.Itoa(number)}
}

// MergeGroups is as github.Client has it.
func (g *GitHub) MergeGroups(_ context.Context, repo forge.Repo, _ string, _ int) ([]string, error) {
	return g.Groups, g.call("MergeGroups", repo)
}

// OpenPullRequests is as github.Client has it.
func (g *GitHub) OpenPullRequests(_ context.Context, repo forge.Repo, base string) (list []forge.PullRequest, _ error) {
	for _, pr := range g.Pulls[repo.ID] {
		if pr.State != "closed" && (base == "" || pr.BaseRef == base) {
			list = append(list, *pr)
		}
	}
	return list, g.call("OpenPullRequests", repo)
}

// PullRequestsOfCommit is as github.Client has it.
func (g *GitHub) PullRequestsOfCommit(ctx context.Context, repo forge.Repo, sha string) (numbers []int, _ error) {
	open, err := g.OpenPullRequests(ctx, repo, "")
	for _, pr := range open {
		if pr.HeadSHA == sha {
			numbers = append(numbers, pr.Number)
		}
	}
	slices.Sort(numbers)
	return numbers, err
}

// Reviews is as github.Client has it.
func (g *GitHub) Reviews(_ context.Context, repo forge.Repo, _ int) ([]forge.Review, error) {
	return g.PullReviews, g.call("Reviews", repo)
}

// Commits is as github.Client has it, except that a pull request has one commit.
func (g *GitHub) Commits(_ context.Context, repo forge.Repo, number int) (map[string][]string, error) {
	head := ""
	for _, pr := range g.Pulls[repo.ID] {
		if pr.Number == number {
			head = pr.HeadSHA
		}
	}
	return map[string][]string{head: g.Committers}, g.call("Commits", repo)
}

// Permission is as github.Client has it.
func (g *GitHub) Permission(_ context.Context, _ forge.Repo, login string) (string, error) {
	err := g.call("Permission", login)
	if right, ok := g.Rights[login]; ok {
		return right, err
	}
	return "none", err
}

// TeamMember is as github.Client has it.
func (g *GitHub) TeamMember(_ context.Context, _ forge.Repo, team, login string) (bool, error) {
	return slices.Contains(g.Teams[team], login), g.call("TeamMember", team)
}

// CheckRuns is as github.Client has it.
func (g *GitHub) CheckRuns(_ context.Context, repo forge.Repo, headSHA string) (found []forge.CheckRun, _ error) {
	for _, run := range slices.Backward(g.Runs) {
		if run.HeadSHA == headSHA {
			found = append(found, run)
		}
	}
	return found, g.call("CheckRuns", repo)
}

// Publish is as github.Client has it, except that it only updates the run with the same ID.
func (g *GitHub) Publish(_ context.Context, _ forge.Repo, run *forge.CheckRun) error {
	if err := g.call("Publish", run); err != nil {
		return err
	}
	if run.ID == 0 {
		run.ID = int64(len(g.Runs) + 1)
		g.Runs = append(g.Runs, forge.CheckRun{})
	}
	g.Runs[run.ID-1] = *run
	state := run.Status
	if state == forge.Completed {
		state = run.Conclusion
	}
	g.history = append(g.history, strconv.FormatInt(run.ID, 10)+" "+state)
	if g.Published != nil {
		g.Published()
	}
	return nil
}

// Suggest is as github.Client has it, except that it accepts any lines.
func (g *GitHub) Suggest(_ context.Context, _ forge.Repo, _ int, _ string, list []report.Replacement) (int, error) {
	if err := g.call("Suggest", list); err != nil {
		return 0, err
	}
	g.Suggestions = list[:min(len(list), forge.MaxSuggestions)]
	return len(list) - len(g.Suggestions), nil
}

// CloneURL is as github.Client has it.
func (g *GitHub) CloneURL(repo forge.Repo) string {
	return "https://github.com/" + repo.String() + ".git"
}

// FailedDeliveries is as github.Client has it, except that it also returns deliveries from before since.
func (g *GitHub) FailedDeliveries(_ context.Context, since time.Time) ([]forge.Delivery, error) {
	g.mu.Lock()
	g.since = append(g.since, since)
	g.mu.Unlock()
	return g.Lost, g.call("FailedDeliveries", since)
}

// Redeliver is as github.Client has it.
func (g *GitHub) Redeliver(_ context.Context, id int64) error {
	if err := g.call("Redeliver", id); err != nil {
		return err
	}
	g.redelivered = append(g.redelivered, id)
	return nil
}
