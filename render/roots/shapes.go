package roots

import (
	"slices"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
)

// shaping are the fields of a kustomization that change the content of its resources. The name counts, because Argo CD
// reads parameter files by the name of an Application.
var shaping = []string{"patches", "patchesStrategicMerge", "patchesJson6902", "replacements", "transformers", "vars",
	"configurations", "components", "namePrefix", "nameSuffix"}

// Shapes reports whether the kustomization of a folder changes the content of its resources. more are names of further
// fields that count.
func (d *Deploying) Shapes(dir string, more ...string) bool {
	f, err := d.index.Kustomization(dir)
	return f != nil && err == nil && (slices.Contains(d.index.Odd(), dir) || hasAny(f, append(more, shaping...)...))
}

// hasAny reports whether a kustomization has one of some fields.
func hasAny(f *kustomization.File, fields ...string) bool {
	return slices.ContainsFunc(fields, func(name string) bool {
		_, v := doc.Field(f.Node, name)
		return v != nil
	})
}

// Shaping lists the roots that change the content of a file. If there are any, plain lists the roots that include it
// unchanged.
func (d *Deploying) Shaping(p string) (shaping, plain []Root) {
	known, ok := d.shaping.Load(p)
	if !ok {
		shaping, plain = d.findShaping(p)
		known, _ = d.shaping.LoadOrStore(p, [2][]Root{shaping, plain})
	}
	list := known.([2][]Root)
	return slices.Clip(list[0]), slices.Clip(list[1])
}

func (d *Deploying) findShaping(p string) (shaping, plain []Root) {
	taking := map[string]bool{}
	for _, dir := range d.index.IncludedBy(p) {
		if d.index.IsLive(dir) {
			taking[dir] = true
		}
	}
	if len(taking) == 0 {
		return nil, nil
	}
	var more []string
	if d.index.MentionsIn(p, "HelmRelease") { // its chart is rendered for its namespace
		more = []string{"namespace"}
	}
	shapes := map[string]bool{}
	for _, dir := range d.index.Ancestors(taking) {
		if d.Shapes(dir, more...) {
			shapes[dir] = true
		}
	}
	shaping = d.index.rootsOver(shapes)
	plain = slices.DeleteFunc(d.index.rootsOver(taking), func(r Root) bool { return slices.Contains(shaping, r) })
	if len(shaping) == 0 {
		return nil, nil
	}
	return shaping, plain
}

// OddRoots lists the roots whose objects may have kinds that no manifest contains: patches change them (see
// graph.Graph.Odd), or a chart prints them.
func (d *Deploying) OddRoots() []Root {
	return d.index.rootsOver(setOf(append(d.index.Odd(), d.printing().inflating...)))
}

// rootsOver lists the kustomizations that are roots and are or include one of some folders.
func (x *Index) rootsOver(dirs map[string]bool) (list []Root) {
	for _, dir := range x.TopLevel(dirs, x.Selects) {
		list = append(list, Root{Path: dir})
	}
	return list
}

func setOf(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, s := range list {
		set[s] = true
	}
	return set
}
