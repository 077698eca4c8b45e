package worker

import (
	"slices"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/checks/report"
)

// previewNotes are the annotations of a preview: what becomes of a policy or an exception at its own line, and the
// failed rows of policy tests that the change itself leaves alone. Those of tests it edits are among the errors.
func previewNotes(p *report.Preview, errors []report.Problem) []forge.Annotation {
	if p == nil {
		return nil
	}
	var list []forge.Annotation
	for _, n := range p.Notices {
		a := problem(n)
		a.Level, a.Title = forge.LevelNotice, "Preview"
		list = append(list, a)
	}
	if p.Tests == nil {
		return list
	}
	for _, e := range errors {
		if !e.Changed && slices.Contains(p.Tests.Files, e.Path) {
			a := problem(e)
			a.Title = "Policy test"
			list = append(list, a)
		}
	}
	return list
}
