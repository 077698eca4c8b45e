package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/output"
	"github.com/lintel-bot/lintel/checks/report"
)

// difference writes the edits as a unified diff. Context lines do not show secrets.
func (f *fixedFile) difference(out io.Writer, path string) {
	fmt.Fprintf(out, "--- a/%s\n+++ b/%s\n", output.LogLine(path), output.LogLine(path))
	was := slices.Collect(strings.Lines(string(f.data)))
	type change struct {
		sign string
		row
	}
	var all []change
	line := 1
	for i := 0; i <= len(f.rows); {
		var added []change
		for ; i < len(f.rows) && f.rows[i].line == 0; i++ {
			added = append(added, change{"+", f.rows[i]})
		}
		next := len(was) + 1
		if i < len(f.rows) {
			next = f.rows[i].line
		}
		for ; line < next; line++ {
			all = append(all, change{"-", row{was[line-1], line}})
		}
		all = append(all, added...)
		if i < len(f.rows) {
			all = append(all, change{" ", f.rows[i]})
		}
		line, i = next+1, i+1
	}
	included := make([]bool, len(all))
	for i, c := range all {
		for _, step := range []int{-1, 1} {
			at := i
			for n := 0; c.sign != " " && n <= report.ShownAround && at >= 0 && at < len(all); n++ {
				if _, ok := f.shown[all[at].line]; all[at].sign == " " && !ok {
					break
				}
				included[at] = true
				at += step
			}
		}
	}
	before, after := 0, 0 // lines above
	for i := 0; i < len(all); {
		var hunk strings.Builder
		removed, added := 0, 0
		for ; i < len(all) && included[i]; i++ {
			c := all[i]
			text, whole := strings.CutSuffix(c.text, "\n")
			if c.sign == " " {
				text = f.shown[c.line]
			}
			hunk.WriteString(c.sign + output.LogLine(strings.TrimSuffix(text, "\r")) + "\n")
			if !whole {
				hunk.WriteString("\\ No newline at end of file\n")
			}
			if c.sign != "+" {
				removed++
			}
			if c.sign != "-" {
				added++
			}
		}
		if hunk.Len() > 0 {
			fmt.Fprintf(out, "@@ -%s +%s @@\n%s", hunkRange(before, removed), hunkRange(after, added), hunk.String())
		}
		if before, after = before+removed, after+added; i < len(all) && !included[i] {
			before, after, i = before+1, after+1, i+1
		}
	}
}

// hunkRange returns the line range in a hunk header of a unified diff, after the given number of lines.
func hunkRange(above, lines int) string {
	if lines == 0 {
		return fmt.Sprintf("%d,0", above)
	}
	if lines == 1 {
		return fmt.Sprint(above + 1)
	}
	return fmt.Sprintf("%d,%d", above+1, lines)
}
