package origin

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/render/source"
)

// namespace sets the namespace of everything that has one
// (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/namespace/).
func (s *simulation) namespace(c config, items []*item) {
	if c.node.Value == "" {
		return
	}
	by := s.mark(c, c.node)
	for _, i := range items {
		if i.root.str("kind") == "Namespace" {
			if name := i.root.at("metadata", "name"); name != nil {
				name.write(c.node.Value, by)
			}
		}
		if !clusterScoped(i.root.str("kind")) {
			i.root.ensure(by, "metadata").set("namespace", scalarValue(c.node.Value, by))
			i.remember()
		}
		i.offers = append(i.offers, offer{kind: namespaceOffer, text: c.node.Value, by: by})
	}
}

// clusterScoped says whether a kind is one of those of Kubernetes itself that have no namespace
// (https://kubernetes.io/docs/reference/generated/kubernetes-api/).
func clusterScoped(kind string) bool {
	switch kind {
	case "Namespace", "Node", "PersistentVolume", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "APIService",
		"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
		"PriorityClass", "StorageClass", "CSIDriver", "CSINode", "VolumeAttachment", "RuntimeClass", "IngressClass", "FlowSchema",
		"PriorityLevelConfiguration", "CertificateSigningRequest", "PodSecurityPolicy", "ComponentStatus":
		return true
	}
	return false
}

func (s *simulation) affix(c config, items []*item, kind offerKind) {
	if c.node.Value == "" {
		return
	}
	by := s.mark(c, c.node)
	for _, i := range items {
		i.offers = append(i.offers, offer{kind: kind, text: c.node.Value, by: by})
		name := i.root.at("metadata", "name")
		if name == nil || keepsName(i.root.str("kind")) {
			continue
		}
		if kind == prefix {
			name.write(c.node.Value+name.text, by)
		} else {
			name.write(name.text+c.node.Value, by)
		}
		i.remember()
	}
}

// pairs adds labels or annotations. Where else than in metadata they go, only the rendered resource tells.
func (s *simulation) pairs(c config, items []*item, kind offerKind, reach reach) {
	n := source.Deref(c.node)
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	holder := "labels"
	if kind == annotation {
		holder = "annotations"
	}
	for k := 0; k+1 < len(n.Content); k += 2 {
		key, to := n.Content[k].Value, source.Deref(n.Content[k+1])
		by := s.mark(c, to)
		for _, i := range items {
			i.root.ensure(by, "metadata", holder).set(key, scalarValue(to.Value, by))
			i.offers = append(i.offers, offer{kind: kind, key: key, text: to.Value, by: by, reach: reach})
		}
	}
}

func (s *simulation) replicas(c config, items []*item) []*item {
	_, n := source.Field(c.node, "count")
	if n == nil {
		return items
	}
	by := s.mark(c, n)
	for _, i := range items {
		if !i.known(source.Text(c.node, "name")) {
			continue
		}
		if slices.Contains([]string{"Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"}, i.root.str("kind")) {
			i.root.ensure(by, "spec").set("replicas", scalarValue(n.Value, by))
		}
		i.offers = append(i.offers, offer{kind: count, text: n.Value, by: by})
	}
	return items
}

// images replaces the name, the tag or the digest of the images that an entry names
// (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/images/).
func (s *simulation) images(c config, items []*item) []*item {
	for _, i := range items {
		s.containers(i.root, func(v *value) {
			if text, by, ok := s.image(c, v.text); ok {
				v.write(text, by)
			}
		})
		i.offers = append(i.offers, offer{kind: image, by: s.mark(c, c.node), node: c.node})
	}
	return items
}

// containers calls visit for the image of every container.
func (s *simulation) containers(v *value, visit func(*value)) {
	for _, f := range v.fields {
		if (f.key == "containers" || f.key == "initContainers") && f.value.kind == yaml.SequenceNode {
			for _, c := range f.value.items {
				if img := c.get("image"); img != nil && img.kind == yaml.ScalarNode {
					visit(img)
				}
			}
		}
		s.containers(f.value, visit)
	}
	for _, item := range v.items {
		s.containers(item, visit)
	}
}

// image answers what an entry of images makes of an image, and which of its fields says so.
func (s *simulation) image(c config, ref string) (string, mark, bool) {
	name, tag, digest := SplitImage(ref)
	if name == "" || source.Text(c.node, "name") != name {
		return "", mark{}, false
	}
	var by *yaml.Node
	if _, n := source.Field(c.node, "newName"); n != nil && n.Value != "" {
		name, by = n.Value, n
	}
	if _, n := source.Field(c.node, "tagSuffix"); n != nil && n.Value != "" {
		tag, digest, by = tag+n.Value, "", n
	}
	if _, n := source.Field(c.node, "newTag"); n != nil && n.Value != "" {
		tag, digest, by = n.Value, "", n
	}
	if _, n := source.Field(c.node, "digest"); n != nil && n.Value != "" {
		if _, alsoTag := source.Field(c.node, "newTag"); alsoTag == nil {
			tag = ""
		}
		digest, by = n.Value, n
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
