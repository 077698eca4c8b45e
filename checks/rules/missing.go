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
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// Missing lists the globs of the settings that match nothing in the commit. A misspelled folder would disable all
// policies, or exclude every root.
func Missing(c diff.Commit, named []settings.Glob) (problems []report.Problem) {
	for _, g := range named {
		message := ""
		switch _, _, err := c.Tree.Lookup(g.Text); {
		case wildcard(g.Text) && !matches(c, g), err == nil && ofRoots(g) && !matches(c, g):
			message = fmt.Sprintf("%s: no %s matches %q", g.Field, g.Names, g.Text)
		case !wildcard(g.Text) && errors.Is(err, tree.ErrNotExist):
			message = fmt.Sprintf("%s: %q does not exist in the repository", g.Field, g.Text)
		default:
			continue
		}
		near := Near(c.Tree, g.Text)
		if below := strings.TrimSuffix(g.Text, "/") + "/**"; near == "" && ofRoots(g) && !wildcard(g.Text) &&
			matches(c, settings.Glob{Names: g.Names, Text: below}) {
			near = below
		}
		folder := folderOf(c, g)
		switch {
		case folder != "":
			message = fmt.Sprintf("%s: %q is the name of a root: write its folder, %q", g.Field, g.Text, folder)
		case near != "":
			message += fmt.Sprintf(": did you mean %q?", near)
		}
		problems = append(problems, report.Problem{Path: settings.Path, Line: g.Line, Message: message})
	}
	return problems
}

// folderOf returns the folder of the root whose name the settings use instead of a glob of folders. It returns "" if
// the text is no such name, or if the folder would not match either.
func folderOf(c diff.Commit, g settings.Glob) string {
	if g.Names != settings.NamesClusters || !slices.ContainsFunc(strings.Split(g.Text, "/"), roots.IsKindName) {
		return ""
	}
	root, err := c.Roots.Find(g.Text)
	if err != nil || !matches(c, settings.Glob{Names: g.Names, Text: root.Path}) {
		return ""
	}
	return root.Path
}

func wildcard(text string) bool { return strings.ContainsAny(text, "*?") }

func ofRoots(g settings.Glob) bool {
	return g.Names == settings.NamesRoots || g.Names == settings.NamesCharts ||
		g.Names == settings.NamesClusters || g.Names == settings.NamesExcluded
}

// matches reports whether a glob matches something in a commit. It stops at the first match.
func matches(c diff.Commit, g settings.Glob) bool {
	switch g.Names {
	case settings.NamesPolicies, settings.NamesExceptions:
		return slices.ContainsFunc(c.Roots.Marked(), func(p string) bool { return settings.Under(p, []string{g.Text}) })
	case settings.NamesContext:
		return roots.Walk(c.Tree, g.Text, func(p string, e tree.Entry) bool {
			return e.Kind != tree.Dir && settings.Under(p, []string{g.Text})
		})
	case settings.NamesCharts:
		return c.Roots.MatchesChart(g.Text)
	case settings.NamesExcluded:
		return roots.Walk(c.Tree, g.Text, nil)
	case settings.NamesClusters:
		return c.Roots.Matches(g.Text) || c.Roots.Deploying.Matches(g.Text)
	}
	return c.Roots.Matches(g.Text)
}

// Near returns the existing path that is most similar to a missing one, followed by the part after the first wildcard.
// It returns "" if none is similar.
func Near(t *tree.Tree, name string) string {
	at, found := ".", false
	parts := strings.Split(path.Clean(name), "/")
	for i, part := range parts {
		if wildcard(part) {
			at = path.Join(at, strings.Join(parts[i:], "/"))
			break
		}
		next := path.Join(at, part)
		if _, _, err := t.Lookup(next); err != nil {
			entries, err := t.ReadDir(at)
			if err != nil {
				return ""
			}
			near := policy.Nearest(part, report.Mapped(entries, func(e tree.Entry) string { return e.Name }))
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
