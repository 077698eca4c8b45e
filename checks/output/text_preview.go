package output

import (
	"fmt"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// previewLines is how many differences the text lists; JSON has more.
const previewLines = 20

// preview writes what the change does to the rules, for people at a terminal.
func (t *text) preview() {
	p := t.report.Preview
	if p == nil {
		return
	}
	t.blank()
	t.line(t.paint.bold(view.PreviewTitle))
	t.rows("", line(view.PreviewIntro(t.report)))
	t.blank()
	for _, item := range view.PreviewItems(p) {
		for i, row := range wrap(line(item.Words), t.width-4) {
			t.line("  " + []string{"- ", "  "}[min(i, 1)] + row)
		}
		if item.Path != "" {
			t.line("    " + t.paint.dim(tame(line(view.Place(item.Path, item.Line, 0)))))
		}
	}
	if len(p.Warnings) > 0 {
		t.blank()
	}
	t.problems("warning", yellow, p.Warnings)
	t.blank()
	for _, f := range p.Findings[:min(len(p.Findings), previewLines)] {
		where := view.PlaceOf(&report.Finding{Origin: f.Origin})
		t.head(t.paint.with(previewTone(f.Effect)), "  "+line(where), line(string(f.Effect)),
			line(view.Title(f.Policy, f.Rule)))
		t.rows("    ", line(view.PreviewResources(&f)+": "+view.Becomes(&f)))
	}
	if n := len(p.Findings) - previewLines + p.LeftOut; n > 0 && len(p.Findings) >= previewLines {
		t.line(fmt.Sprintf("  and %s", report.Count(n, "more place", "more places")))
	}
	t.blank()
}

func previewTone(e report.Effect) string {
	switch e {
	case report.EffectFails:
		return red
	case report.EffectPasses:
		return green
	}
	return yellow
}
