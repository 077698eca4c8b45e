// Package rules finds, compiles and compares the rules of a repository: its settings, policies and exceptions.
package rules

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// Source is a file of rules, or a file rendered from a folder with a kustomization.
type Source struct {
	File
	Folder string // the folder from which it is rendered; "" for a file as it is
	// Clusters are those of Argo CD and Flux that have the exceptions of a file as they are here; none: nothing tells which.
	Clusters []gitops.Cluster

	outside bool           // from another repository
	at      report.Problem // the place that names it, where its problems are reported
	given   bool           // named by the caller of the check
}

// Sources are the files of the rules of one commit, according to its settings.
type Sources struct {
	Settings             *settings.Settings
	Policies, Exceptions []Source
	Problems             []report.Problem  // why policies that the settings name are not in effect
	Unknown              []report.Problem  // why policies that a cluster has from a chart or remote base are not known
	Warnings             []report.Problem  // why policies count unrendered, or exceptions do not count
	PassedOn             []report.Problem  // why policies that the caller of the check named are not in effect
	Resolved             []report.Resolved // the revisions of references to other repositories

	reads map[string]map[string]string // files that rendering each folder of rules read
}

// Find finds the rules of a commit according to the settings.
//
// If the settings name files or folders, only these count, as rendered if they have a kustomization. Otherwise, policies
// are in every manifest that is not a patch, a template or hidden, as deployed where all objects that deploy one agree, and
// in charts and remote sources (see brought). Exceptions are those that roots contain, as rendered. It fails for errors of
// the repository or the context.
func Find(ctx context.Context, c diff.Commit, s *settings.Settings) (*Sources, error) {
	out, err := FindExceptions(ctx, c, s)
	if err != nil {
		return nil, err
	}
	return out, out.policies(ctx, c)
}

// FindExceptions is Find for exceptions alone.
func FindExceptions(ctx context.Context, c diff.Commit, s *settings.Settings) (*Sources, error) {
	out := &Sources{Settings: s, reads: map[string]map[string]string{}}
	return out, out.exceptions(ctx, c)
}

func (out *Sources) policies(ctx context.Context, c diff.Commit) error {
	if err := out.own(ctx, c); err != nil {
		return err
	}
	return out.elsewhere(ctx, c)
}

// own adds the policies of the repository itself.
func (out *Sources) own(ctx context.Context, c diff.Commit) (err error) {
	named := out.Settings.Policies.Paths()
	if len(out.Settings.Policies) == 0 {
		if out.Policies, err = files(c, out.Settings, nil); err != nil {
			return err
		}
		if err := out.deployed(ctx, c); err != nil {
			return err
		}
		return out.brought(ctx, c)
	}
	var plain []string
	var rendered []Source
	done := map[string]bool{} // rendered folders
	for _, n := range named {
		dir, ok := kustomized(c, n)
		if !ok {
			plain = append(plain, n)
			continue
		}
		if done[dir] {
			continue
		}
		done[dir] = true
		list, err := out.render(ctx, c, dir)
		if err != nil {
			return err
		}
		rendered = append(rendered, list...)
	}
	if len(plain) > 0 {
		if out.Policies, err = files(c, out.Settings, plain); err != nil {
			return err
		}
		below, err := out.below(ctx, c, plain, done)
		if err != nil {
			return err
		}
		rendered = append(rendered, below...)
	}
	out.Policies = append(out.Policies, rendered...)
	return nil
}

// below renders kustomizations with policies below the folders that the settings name. It removes the files that they
// read from those that count as they are. If one does not render, its files count as they are. done are those that are
// rendered already.
func (out *Sources) below(ctx context.Context, c diff.Commit, named []string, done map[string]bool) (rendered []Source, _ error) {
	inside := func(dir string) bool { return settings.Under(dir, named) }
	var dirs []string
	for _, s := range out.Policies {
		for dir := path.Dir(s.Path); inside(dir); dir = path.Dir(dir) {
			if c.Roots.HasKustomization(dir) {
				dirs = append(dirs, dir)
				break
			}
			if dir == "." {
				break
			}
		}
	}
	for _, dir := range c.Roots.TopLevel(dirs, inside) {
		if done[dir] {
			continue
		}
		problems := len(out.Problems)
		list, err := out.render(ctx, c, dir)
		if err != nil {
			return nil, err
		}
		if broken := out.Problems[problems:]; len(broken) > 0 {
			out.Warnings = append(out.Warnings, report.Problem{Path: broken[0].Path, Line: broken[0].Line, Message: "" +
				"the policies of " + dir + " are in effect as written in their files, since that folder does not render"})
			out.Problems = out.Problems[:problems]
			continue
		}
		out.Policies = slices.DeleteFunc(out.Policies, func(s Source) bool {
			_, read := out.reads[dir][s.Path]
			return read && s.Folder == ""
		})
		rendered = append(rendered, list...)
	}
	return rendered, nil
}

// files finds the files that may contain policies: those that the settings name, or every manifest of this cluster.
func files(c diff.Commit, set *settings.Settings, named []string) ([]Source, error) {
	var sources []Source
	linked := throughLinks(c, named)
	for _, p := range c.Roots.Marked() {
		if len(named) > 0 && !settings.Under(p, named) && !linked[p] ||
			len(named) == 0 && (!c.Roots.ManifestOrPatch(p) && !c.Roots.Deploys(p) || set.OfOtherClusters(p)) {
			continue
		}
		data, _, err := c.Tree.ReadFile(p)
		if err != nil {
			return nil, err
		}
		if c.Roots.Patch(p) && (ownPatch(c, named, p) || !whole(p, data)) {
			continue
		}
		sources = append(sources, Source{File: File{Path: p, Data: data}})
	}
	return sources, nil
}

// throughLinks returns the files that may contain policies and that are, through a symlink, in a folder that the
// settings name.
func throughLinks(c diff.Commit, named []string) map[string]bool {
	out := map[string]bool{}
	if len(named) == 0 {
		return out
	}
	for _, link := range c.Roots.Links() {
		real, _, err := c.Tree.Lookup(link)
		if err != nil {
			continue
		}
		for _, p := range c.Roots.Marked() {
			rest, below := strings.CutPrefix(p, real)
			if below && (rest == "" || rest[0] == '/') && settings.Under(link+rest, named) {
				out[p] = true
			}
		}
	}
	return out
}

// ownPatch reports whether a file is a patch of policies: one of a kustomization that the settings name, or of a
// deployed one. Patches of other kustomizations do not take a policy out of effect.
func ownPatch(c diff.Commit, named []string, p string) bool {
	return c.Roots.PatchIn(p, func(dir string) bool {
		return len(named) == 0 && c.Roots.IsLive(dir) || settings.Under(dir, named)
	})
}

// whole reports whether a file contains a complete policy, as a patch seldom does.
func whole(p string, data []byte) bool {
	documents, err := doc.Parse(p, data, doc.Limits{})
	return err != nil || slices.ContainsFunc(documents, func(d *yaml.Node) bool {
		_, spec := doc.Field(d, "spec")
		return slices.ContainsFunc([]string{"rules", "validations", "mutations", "matchConstraints", "policyName"},
			func(name string) bool { _, v := doc.Field(spec, name); return v != nil })
	})
}

// Lost lists the policies that the settings name and that do not exist after the merge of the head. Policies that the
// base branch added after the head left it are not lost.
func Lost(t *diff.Trees, named []settings.Glob) []report.Problem {
	lost := Missing(t.Head, named)
	if t.Base.ID == "" {
		return lost
	}
	never, now := Missing(t.Base, named), Missing(t.Rules, named)
	return slices.DeleteFunc(lost, func(p report.Problem) bool {
		return slices.Contains(never, p) && !slices.Contains(now, p)
	})
}

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
		return roots.Walk(c.Tree, g.Text, func(dir string, _ tree.Entry) bool { return c.Roots.HasChart(dir) })
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
