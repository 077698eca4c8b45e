package origin

import (
	"slices"
	"strings"
	"sync"
	_ "unsafe" // for go:linkname

	"go.yaml.in/yaml/v3"
	_ "sigs.k8s.io/kustomize/api/krusty" // has builtinSpecs
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/utils"

	"github.com/lintel-bot/lintel/render/doc"
)

// fieldSpec is a field that a step writes in resources of some kinds
// (https://github.com/kubernetes-sigs/kustomize/tree/master/examples/transformerconfigs).
type fieldSpec struct {
	resid.Gvk // empty fields: any
	path      []string
	create    bool
}

// specs has the field specs of each step, by its name in `configurations`.
type specs map[string][]fieldSpec

// builtinSpecs returns the configuration of kustomize's own steps, which it does not export.
//
//go:linkname builtinSpecs sigs.k8s.io/kustomize/api/internal/konfig/builtinpluginconsts.GetDefaultFieldSpecs
func builtinSpecs() []byte

// defaultSpecs returns the fields that the steps write without configuration. Do not change them.
var defaultSpecs = sync.OnceValue(func() specs {
	out := specs{}
	documents, _ := doc.Parse("", builtinSpecs(), doc.Limits{}) // kustomize reads it, too
	for _, d := range documents {
		out.read(d)
	}
	return out
})

// read adds the specs of a configuration.
func (s specs) read(d *yaml.Node) {
	for _, step := range []string{"namePrefix", "nameSuffix", "namespace", "commonLabels", "labels", "templateLabels",
		"volumeClaimTemplateLabels", "commonAnnotations", "images", "replicas", "varReference"} {
		s[step] = append(s[step], specsOf(doc.Items(d, step))...)
	}
}

// add adds the specs of other layers after those of s.
func (s specs) add(other specs) {
	for step, list := range other {
		s[step] = union(s[step], list)
	}
}

// union returns the specs of two lists, each once.
func union(a, b []fieldSpec) []fieldSpec {
	for _, f := range b {
		if !slices.ContainsFunc(a, f.equal) {
			a = append(slices.Clip(a), f)
		}
	}
	return a
}

func (f fieldSpec) equal(other fieldSpec) bool {
	return f.Gvk == other.Gvk && slices.Equal(f.path, other.path)
}

// specsOf reads a list of field specs.
func specsOf(list []*yaml.Node) (out []fieldSpec) {
	for _, n := range list {
		if path := strings.Trim(doc.Text(n, "path"), "/"); path != "" {
			out = append(out, fieldSpec{gvkOf(n), utils.PathSplitter(path, "/"), doc.Text(n, "create") == "true"})
		}
	}
	return out
}

// configurations reads the files in the field configurations of a kustomization.
func (s *transformation) configurations(l *Layer) specs {
	out := specs{}
	for _, entry := range doc.Items(l.File.Node, "configurations") {
		for _, d := range s.b.text(l.sibling(entry.Value)).documents() {
			out.read(d)
		}
	}
	return out
}

// selects reports whether a spec applies to resources of a kind.
func (f fieldSpec) selects(id identity) bool {
	return id.gvk().IsSelected(&f.Gvk)
}

// apply calls set for each field of a resource that the spec selects. If the spec says create, a missing field is
// created with the given kind; 0 creates none.
func (f fieldSpec) apply(i *item, kind yaml.Kind, by mark, set func(*value)) {
	if f.selects(i.id()) {
		f.walk(i.root, f.path, kind, by, set)
	}
}

func (f fieldSpec) walk(v *value, path []string, kind yaml.Kind, by mark, set func(*value)) {
	switch {
	case v == nil:
	case len(path) == 0:
		set(v)
	case v.kind == yaml.SequenceNode:
		for _, item := range v.items {
			f.walk(item, path, kind, by, set)
		}
	case v.kind == yaml.MappingNode:
		key, list := strings.CutSuffix(path[0], "[]")
		next := v.get(key)
		create := f.create && kind != 0 && !list
		if create && (next == nil || next.null) {
			made := &value{kind: yaml.MappingNode, by: by, way: len(path) > 1}
			if len(path) == 1 {
				made.kind = kind
			}
			v.put(key, made)
			next = made
		}
		f.walk(next, path[1:], kind, by, set)
	}
}
