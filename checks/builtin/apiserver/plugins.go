package apiserver

import (
	"cmp"
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	apiadmission "k8s.io/apiserver/pkg/admission"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/networking"
	schedulingdefaults "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	"k8s.io/kubernetes/plugin/pkg/admission/defaulttolerationseconds"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"
	"k8s.io/kubernetes/plugin/pkg/admission/priority"
	"k8s.io/kubernetes/plugin/pkg/admission/runtimeclass"
	"k8s.io/utils/ptr"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// plugins are the admission plugins that add something to objects of a kind.
type plugins struct {
	asks func(o admission.Object) []apischema.GroupKind // what they look up; nil: they add nothing to the object
	add  func(o runtime.Object, found declaredObjects) error
}

// declaredObjects are the objects that plugins look up, by kind: those of the namespace of the object that they add to, or of
// the whole cluster.
type declaredObjects map[string][]admission.Object

// plugged are the kinds to which admission plugins add something. They are those that are on by default and add more than
// finalizers, in the order in which the API server runs them
// (https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/).
var plugged = map[apischema.GroupKind]plugins{
	{Kind: "Pod"}: {
		func(o admission.Object) []apischema.GroupKind {
			asks := []apischema.GroupKind{{Kind: "LimitRange"}, {Kind: "ServiceAccount"}, {Group: "scheduling.k8s.io", Kind: "PriorityClass"}}
			if jsonpointer.At(o, "/spec/runtimeClassName") != nil {
				asks = append(asks, apischema.GroupKind{Group: "node.k8s.io", Kind: "RuntimeClass"})
			}
			return asks
		},
		func(o runtime.Object, found declaredObjects) error {
			pod := o.(*core.Pod)
			limitRanger(pod, found["LimitRange"])
			serviceAccount(pod, found["ServiceAccount"])
			return podPlugins(pod, found)
		},
	},
	// DefaultStorageClass
	{Kind: "PersistentVolumeClaim"}: {
		unlessNamed("/spec/storageClassName", "/metadata/annotations/volume.beta.kubernetes.io~1storage-class", "storage.k8s.io", "StorageClass"),
		func(o runtime.Object, found declaredObjects) error {
			c := o.(*core.PersistentVolumeClaim)
			if _, marked := c.Annotations[core.BetaStorageClassAnnotation]; !marked {
				setClass(&c.Spec.StorageClassName, found["StorageClass"], "storageclass.kubernetes.io/is-default-class",
					"storageclass.beta.kubernetes.io/is-default-class")
			}
			return nil
		},
	},
	// DefaultIngressClass
	{Group: "networking.k8s.io", Kind: "Ingress"}: {
		unlessNamed("/spec/ingressClassName", "/metadata/annotations/kubernetes.io~1ingress.class", "networking.k8s.io", "IngressClass"),
		func(o runtime.Object, found declaredObjects) error {
			i := o.(*networking.Ingress)
			if _, marked := i.Annotations["kubernetes.io/ingress.class"]; !marked {
				setClass(&i.Spec.IngressClassName, found["IngressClass"], "ingressclass.kubernetes.io/is-default-class")
			}
			return nil
		},
	},
}

// unlessNamed looks up the classes of a kind for objects that name none, in their field or in the older annotation.
func unlessNamed(field, annotation, group, kind string) func(o admission.Object) []apischema.GroupKind {
	return func(o admission.Object) []apischema.GroupKind {
		if _, marked := jsonpointer.Lookup(o, annotation); marked || jsonpointer.At(o, field) != nil {
			return nil
		}
		return []apischema.GroupKind{{Group: group, Kind: kind}}
	}
}

// Plugins are the admission plugins of the API server that add something to one object, with what they look up. Nil: there are
// none.
type Plugins func(o runtime.Object) error

// PluginsFor returns the admission plugins for an object that is created. They add the defaults of LimitRanges, the service account
// and its token, tolerations, and default classes. list lists the objects of a kind in the namespace of the object, or in the
// cluster; where a class or account that the object names is not among them, nothing of it is added.
func PluginsFor(o admission.Object, list func(group, kind string) []admission.Object) Plugins {
	id := admission.IdentityOf(o)
	of, ok := plugged[apischema.GroupKind{Group: id.Group, Kind: id.Kind}]
	if !ok {
		return nil
	}
	asks, found := of.asks(o), declaredObjects{}
	if asks == nil {
		return nil
	}
	for _, kind := range asks { // first, since look-ups read objects, too, which waits for other uses of the same group
		found[kind.Kind] = list(kind.Group, kind.Kind)
	}
	return func(o runtime.Object) error { return of.add(o, found) }
}

// Add returns an object with what the plugins add to it before policies see it. The given object is not changed.
func (p Plugins) Add(o admission.Object) admission.Object {
	if p == nil {
		return o
	}
	return received(o, p)
}

// setClass names the class that an annotation makes the default one, where none is named: of several, the first by name, as
// among classes of one age.
func setClass(name **string, classes []admission.Object, annotations ...string) {
	if *name != nil {
		return
	}
	for _, c := range classes {
		marks := admission.TextsAt(c, "/metadata/annotations")
		if slices.ContainsFunc(annotations, func(a string) bool { return marks[a] == "true" }) {
			if own := admission.IdentityOf(c).Name; own != "" && (*name == nil || own < **name) {
				*name = &own
			}
		}
	}
}

// limitRanger fills in the requests and limits that the LimitRanges of the namespace give containers without them.
func limitRanger(pod *core.Pod, ranges []admission.Object) {
	for _, o := range ranges {
		if r := new(corev1.LimitRange); written(o, r) {
			_ = limitranger.PodMutateLimitFunc(r, pod) // it never fails; see Limits for what it refuses
		}
	}
}

// tokenPath is where the token of a service account is mounted.
const tokenPath = "/var/run/secrets/kubernetes.io/serviceaccount"

// serviceAccount names the default service account where a Pod names none, mounts its token, and adds its pull secrets.
func serviceAccount(pod *core.Pod, accounts []admission.Object) {
	if _, mirror := pod.Annotations[core.MirrorPodAnnotationKey]; mirror {
		return
	}
	spec := &pod.Spec
	spec.ServiceAccountName = cmp.Or(spec.ServiceAccountName, "default")
	spec.DeprecatedServiceAccount = spec.ServiceAccountName //lint:ignore SA1019 policies see it, too
	account := new(corev1.ServiceAccount)
	for _, o := range accounts {
		if a := new(corev1.ServiceAccount); written(o, a) && a.Name == spec.ServiceAccountName {
			account = a
		}
	}
	if ptr.Deref(cmp.Or(spec.AutomountServiceAccountToken, account.AutomountServiceAccountToken), true) {
		mountToken(spec)
	}
	if len(spec.ImagePullSecrets) == 0 {
		for _, secret := range account.ImagePullSecrets {
			spec.ImagePullSecrets = append(spec.ImagePullSecrets, core.LocalObjectReference{Name: secret.Name})
		}
	}
}

// mountToken mounts the token of the service account in all containers that mount nothing in its place. The name of the volume,
// which the API server ends with random letters, is always the same.
func mountToken(spec *core.PodSpec) {
	const prefix = "kube-api-access-"
	name, needed := prefix+"00000", false
	at := slices.IndexFunc(spec.Volumes, func(v core.Volume) bool { return strings.HasPrefix(v.Name, prefix) })
	if at >= 0 {
		name = spec.Volumes[at].Name
	}
	for _, containers := range [][]core.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			mounts := &containers[i].VolumeMounts
			if !slices.ContainsFunc(*mounts, func(m core.VolumeMount) bool { return m.MountPath == tokenPath }) {
				*mounts = append(*mounts, core.VolumeMount{Name: name, ReadOnly: true, MountPath: tokenPath})
				needed = true
			}
		}
	}
	if at >= 0 || !needed {
		return
	}
	spec.Volumes = append(spec.Volumes, core.Volume{Name: name, VolumeSource: core.VolumeSource{Projected: &core.ProjectedVolumeSource{
		DefaultMode: ptr.To[int32](0o644), Sources: []core.VolumeProjection{
			{ServiceAccountToken: &core.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: ptr.To[int64](3607)}},
			{ConfigMap: &core.ConfigMapProjection{LocalObjectReference: core.LocalObjectReference{Name: "kube-root-ca.crt"},
				Items: []core.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
			{DownwardAPI: &core.DownwardAPIProjection{Items: []core.DownwardAPIVolumeFile{{Path: "namespace",
				FieldRef: &core.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}}}},
		}}}})
}

// podPlugins runs the plugins Priority, DefaultTolerationSeconds and RuntimeClass of Kubernetes. It returns why one of them
// refuses the Pod; that one adds nothing.
func podPlugins(pod *core.Pod, found declaredObjects) (refused error) {
	factory := informers.NewSharedInformerFactory(nil, 0)
	classes := factory.Scheduling().V1().PriorityClasses().Informer().GetStore()
	class, known := pod.Spec.PriorityClassName, pod.Spec.PriorityClassName == ""
	for _, c := range schedulingdefaults.SystemPriorityClasses() {
		_, known = classes.Add(c), known || c.Name == class
	}
	for _, o := range found["PriorityClass"] {
		if c := new(schedulingv1.PriorityClass); written(o, c) {
			_, known = classes.Add(c), known || c.Name == class
		}
	}
	tolerations := defaulttolerationseconds.NewDefaultTolerationSeconds()
	tolerations.InspectFeatureGates(utilfeature.DefaultFeatureGate)
	plugins := []apiadmission.MutationInterface{tolerations}
	if known {
		priorities := priority.NewPlugin()
		priorities.SetExternalKubeInformerFactory(factory)
		plugins = append(plugins, priorities)
	}
	for _, o := range found["RuntimeClass"] {
		if c := new(nodev1.RuntimeClass); written(o, c) && c.Name == ptr.Deref(pod.Spec.RuntimeClassName, "") {
			_ = factory.Node().V1().RuntimeClasses().Informer().GetStore().Add(c)
			runtimes := runtimeclass.NewRuntimeClass()
			runtimes.SetExternalKubeInformerFactory(factory)
			plugins = append(plugins, runtimes)
			break
		}
	}
	for _, plugin := range plugins {
		as := pod.DeepCopy()
		err := plugin.Admit(context.Background(), apiadmission.NewAttributesRecord(as, nil, core.Kind("Pod").WithVersion("v1"), pod.Namespace,
			pod.Name, core.Resource("pods").WithVersion("v1"), "", apiadmission.Create, &metav1.CreateOptions{}, false, nil), nil)
		switch {
		case err == nil:
			*pod = *as
		case class != "" || pod.Spec.RuntimeClassName != nil: // a default class may be one that nobody declares
			refused = err
		}
	}
	return refused
}
