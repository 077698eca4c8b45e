package checks

import (
	"slices"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render"
)

// deployProblems says what is not known of the objects of Argo CD and Flux that the change reaches, unless that
// is as it was in the base and stands in a file that the change leaves alone.
func (r *run) deployProblems(base, head *render.Renderer) {
	before := base.DeployProblems()
	for _, p := range head.DeployProblems() {
		if !r.change.All && !r.changed[p.Path] && slices.ContainsFunc(before, func(q render.DeployProblem) bool {
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
			problem := report.Problem{Path: issue.Path, Line: issue.Line, Column: issue.Column, Message: issue.Message}
			if issue.Unsure {
				r.report.Warnings = append(r.report.Warnings, problem)
			} else {
				r.problems(problem)
			}
		}
	}
}
