package exceptions

import (
	"slices"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
)

// Known is what List needs besides the decision. Nil fields are unknown.
type Known struct {
	Policies *engine.Policies
	Reviews  []report.Review
	Findings []report.Finding
	Beyond   map[*engine.Exception]*report.Beyond
	Blob     func(path string) string // git object id of a file at the head
	With     func(e *engine.Exception) []report.File
	// Approvers returns who decides about an exception in place of the repository's approvers; nil: nobody.
	Approvers func(e *engine.Exception) *report.Approvers
}

// Active lists the merged exceptions in effect, sorted by place, with the number of findings that each covers.
func Active(d *Decision, findings []report.Finding) (list []report.Active) {
	for _, e := range byPlace(d.merged(d.Effective)) {
		x := report.Active{Name: e.FullName(), Path: e.Path, Line: e.Line, Expires: d.Ends(e)}
		for _, f := range findings {
			if covers(e, f) {
				x.Covers += 1 + len(f.Resources)
			}
		}
		list = append(list, x)
	}
	return list
}

// List describes the exceptions that a change proposes, sorted by place.
func List(d *Decision, known Known) (list []report.Exception) {
	for _, e := range byPlace(d.Proposed) {
		x := report.Exception{
			Name: e.FullName(), Path: e.Path, Line: e.Line, Blob: known.Blob(e.Path), With: known.With(e),
			State: d.State(e), By: d.By(e), Expires: d.Ends(e), Beyond: known.Beyond[e],
		}
		if known.Policies != nil {
			x.Broad = Breadth(e, known.Policies)
		}
		if known.Approvers != nil {
			x.Approvers = known.Approvers(e)
		}
		i := slices.IndexFunc(known.Reviews, func(r report.Review) bool { return r.Of(x.Path, x.Blob, x.With) })
		if i >= 0 {
			x.Review = &known.Reviews[i]
		}
		for _, f := range known.Findings {
			if covers(e, f) {
				x.Lets++
			}
		}
		list = append(list, x)
	}
	return list
}
