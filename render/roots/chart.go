package roots

import (
	"maps"
	"path"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/tree"
)

// Chart returns the folder of the Helm chart that a file is part of, empty where there is none. A file that is part of
// a root of another kind is not part of a chart.
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

// ChartAround returns the folder of the chart that contains a folder, empty where there is none.
func (x *Index) ChartAround(dir string) string {
	if up := path.Dir(path.Dir(dir)); path.Base(path.Dir(dir)) == "charts" && x.HasChart(up) {
		return up
	}
	return ""
}

// touchedCharts returns the folders of the charts that contain changed paths.
func touchedCharts(x *Index, changed, links []string) []string {
	dirs := map[string]bool{}
	for _, p := range append(x.aliases(changed, links), changed...) {
		for _, dir := range Upwards(path.Dir(p)) {
			if x.HasChart(dir) {
				dirs[dir] = true
			}
		}
	}
	return slices.Collect(maps.Keys(dirs))
}

// charts returns the folders that have a chart which is not inside another chart, and which no kustomization inflates.
func charts(x *Index, dirs []string) []string {
	return slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool {
		real, _, err := x.Tree().Lookup(dir)
		return err != nil || real != dir || // the target of the symlink is the root
			!x.HasChart(dir) || inChart(x, dir) || x.concealed(path.Join(dir, "Chart.yaml")) ||
			isLibrary(x, dir) || slices.ContainsFunc(x.InflatedBy(dir), x.IsLive)
	})
}

// isLibrary reports whether a chart is a library, which has no resources and cannot be installed.
func isLibrary(x *Index, dir string) bool {
	documents, err := x.parsed(path.Join(dir, "Chart.yaml"))
	return err == nil && len(documents) > 0 && doc.Text(documents[0], "type") == "library"
}

// ownFolders are the folders of a chart that Helm reads (https://helm.sh/docs/topics/charts/): templates, custom
// resource definitions, dependencies, and files that templates read. Helm does not deploy other files below a chart.
var ownFolders = []string{"templates", "crds", "charts", "files"}

// inChart reports whether a folder is in one of those folders of a chart.
func inChart(x *Index, dir string) bool {
	for ; dir != "."; dir = path.Dir(dir) {
		if slices.Contains(ownFolders, path.Base(dir)) && x.HasChart(path.Dir(dir)) {
			return true
		}
	}
	return false
}

// ofChart reports whether a file is part of a Helm chart: in one of those folders, or below its Chart.yaml without
// objects, like values, or with objects that its templates read.
func ofChart(x *Index, p string) bool {
	dir := path.Dir(p)
	return inChart(x, dir) || slices.ContainsFunc(Upwards(dir), x.HasChart) && (!x.holdsObjects(p) || x.isReadByTemplates(p))
}

// reading finds the files that a template names (https://helm.sh/docs/chart_template_guide/accessing_files/).
var reading = regexp.MustCompile(`\.Files\.(?:Get|GetBytes|Glob|Lines)\s+"([^"]+)"`)

// isReadByTemplates reports whether a template of the chart around a file reads it.
func (x *Index) isReadByTemplates(p string) bool {
	dirs := Upwards(path.Dir(p))
	i := slices.IndexFunc(dirs, x.HasChart)
	return i >= 0 && matchesAny(x.readByTemplates(dirs[i]), p)
}

// readByTemplates returns what matches the files that the templates of a chart read.
func (x *Index) readByTemplates(chart string) []*regexp.Regexp {
	return x.chartReads.Get(chart, func() (list []*regexp.Regexp) {
		var files []string
		filesBelow(x.Tree(), path.Join(chart, "templates"), &files)
		for _, file := range files {
			data, _, _ := x.Tree().ReadFile(file) // a template that cannot be read is an error of the chart
			for _, m := range reading.FindAllSubmatch(data, -1) {
				if re, err := Glob(path.Join(chart, string(m[1]))); err == nil {
					list = append(list, re)
				}
			}
		}
		return list
	})
}

// holdsObjects reports whether a file contains objects for a cluster, or cannot be read.
func (x *Index) holdsObjects(p string) bool {
	documents, err := x.parsed(p)
	return err != nil || slices.ContainsFunc(documents, func(d *yaml.Node) bool {
		return doc.Text(d, "apiVersion") != "" && doc.Text(d, "kind") != ""
	})
}

// HasChart reports whether a folder has a Helm chart.
func (x *Index) HasChart(dir string) bool {
	return x.chartFolders.Get(dir, func() bool {
		e, err := x.Tree().Entry(path.Join(dir, "Chart.yaml"))
		return err == nil && (e.Kind == tree.File || e.Kind == tree.Symlink)
	})
}
