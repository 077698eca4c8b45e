package output

import (
	"bufio"
	"fmt"
	"io"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/doc"
)

// objectsYAML prints objects as "kustomize build" does: keys sorted, one document each.
func objectsYAML(w io.Writer, objects []report.Object, _ Options) error {
	out := bufio.NewWriter(w)
	for i, o := range objects {
		data, err := doc.Print(map[string]any(o))
		if err != nil {
			return fmt.Errorf("print a rendered resource: %w", err)
		}
		if i > 0 {
			fmt.Fprint(out, "---\n")
		}
		_, _ = out.Write(data) // Flush says what went wrong
	}
	return out.Flush()
}
