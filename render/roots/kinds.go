package roots

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
)

// kind has the functions for one kind of root that is a folder of its own.
type kind struct {
	Kind

	// owns reports whether the manifests of a folder belong to a root of this kind. The first kind for which it is true
	// counts.
	owns func(x *Index, dir string) bool

	// file reports whether a file with this name can make its folder a root.
	file func(p string) bool
	// touched returns the folders whose root may be affected by a change of paths. links are the symlinks among these.
	touched func(x *Index, changed, links []string) []string
	// among returns the roots among the given folders, and the roots that include one of them.
	among func(x *Index, dirs []string) []string
}

func (k kind) append(list []Root, x *Index, dirs []string) []Root {
	for _, dir := range k.among(x, dirs) {
		list = append(list, Root{Path: dir, Kind: k.Kind})
	}
	return list
}

// kinds returns the kinds of roots that are folders of their own.
func kinds() [3]kind {
	return [...]kind{
		{
			Kind: Chart, owns: inChart, file: func(p string) bool { return path.Base(p) == "Chart.yaml" },
			touched: touchedCharts, among: charts,
		},
		{
			Kind: Kustomization, owns: (*Index).HasKustomization, file: kustomization.IsFileName, touched: (*Index).Touched,
			among: func(x *Index, dirs []string) []string { return x.TopLevel(dirs, x.Selects) },
		},
		{
			Kind: Folder, owns: func(*Index, string) bool { return true }, file: graph.IsManifestName,
			touched: touchedFolders, among: folders,
		},
	}
}

// owner returns the kind of root to which the manifests of a folder belong.
func (x *Index) owner(dir string) Kind {
	for _, k := range kinds() {
		if k.owns(x, dir) {
			return k.Kind
		}
	}
	return Folder
}

// touchedFolders returns the folders whose unreferenced manifests may be affected by a change of paths.
func touchedFolders(x *Index, changed, links []string) []string {
	dirs := map[string]bool{}
	for _, p := range append(x.aliases(changed, links), changed...) {
		dir := path.Dir(p)
		// A new kustomization may include the manifests, a removed one no longer does.
		if !dirs[dir] && (kustomization.IsFileName(p) || x.Unreferenced(p)) {
			dirs[dir] = true
		}
	}
	return slices.Collect(maps.Keys(dirs))
}

// folders returns the folders that have unreferenced manifests.
func folders(x *Index, dirs []string) []string {
	return slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool { return len(x.manifests(dir, 1)) == 0 })
}

// Files lists the manifests of a root that is a folder, sorted. A root with a kustomization has none.
func (x *Index) Files(root Root) []string {
	if root.Kind != Folder {
		return nil
	}
	return x.manifests(root.Path, -1)
}

// manifests lists the unreferenced manifests of a folder, at most limit; all if limit is negative.
func (x *Index) manifests(dir string, limit int) []string {
	if x.owner(dir) != Folder {
		return nil
	}
	entries, err := x.Tree().ReadDir(dir)
	if err != nil {
		return nil
	}
	var list []string
	for _, e := range entries {
		if len(list) == limit {
			break
		}
		if p := path.Join(dir, e.Name); e.Kind != tree.Dir && x.unreferenced(p) && x.IsFile(p) && !x.movedByLink(p) {
			list = append(list, p)
		}
	}
	return list
}

// unreferenced reports whether a path has the name of a manifest and belongs to nothing else: to no kustomization,
// policy test or chart. Data of a generator belongs to it only in a folder of such data (see isData), since the folder
// may be deployed otherwise.
func (x *Index) unreferenced(p string) bool {
	return graph.IsManifestName(p) && !kustomization.IsFileName(p) && !x.concealed(p) && !ofChart(x, p) && !x.included(p) &&
		x.PolicyTests().Of(p) == "" && (!x.Named(p) || x.holdsObjects(p) && !x.isData(p))
}

// Unreferenced reports whether a file has the name of a manifest and is part of its folder's own root.
func (x *Index) Unreferenced(p string) bool {
	return x.unreferenced(p) && x.IsFile(p) && x.owner(path.Dir(p)) == Folder
}

// included reports whether a kustomization that is part of a root includes a file as a resource or uses it as a patch.
func (x *Index) included(p string) bool {
	return slices.ContainsFunc(x.IncludedBy(p), x.IsLive) ||
		slices.ContainsFunc(x.Patching(p), func(dir string) bool { return x.IsLive(dir) && x.contents.aimed(dir, p) })
}

// IsPart reports whether a file is part of a root: of a kustomization, or of the manifests of its folder.
func (x *Index) IsPart(p string) bool {
	dir := path.Dir(p)
	return x.included(p) || x.Selects(dir) && x.owner(dir) == Folder && x.unreferenced(p)
}

// IsFile reports whether a path is a file, or a symlink to one.
func (x *Index) IsFile(p string) bool {
	_, e, err := x.Tree().Lookup(p)
	return err == nil && e.Kind == tree.File
}

// Unread reports whether a file has the name of a manifest, and its folder has a kustomization, but no kustomization
// names the file.
func (x *Index) Unread(p string) bool {
	return x.unreferenced(p) && x.IsFile(p) && x.owner(path.Dir(p)) == Kustomization && !x.Named(p)
}

// Manifest reports whether a file may be a manifest: a kustomization includes it as a resource, or it has the name of
// one and is not hidden, not part of a Helm chart and not a patch.
func (x *Index) Manifest(p string) bool {
	return x.IsResource(p) || x.ManifestOrPatch(p) && !x.Patch(p)
}

// ManifestOrPatch reports whether a file may be a manifest or a patch.
func (x *Index) ManifestOrPatch(p string) bool {
	return x.IsResource(p) || graph.IsManifestName(p) && !x.concealed(p) && !ofChart(x, p)
}

// IsLive reports whether the kustomization of a folder is a root that the options select, or included by one.
func (x *Index) IsLive(dir string) bool { return x.Live(dir, x.Selects) }

// hidden reports whether an element of a path starts with a dot, like files of tools and test fixtures.
func hidden(p string) bool { return strings.HasPrefix(p, ".") || strings.Contains(p, "/.") }

// Hidden reports whether a file lies below a folder whose name starts with a dot.
func Hidden(p string) bool { return hidden(path.Dir(p)) && path.Dir(p) != "." }

// concealed reports whether a path is hidden and not deployed with its folder. A hidden file with objects is deployed
// with its folder, but hidden folders belong to tools.
func (x *Index) concealed(p string) bool { return hidden(p) && (Hidden(p) || !x.holdsObjects(p)) }

// Upwards lists a folder and its parent folders.
func Upwards(dir string) []string {
	list := []string{dir}
	for dir != "." {
		dir = path.Dir(dir)
		list = append(list, dir)
	}
	return list
}

// Excluded lists the roots that a change reaches but the options leave out, unless the changed files are part of other
// roots.
func (x *Index) Excluded(changed, links []string) []Root {
	if len(x.filter.exclude) == 0 {
		return nil
	}
	dead := slices.DeleteFunc(x.Touched(changed, links), x.IsLive)
	var list []Root
	everything := func(string) bool { return true }
	for _, dir := range x.TopLevel(dead, everything) {
		list = append(list, Root{Path: dir})
	}
	for _, dir := range folders(x, touchedFolders(x, changed, links)) {
		list = append(list, Root{Path: dir, Kind: Folder})
	}
	list = slices.DeleteFunc(list, func(r Root) bool { return !x.filter.excludes(r.Path) })
	slices.SortFunc(list, Compare)
	return slices.Compact(list)
}

// MayDeploy reports whether something may deploy the manifests of a folder without a kustomization: it is a root, or
// there are objects of Argo CD or Flux.
func (x *Index) MayDeploy(dir string) bool { return x.Deploying.Any() || len(x.manifests(dir, 1)) > 0 }

// isBelow reports whether a folder is inside another one.
func isBelow(dir, other string) bool {
	return dir != other && (other == "." || strings.HasPrefix(dir, other+"/"))
}

// isData reports whether a manifest is only data of a generator, and not deployed itself. This is so if all manifests
// of its folder are used as data by live kustomizations above, now and in the earlier tree, and nothing deploys the
// folder. Data of the kustomization at the top of the repository does not count.
func (x *Index) isData(p string) bool {
	dir := path.Dir(p)
	return !x.filter.isDeployed(dir) && x.isDataOfOne(p) && x.onlyData(dir) &&
		(x.options.Before == nil || x.options.Before.onlyData(dir))
}

// onlyData reports whether all manifests of a folder are data. It is true where there are none.
func (x *Index) onlyData(dir string) bool {
	return x.dataFolders.Get(dir, func() bool {
		entries, _ := x.Tree().ReadDir(dir) // nil where the folder does not exist
		return !slices.ContainsFunc(entries, func(e tree.Entry) bool {
			p := path.Join(dir, e.Name)
			return e.Kind != tree.Dir && graph.IsManifestName(p) && x.holdsObjects(p) && !x.isDataOfOne(p)
		})
	})
}

// isDataOfOne reports whether a live kustomization in a folder above uses a file as data of a generator.
func (x *Index) isDataOfOne(p string) bool {
	return slices.ContainsFunc(x.NamedBy(p), func(dir string) bool {
		f, err := x.Kustomization(dir)
		return dir != "." && isBelow(path.Dir(p), dir) && f != nil && err == nil && x.IsLive(dir) &&
			slices.ContainsFunc(f.Refs, func(r kustomization.Ref) bool {
				named, ok := tree.Clean(path.Join(dir, r.Value))
				return ok && named == p && r.Role == kustomization.Data
			})
	})
}

// Declaring lists the kustomizations that are roots and may have objects of a kind, and the manifests that may have
// such objects and are part of their folder's root, both sorted. What objects of Argo CD and Flux deploy is not listed.
func (x *Index) Declaring(kind string) (kustomizations []Root, files []string) {
	var dirs []string
	for _, p := range x.Mentions(kind) {
		switch {
		case kustomization.IsFileName(p):
			dirs = append(dirs, path.Dir(p))
		case x.Unreferenced(p):
			files = append(files, p)
		default:
			dirs = append(dirs, x.IncludedBy(p)...)
		}
	}
	slices.Sort(dirs)
	kustomizations = x.rootsOver(slices.DeleteFunc(slices.Compact(dirs), func(dir string) bool { return !x.IsLive(dir) }))
	slices.SortFunc(kustomizations, Compare)
	return kustomizations, files
}

// Included lists the folders and the files that the kustomization of a folder includes, directly or not. Do not change
// the lists.
func (x *Index) Included(dir string) (dirs, files []string) {
	both := x.includes.Get(dir, func() [2][]string {
		dirs, files := x.findIncluded(dir)
		return [2][]string{slices.Clip(dirs), slices.Clip(files)}
	})
	return both[0], both[1]
}

func (x *Index) findIncluded(dir string) (dirs, files []string) {
	seen := map[string]bool{dir: true}
	for queue := []string{dir}; len(queue) > 0; queue = queue[1:] {
		f, err := x.Kustomization(queue[0])
		if f == nil || err != nil {
			continue
		}
		for _, ref := range f.Refs {
			if ref.Role != kustomization.Resource && ref.Role != kustomization.Component || kustomization.Remote(ref.Value) {
				continue
			}
			named, ok := tree.Clean(path.Join(f.Dir, ref.Value))
			if !ok {
				continue
			}
			real, e, err := x.Tree().Lookup(named)
			switch {
			case err != nil || seen[real]:
			case e.Kind == tree.Dir:
				seen[real] = true
				dirs, queue = append(dirs, real), append(queue, real)
			default:
				seen[real] = true
				files = append(files, real)
			}
		}
	}
	return dirs, files
}

// Includes reports whether a root includes the kustomization of another root, which may be of an earlier or later tree.
func (x *Index) Includes(root, part Root) bool {
	return root.Kind == Kustomization && part.Kind == Kustomization && root.Path != part.Path &&
		slices.Contains(x.Ancestors(part.Path), root.Path)
}
