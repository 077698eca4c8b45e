package checks

import (
	"slices"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// unchecked says what of the change was not checked.
func unchecked(s *diff.Sides, out *report.Report) error {
	deploying(s, out)
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
			out.Stats.Unchecked++
			out.Warnings = append(out.Warnings, report.Problem{Path: d.Path, Message: "the Helm chart in " + chart +
				" changes: Lintel does not render charts, so what it deploys is not checked"})
		}
		why, err := unread(s, d.Path)
		if err != nil {
			return err
		}
		if why != "" {
			out.Warnings = append(out.Warnings, report.Problem{Path: d.Path, Message: why})
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

// deploying says what is not known of the objects of Argo CD and Flux that the change reaches, unless that is as it was
// in the base and stands in a file that the change leaves alone.
func deploying(s *diff.Sides, out *report.Report) {
	before := s.Trees.Base.Roots.Problems()
	for _, p := range s.Trees.Head.Roots.Problems() {
		if !s.All && !s.Trees.Changed(p.Path) && slices.ContainsFunc(before, func(q gitops.Problem) bool {
			return q.Path == p.Path && q.Message == p.Message
		}) {
			continue
		}
		out.Warnings = append(out.Warnings, report.Problem{Path: p.Path, Line: p.Line, Column: p.Column, Message: p.Message})
	}
}

// issues reports what Argo CD or Flux would stumble over in the resources that the change brings.
func issues(list []*diff.Pair, out *report.Report) {
	for _, p := range list {
		if p.New == nil {
			continue
		}
		for _, issue := range p.New.Issues {
			at := p.New.Origin(issue.Pointer)
			problem := report.Problem{Path: at.Path, Line: at.StartLine, Column: at.StartColumn, Message: issue.Message}
			switch issue.Check {
			case render.ControllerRejects:
				out.Fail(problem)
			case render.ControllerUnknown, render.ControllerAdvice:
				out.Warnings = append(out.Warnings, problem)
			}
		}
	}
}
