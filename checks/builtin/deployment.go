package builtin

import (
	"path"
	"strings"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/origin"
	"github.com/lintel-bot/lintel/render/roots"
)

// Deployments sorts what is wrong with, or not known of, the objects of Argo CD and Flux that a change reaches, unless
// that is as it was in the base and stands in a file that the change leaves alone. What the change brings and that
// would not deploy either is one pair for each, about the object that asks. What only the cluster or the operator
// knows, and what the base lacked already, is not checked. Advice is for reading.
func Deployments(s *diff.Sides) (pairs []*diff.Pair, not []report.NotChecked, advice []report.Problem) {
	type problem struct{ path, message string }
	before := map[problem]bool{}
	for _, p := range s.Trees.Base.Roots.Problems() {
		before[problem{p.Path, p.Message}] = true
	}
	for _, p := range s.Trees.Head.Roots.Problems() {
		known := !s.All && before[problem{p.Path, p.Message}]
		reason := strings.TrimSuffix(p.Message, " ("+p.Object.String()+")") // the object is named beside it
		switch {
		case known && !s.Trees.Changed(p.Path):
		case p.Cause == gitops.Advice:
			advice = append(advice, report.Problem{Path: p.Path, Line: p.Line, Column: p.Column, Message: p.Message})
		case p.Cause == gitops.Broken && !known:
			pairs = append(pairs, pairOf(p))
		default:
			not = append(not, report.NotChecked{Root: p.Object.String(), Path: p.Path, Line: p.Line, Reason: reason})
		}
	}
	return pairs, not, advice
}

// pairOf is the object that asks for a deployment, as far as a problem names it.
func pairOf(p gitops.Problem) *diff.Pair {
	object := admission.Object{
		"apiVersion": p.Object.APIVersion(), "kind": p.Object.Kind,
		"metadata": map[string]any{"name": p.Object.Name, "namespace": p.Object.Namespace},
	}
	issue := render.Issue{Check: deploys, Message: p.Message}
	return &diff.Pair{Root: roots.Root{Path: path.Dir(p.Path)}, Operation: admission.Create,
		New: render.NewResource(object, at(p), issue)}
}

// at is the place of a problem, whatever field is asked for.
type at gitops.Problem

// Locate implements render.Locator.
func (p at) Locate(string) origin.Place {
	if p.Line == 0 { // the file as a whole
		return origin.Place{Path: p.Path, StartLine: 1, EndLine: 1, How: origin.Enclosing}
	}
	return origin.Place{Path: p.Path, StartLine: p.Line, EndLine: p.Line, How: origin.Identity}
}

// deploys is the check of what objects of Argo CD and Flux ask for.
const deploys render.Check = "deployment"

type deployment struct{}

// Info implements Check.
func (deployment) Info() Info { return Info{string(deploys), "high", engine.Fail, true} }

// Look implements Check.
func (deployment) Look(r *render.Resource) []Violation { return resource{issue: deploys}.Look(r) }
