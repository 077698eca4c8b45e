package origin

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/utils"

	"github.com/lintel-bot/lintel/render/doc"
	"github.com/lintel-bot/lintel/render/kustomization"
)

// namespacing says how a namespace is set: in which fields besides metadata, and in which subjects of role bindings.
type namespacing struct {
	specs     []fieldSpec
	subjects  string // see the field setRoleBindingSubjects of kustomize's NamespaceTransformer
	unsetOnly bool
}

// namespace sets the namespace of everything that is namespaced
// (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/namespace/).
func (s *transformation) namespace(c config, o namespacing, items []*item) {
	name := strings.TrimSpace(c.node.Value)
	if name == "" {
		return
	}
	by := c.mark(c.node)
	set := func(v *value) {
		if v.kind == yaml.ScalarNode && (!o.unsetOnly || v.text == "" || v.null) {
			v.write(name, by)
		}
	}
	meta := fieldSpec{path: []string{"metadata", "namespace"}, create: true}
	for _, i := range items {
		id := i.id()
		i.remember()
		if !kustomization.ClusterScoped(id.apiVersion, id.kind) {
			meta.apply(i, yaml.ScalarNode, by, set)
		}
		binding := id.kind == "RoleBinding" || id.kind == "ClusterRoleBinding"
		if subjects := i.root.get("subjects"); binding && subjects != nil {
			for _, subject := range subjects.items {
				if o.subjects == "allServiceAccounts" && subject.str("kind") == "ServiceAccount" ||
					o.subjects != "allServiceAccounts" && o.subjects != "none" && subject.str("name") == "default" {
					(fieldSpec{path: []string{"namespace"}, create: true}).walk(subject, []string{"namespace"}, yaml.ScalarNode, by,
						set)
				}
			}
		}
		for _, f := range o.specs {
			path := strings.Join(f.path, "/")
			if path == "metadata/namespace" || path == "metadata/name" && id.apiVersion != "v1" || binding &&
				path == "subjects/namespace" {
				continue
			}
			f.apply(i, yaml.ScalarNode, by, set)
		}
		i.remember()
	}
}

// affix adds a prefix, or a suffix, to names.
func (s *transformation) affix(c config, specs []fieldSpec, prefix bool, items []*item) {
	if c.node.Value == "" {
		return
	}
	by := c.mark(c.node)
	own := []piece{{c.node.Value, by}}
	add := func(v *value) {
		if prefix {
			v.compose(slices.Concat(own, v.parts()), by)
		} else {
			v.compose(slices.Concat(v.parts(), own), by)
		}
	}
	for _, i := range items {
		if keepsName(i.ids[0]) {
			continue
		}
		for _, f := range specs {
			if f.selects(i.ids[0]) {
				i.remember()
				f.apply(i, yaml.ScalarNode, by, add)
				i.remember()
			}
		}
	}
}

// labels runs an entry of labels (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/labels/).
func (s *transformation) labels(c config, specs func(step string) []fieldSpec, items []*item) {
	list := union(specsOf(doc.Items(c.node, "fields")), specs("labels"))
	if doc.Text(c.node, "includeSelectors") == "true" {
		list = union(list, specs("commonLabels"))
	} else {
		list = union(list, []fieldSpec{{path: []string{"metadata", "labels"}, create: true}})
		if doc.Text(c.node, "includeTemplates") == "true" {
			list = union(list, specs("templateLabels"))
		}
		if doc.Text(c.node, "includeVolumeClaimTemplates") == "true" {
			list = union(list, specs("volumeClaimTemplateLabels"))
		}
	}
	s.pairs(c.field("pairs"), list, items)
}

// pairs adds labels or annotations to maps.
func (s *transformation) pairs(c config, specs []fieldSpec, items []*item) {
	for k, v := range doc.Pairs(doc.Deref(c.node)) {
		key, to := k.Value, doc.Deref(v)
		by, made := c.mark(to), c.mark(c.key)
		for _, i := range items {
			// Kustomize puts the same node into all fields that lack the key, so who writes one of them later writes them all.
			shared := scalarValue(to.Value, by)
			for _, f := range specs {
				f.apply(i, yaml.MappingNode, made, func(v *value) {
					switch old := v.get(key); {
					case v.kind != yaml.MappingNode || old != nil && old.by == by: // specs may select the same field
					case old == nil:
						v.put(key, shared)
						i.shares = true
					default:
						v.set(key, scalarValue(to.Value, by))
					}
				})
			}
		}
	}
}

// metadata adds the labels and annotations of the root's buildMetadata, whose values kustomize makes
// (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/buildmetadata/).
func (s *transformation) metadata(items []*item) {
	l := s.b.root
	for _, entry := range doc.Items(l.File.Node, "buildMetadata") {
		by := config{layer: l, path: l.File.Path, role: "buildMetadata"}.mark(entry)
		path, ok := map[string][]string{
			"managedByLabel":         {"labels", "app.kubernetes.io/managed-by"},
			"originAnnotations":      {"annotations", "config.kubernetes.io/origin"},
			"transformerAnnotations": {"annotations", "alpha.config.kubernetes.io/transformations"},
		}[entry.Value]
		for _, i := range items {
			if ok {
				v := scalarValue("", by)
				v.approximate = true
				i.root.ensure(by, "metadata", path[0]).set(path[1], v)
			}
		}
	}
}

func (s *transformation) replicas(c config, specs []fieldSpec, items []*item) {
	_, n := doc.Field(c.node, "count")
	if n == nil {
		return
	}
	by, name := c.mark(n), doc.Text(c.node, "name")
	for _, f := range specs {
		for _, i := range items {
			if i.id().name == name && f.selects(i.id()) ||
				slices.ContainsFunc(i.ids, func(id identity) bool { return id.name == name && f.selects(id) }) {
				f.apply(i, yaml.ScalarNode, by, func(v *value) { v.write(n.Value, by) })
			}
		}
	}
}

// images replaces the name, the tag or the digest of the images that an entry names
// (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/images/).
func (s *transformation) images(c config, specs []fieldSpec, items []*item) {
	name := doc.Text(c.node, "name")
	// Kustomize uses the name as a regular expression.
	re, err := regexp.Compile("^" + name +
		`(:[a-zA-Z0-9_.{}-]*)?(@[A-Za-z][A-Za-z0-9]*([+._-][A-Za-z][A-Za-z0-9]*)*:[a-zA-Z0-9_.{}-]*)?$`)
	if name == "" || err != nil {
		return
	}
	set := func(v *value) {
		if v.kind != yaml.ScalarNode || !re.MatchString(v.text) {
			return
		}
		if pieces, by := s.image(c, v); len(pieces) > 0 {
			v.compose(pieces, by)
		}
	}
	for _, i := range items {
		if i.id().kind != "CustomResourceDefinition" {
			containers(i.root, set)
		}
		for _, f := range specs {
			f.apply(i, yaml.ScalarNode, mark{}, set)
		}
	}
}

// containers calls visit for the image of every container.
func containers(v *value, visit func(*value)) {
	for _, f := range v.fields {
		if (f.key == "containers" || f.key == "initContainers") && f.value.kind == yaml.SequenceNode {
			for _, c := range f.value.items {
				if img := c.get("image"); img != nil {
					visit(img)
				}
			}
		}
		containers(f.value, visit)
	}
	for _, item := range v.items {
		containers(item, visit)
	}
}

// image returns an image after an entry of images, and the mark of the entry's last field that changed it; nothing
// where none did.
func (s *transformation) image(c config, v *value) (pieces []piece, by mark) {
	name, tag, digest := SplitImage(v.text)
	old := v.parts()
	ofName, ofTag, ofDigest := cut(old, 0, len(name)), []piece(nil), []piece(nil)
	sign := ":" // before a tag
	if tag != "" {
		ofTag, sign = cut(old, len(name), len(name)+len(":"+tag)), ""
	}
	if digest != "" {
		ofDigest = cut(old, len(v.text)-len("@"+digest), len(v.text))
	}
	entry := func(field, sign string) []piece {
		if _, n := doc.Field(c.node, field); n != nil && n.Value != "" {
			by = c.mark(n)
			return []piece{{sign + n.Value, by}}
		}
		return nil
	}
	if own := entry("newName", ""); own != nil {
		ofName = own
	}
	if newTag, newDigest := entry("newTag", ":"), entry("digest", "@"); newTag != nil || newDigest != nil {
		ofTag, ofDigest = newTag, newDigest
	} else if suffix := entry("tagSuffix", sign); suffix != nil {
		ofTag, ofDigest = append(ofTag, suffix...), nil
	}
	if !by.known() {
		return nil, by
	}
	return slices.Concat(ofName, ofTag, ofDigest), by
}

// SplitImage splits an image reference into name, tag and digest; empty where it has none.
func SplitImage(ref string) (name, tag, digest string) {
	name, digest, _ = strings.Cut(ref, "@")
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name, tag = name[:i], name[i+1:]
	}
	return name, tag, digest
}

// plugins lists the configurations of a layer's generators or transformers, which may be inline, in files, or in
// folders with a kustomization.
func (s *transformation) plugins(l *Layer, field string) (list []document) {
	byEntry := map[string]Part{}
	for _, p := range l.Plugins {
		if p.Field == field {
			byEntry[p.Entry] = p.Part
		}
	}
	for _, entry := range doc.Items(l.File.Node, field) {
		part, listed := byEntry[entry.Value]
		switch {
		case listed && part.Layer != nil:
			list = append(list, s.b.manifests(part.Layer)...)
		case listed:
			list = append(list, inFile(part.Path, s.b.text(part.Path).documents())...)
		case entry.Kind == yaml.ScalarNode:
			list = append(list, inFile(l.File.Path, s.b.text(l.File.Path).inner(entry).documents())...)
		}
	}
	return list
}

// transformer runs the configuration of one of kustomize's own transformers
// (https://github.com/kubernetes-sigs/kustomize/tree/master/plugin/builtin).
func (s *transformation) transformer(c config, items []*item) []*item {
	get := func(name string) *yaml.Node { _, n := doc.Field(c.node, name); return n }
	specs := specsOf(doc.Items(c.node, "fieldSpecs"))
	switch doc.Text(c.node, "kind") {
	case "PrefixTransformer":
		if n := get("prefix"); n != nil {
			s.affix(c.with(n), specs, true, items)
		}
	case "SuffixTransformer":
		if n := get("suffix"); n != nil {
			s.affix(c.with(n), specs, false, items)
		}
	case "LabelTransformer":
		s.pairs(c.field("labels"), specs, items)
	case "AnnotationsTransformer":
		s.pairs(c.field("annotations"), specs, items)
	case "NamespaceTransformer":
		if _, n := doc.Field(get("metadata"), "namespace"); n != nil {
			s.namespace(c.with(n), namespacing{specs: specs, subjects: doc.Text(c.node, "setRoleBindingSubjects"),
				unsetOnly: doc.Text(c.node, "unsetOnly") == "true"}, items)
		}
	case "ImageTagTransformer":
		s.images(c.with(get("imageTag")), specs, items)
	case "ReplicaCountTransformer":
		s.replicas(c.with(get("replica")), specs, items)
	case "PatchTransformer":
		return s.patchWith(c, get("patch"), doc.Text(c.node, "path"), get("target"), items)
	case "PatchJson6902Transformer":
		return s.patchWith(c, get("jsonOp"), doc.Text(c.node, "path"), get("target"), items)
	case "PatchStrategicMergeTransformer":
		for _, p := range doc.Items(c.node, "paths") {
			items = s.patchStrategic(c.with(p), items)
		}
		return s.patchWith(c, get("patches"), "", nil, items)
	case "ReplacementTransformer":
		for _, n := range doc.Items(c.node, "replacements") {
			s.replacement(c.with(n), items)
		}
	case "ValueAddTransformer":
		s.valueAdd(c, get("value"), items)
	}
	return items
}

// valueAdd writes a value to fields. If a field contains a path, the value becomes one element of it.
func (s *transformation) valueAdd(c config, n *yaml.Node, items []*item) {
	if n == nil {
		return
	}
	targets := doc.Items(c.node, "targets")
	if file := doc.Text(c.node, "targetFilePath"); file != "" {
		for _, d := range s.b.text(c.layer.sibling(file)).documents() {
			targets = append(targets, doc.Items(d, "targets")...)
		}
	}
	by := c.mark(n)
	for _, target := range targets {
		_, chosen := doc.Field(target, "selector")
		path := utils.PathSplitter(strings.Trim(doc.Text(target, "fieldPath"), "/"), "/")
		for _, i := range selected(chosen, items) {
			if slices.Equal(path, []string{"metadata", "namespace"}) {
				s.namespace(c.with(n), namespacing{}, []*item{i})
				continue
			}
			(fieldSpec{create: true}).walk(i.root, path, yaml.ScalarNode, by, func(v *value) {
				v.write(n.Value, by)
				v.approximate = doc.Text(target, "filePathPosition") != ""
			})
		}
	}
}
