package roots

import (
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// kind is what is asked of one kind of root that stands in a folder by itself.
type kind struct {
	Kind

	// owns reports whether the files of a folder are those of a root of this kind. The first row that says so counts.
	owns func(s *Set, dir string) bool

	// file reports whether a file of this name can make its folder a root. Nil: there are no roots of this kind.
	file func(p string) bool
	// touched returns the folders for whose root a change of paths, and of the symlinks among them, can count.
	touched func(s *Set, changed, links []string) map[string]bool
	// among returns the folders that are roots among the given ones, and the roots that take one of them over.
	among func(s *Set, dirs map[string]bool) []string
}

func (k kind) append(list []Root, s *Set, dirs map[string]bool) []Root {
	if k.among == nil {
		return list
	}
	for _, dir := range k.among(s, dirs) {
		list = append(list, Root{Path: dir, Kind: k.Kind})
	}
	return list
}

// kinds is the one table of the roots that stand in a folder by themselves.
func kinds() [3]kind {
	return [...]kind{
		{
			Kind: Chart, owns: inChart, file: func(p string) bool { return path.Base(p) == "Chart.yaml" },
			touched: touchedCharts, among: charts,
		},
		{
			Kind: Kustomization, owns: (*Set).HasKustomization, file: kustomization.IsFileName, touched: (*Set).Touched,
			among: tops,
		},
		{
			Kind: Folder, owns: func(*Set, string) bool { return true }, file: graph.IsManifestName,
			touched: touchedFolders, among: folders,
		},
	}
}

// owner returns the kind of root whose files those of a folder are.
func (s *Set) owner(dir string) Kind {
	for _, k := range kinds() {
		if k.owns(s, dir) {
			return k.Kind
		}
	}
	return Folder
}

// tops returns the kustomizations that no other takes over among some folders, and those that take one of them over.
func tops(s *Set, dirs map[string]bool) []string { return s.Tops(dirs, s.counts) }

// counts reports whether the options choose the root of a folder.
func (s *Set) counts(dir string) bool { return s.filter.match(dir) }

// touchedFolders returns the folders whose manifests by themselves a change of paths is one of.
func touchedFolders(s *Set, changed, links []string) map[string]bool {
	dirs := map[string]bool{}
	for _, p := range append(s.aliases(changed, links), changed...) {
		dir := path.Dir(p)
		// A kustomization comes, and takes the manifests over, or it went.
		if !dirs[dir] && (kustomization.IsFileName(p) || s.Loose(p)) {
			dirs[dir] = true
		}
	}
	return dirs
}

// folders returns those of some folders that have manifests by themselves.
func folders(s *Set, dirs map[string]bool) []string {
	var list []string
	for dir := range dirs {
		if len(s.manifests(dir, 1)) > 0 {
			list = append(list, dir)
		}
	}
	return list
}

// Files lists the manifests that a root is made of, sorted: those of a folder by itself, or of one that an Application
// deploys so. A root that is built from a kustomization has none.
func (s *Set) Files(root Root) []string {
	if root.Object != "" {
		if one := s.deployed.of(root); one != nil {
			s.deployed.resolve(one)
			return one.Files
		}
		return nil
	}
	if root.Kind != Folder {
		return nil
	}
	return s.manifests(root.Path, -1)
}

// manifests lists the first of the manifests of a folder that has a root of its own for them; all where limit is
// negative.
func (s *Set) manifests(dir string, limit int) []string {
	if s.owner(dir) != Folder {
		return nil
	}
	entries, err := s.Tree().ReadDir(dir)
	if err != nil {
		return nil
	}
	var list []string
	for _, e := range entries {
		if len(list) == limit {
			break
		}
		if p := path.Join(dir, e.Name); e.Kind != tree.Dir && s.loose(p) && s.isFile(p) && !s.elsewhere(p) {
			list = append(list, p)
		}
	}
	return list
}

// loose reports whether a path has a manifest's name and is nobody else's: no kustomization takes it over, and neither
// a policy test nor a chart has it for its own. Being data of a generator hides no manifest: who deploys the file does
// not know of that.
func (s *Set) loose(p string) bool {
	return graph.IsManifestName(p) && !kustomization.IsFileName(p) && !s.concealed(p) && !s.ofChart(p) && !s.taken(p) &&
		s.PolicyTest(p) == "" && (!s.Named(p) || s.holdsObjects(p))
}

// Loose reports whether a file looks like a manifest by its name and place and is part of its folder's own root.
func (s *Set) Loose(p string) bool {
	return s.loose(p) && s.isFile(p) && s.owner(path.Dir(p)) == Folder
}

// taken reports whether a kustomization that is part of a root takes a file over as a resource or uses it as a patch.
func (s *Set) taken(p string) bool {
	live := func(dir string) bool { return s.Live(dir, s.counts) }
	return slices.ContainsFunc(s.Taking(p), live) ||
		slices.ContainsFunc(s.Patching(p), func(dir string) bool { return live(dir) && s.aimed(dir, p) })
}

func (s *Set) isFile(p string) bool {
	_, e, err := s.Tree().Lookup(p)
	return err == nil && e.Kind == tree.File
}

// Unread reports whether a file looks like a manifest by its name and place, but no kustomization names it though its
// folder has one.
func (s *Set) Unread(p string) bool {
	return s.loose(p) && s.isFile(p) && s.owner(path.Dir(p)) == Kustomization && !s.Named(p)
}

// Plain reports whether a file is a manifest of a folder without a kustomization, as far as its name and place say.
func (s *Set) Plain(p string) bool {
	return s.loose(p) && s.isFile(p) && s.owner(path.Dir(p)) == Folder
}

// Manifest reports whether a file can be a manifest: a kustomization has it as a resource, or its name and place say so:
// not hidden, not part of a Helm chart, not a patch.
func (s *Set) Manifest(p string) bool {
	return s.IsResource(p) || s.ManifestOrPatch(p) && !s.Patch(p)
}

// ManifestOrPatch reports whether a file can be a manifest, or a patch of one.
func (s *Set) ManifestOrPatch(p string) bool {
	return s.IsResource(p) || graph.IsManifestName(p) && !s.concealed(p) && !s.ofChart(p)
}

// Lives reports whether the kustomization of a folder is one of a root that the options choose, or part of one.
func (s *Set) Lives(dir string) bool { return s.Live(dir, s.counts) }

// hidden reports whether a path has an element that starts with a dot: tools' own files, test fixtures.
func hidden(p string) bool { return strings.HasPrefix(p, ".") || strings.Contains(p, "/.") }

// Hidden reports whether a file lies below a folder whose name starts with a dot.
func Hidden(p string) bool { return hidden(path.Dir(p)) && path.Dir(p) != "." }

// concealed reports whether a path is hidden and not deployed with what lies beside it. What deploys a folder takes a
// file of objects whatever its name begins with; hidden folders are tools' own.
func (s *Set) concealed(p string) bool { return hidden(p) && (Hidden(p) || !s.holdsObjects(p)) }

// upwards lists a folder and those that it is in.
func upwards(dir string) []string {
	list := []string{dir}
	for dir != "." {
		dir = path.Dir(dir)
		list = append(list, dir)
	}
	return list
}
