package roots

import (
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/render/tree"
)

// Chart returns the folder of the Helm chart that a file is part of, empty where it is part of none. A file that a root
// is made of is not, wherever it lies.
func (s *Set) Chart(p string) string {
	if hidden(p) {
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
// resource definitions, the charts that it depends on, and files that templates read. What else lies below a chart, Helm
// does not deploy: somebody else does, or nobody.
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

// ofChart reports whether a file is a Helm chart's own: in one of its folders, or beside its Chart.yaml with the name of
// one that Helm knows, or of values.
func (s *Set) ofChart(p string) bool {
	name := path.Base(p)
	known := strings.Contains(name, "values") || slices.Contains([]string{"Chart.yaml", "requirements.yaml"}, name)
	return known && s.hasChart(path.Dir(p)) || inChart(s, path.Dir(p))
}

// hasChart reports whether a folder is that of a Helm chart.
func (s *Set) hasChart(dir string) bool {
	e, err := s.Tree().Entry(path.Join(dir, "Chart.yaml"))
	return err == nil && (e.Kind == tree.File || e.Kind == tree.Symlink)
}
