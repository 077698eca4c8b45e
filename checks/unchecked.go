package checks

import (
	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// unchecked finds what of the change is not checked.
func (p *pairs) unchecked() error {
	s := p.sides
	if s.All {
		return nil
	}
	charts := map[string]bool{}
	for _, d := range s.Trees.Differences {
		if d.New == nil || d.New.Kind != tree.File || kustomization.IsFileName(d.Path) {
			continue
		}
		if chart := s.Trees.Head.Roots.Chart(d.Path); chart != "" && !charts[chart] {
			charts[chart] = true
			p.charts++
			p.notChecked = append(p.notChecked, report.NotChecked{Root: chart, Path: d.Path,
				Reason: "this Helm chart changes, and Lintel does not render charts"})
		}
		why, err := unread(s, d.Path)
		if err != nil {
			return err
		}
		if why != "" {
			p.warnings = append(p.warnings, report.Problem{Path: d.Path, Message: why})
		}
	}
	return nil
}

// unread returns why a changed file that looks like a manifest is not checked; "" for one that is, and for others.
func unread(s *diff.Sides, p string) (why string, _ error) {
	set := s.Trees.Head.Roots
	if test := set.PolicyTest(p); test != "" {
		return "is a resource of the policy test " + test + ", so it is not checked as something that is deployed", nil
	}
	if !set.Unread(p) {
		return "", nil
	}
	resources, _, problem, err := s.Head.Manifest(p)
	if err != nil || len(resources) == 0 && problem == nil {
		return "", err
	}
	return "no kustomization includes this file, so it is not checked: list it under resources, or remove it", nil
}
