package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/eval"
	"github.com/lintel-bot/lintel/engine"
)

// uncommittedRules returns a file of the work tree that is not committed as it is and seems to hold policies or
// exceptions; "" where there is none.
func (r *repository) uncommittedRules(ctx context.Context) string {
	top, err := r.top(ctx)
	if err != nil {
		return "" // it has no work tree
	}
	changed, _ := r.run(ctx, nil, "diff", "--name-only", "--no-renames", "-z", "HEAD")
	added, _ := r.run(ctx, nil, "ls-files", "--others", "--exclude-standard", "--full-name", "-z", ":/")
	for _, name := range strings.Split(changed+"\x00"+added, "\x00") {
		if !eval.IsManifest(name) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(name)))
		if err == nil && slices.ContainsFunc(engine.RuleMarks(), func(m string) bool {
			return bytes.Contains(data, []byte(m))
		}) {
			return name
		}
	}
	return ""
}
