package output

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// initText writes a plan of "lintel init" for people: what was found, what is written and what is left, and what to do
// next.
func initText(w io.Writer, p *report.InitPlan, o Options) error {
	b := &initWriter{paint: painter{color: o.Color}, width: cmp.Or(o.Width, 80)}
	b.list("Found", p.Found)
	done := "Written"
	if p.DryRun {
		done = "Would be written"
	}
	var rows, same, left [][2]string
	add := func(action report.PlanAction, name, note, reason string) {
		switch action {
		case report.PlanWrite:
			rows = append(rows, [2]string{name, note})
		case report.PlanSame:
			same = append(same, [2]string{name, ""})
		default:
			left = append(left, [2]string{name, reason})
		}
	}
	for _, f := range p.Files {
		if !ofPolicy(p, f.Path) {
			note := "the settings"
			if len(p.Clusters) > 0 {
				note += ", with the clusters " + strings.Join(p.Clusters, ", ")
			}
			add(f.Action, f.Path, note, f.Reason)
		}
	}
	for _, r := range p.Policies {
		add(r.Action, r.Folder+"/", r.Title, r.Reason)
	}
	b.table(done, rows)
	b.table("There already, the same", same)
	b.table("Left as it is", left)
	b.list("Note", p.Notes)
	var next [][2]string
	for _, s := range p.Next {
		next = append(next, [2]string{s.Command, s.For})
	}
	b.table("Next", next)
	_, err := io.WriteString(w, b.String())
	return err
}

// ofPolicy reports whether a file is one of a policy of the plan.
func ofPolicy(p *report.InitPlan, path string) bool {
	for _, r := range p.Policies {
		if strings.HasPrefix(path, r.Folder+"/") {
			return true
		}
	}
	return false
}

// initWriter writes lists under their heads, with an empty line between them.
type initWriter struct {
	strings.Builder
	paint painter
	width int
}

func (b *initWriter) head(title string) {
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	b.WriteString(b.paint.bold(title) + "\n")
}

func (b *initWriter) list(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	b.head(title)
	for _, l := range lines {
		for i, part := range wrap(Visible(l), b.width-4) {
			fmt.Fprintf(b, "  %s%s\n", strings.Repeat("  ", min(i, 1)), part)
		}
	}
}

func (b *initWriter) table(title string, rows [][2]string) {
	if len(rows) == 0 {
		return
	}
	b.head(title)
	width := 0
	for _, r := range rows {
		width = max(width, textWidth(Visible(r[0])))
	}
	for _, r := range rows {
		name := Visible(r[0])
		pad := strings.Repeat(" ", width-textWidth(name))
		b.WriteString(strings.TrimRight("  "+name+pad+"  "+Visible(r[1]), " ") + "\n")
	}
}
