package roots

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/tree"
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
	if len(dirs) == 0 {
		return out
	}
	inflated := map[string]bool{}
	for _, dir := range x.External() {
		f, err := x.Kustomization(dir)
		if f == nil || err != nil {
			continue
		}
		for _, chart := range inflates(f) {
			if dirs[chart] {
				out.inflating = append(out.inflating, dir)
				inflated[chart] = inflated[chart] || x.IsLive(dir)
			}
		}
	}
	for _, dir := range charts(x, dirs) {
		if !inflated[dir] {
			out.charts = append(out.charts, Root{Path: dir, Kind: Chart})
		}
	}
	out.charts = x.Chosen(out.charts)
	return out
}

// inflates lists the folders of the charts that a kustomization renders, as far as they are in the tree
// (https://kubectl.docs.kubernetes.io/references/kustomize/builtins/#_helmchartinflationgenerator_).
func inflates(f *kustomization.File) (list []string) {
	_, globals := doc.Field(f.Node, "helmGlobals")
	for _, item := range f.Helm {
		home := cmp.Or(doc.Text(item, "chartHome"), doc.Text(globals, "chartHome"), types.HelmDefaultHome)
		name, version := doc.Text(item, "name"), doc.Text(item, "version")
		if version != "" && doc.Text(item, "repo") != "" {
			home = path.Join(home, name+"-"+version)
		}
		if dir, ok := tree.Clean(path.Join(f.Dir, home, name)); ok {
			list = append(list, dir)
		}
	}
	return list
}
