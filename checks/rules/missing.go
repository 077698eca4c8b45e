package rules

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render/tree"
)

// Missing lists policies that the settings name and the commit does not have: a misspelled folder would turn them all
// off. A missing folder of exceptions or context loosens nothing, and git keeps no empty ones.
func Missing(c diff.Commit, named []string) (problems []report.Problem) {
	for _, n := range named {
		message := ""
		if strings.ContainsAny(n, "*?") {
			if !slices.ContainsFunc(c.Roots.Marked(), func(p string) bool { return settings.Under(p, []string{n}) }) {
				message = fmt.Sprintf("policies: no policy is at %q", n)
			}
		} else if _, _, err := c.Tree.Lookup(n); errors.Is(err, tree.ErrNotExist) {
			message = fmt.Sprintf("policies: %q does not exist in the repository", n)
		}
		if message == "" {
			continue
		}
		if near := Near(c.Tree, n); near != "" {
			message += fmt.Sprintf(": did you mean %q?", near)
		}
		problems = append(problems, report.Problem{Path: settings.Path, Message: message})
	}
	return problems
}

// Near returns the existing path that is most like one that does not exist, up to its first wildcard; "" where none is
// like it.
func Near(t *tree.Tree, name string) string {
	at, found := ".", false
	for part := range strings.SplitSeq(path.Clean(name), "/") {
		if strings.ContainsAny(part, "*?") {
			break
		}
		next := path.Join(at, part)
		if _, _, err := t.Lookup(next); err != nil {
			entries, err := t.ReadDir(at)
			if err != nil {
				return ""
			}
			var names []string
			for _, e := range entries {
				names = append(names, e.Name)
			}
			near := policy.Nearest(part, names)
			if near == "" {
				return ""
			}
			next, found = path.Join(at, near), true
		}
		at = next
	}
	if !found {
		return ""
	}
	return at
}
