package output

import (
	"bufio"
	"fmt"
	"io"

	"github.com/lintel-bot/lintel/checks/report"
)

// fetchedText lists what came from outside, two lines each.
func fetchedText(w io.Writer, list []report.Fetched, _ Options) error {
	out := bufio.NewWriter(w)
	for _, f := range list {
		fmt.Fprintf(out, "%-5s  %s", f.Kind, Visible(f.URL))
		for _, part := range []string{f.Name, f.Ref} {
			if part != "" {
				fmt.Fprintf(out, "  %s", Visible(part))
			}
		}
		fmt.Fprint(out, "\n       ")
		if !f.OK {
			fmt.Fprintf(out, "not had: %s\n", Visible(f.Reason))
			continue
		}
		if f.Revision != "" && f.Revision != f.Ref {
			fmt.Fprintf(out, "%s  ", Visible(f.Revision))
		}
		fmt.Fprint(out, Visible(f.Digest))
		if f.Bytes > 0 {
			fmt.Fprintf(out, "  %s", kibibytes(f.Bytes))
		}
		fmt.Fprintln(out)
		if f.Changed != "" {
			fmt.Fprintf(out, "       it was %s when it was first fetched\n", Visible(f.Changed))
		}
	}
	return out.Flush()
}

// kibibytes is a size for people, rounded up.
func kibibytes(n int64) string { return fmt.Sprintf("%d KiB", (n+1023)>>10) }
