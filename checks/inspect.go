package checks

import (
	"cmp"
	"context"
	"slices"

	"github.com/lintel-bot/lintel/checks/exceptions"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
)

// Inspect returns whom to ask for approval, which the App needs before the check runs. It reads the settings and the
// exceptions of both sides, and renders only folders that contain exceptions. For a whole branch it returns the version
// of its rules, for which it renders folders of policies. Errors are those of [Checker.Run].
func (c *Checker) Inspect(ctx context.Context, change report.Change) (*report.Inspection, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	repo, err := open(ctx, change, c.of(change.GitDir, change.Cache))
	if err != nil {
		return nil, err
	}
	out, err := inspect(ctx, repo)
	return out, repo.close(err)
}

func inspect(ctx context.Context, repo *repository) (*report.Inspection, error) {
	out := &report.Inspection{Approvers: repo.settings.AllApprovers(), Teams: repo.settings.Teams()}
	if out.Wanted = repo.remote.Wanted(); out.Wanted != nil {
		return out, nil
	}
	for _, cluster := range append([]string{""}, repo.settings.ClusterNames()...) {
		if err := inspectCluster(ctx, repo.in(cluster), out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// inspectCluster adds the exceptions, or the version of the rules, of one cluster or of the top level.
func inspectCluster(ctx context.Context, repo *repository, out *report.Inspection) error {
	if repo.change.All {
		found, err := rules.Find(ctx, repo.trees.Rules, repo.settings)
		if err != nil {
			return err
		}
		version, looksUp := found.Version(repo.trees.Rules.Tree)
		out.Rules, out.LooksUp = out.Rules+version, out.LooksUp || looksUp
		return nil
	}
	if !repo.trees.ProposesRules() {
		return nil
	}
	tip, err := rules.FindExceptions(ctx, repo.trees.Rules, repo.settings)
	if err != nil {
		return err
	}
	head, err := rules.FindExceptions(ctx, repo.trees.Head, repo.settings)
	if err != nil {
		return err
	}
	by, err := repo.bring(ctx, tip, head)
	if err != nil {
		return err
	}
	own := rules.Compile(&rules.Sources{Settings: repo.settings, Exceptions: by.Sources}, repo.change.Now, nil)
	// Merged exceptions have no influence on which proposed ones wait for approval.
	decision := decide(repo, nil, brought(own.Exceptions, by), nil, tip, by, nil)
	above, err := rules.FindInherited(ctx, repo.trees.Rules, repo.settings)
	if err != nil {
		return err
	}
	out.Exceptions = addExceptions(out.Exceptions, exceptions.List(decision, exceptions.Known{
		Blob: repo.trees.Head.Blob, With: by.With, Terms: repo.terms(by), Approvers: repo.approvers(above)}))
	return nil
}

// addExceptions adds the exceptions that list lacks. Several clusters may have one, and several roots may change it: it then
// waits for approval as long as any of what it comes to does.
func addExceptions(list, more []report.Exception) []report.Exception {
	for _, e := range more {
		i := slices.IndexFunc(list, func(x report.Exception) bool {
			return x.Path == e.Path && x.Line == e.Line && x.Name == e.Name
		})
		if i < 0 {
			list = append(list, e)
			continue
		}
		x, order := &list[i], []report.State{report.Refused, report.Pending, report.Approved, report.Expired}
		if slices.Index(order, e.State) < slices.Index(order, x.State) {
			x.State, x.By, x.Expires, x.Review = e.State, e.By, e.Expires, e.Review
		}
		x.Approvers, x.Lets = cmp.Or(x.Approvers, e.Approvers), max(x.Lets, e.Lets)
		x.With, x.Broad = report.Union(x.With, e.With), report.Union(x.Broad, e.Broad)
		if x.Beyond == nil {
			x.Beyond = e.Beyond
		}
		x.Terms = slices.Compact(slices.Sorted(slices.Values(slices.Concat(x.Terms, e.Terms))))
	}
	return list
}
