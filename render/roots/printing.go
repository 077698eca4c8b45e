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

// printing are the charts of a tree whose files name a group of objects that deploy something: they may print such objects.
type printing struct {
	charts    []Root   // that stand by themselves, and that no live kustomization renders
	inflating []string // folders whose kustomization renders one of them
}

// Charts lists the charts that stand by themselves and may print objects of Argo CD and Flux that deploy something, sorted. Some may
// be released by such objects.
func (d *Deploying) Charts() []Root { return d.printing().charts }

// findPrinting reads of the tree what index and kustomizations tell: a chart is rendered to know more.
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

// inflates lists where the charts are that a kustomization renders, as far as they lie in the tree
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
