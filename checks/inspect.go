package checks

import (
	"context"

	"github.com/lintel-bot/lintel/checks/exceptions"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/engine"
)

// Inspect returns whom to ask for approval of what before the change is checked. It reads the settings and the
// exceptions of both sides, and renders nothing; of a whole branch it returns the version of its rules, for which
// folders of policies are rendered. Errors are those of [Checker.Run].
func (c *Checker) Inspect(ctx context.Context, change report.Change) (*report.Inspection, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	repo, err := open(ctx, change, c.of(change))
	if err != nil {
		return nil, err
	}
	out, err := inspect(ctx, change, repo)
	if closed := repo.close(); err == nil {
		err = closed
	}
	return out, err
}

func inspect(ctx context.Context, change report.Change, repo *repository) (*report.Inspection, error) {
	out := &report.Inspection{Approvers: repo.settings.Whom(), Teams: repo.settings.Teams()}
	if change.All {
		found, err := rules.Find(ctx, repo.trees.Rules, repo.settings)
		if err != nil {
			return nil, err
		}
		out.Rules, out.LooksUp = found.Version(repo.trees.Rules.Tree)
		return out, nil
	}
	if !repo.trees.ProposesRules() {
		return out, nil
	}
	head, err := rules.FindExceptions(repo.trees.Head, repo.settings)
	if err != nil {
		return nil, err
	}
	own := rules.NewProposal(repo.trees).Own(head)
	var merged []*engine.Exception // they do not bear on what waits for approval
	decision := decide(change, repo, merged, rules.Compile(own, change.Now, nil).Exceptions)
	out.Exceptions = exceptions.List(decision, exceptions.Known{Blob: repo.trees.Head.Blob})
	return out, nil
}
