package roots

import (
	"path"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/tree"
)

// Chart returns the folder of the Helm chart that a file is part of, empty where it is part of none. A file that a root
// is made of is not, wherever it lies.
func (x *Index) Chart(p string) string {
	if x.concealed(p) {
		return ""
	}
	dir := path.Dir(p)
	if x.IsFile(p) && !ofChart(x, p) && (x.unreferenced(p) || x.included(p) || x.HasKustomization(dir)) {
		return ""
	}
	for _, dir := range Upwards(dir) {
		if x.HasChart(dir) {
			return dir
		}
	}
	return ""
}

// ChartAround returns the folder of the chart that has the one of a folder as a part, empty where none has.
func (x *Index) ChartAround(dir string) string {
	if up := path.Dir(path.Dir(dir)); path.Base(path.Dir(dir)) == "charts" && x.HasChart(up) {
		return up
	}
	return ""
}

// touchedCharts returns the folders of the charts that a change of paths is in.
func touchedCharts(x *Index, changed, links []string) map[string]bool {
	dirs := map[string]bool{}
	for _, p := range append(x.aliases(changed, links), changed...) {
		for _, dir := range Upwards(path.Dir(p)) {
			if x.HasChart(dir) {
				dirs[dir] = true
			}
		}
	}
	return dirs
}

// charts returns those of some folders that have a chart which is nobody's part: what lies in the folders of another
// chart is that one's.
func charts(x *Index, dirs map[string]bool) []string {
	var list []string
	for dir := range dirs {
		if real, _, err := x.Tree().Lookup(dir); err != nil || real != dir {
			continue // the folder that a symlink leads to is the root
		}
		if x.HasChart(dir) && !inChart(x, dir) && !x.concealed(path.Join(dir, "Chart.yaml")) && !isLibrary(x, dir) {
			list = append(list, dir)
		}
	}
	return list
}

// isLibrary reports whether a chart is a library: it has no resources, and nobody can install it.
func isLibrary(x *Index, dir string) bool {
	p := path.Join(dir, "Chart.yaml")
	data, _, err := x.Tree().ReadFile(p)
	if err != nil {
		return false
	}
	documents, err := doc.Parse(p, data, x.options.Limits)
	return err == nil && len(documents) > 0 && doc.Text(documents[0], "type") == "library"
}

// ownFolders are the folders of a chart whose files are its own (https://helm.sh/docs/topics/charts/): templates, custom
// resource definitions, the charts that it depends on, and files that templates read. What else lies below a chart,
// Helm does not deploy: somebody else does, or nobody.
var ownFolders = []string{"templates", "crds", "charts", "files"}

// inChart reports whether a folder is one of a Helm chart's own.
func inChart(x *Index, dir string) bool {
	for ; dir != "."; dir = path.Dir(dir) {
		if slices.Contains(ownFolders, path.Base(dir)) && x.HasChart(path.Dir(dir)) {
			return true
		}
	}
	return false
}

// ofChart reports whether a file is a Helm chart's own: in one of its folders, or below its Chart.yaml and none that
// anybody could deploy, as values are.
func ofChart(x *Index, p string) bool {
	dir := path.Dir(p)
	return inChart(x, dir) || slices.ContainsFunc(Upwards(dir), x.HasChart) && !x.holdsObjects(p)
}

// holdsObjects reports whether a file holds what a cluster may take. Of one that cannot be read it may.
func (x *Index) holdsObjects(p string) bool {
	data, _, err := x.Tree().ReadFile(p)
	if err != nil {
		return true
	}
	documents, err := doc.Parse(p, data, x.options.Limits)
	return err != nil || slices.ContainsFunc(documents, func(d *yaml.Node) bool {
		return doc.Text(d, "apiVersion") != "" && doc.Text(d, "kind") != ""
	})
}

// HasChart reports whether a folder is that of a Helm chart.
func (x *Index) HasChart(dir string) bool {
	e, err := x.Tree().Entry(path.Join(dir, "Chart.yaml"))
	return err == nil && (e.Kind == tree.File || e.Kind == tree.Symlink)
}
