package origin

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/source"
)

// target is a field that a writer is sought for.
type target struct {
	doc     *document
	steps   []step
	pointer string
	value   string // of the rendered scalar; empty for maps and lists
	scalar  bool
}

// writers follows the steps of a resource from the last to the first and collects everything that wrote the
// field: the last writer first, the source document at the end. Within one kustomization the order is
// kustomize's own (api/internal/target): patchesStrategicMerge, patches, namespace, prefix, suffix, labels,
// annotations, patchesJson6902, replicas, images, replacements.
func (b *Build) writers(resource *yaml.Node, d *document, steps []step) []Place {
	last := steps[len(steps)-1]
	t := &target{doc: d, steps: steps, pointer: tokens(steps), scalar: last.value.Kind == yaml.ScalarNode}
	if t.scalar {
		t.value = last.value.Value
	}
	var places []Place
	for i := len(d.steps) - 1; i >= 0; i-- {
		l := d.steps[i]
		for _, find := range []func(*Layer, *target) (Place, bool){
			b.images, b.replicas, b.json6902, b.annotations, b.labels, b.affixes, b.namespace, b.patches,
			b.generatorMerge,
		} {
			if p, ok := find(l, t); ok {
				places = append(places, p)
			}
		}
	}
	if p, ok := b.sourceField(t); ok {
		places = append(places, p)
	}
	return places
}

// entry makes a place of a node of a layer's kustomization file.
func (b *Build) entry(l *Layer, n *yaml.Node, role string) Place {
	return b.at(l.File.Path, n, Writer, role)
}

func (b *Build) namespace(l *Layer, t *target) (Place, bool) {
	_, ns := source.Field(l.File.Node, "namespace")
	if ns == nil || ns.Value == "" || ns.Value != t.value {
		return Place{}, false
	}
	isName := t.pointer == "/metadata/name" && t.doc.kind == "Namespace"
	if t.pointer != "/metadata/namespace" && !isName && !strings.HasSuffix(t.pointer, "/namespace") {
		return Place{}, false
	}
	return b.entry(l, ns, "namespace"), true
}

func (b *Build) affixes(l *Layer, t *target) (Place, bool) {
	if t.pointer != "/metadata/name" && !strings.HasSuffix(t.pointer, "/name") && !strings.HasSuffix(t.pointer, "Name") {
		return Place{}, false
	}
	if t.pointer == "/metadata/name" && keepsName(t.doc.kind) {
		return Place{}, false
	}
	if _, n := source.Field(l.File.Node, "namePrefix"); n != nil && n.Value != "" && strings.HasPrefix(t.value, n.Value) {
		return b.entry(l, n, "namePrefix"), true
	}
	if _, n := source.Field(l.File.Node, "nameSuffix"); n != nil && n.Value != "" && strings.HasSuffix(t.value, n.Value) {
		return b.entry(l, n, "nameSuffix"), true
	}
	return Place{}, false
}

// labels reads commonLabels and labels
// (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/labels/).
func (b *Build) labels(l *Layer, t *target) (Place, bool) {
	if len(t.steps) < 2 {
		return Place{}, false
	}
	parent, key := t.steps[len(t.steps)-2].token, t.steps[len(t.steps)-1].token
	if parent != "labels" && parent != "matchLabels" && parent != "selector" && parent != "podSelector" {
		return Place{}, false
	}
	if _, pairs := source.Field(l.File.Node, "commonLabels"); pairs != nil {
		if _, n := source.Field(pairs, key); n != nil && n.Value == t.value {
			return b.entry(l, n, "commonLabels"), true
		}
	}
	for _, item := range source.Items(l.File.Node, "labels") {
		_, pairs := source.Field(item, "pairs")
		if _, n := source.Field(pairs, key); n != nil && n.Value == t.value {
			return b.entry(l, n, "labels"), true
		}
	}
	return b.generatorOption(l, t, "labels", key)
}

func (b *Build) annotations(l *Layer, t *target) (Place, bool) {
	if len(t.steps) < 2 || t.steps[len(t.steps)-2].token != "annotations" {
		return Place{}, false
	}
	key := t.steps[len(t.steps)-1].token
	if _, pairs := source.Field(l.File.Node, "commonAnnotations"); pairs != nil {
		if _, n := source.Field(pairs, key); n != nil && n.Value == t.value {
			return b.entry(l, n, "commonAnnotations"), true
		}
	}
	return b.generatorOption(l, t, "annotations", key)
}

// generatorOption reads generatorOptions and a generator's own options.
func (b *Build) generatorOption(l *Layer, t *target, field, key string) (Place, bool) {
	if t.doc.generator == "" || len(t.doc.steps) == 0 || t.doc.path != l.File.Path {
		return Place{}, false
	}
	for _, holder := range []*yaml.Node{t.doc.node, l.File.Node} {
		name := "options"
		if holder == l.File.Node {
			name = "generatorOptions"
		}
		_, options := source.Field(holder, name)
		_, pairs := source.Field(options, field)
		if _, n := source.Field(pairs, key); n != nil && n.Value == t.value {
			return b.entry(l, n, name), true
		}
	}
	return Place{}, false
}

func (b *Build) replicas(l *Layer, t *target) (Place, bool) {
	if t.pointer != "/spec/replicas" {
		return Place{}, false
	}
	for _, item := range source.Items(l.File.Node, "replicas") {
		_, count := source.Field(item, "count")
		if _, known := t.doc.names[source.Text(item, "name")]; known && count != nil && count.Value == t.value {
			return b.entry(l, count, "replicas"), true
		}
	}
	return Place{}, false
}

// images reads the images field: an entry replaces the name, the tag or the digest of the images it names
// (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/images/).
func (b *Build) images(l *Layer, t *target) (Place, bool) {
	if !strings.HasSuffix(t.pointer, "/image") {
		return Place{}, false
	}
	name, tag, digest := SplitImage(t.value)
	for _, item := range source.Items(l.File.Node, "images") {
		written := source.Text(item, "name")
		if renamed := source.Text(item, "newName"); renamed != "" {
			written = renamed
		}
		if written != name {
			continue
		}
		for _, field := range []struct{ name, value string }{{"digest", digest}, {"newTag", tag}, {"newName", name}} {
			if _, n := source.Field(item, field.name); n != nil && n.Value != "" && n.Value == field.value {
				return b.entry(l, n, "images"), true
			}
		}
		if _, n := source.Field(item, "tagSuffix"); n != nil && n.Value != "" && strings.HasSuffix(tag, n.Value) {
			return b.entry(l, n, "images"), true
		}
	}
	return Place{}, false
}

// SplitImage takes an image reference apart: name, tag and digest, empty where it has none.
func SplitImage(ref string) (name, tag, digest string) {
	name, digest, _ = strings.Cut(ref, "@")
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name, tag = name[:i], name[i+1:]
	}
	return name, tag, digest
}
