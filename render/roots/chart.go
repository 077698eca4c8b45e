package roots

import (
	"path"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/source"
	"github.com/lintel-bot/lintel/render/tree"
)

// Chart returns the folder of the Helm chart that a file is part of, empty where it is part of none. A file that a root
// is made of is not, wherever it lies.
func (s *Set) Chart(p string) string {
	if s.concealed(p) {
		return ""
	}
	dir := path.Dir(p)
	if s.isFile(p) && !s.ofChart(p) && (s.loose(p) || s.taken(p) || s.HasKustomization(dir)) {
		return ""
	}
	for _, dir := range upwards(dir) {
		if s.hasChart(dir) {
			return dir
		}
	}
	return ""
}

// ownFolders are the folders of a chart whose files are its own (https://helm.sh/docs/topics/charts/): templates, custom
// resource definitions, the charts that it depends on, and files that templates read. What else lies below a chart,
// Helm does not deploy: somebody else does, or nobody.
var ownFolders = []string{"templates", "crds", "charts", "files"}

// inChart reports whether a folder is one of a Helm chart's own.
func inChart(s *Set, dir string) bool {
	for ; dir != "."; dir = path.Dir(dir) {
		if slices.Contains(ownFolders, path.Base(dir)) && s.hasChart(path.Dir(dir)) {
			return true
		}
	}
	return false
}

// ofChart reports whether a file is a Helm chart's own: in one of its folders, or below its Chart.yaml and none that
// anybody could deploy, as values are.
func (s *Set) ofChart(p string) bool {
	dir := path.Dir(p)
	return inChart(s, dir) || slices.ContainsFunc(upwards(dir), s.hasChart) && !s.holdsObjects(p)
}

// holdsObjects reports whether a file holds what a cluster may take. Of one that cannot be read it may.
func (s *Set) holdsObjects(p string) bool {
	data, _, err := s.Tree().ReadFile(p)
	if err != nil {
		return true
	}
	documents, err := source.Parse(p, data, s.deployed.limits.Source)
	return err != nil || slices.ContainsFunc(documents, func(d *yaml.Node) bool {
		return source.Text(d, "apiVersion") != "" && source.Text(d, "kind") != ""
	})
}

// hasChart reports whether a folder is that of a Helm chart.
func (s *Set) hasChart(dir string) bool {
	e, err := s.Tree().Entry(path.Join(dir, "Chart.yaml"))
	return err == nil && (e.Kind == tree.File || e.Kind == tree.Symlink)
}
