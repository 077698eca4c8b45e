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
	owns func(x *Index, dir string) bool

	// file reports whether a file of this name can make its folder a root.
	file func(p string) bool
	// touched returns the folders for whose root a change of paths, and of the symlinks among them, can count.
	touched func(x *Index, changed, links []string) map[string]bool
	// among returns the folders that are roots among the given ones, and the roots that take one of them over.
	among func(x *Index, dirs map[string]bool) []string
}

func (k kind) append(list []Root, x *Index, dirs map[string]bool) []Root {
	for _, dir := range k.among(x, dirs) {
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
			Kind: Kustomization, owns: (*Index).HasKustomization, file: kustomization.IsFileName, touched: (*Index).Touched,
			among: topLevel,
		},
		{
			Kind: Folder, owns: func(*Index, string) bool { return true }, file: graph.IsManifestName,
			touched: touchedFolders, among: folders,
		},
	}
}

// owner returns the kind of root whose files those of a folder are.
func (x *Index) owner(dir string) Kind {
	for _, k := range kinds() {
		if k.owns(x, dir) {
			return k.Kind
		}
	}
	return Folder
}

// topLevel returns the kustomizations that no other includes among some folders, and those that include one of them.
func topLevel(x *Index, dirs map[string]bool) []string { return x.TopLevel(dirs, x.Selects) }

// touchedFolders returns the folders whose manifests by themselves a change of paths is one of.
func touchedFolders(x *Index, changed, links []string) map[string]bool {
	dirs := map[string]bool{}
	for _, p := range append(x.aliases(changed, links), changed...) {
		dir := path.Dir(p)
		// A kustomization comes, and takes the manifests over, or it went.
		if !dirs[dir] && (kustomization.IsFileName(p) || x.Unreferenced(p)) {
			dirs[dir] = true
		}
	}
	return dirs
}

// folders returns those of some folders that have manifests by themselves.
func folders(x *Index, dirs map[string]bool) []string {
	var list []string
	for dir := range dirs {
		if len(x.manifests(dir, 1)) > 0 {
			list = append(list, dir)
		}
	}
	return list
}

// Files lists the manifests that a root is made of, sorted: those of a folder by itself. A root that is built from a
// kustomization has none.
func (x *Index) Files(root Root) []string {
	if root.Kind != Folder {
		return nil
	}
	return x.manifests(root.Path, -1)
}

// manifests lists the first of the manifests of a folder that has a root of its own for them; all where limit is
// negative.
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

// unreferenced reports whether a path has a manifest's name and is nobody else's: no kustomization includes it, and
// neither a policy test nor a chart has it for its own. Being data of a generator hides a manifest only in a folder
// of such data (see isData): who deploys a folder does not know of that.
func (x *Index) unreferenced(p string) bool {
	return graph.IsManifestName(p) && !kustomization.IsFileName(p) && !x.concealed(p) && !ofChart(x, p) && !x.included(p) &&
		x.PolicyTests().Of(p) == "" && (!x.Named(p) || x.holdsObjects(p) && !x.isData(p))
}

// Unreferenced reports whether a file looks like a manifest by its name and place and is part of its folder's own root.
func (x *Index) Unreferenced(p string) bool {
	return x.unreferenced(p) && x.IsFile(p) && x.owner(path.Dir(p)) == Folder
}

// included reports whether a kustomization that is part of a root includes a file as a resource or uses it as a patch.
func (x *Index) included(p string) bool {
	return slices.ContainsFunc(x.IncludedBy(p), x.IsLive) ||
		slices.ContainsFunc(x.Patching(p), func(dir string) bool { return x.IsLive(dir) && x.contents.aimed(dir, p) })
}

// IsPart reports whether a file is part of a root by itself: of a kustomization, or of the manifests of its folder.
func (x *Index) IsPart(p string) bool {
	dir := path.Dir(p)
	return x.included(p) || x.Selects(dir) && x.owner(dir) == Folder && x.unreferenced(p)
}

// IsFile reports whether a path is that of a file, or leads to one.
func (x *Index) IsFile(p string) bool {
	_, e, err := x.Tree().Lookup(p)
	return err == nil && e.Kind == tree.File
}

// Unread reports whether a file looks like a manifest by its name and place, but no kustomization names it though its
// folder has one.
func (x *Index) Unread(p string) bool {
	return x.unreferenced(p) && x.IsFile(p) && x.owner(path.Dir(p)) == Kustomization && !x.Named(p)
}

// Manifest reports whether a file can be a manifest: a kustomization has it as a resource, or its name and place say so:
// not hidden, not part of a Helm chart, not a patch.
func (x *Index) Manifest(p string) bool {
	return x.IsResource(p) || x.ManifestOrPatch(p) && !x.Patch(p)
}

// ManifestOrPatch reports whether a file can be a manifest, or a patch of one.
func (x *Index) ManifestOrPatch(p string) bool {
	return x.IsResource(p) || graph.IsManifestName(p) && !x.concealed(p) && !ofChart(x, p)
}

// IsLive reports whether the kustomization of a folder is one of a root that the options choose, or part of one.
func (x *Index) IsLive(dir string) bool { return x.Live(dir, x.Selects) }

// hidden reports whether a path has an element that starts with a dot: tools' own files, test fixtures.
func hidden(p string) bool { return strings.HasPrefix(p, ".") || strings.Contains(p, "/.") }

// Hidden reports whether a file lies below a folder whose name starts with a dot.
func Hidden(p string) bool { return hidden(path.Dir(p)) && path.Dir(p) != "." }

// concealed reports whether a path is hidden and not deployed with what lies beside it. What deploys a folder takes a
// file of objects whatever its name begins with; hidden folders are tools' own.
func (x *Index) concealed(p string) bool { return hidden(p) && (Hidden(p) || !x.holdsObjects(p)) }

// Upwards lists a folder and those that it is in.
func Upwards(dir string) []string {
	list := []string{dir}
	for dir != "." {
		dir = path.Dir(dir)
		list = append(list, dir)
	}
	return list
}

// Excluded lists the roots that a change reaches and the options leave out, as far as what changes is part of no other.
func (x *Index) Excluded(changed, links []string) []Root {
	if len(x.filter.exclude) == 0 {
		return nil
	}
	dead := map[string]bool{}
	for dir := range x.Touched(changed, links) {
		if !x.IsLive(dir) {
			dead[dir] = true
		}
	}
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

// MayDeploy reports whether somebody may deploy the files of a folder as they lie there: it has manifests of its own, or
// an object of Argo CD or Flux deploys a folder of theirs.
func (x *Index) MayDeploy(dir string) bool { return x.Deploying.Any() || len(x.manifests(dir, 1)) > 0 }
