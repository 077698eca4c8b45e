package output

import (
	"fmt"
	"io"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// fixText writes what became of deprecated fields for people: a line for each place, and how many there are.
func fixText(w io.Writer, r *report.Fixes, _ Options) error {
	var b strings.Builder
	for _, e := range r.Edits {
		fmt.Fprintf(&b, "%s:%d:%d: %s\n", line(e.Path), e.Line, e.Column, line(e.Message))
	}
	for _, l := range r.Left {
		fmt.Fprintf(&b, "%s:%d:%d: left as it is: %s\n", line(l.Path), l.Line, l.Column, line(l.Message))
	}
	done := "rewritten"
	if r.Proposed {
		done = "to rewrite"
	}
	switch {
	case len(r.Edits) > 0:
		fmt.Fprintf(&b, "%s %s in %s\n", report.Count(len(r.Edits), "place", "places"), done,
			report.Count(len(r.Files), "file", "files"))
	case len(r.Left) == 0:
		b.WriteString("nothing is deprecated\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
