package output

import (
	"fmt"
	"io"

	"github.com/lintel-bot/lintel/checks/report"
)

// buildText writes the version of the program on one line.
func buildText(w io.Writer, b report.Build, _ Options) error {
	words := "lintel " + b.Number
	if b.Commit != "" {
		words += " " + b.Commit
	}
	if b.Date != "" {
		words += " of " + b.Date
	}
	if b.Modified {
		words += " (modified)"
	}
	_, err := fmt.Fprintf(w, "%s %s %s\n", words, b.Go, b.Platform)
	return err
}
