package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/checks/starter"
)

// planner plans what "lintel init" writes. The policies must not be deployed by anything, which is checked on the
// repository as it would be afterwards.
type planner struct {
	*beginning
	choice     starter.Choice
	repository starter.Repository
	notes      []string
}

// planner returns a planner for the flags. What they leave open is decided by what the repository has.
func (o initOptions) planner(b *beginning) *planner {
	p := &planner{beginning: b, choice: starter.Choice{Kind: o.kind, Action: o.action, Sets: o.sets},
		repository: starter.Repository{Layout: b.layout, Read: b.read}}
	if p.choice.Kind == "" {
		p.choice.Kind = starter.KindOf(b.layout)
	}
	if len(p.choice.Sets) == 0 {
		p.choice.Sets = starter.DefaultSets(b.layout)
		if !slices.Contains(p.choice.Sets, starter.Namespaces) {
			p.notes = append(p.notes, "The set "+starter.Namespaces+" is left out: for most manifests without a "+
				"namespace, the repository does not name one. --set "+starter.Namespaces+" writes it.")
		}
	}
	if b.layout != nil && len(b.layout.Problems) > 0 {
		p.notes = append(p.notes, fmt.Sprintf("The existing settings are not valid: %s.", b.layout.Problems[0]))
	}
	return p
}

// plan makes a plan with the first of some folders that nothing deploys.
func (p *planner) plan(ctx context.Context, folders []string) (*starter.Plan, error) {
	if p.layout == nil {
		p.choice.Folder = folders[0]
		return p.choice.Plan(p.repository)
	}
	var deployer string
	for _, p.choice.Folder = range folders {
		plan, err := p.choice.Plan(p.repository)
		if err != nil {
			return nil, err
		}
		after, err := p.with(ctx, plan)
		if err != nil {
			return nil, err
		}
		if deployer = starter.Deployer(p.choice.Folder, p.layout, after); deployer != "" {
			continue
		}
		return plan, p.note(ctx, plan, after)
	}
	return nil, fmt.Errorf("nothing was written: %s would deploy the policies and the resources of their tests from "+
		"%s. Name a folder that is not deployed with --policies", deployer, strings.Join(folders, " and "))
}

// note adds notes for the user to a plan.
func (p *planner) note(ctx context.Context, plan *starter.Plan, after *report.Layout) error {
	plan.Notes = append(plan.Notes, p.notes...)
	counts := func(path string) bool {
		return slices.ContainsFunc(after.Policies, func(l report.LaidPolicy) bool { return l.Path == path })
	}
	if slices.ContainsFunc(plan.Covers, func(path string) bool { return !counts(path) }) {
		plan.Notes = append(plan.Notes, fmt.Sprintf("With the existing settings, the policies in %s do not count: "+
			"add %[1]s/ to \"policies\" in %s.", p.choice.Folder, settings.Path))
	}
	ignored, err := p.ignored(ctx, plan.Write)
	if len(ignored) > 0 {
		plan.Notes = append(plan.Notes, "Git ignores "+ignored[0]+", so it does not count: see .gitignore.")
	}
	return err
}
