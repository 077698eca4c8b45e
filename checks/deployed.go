package checks

import (
	"slices"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/gitops"
)

// deployProblems says what is not known of the objects of Argo CD and Flux that the change reaches, unless that
// is as it was in the base and stands in a file that the change leaves alone.
func (r *run) deployProblems() {
	before := r.baseGraph.Problems()
	for _, p := range r.headGraph.Problems() {
		if !r.change.All && !r.changed[p.Path] && slices.ContainsFunc(before, func(q gitops.Problem) bool {
			return q.Path == p.Path && q.Message == p.Message
		}) {
			continue
		}
		r.report.Warnings = append(r.report.Warnings, report.Problem{Path: p.Path, Line: p.Line, Column: p.Column, Message: p.Message})
	}
}

// issues reports what Argo CD or Flux would stumble over in the resources that the change brings.
func (r *run) issues(list []*pair) {
	for _, p := range list {
		if p.new == nil {
			continue
		}
		for _, issue := range p.new.Issues {
			at := p.new.Origin(issue.Pointer)
			problem := report.Problem{Path: at.Path, Line: at.StartLine, Column: at.StartColumn, Message: issue.Message}
			switch issue.Check {
			case render.ControllerRejects:
				r.problems(problem)
			case render.ControllerUnknown, render.ControllerAdvice:
				r.report.Warnings = append(r.report.Warnings, problem)
			}
		}
	}
}
