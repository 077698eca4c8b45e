package origin

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/kubeschema"
	"github.com/lintel-bot/lintel/render/source"
)

// namespacing says how a namespace is set: what besides metadata holds it, and which subjects of role bindings.
type namespacing struct {
	specs     []fieldSpec
	subjects  string // as in the field setRoleBindingSubjects of kustomize's NamespaceTransformer
	unsetOnly bool
}

// namespace sets the namespace of everything that has one
// (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/namespace/).
func (s *simulation) namespace(c config, o namespacing, items []*item) {
	name := strings.TrimSpace(c.node.Value)
	if name == "" {
		return
	}
	by := s.mark(c, c.node)
	set := func(v *value) {
		if v.kind == yaml.ScalarNode && (!o.unsetOnly || v.text == "" || v.null) {
			v.write(name, by)
		}
	}
	meta := fieldSpec{path: []string{"metadata", "namespace"}, create: true}
	for _, i := range items {
		id := i.id()
		i.remember()
		if !kubeschema.ClusterScoped(id.apiVersion, id.kind) {
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

// affix adds a prefix or a suffix to names.
func (s *simulation) affix(c config, specs []fieldSpec, add func(string) string, items []*item) {
	if c.node.Value == "" {
		return
	}
	by := s.mark(c, c.node)
	for _, i := range items {
		if keepsName(i.ids[0]) {
			continue
		}
		for _, f := range specs {
			if f.selects(i.ids[0]) {
				i.remember()
				f.apply(i, yaml.ScalarNode, by, func(v *value) { v.write(add(v.text), by) })
				i.remember()
			}
		}
	}
}

// labels runs an entry of labels (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/labels/).
func (s *simulation) labels(c config, specs func(step string) []fieldSpec, items []*item) {
	list := union(specsOf(source.Items(c.node, "fields")), specs("labels"))
	if source.Text(c.node, "includeSelectors") == "true" {
		list = union(list, specs("commonLabels"))
	} else {
		list = union(list, at("metadata/labels", true, everyKind))
		if source.Text(c.node, "includeTemplates") == "true" {
			list = union(list, specs("templateLabels"))
		}
		if source.Text(c.node, "includeVolumeClaimTemplates") == "true" {
			list = union(list, specs("volumeClaimTemplateLabels"))
		}
	}
	s.pairs(c.field("pairs"), list, items)
}

// pairs adds labels or annotations to maps.
func (s *simulation) pairs(c config, specs []fieldSpec, items []*item) {
	n := source.Deref(c.node)
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	for k := 0; k+1 < len(n.Content); k += 2 {
		key, to := n.Content[k].Value, source.Deref(n.Content[k+1])
		by, made := s.mark(c, to), s.mark(c, c.key)
		for _, i := range items {
			written := map[*value]bool{} // specs overlap
			for _, f := range specs {
				f.apply(i, yaml.MappingNode, made, func(v *value) {
					if v.kind == yaml.MappingNode && !written[v] {
						written[v] = true
						v.set(key, scalarValue(to.Value, by))
					}
				})
			}
		}
	}
}

// metadata adds what the root's buildMetadata asks for: labels and annotations that kustomize words itself
// (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/buildmetadata/).
func (s *simulation) metadata(items []*item) {
	l := s.b.root
	for _, entry := range source.Items(l.File.Node, "buildMetadata") {
		s.step++
		by := s.mark(config{layer: l, path: l.File.Path, role: "buildMetadata"}, entry)
		path, ok := map[string][]string{
			"managedByLabel":         {"labels", "app.kubernetes.io/managed-by"},
			"originAnnotations":      {"annotations", "config.kubernetes.io/origin"},
			"transformerAnnotations": {"annotations", "alpha.config.kubernetes.io/transformations"},
		}[entry.Value]
		for _, i := range items {
			if ok {
				v := scalarValue("", by)
				v.loose = true
				i.root.ensure(by, "metadata", path[0]).set(path[1], v)
			}
		}
	}
}

func (s *simulation) replicas(c config, specs []fieldSpec, items []*item) {
	_, n := source.Field(c.node, "count")
	if n == nil {
		return
	}
	by, name := s.mark(c, n), source.Text(c.node, "name")
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
func (s *simulation) images(c config, specs []fieldSpec, items []*item) {
	name := source.Text(c.node, "name")
	// Kustomize takes the name for a regular expression.
	re, err := regexp.Compile("^" + name +
		`(:[a-zA-Z0-9_.{}-]*)?(@[A-Za-z][A-Za-z0-9]*([+._-][A-Za-z][A-Za-z0-9]*)*:[a-zA-Z0-9_.{}-]*)?$`)
	if name == "" || err != nil {
		return
	}
	set := func(v *value) {
		if v.kind != yaml.ScalarNode || !re.MatchString(v.text) {
			return
		}
		if text, by, ok := s.image(c, v.text); ok {
			v.write(text, by)
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

// image returns what an entry of images makes of an image, and which of its fields says so.
func (s *simulation) image(c config, ref string) (string, mark, bool) {
	get := func(field string) *yaml.Node {
		if _, n := source.Field(c.node, field); n != nil && n.Value != "" {
			return n
		}
		return nil
	}
	name, tag, digest := SplitImage(ref)
	newName, newTag, newDigest, tagSuffix := get("newName"), get("newTag"), get("digest"), get("tagSuffix")
	var by *yaml.Node
	if newName != nil {
		name, by = newName.Value, newName
	}
	switch {
	case newTag != nil && newDigest != nil:
		tag, digest, by = newTag.Value, newDigest.Value, newDigest
	case newTag != nil:
		tag, digest, by = newTag.Value, "", newTag
	case newDigest != nil:
		tag, digest, by = "", newDigest.Value, newDigest
	case tagSuffix != nil:
		tag, digest, by = tag+tagSuffix.Value, "", tagSuffix
	}
	if by == nil {
		return "", mark{}, false
	}
	if tag != "" {
		name += ":" + tag
	}
	if digest != "" {
		name += "@" + digest
	}
	return name, s.mark(c, by), true
}

// SplitImage takes an image reference apart: name, tag and digest, empty where it has none.
func SplitImage(ref string) (name, tag, digest string) {
	name, digest, _ = strings.Cut(ref, "@")
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name, tag = name[:i], name[i+1:]
	}
	return name, tag, digest
}
