package output

import (
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// bumpLines is how many lines the text has of one kind for one bump; JSON has more.
const bumpLines = 10

// bumps writes what other versions of things from outside change, for people at a terminal.
func (t *text) bumps() {
	if len(t.report.Bumps) > 0 {
		t.line(t.paint.bold(view.BumpsTitle + ":"))
		t.blank()
	}
	for i := range t.report.Bumps {
		b := &t.report.Bumps[i]
		for k := range b.Moved {
			m := &b.Moved[k]
			t.head(t.paint.with(cyan), "  "+line(view.Place(m.Path, m.Line, 0)), line(m.Name), line(view.Versions(m)))
		}
		t.rows("    ", line("in "+b.Root))
		if b.Problem == "" {
			t.rows("    ", line(view.BumpCounts(b)))
		}
		var all []string
		for _, words := range view.ImageWords(b.Images) {
			all = append(all, "image "+words)
		}
		for _, list := range [][]string{all, view.CareWords(b)} {
			for _, words := range list[:min(len(list), bumpLines)] {
				t.rows("    ", line("- "+words))
			}
			if n := len(list) - bumpLines; n > 0 {
				t.rows("    ", "- "+report.Count(n, "more line", "more lines"))
			}
		}
		t.blank()
	}
	if more := view.MoreBumps(t.report); more != "" {
		t.rows("  ", more)
		t.blank()
	}
	for i := range t.report.Resolved {
		r := &t.report.Resolved[i]
		at := ""
		if r.Path != "" {
			at = view.Place(r.Path, r.Line, 0) + ": "
		}
		t.rows("", line(at+r.String()))
	}
	if len(t.report.Resolved) > 0 {
		t.blank()
	}
}
