package helm

import (
	"fmt"
	"strings"
)

// Text returns the manifests as `helm template` prints them.
func (o *Output) Text() string {
	var manifests, hooks strings.Builder
	for _, m := range o.Manifests {
		to := &manifests
		if m.Hook {
			to = &hooks
		}
		fmt.Fprintf(to, "---\n# Source: %s\n%s\n", m.Template, m.Text)
	}
	return strings.TrimSpace(manifests.String()) + "\n" + hooks.String()
}
