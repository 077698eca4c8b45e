package origin

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/kustomization"
	"github.com/lintel-bot/lintel/render/source"
)

// Layer is one kustomization in the tree of those that a root is made of. A base that two overlays include
// is two layers.
type Layer struct {
	File       *kustomization.File
	Bases      []*Layer // folders under resources, in order
	Components []*Layer
	Manifests  []string // files under resources, links resolved
}

// document is a source of a rendered resource: a document of a manifest file, or an entry of a generator.
type document struct {
	path      string
	node      *yaml.Node
	generator string         // "configMapGenerator" or "secretGenerator"; empty for a manifest
	steps     []*Layer       // the kustomizations whose transformers see it, in order
	kind      string         // as written
	name      string         // as written
	namespace string         // as written
	names     map[string]int // the names it had on its way, the last being the rendered one (but for hashes)
	final     string
	finalNS   string
}

// documents lists every source document below a layer, with the steps it goes through.
func (b *Build) documents() []*document {
	if b.docs == nil {
		b.docs = b.collect(b.root)
		for _, d := range b.docs {
			d.rename()
		}
	}
	return b.docs
}

func (b *Build) collect(l *Layer) []*document {
	if l == nil {
		return nil
	}
	var docs []*document
	for _, base := range l.Bases {
		docs = append(docs, b.collect(base)...)
	}
	for _, name := range l.Manifests {
		for _, node := range b.parsed(name) {
			docs = append(docs, newDocument(name, node, ""))
		}
	}
	for _, generator := range []string{"configMapGenerator", "secretGenerator"} {
		for _, entry := range source.Items(l.File.Node, generator) {
			// An entry that merges into a base's ConfigMap is a writer, not a source.
			if source.Text(entry, "behavior") != "merge" {
				docs = append(docs, newDocument(l.File.Path, entry, generator))
			}
		}
	}
	for _, component := range l.Components {
		own := b.collect(component)
		for _, d := range docs {
			d.steps = append(d.steps, componentSteps(component)...)
		}
		docs = append(docs, own...)
	}
	for _, d := range docs {
		d.steps = append(d.steps, l)
	}
	return docs
}

// componentSteps are the layers of a component that transform what its parent has so far.
func componentSteps(l *Layer) []*Layer {
	var steps []*Layer
	for _, c := range l.Components {
		steps = append(steps, componentSteps(c)...)
	}
	return append(steps, l)
}

func newDocument(path string, node *yaml.Node, generator string) *document {
	d := &document{path: path, node: node, generator: generator}
	meta := node
	switch generator {
	case "":
		d.kind = source.Text(node, "kind")
		_, meta = source.Field(node, "metadata")
	case "configMapGenerator":
		d.kind = "ConfigMap"
	case "secretGenerator":
		d.kind = "Secret"
	}
	if meta != nil {
		d.name, d.namespace = source.Text(meta, "name"), source.Text(meta, "namespace")
	}
	return d
}

// rename follows the name and the namespace through the steps.
func (d *document) rename() {
	d.final, d.finalNS = d.name, d.namespace
	d.names = map[string]int{d.name: 0}
	for i, l := range d.steps {
		prefix, suffix := source.Text(l.File.Node, "namePrefix"), source.Text(l.File.Node, "nameSuffix")
		if !keepsName(d.kind) {
			d.final = prefix + d.final + suffix
		}
		d.names[d.final] = i
		if ns := source.Text(l.File.Node, "namespace"); ns != "" {
			if d.kind == "Namespace" {
				d.names[ns] = i
			}
			d.finalNS = ns
		}
	}
}

// keepsName says whether kustomize's prefix and suffix leave a kind alone
// (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/nameprefix/).
func keepsName(kind string) bool {
	return kind == "CustomResourceDefinition" || kind == "APIService" || kind == "Namespace"
}

// matches says whether a rendered name can be the document's: its own, or with a generator's hash.
func (d *document) matches(name string) bool {
	if name == d.final {
		return true
	}
	if d.generator != "" {
		hash, ok := strings.CutPrefix(name, d.final+"-")
		return ok && len(hash) == 10
	}
	return false
}
