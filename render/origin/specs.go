package origin

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
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

// at returns specs of one path for several kinds: "kind", "kind.group" or "kind/version".
func at(path string, create bool, kinds ...string) (list []fieldSpec) {
	for _, kind := range kinds {
		f := fieldSpec{path: strings.Split(path, "/"), create: create}
		kind, f.Version, _ = strings.Cut(kind, "/")
		f.Kind, f.Group, _ = strings.Cut(kind, ".")
		list = append(list, f)
	}
	return list
}

const everyKind = ""

// defaultSpecs returns the fields that the steps write without configuration
// (https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/commonlabels/ and its neighbors).
func defaultSpecs() specs {
	const rc, job, cron, set = "ReplicationController/v1", "Job.batch", "CronJob.batch", "StatefulSet.apps"
	template := func(field, stateful string) []fieldSpec {
		return slices.Concat(
			at("metadata/"+field, true, everyKind),
			at("spec/template/metadata/"+field, true, rc, "Deployment", "ReplicaSet", "DaemonSet", stateful, job),
			at("spec/jobTemplate/metadata/"+field, true, cron),
			at("spec/jobTemplate/spec/template/metadata/"+field, true, cron))
	}
	labels := template("labels", set)
	claims := at("spec/volumeClaimTemplates[]/metadata/labels", true, set)
	selectors := slices.Concat(
		at("spec/selector", true, "Service/v1", rc),
		at("spec/selector/matchLabels", true, "Deployment", "ReplicaSet", "DaemonSet", set),
		at("spec/selector/matchLabels", false, job, "PodDisruptionBudget.policy"),
		at("spec/jobTemplate/spec/selector/matchLabels", false, cron),
		at("spec/podSelector/matchLabels", false, "NetworkPolicy.networking.k8s.io"),
		at("spec/ingress/from/podSelector/matchLabels", false, "NetworkPolicy.networking.k8s.io"),
		at("spec/egress/to/podSelector/matchLabels", false, "NetworkPolicy.networking.k8s.io"),
		at("spec/template/spec/topologySpreadConstraints/labelSelector/matchLabels", false, "Deployment.apps", set))
	for _, affinity := range []string{"podAffinity", "podAntiAffinity"} {
		for _, term := range []string{"preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm",
			"requiredDuringSchedulingIgnoredDuringExecution"} {
			selectors = append(selectors,
				at("spec/template/spec/affinity/"+affinity+"/"+term+"/labelSelector/matchLabels", false, "Deployment.apps", set)...)
		}
	}
	return specs{
		"namePrefix":        at("metadata/name", false, everyKind),
		"nameSuffix":        at("metadata/name", false, everyKind),
		"commonAnnotations": template("annotations", "StatefulSet"),
		"commonLabels":      slices.Concat(selectors, labels, claims),
		"templateLabels":    labels, "volumeClaimTemplateLabels": claims,
		"namespace": slices.Concat(
			at("metadata/name", true, "Namespace"),
			at("spec/service/namespace", true, "APIService.apiregistration.k8s.io"),
			at("spec/conversion/webhook/clientConfig/service/namespace", false,
				"CustomResourceDefinition.apiextensions.k8s.io")),
		"images": slices.Concat(
			at("spec/containers[]/image", true, everyKind), at("spec/initContainers[]/image", true, everyKind),
			at("spec/volumes[]/image/reference", true, everyKind), at("spec/template/spec/containers[]/image", true, everyKind),
			at("spec/template/spec/initContainers[]/image", true, everyKind),
			at("spec/template/spec/volumes[]/image/reference", true, everyKind),
			at("spec/jobTemplate/spec/template/spec/volumes[]/image/reference", true, everyKind)),
		"replicas":     at("spec/replicas", true, "Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"),
		"varReference": varSpecs(),
	}
}

func varSpecs() []fieldSpec {
	list := slices.Concat(at("metadata/labels", false, everyKind), at("metadata/annotations", false, everyKind),
		at("spec/rules/host", false, "Ingress"), at("spec/tls/hosts", false, "Ingress"),
		at("spec/tls/secretName", false, "Ingress"),
		at("spec/ports/port", false, "Service"), at("spec/ports/targetPort", false, "Service"),
		at("spec/nfs/server", false, "PersistentVolume"),
		at("spec/volumeClaimTemplates/spec/nfs/server", false, "StatefulSet"),
		at("spec/template/metadata/annotations", false, "Deployment"))
	for _, pod := range []struct {
		path  string
		kinds []string
	}{
		{"spec/", []string{"Pod"}},
		{"spec/template/spec/", []string{"DaemonSet", "Deployment", "Job", "ReplicaSet", "StatefulSet"}},
		{"spec/jobTemplate/spec/template/spec/", []string{"CronJob"}},
	} {
		for _, field := range []string{"args", "command", "env/value", "volumeMounts/mountPath"} {
			list = append(list, at(pod.path+"containers/"+field, false, pod.kinds...)...)
			list = append(list, at(pod.path+"initContainers/"+field, false, pod.kinds...)...)
		}
		list = append(list, at(pod.path+"volumes/nfs/server", false, pod.kinds...)...)
	}
	return list
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
			for _, step := range []string{"namePrefix", "nameSuffix", "namespace", "commonLabels", "labels", "templateLabels",
				"volumeClaimTemplateLabels", "commonAnnotations", "images", "replicas", "varReference"} {
				out[step] = append(out[step], specsOf(doc.Items(d, step))...)
			}
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
