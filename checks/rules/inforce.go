package rules

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/settings"
	"github.com/lintel-bot/lintel/render/gitops"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
)

// exceptionMark is a text that every file with an exception contains if it is plain (see graph.IsPlain).
var exceptionMark = []byte("PolicyException")

// inForce finds the exceptions of a commit that a cluster has: those of files that the settings name or that a root
// contains, as rendered if a kustomization includes them.
type inForce struct {
	*Sources
	commit  diff.Commit
	plain   []string              // the entries of the settings, except folders with a kustomization
	done    map[roots.Root]bool   // rendered
	seen    map[string]int        // index by place and content
	isOther func(roots.Root) bool // see settings.Settings.Others

	deployed map[string]bool // whether it is known what deploys the policies of a name; nil: not computed yet, see nowhere
}

// exceptions finds the exceptions. It fails for errors of the repository or the context.
func (out *Sources) exceptions(ctx context.Context, c diff.Commit) error {
	f := &inForce{Sources: out, commit: c, done: map[roots.Root]bool{}, seen: map[string]int{},
		isOther: out.Settings.Others(c.Roots)}
	named := out.Settings.Exceptions
	if len(named) == 0 {
		named = out.Settings.Policies.Paths() // files among the rules that the settings name are rules
	}
	var rendered []string
	for _, n := range named {
		if dir, ok := kustomized(c, n); ok {
			rendered = append(rendered, dir)
			if err := f.render(ctx, roots.Root{Path: dir}, nil); err != nil {
				return err
			}
		} else {
			f.plain = append(f.plain, n)
		}
	}
	for _, p := range c.Roots.Marked() {
		anywhere := len(out.Settings.Exceptions) == 0 && c.Roots.Manifest(p) && !out.Settings.OfOtherClusters(p)
		if c.Roots.Patch(p) || !anywhere && !settings.Under(p, f.plain) || !anywhere && settings.Under(p, rendered) {
			continue
		}
		data, _, err := c.Tree.ReadFile(p)
		if err != nil {
			return err
		}
		s := Source{File: File{Path: p, Data: data}}
		if !bytes.Contains(data, exceptionMark) && (graph.IsPlain(data) || len(Documents([]Source{s}, true)) == 0) {
			continue
		}
		if err := f.file(ctx, s); err != nil {
			return err
		}
	}
	slices.SortStableFunc(out.Exceptions, func(a, b Source) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// kustomized returns the folder that an entry of the settings names, if the folder has a kustomization.
func kustomized(c diff.Commit, name string) (dir string, ok bool) {
	dir = path.Clean(strings.TrimSuffix(name, "/"))
	if strings.ContainsAny(name, "*?") {
		return dir, false
	}
	k, err := c.Roots.Kustomization(dir)
	return dir, k != nil || err != nil
}

// file adds the exceptions of a file, as rendered if a root renders it.
func (f *inForce) file(ctx context.Context, s Source) error {
	set := f.commit.Roots
	as := []roots.Root(nil)
	reached := set.Reach([]string{s.Path}, nil)
	if len(reached) > 0 && !settings.Under(s.Path, f.plain) {
		reached = slices.DeleteFunc(reached, f.isOther)
		if len(reached) == 0 {
			return nil // it belongs to another cluster
		}
	}
	if nowhere, err := f.nowhere(s, reached); nowhere || err != nil {
		return err
	}
	for _, root := range reached {
		if root.Kind == roots.Folder && root.Object == "" {
			as = append(as, root)
		} else if err := f.render(ctx, root, diff.ClustersIn(set, root)); err != nil {
			return err
		}
	}
	if len(as) > 0 || len(reached) == 0 {
		if f.asItIs(s.Path, len(reached) > 0) {
			s.Clusters = diff.ClustersOf(set, as)
			f.add(s)
		}
	}
	return nil
}

// nowhere reports whether no cluster has the exceptions of a file: nothing deploys them, although it is known what deploys all
// policies that they name. That is a warning.
func (f *inForce) nowhere(s Source, reached []roots.Root) (bool, error) {
	set := f.commit.Roots
	known := func(r roots.Root) bool { at := set.Placement(r); return len(at.Clusters) > 0 && !at.Implied }
	placed := func(r roots.Root) bool { return len(diff.ClustersIn(set, r)) > 0 }
	if !set.Deploying.Any() || settings.Under(s.Path, f.plain) || len(f.Settings.Roots.Include) > 0 || slices.ContainsFunc(reached, placed) {
		return false, nil
	}
	if f.deployed == nil {
		f.deployed = map[string]bool{}
		list, err := files(f.commit, f.Settings, nil)
		if err != nil {
			return false, err
		}
		for _, p := range list {
			is := slices.ContainsFunc(set.Reach([]string{p.Path}, nil), known)
			for _, d := range Documents([]Source{p}, false) {
				for _, name := range d.Policies {
					if was, seen := f.deployed[name]; !seen || was {
						f.deployed[name] = is
					}
				}
			}
		}
	}
	some := false
	for _, d := range Documents([]Source{s}, true) {
		for _, name := range d.Policies {
			if some = true; !f.deployed[name] {
				return false, nil
			}
		}
	}
	if some {
		f.Warnings = append(f.Warnings, report.Problem{Path: s.Path, Message: "nothing deploys these exceptions, although it is known what " +
			"deploys the policies that they name: they are not in effect. Name the file under exceptions in " + settings.Path +
			" if the clusters have it"})
	}
	return some, nil
}

// asItIs reports whether a file counts as it is written, because no root renders it with changes. deployed is whether
// its folder is a root.
func (f *inForce) asItIs(p string, deployed bool) bool {
	set := f.commit.Roots
	named := settings.Under(p, f.plain)
	if slices.ContainsFunc(f.plain, func(n string) bool { return path.Clean(n) == p }) {
		return true
	}
	if test := set.PolicyTests().OfAny(p); test != "" && !f.namedBelow(p, path.Dir(test)) {
		return false
	}
	switch {
	case deployed:
		return true
	case set.Unread(p):
		return false // its folder has a kustomization that does not list it
	case named:
		return true
	}
	// roots.include selects the roots to check. It does not say that other files are in no cluster.
	return len(f.Settings.Roots.Include) > 0 && set.Unreferenced(p) && !set.Excludes(path.Dir(p))
}

// namedBelow reports whether the settings name a file by a path inside a folder, or by the folder itself.
func (f *inForce) namedBelow(p, dir string) bool {
	return slices.ContainsFunc(f.plain, func(n string) bool {
		at := path.Clean(strings.TrimSuffix(n, "/"))
		return settings.Under(p, []string{n}) && (dir == "." || at == dir || strings.HasPrefix(at, dir+"/"))
	})
}

// render adds the rendered exceptions of a root that some clusters have; none: those that have their files. If the root does
// not render, it has none.
func (f *inForce) render(ctx context.Context, root roots.Root, clusters []gitops.Cluster) error {
	if f.done[root] {
		return nil
	}
	f.done[root] = true
	list, problems, err := f.renderRoot(ctx, f.commit, root)
	if err != nil {
		return err
	}
	words := "the exceptions of " + root.Path + " are not in effect, since " + root.Path + " does not render: "
	f.Warnings = append(f.Warnings, diff.Problems(words, problems...)...)
	for _, s := range list {
		if len(Documents([]Source{s}, true)) > 0 {
			if s.Clusters = clusters; len(clusters) == 0 {
				s.Clusters = diff.Have(f.commit.Roots, s.Path)
			}
			f.add(s)
		}
	}
	return nil
}

// add adds exceptions. Those that several roots have alike are one source of the clusters of all.
func (f *inForce) add(s Source) {
	key := s.Path + "\x00" + string(s.Data)
	at, seen := f.seen[key]
	if !seen {
		f.seen[key] = len(f.Exceptions)
		f.Exceptions = append(f.Exceptions, s)
		return
	}
	if had := &f.Exceptions[at].Clusters; len(*had) == 0 || len(s.Clusters) == 0 {
		*had = nil
	} else {
		*had = report.Union(slices.Clone(*had), s.Clusters)
	}
}
