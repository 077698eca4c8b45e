package checks

import (
	"context"
	"slices"

	"github.com/lintel-bot/lintel/checks/mask"
	"github.com/lintel-bot/lintel/checks/rendered"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render"
)

// tellDifferences adds the change's differences of rendered resources to the report.
func (p *pairs) tellDifferences(ctx context.Context, out *report.Report) error {
	return rendered.AddToReport(ctx, p.rendered(), out)
}

func (p *pairs) rendered() rendered.Change {
	return rendered.Change{Pairs: p.list, Changed: p.sides.Trees.Changed, Clusters: p.clusters}
}

// differences is the report of a change without evaluated rules. It has no findings of policies or of checks without
// policies. What keeps an object from being deployed at all is an error.
func differences(ctx context.Context, repo *repository, p *pairs) (*report.Report, error) {
	out := &report.Report{}
	p.tell(out)
	for _, pair := range p.asking {
		for _, issue := range pair.New.Issues {
			out.Fail(issueOf(pair.New, issue))
		}
	}
	for _, r := range p.roots {
		if len(r.Head) > 0 || r.Unseen != nil {
			continue // the obstacles are reported already
		}
		for _, e := range r.Base {
			out.Warnings = append(out.Warnings, report.Problem{Path: e.Path, Line: e.Line, Message: "the base could " +
				"not be rendered completely, so the parts of " + r.Name() + " that it lacks count as new: " + e.Message})
		}
	}
	for _, pair := range p.list {
		if pair.New == nil {
			continue
		}
		for _, issue := range pair.New.Issues {
			switch {
			case pair.Earlier() != nil && slices.Contains(pair.Earlier().Issues, issue):
			case issue.Breaks():
				out.Fail(issueOf(pair.New, issue))
			default:
				out.Warnings = append(out.Warnings, issueOf(pair.New, issue))
			}
		}
	}
	out.Warnings = append(out.Warnings, repo.standing...)
	out.Sort(repo.trees.Changed)
	if err := p.tellDifferences(ctx, out); err != nil {
		return nil, err
	}
	var err error
	if out.RootChanges, err = rendered.ByRoot(ctx, p.rendered()); err != nil {
		return nil, err
	}
	for _, d := range out.Differences {
		for _, cluster := range d.Clusters {
			if !slices.Contains(out.Clusters, cluster) {
				out.Clusters = append(out.Clusters, cluster)
			}
		}
	}
	slices.Sort(out.Clusters)
	p.sides.Head.Renderer.SavePlaces(ctx)
	p.sides.Base.Renderer.SavePlaces(ctx)
	files := newMaskedFiles(repo.trees)
	files.read(out)
	if err := files.tell(p.secrets); err != nil {
		return nil, err
	}
	mask.Report(out, p.secrets) // the last step, since each earlier step may add values that must be masked
	return out, nil
}

func issueOf(r *render.Resource, issue render.Issue) report.Problem {
	at := r.Origin(issue.Pointer)
	return report.Problem{Path: at.Path, Line: at.StartLine, Column: at.StartColumn, Message: issue.Message}
}
