package podsecurity

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// located is a pod and the pointer of the object that its metadata and spec are in.
type located struct {
	pod     corev1.Pod
	pointer string
}

// podOf reads the pod that an object is or is a template of. A part that is not there, or null, is empty; the error is of
// one that cannot be read, and of kinds that Kyverno's podSecurity does not know (getSpec in its validate_pss.go).
func podOf(object admission.Object) (*located, error) {
	kind, _ := object["kind"].(string)
	pointer, ok := admission.PodPointer(kind)
	if !ok {
		return nil, fmt.Errorf("could not find correct resource type: podSecurity is for Pods and the controllers of "+
			"Kubernetes that make them, not for kind %s", kind)
	}
	out := &located{pointer: pointer}
	spec, err := admission.MapAt(object, pointer+"/spec")
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &out.pod.Spec); err != nil {
		return nil, fmt.Errorf("%s/spec is not a pod spec: %w", pointer, err)
	}
	annotations, err := admission.MapAt(object, pointer+"/metadata/annotations")
	if err != nil {
		return nil, err
	}
	for k, v := range annotations {
		s, ok := v.(string)
		if !ok && v != nil {
			return nil, fmt.Errorf("%s/metadata/annotations: %s must be text", pointer, k)
		}
		if out.pod.Annotations == nil {
			out.pod.Annotations = make(map[string]string, len(annotations))
		}
		out.pod.Annotations[k] = s
	}
	return out, nil
}

// field returns the name of a field of the object for messages, from its name in the pod.
func (l *located) field(ofPod string) string {
	return strings.TrimPrefix(jsonpointer.Dotted(l.pointer)+"."+ofPod, ".")
}

// container is one container of a pod and the list it is in.
type container struct {
	list  string // containers, initContainers or ephemeralContainers
	index int
	*corev1.Container
}

func (c container) path(tail ...any) path {
	return append(path{"spec", c.list, c.index}, tail...)
}

// containersOf lists the containers in the order in which pod-security-admission evaluates them.
func containersOf(pod *corev1.Pod) []container {
	var out []container
	for i := range pod.Spec.InitContainers {
		out = append(out, container{"initContainers", i, &pod.Spec.InitContainers[i]})
	}
	for i := range pod.Spec.Containers {
		out = append(out, container{"containers", i, &pod.Spec.Containers[i]})
	}
	for i := range pod.Spec.EphemeralContainers {
		c := corev1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon)
		out = append(out, container{"ephemeralContainers", i, &c})
	}
	return out
}

// context is the security context of a pod, with the fields that containers have too, or of one of its containers;
// empty where it is not set.
type context struct {
	at    path
	isPod bool
	corev1.SecurityContext
}

func (c context) path(tail ...any) path { return append(slices.Clone(c.at), tail...) }

// contextsOf lists the security contexts of a pod, the pod's own first.
func contextsOf(pod *corev1.Pod) []context {
	own := context{at: path{"spec", "securityContext"}, isPod: true}
	if sc := pod.Spec.SecurityContext; sc != nil {
		own.SecurityContext = corev1.SecurityContext{
			SELinuxOptions: sc.SELinuxOptions, WindowsOptions: sc.WindowsOptions, RunAsUser: sc.RunAsUser,
			RunAsNonRoot: sc.RunAsNonRoot, SeccompProfile: sc.SeccompProfile, AppArmorProfile: sc.AppArmorProfile,
		}
	}
	out := []context{own}
	for _, c := range containersOf(pod) {
		of := context{at: c.path("securityContext")}
		if c.SecurityContext != nil {
			of.SecurityContext = *c.SecurityContext
		}
		out = append(out, of)
	}
	return out
}
