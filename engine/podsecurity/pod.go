package podsecurity

import (
	"fmt"
	"slices"

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

// podOf reads the pod that an object is or is a template of, nil where there is none.
func podOf(object admission.Object) (*located, error) {
	pointer := "/spec/template"
	switch object["kind"] {
	case "Pod":
		pointer = ""
	case "CronJob":
		pointer = "/spec/jobTemplate/spec/template"
	case "PodTemplate":
		pointer = "/template"
	}
	holder, _ := jsonpointer.At(object, pointer).(map[string]any)
	spec, ok := holder["spec"].(map[string]any)
	if !ok {
		return nil, nil
	}
	out := &located{pointer: pointer}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &out.pod.Spec); err != nil {
		return nil, fmt.Errorf("%s/spec is not a pod spec: %w", pointer, err)
	}
	if meta, ok := holder["metadata"].(map[string]any); ok {
		annotations, _ := meta["annotations"].(map[string]any)
		for k, v := range annotations {
			if s, ok := v.(string); ok {
				if out.pod.Annotations == nil {
					out.pod.Annotations = make(map[string]string, len(annotations))
				}
				out.pod.Annotations[k] = s
			}
		}
	}
	return out, nil
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

// containersOf lists the containers in the order of their evaluation by pod-security-admission.
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

// contextsOf lists the security contexts of a pod, its own first.
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
