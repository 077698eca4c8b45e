// Package rules finds, compiles and compares the rules of a repository: its settings, policies and exceptions.
package rules

import (
	"context"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/render/doc"
)

// Source is a file of rules, or what a folder with a kustomization renders to.
type Source struct {
	File
	Folder string // the folder that it is rendered from; "" for a file as it is

	outside bool           // it is in another repository
	at      report.Problem // where it is named that it counts: the place of what is wrong with it
	given   bool           // whoever asked for the check handed it in
}

// Sources are where the rules of one commit are written, by its settings.
type Sources struct {
	Settings             *settings.Settings
	Policies, Exceptions []Source
	Problems             []report.Problem  // why policies that the settings name are not in effect
	Warnings             []report.Problem  // why policies count as their files have them, or exceptions do not
	PassedOn             []report.Problem  // why policies that whoever asks for the check hands in are not in effect
	Resolved             []report.Resolved // what references to other repositories came to

	folders map[string]map[string]string // what the rendering of each folder of policies read
	reads   map[string]map[string]string // that of each folder of exceptions
}

// Find finds the rules of a commit as the settings have it: where they name files or folders, only those count, and
// what is below a kustomization there counts as it renders; else every manifest that is not a patch, a template or
// hidden, of exceptions only what a root is made of, as it renders. The error is that of the repository or the context.
func Find(ctx context.Context, c diff.Commit, s *settings.Settings) (*Sources, error) {
	out, err := FindExceptions(ctx, c, s)
	if err != nil {
		return nil, err
	}
	return out, out.policies(ctx, c)
}

// FindExceptions is Find for exceptions alone.
func FindExceptions(ctx context.Context, c diff.Commit, s *settings.Settings) (*Sources, error) {
	out := &Sources{Settings: s, folders: map[string]map[string]string{}, reads: map[string]map[string]string{}}
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
		out.Policies, err = files(c, out.Settings, nil)
		return err
	}
	var plain []string
	var rendered []Source
	for _, n := range named {
		dir, ok := kustomized(c, n)
		if !ok {
			plain = append(plain, n)
			continue
		}
		if out.folders[dir] != nil {
			continue
		}
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
		below, err := out.below(ctx, c, plain)
		if err != nil {
			return err
		}
		rendered = append(rendered, below...)
	}
	out.Policies = append(out.Policies, rendered...)
	return nil
}

// below renders the kustomizations with policies below the folders that the settings name, and takes the files that
// they read out of those that count as they are. Where one does not render, its files count as they are.
func (out *Sources) below(ctx context.Context, c diff.Commit, named []string) (rendered []Source, _ error) {
	inside := func(dir string) bool { return settings.Under(dir, named) }
	dirs := map[string]bool{}
	for _, s := range out.Policies {
		for dir := path.Dir(s.Path); inside(dir); dir = path.Dir(dir) {
			if c.Roots.HasKustomization(dir) {
				dirs[dir] = true
				break
			}
			if dir == "." {
				break
			}
		}
	}
	for _, dir := range c.Roots.TopLevel(dirs, inside) {
		if out.folders[dir] != nil {
			continue
		}
		problems := len(out.Problems)
		list, err := out.render(ctx, c, dir)
		if err != nil {
			return nil, err
		}
		if broken := out.Problems[problems:]; len(broken) > 0 {
			out.Warnings = append(out.Warnings, report.Problem{Path: broken[0].Path, Line: broken[0].Line, Message: "" +
				"the policies of " + dir + " are in effect as written in their files, since that folder does not " +
				"render"})
			out.Problems = out.Problems[:problems]
			delete(out.folders, dir)
			continue
		}
		out.Policies = slices.DeleteFunc(out.Policies, func(s Source) bool {
			_, read := out.folders[dir][s.Path]
			return read && s.Folder == ""
		})
		rendered = append(rendered, list...)
	}
	return rendered, nil
}

// files finds the files that may hold policies: those that are named, or every manifest that is not another cluster's.
func files(c diff.Commit, set *settings.Settings, named []string) ([]Source, error) {
	var sources []Source
	linked := throughLinks(c, named)
	for _, p := range c.Roots.Marked() {
		if len(named) > 0 && !settings.Under(p, named) && !linked[p] ||
			len(named) == 0 && (!c.Roots.ManifestOrPatch(p) || set.OfOtherClusters(p)) {
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

// throughLinks returns the files that may hold policies and that lie, by a symlink, where the settings name.
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

// ownPatch reports whether a file is a patch of the policies: of a kustomization among those that the settings name, or
// of one that is deployed. What else uses it as a patch does not take it out of effect.
func ownPatch(c diff.Commit, named []string, p string) bool {
	return c.Roots.PatchIn(p, func(dir string) bool {
		return len(named) == 0 && c.Roots.IsLive(dir) || settings.Under(dir, named)
	})
}

// whole reports whether a file says all that a policy needs to, as a patch seldom does.
func whole(p string, data []byte) bool {
	documents, err := doc.Parse(p, data, doc.Limits{})
	return err != nil || slices.ContainsFunc(documents, func(d *yaml.Node) bool {
		_, spec := doc.Field(d, "spec")
		return slices.ContainsFunc([]string{"rules", "validations", "mutations", "matchConstraints", "policyName"},
			func(name string) bool { _, v := doc.Field(spec, name); return v != nil })
	})
}

// Lost lists the policies that the settings name and that are gone once the head is merged. What the base branch got
// after the head left it is not lost.
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
