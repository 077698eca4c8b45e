package roots

import (
	"path"
	"slices"
	"strings"
)

// printing has the charts whose files contain an API group of objects that deploy something, so that they may print
// such objects.
type printing struct {
	charts    []Root   // not inside another chart, and not rendered by a live kustomization
	inflating []string // folders whose kustomization renders one of these charts
}

// Charts lists the charts that may print objects of Argo CD and Flux that deploy something, sorted. Such objects may
// also deploy the charts.
func (d *Deploying) Charts() []Root { return d.printing().charts }

// findPrinting searches the texts of charts, without rendering them.
func (d *Deploying) findPrinting() (out printing) {
	x, dirs := d.index, map[string]bool{}
	for _, p := range x.Noted(deployers, anyFolder, anyGroup) {
		for _, dir := range Upwards(path.Dir(p)) {
			first, _, below := strings.Cut(strings.TrimPrefix(p, dir+"/"), "/")
			if (!below || slices.Contains(ownFolders, first)) && x.HasChart(dir) {
				dirs[dir] = true
			}
		}
	}
	for dir := range dirs {
		out.inflating = append(out.inflating, x.InflatedBy(dir)...)
	}
	slices.Sort(out.inflating)
	for _, dir := range charts(x, dirs) {
		out.charts = append(out.charts, Root{Path: dir, Kind: Chart})
	}
	out.charts = x.Chosen(out.charts)
	return out
}
