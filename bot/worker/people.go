package worker

import (
	"context"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/mirror"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
)

// People are who took part in a change: who opened its pull requests, who is known to have pushed to them, and whom
// GitHub names as authors and committers of the commits that the base branch lacks. None of them approves an exception
// of the change, it may read what all of them may read, and only where it is one person do rules see a name.
type People struct {
	Logins  []string // in lower case; store.Everybody: there are too many to list
	Unknown bool     // somebody without an account, or somebody else whom GitHub does not name, took part
}

func (p *People) add(logins ...string) {
	for _, login := range logins {
		p.Unknown = p.Unknown || login == "" || login == store.Everybody // a deleted account has no login
		if login = strings.ToLower(login); login != "" && !slices.Contains(p.Logins, login) {
			p.Logins = append(p.Logins, login)
		}
	}
}

// Has reports whether an account may have taken part.
func (p *People) Has(login string) bool {
	return slices.Contains(p.Logins, strings.ToLower(login)) || slices.Contains(p.Logins, store.Everybody)
}

// Alone reports whether nobody else took part.
func (p *People) Alone(login string) bool {
	return !p.Unknown && len(p.Logins) == 1 && p.Logins[0] == strings.ToLower(login)
}

// peopleOf finds the people of a pull request. Commits that came from the base branch, as by "Update branch", are not part
// of the change. GitHub itself, which commits what people do on the web, is nobody, so such a commit is its author's;
// whoever updates the branch of somebody else takes part.
func (c *check) peopleOf(ctx context.Context, state mirror.State, pr *forge.PullRequest) (*People, error) {
	p := &People{}
	p.add(pr.Author)
	commits, err := c.commits(ctx, state, pr)
	if err != nil {
		return nil, err
	}
	listed, err := c.Client.Commits(ctx, c.repo, pr.Number)
	if forge.Is[*forge.TooMany](err) {
		listed, err = map[string][]string{}, nil
		p.add(store.Everybody)
	}
	if err != nil {
		return nil, err
	}
	for _, sha := range commits {
		p.Unknown = p.Unknown || len(listed[sha]) == 0 // as also with a head that GitHub no longer lists
		p.add(listed[sha]...)
	}
	known, err := c.Jobs.Pushers(ctx, c.repo.ID, pr.Number)
	if err != nil {
		return nil, err
	}
	tips, err := c.Jobs.TipPushers(ctx, c.repo.ID, commits)
	if err != nil {
		return nil, err
	}
	p.add(known...)
	p.add(tips...)
	return p, nil
}

// commits lists the commits of the pull request. If a merge group squashes, it does not contain the head.
func (c *check) commits(ctx context.Context, state mirror.State, pr *forge.PullRequest) ([]string, error) {
	list, err := c.Mirror.Commits(ctx, state.GitDir, state.BaseTip, pr.HeadSHA)
	if forge.Is[*mirror.Vanished](err) {
		if err := c.Mirror.Ensure(ctx, c.repo, pr.HeadSHA); err != nil {
			return nil, err
		}
		list, err = c.Mirror.Commits(ctx, state.GitDir, state.BaseTip, pr.HeadSHA)
	}
	return list, err
}

// pulls are the pull requests of the change.
func (c *check) pulls(ctx context.Context, state mirror.State) ([]*forge.PullRequest, error) {
	if c.reviewedPulls != nil {
		return c.reviewedPulls(ctx, state)
	}
	return []*forge.PullRequest{c.pr}, nil
}

// people finds the people of all pull requests of the change, once.
func (c *check) people(ctx context.Context, state mirror.State) (*People, error) {
	if c.partakers != nil {
		return c.partakers, nil
	}
	pulls, err := c.pulls(ctx, state)
	if err != nil {
		return nil, err
	}
	all := &People{Unknown: len(pulls) == 0}
	for _, pr := range pulls {
		p, err := c.peopleOf(ctx, state, pr)
		if err != nil {
			return nil, err
		}
		all.add(p.Logins...)
		all.Unknown = all.Unknown || p.Unknown
	}
	c.partakers = all
	return all, nil
}

// authors lists who must be able to read what the change names; none if somebody is unknown.
func (c *check) authors(ctx context.Context, state mirror.State) ([]string, error) {
	p, err := c.people(ctx, state)
	if err != nil || p.Unknown {
		return nil, err
	}
	return p.Logins, nil
}

// identify tells the rules who makes the change. Where several people do, or somebody unknown, it is somebody without a
// name and teams, as for a merge group: else whoever pushes to the pull request of another person had that person's rights.
func (c *check) identify(ctx context.Context, state mirror.State, change *report.Change) error {
	defer c.timed(stageReview)()
	p, err := c.people(ctx, state)
	if err != nil {
		return err
	}
	change.User = report.User{}
	if c.nameless = !p.Alone(c.pr.Author); c.nameless {
		return nil
	}
	change.User.Login = c.pr.Author
	change.User.Teams, err = c.teams(ctx, c.pr.Author)
	return err
}
