package apiserver

import (
	"slices"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/apps"
	appsv1 "k8s.io/kubernetes/pkg/apis/apps/v1"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	autoscalingv1 "k8s.io/kubernetes/pkg/apis/autoscaling/v1"
	autoscalingv2 "k8s.io/kubernetes/pkg/apis/autoscaling/v2"
	"k8s.io/kubernetes/pkg/apis/batch"
	batchv1 "k8s.io/kubernetes/pkg/apis/batch/v1"
	"k8s.io/kubernetes/pkg/apis/certificates"
	certificatesv1 "k8s.io/kubernetes/pkg/apis/certificates/v1"
	requests "k8s.io/kubernetes/pkg/apis/certificates/validation"
	"k8s.io/kubernetes/pkg/apis/coordination"
	coordinationv1 "k8s.io/kubernetes/pkg/apis/coordination/v1"
	"k8s.io/kubernetes/pkg/apis/discovery"
	discoveryv1 "k8s.io/kubernetes/pkg/apis/discovery/v1"
	slicevalidation "k8s.io/kubernetes/pkg/apis/discovery/validation"
	"k8s.io/kubernetes/pkg/apis/networking"
	networkingv1 "k8s.io/kubernetes/pkg/apis/networking/v1"
	"k8s.io/kubernetes/pkg/apis/node"
	nodev1 "k8s.io/kubernetes/pkg/apis/node/v1"
	"k8s.io/kubernetes/pkg/apis/policy"
	policyv1 "k8s.io/kubernetes/pkg/apis/policy/v1"
	"k8s.io/kubernetes/pkg/apis/rbac"
	rbacv1 "k8s.io/kubernetes/pkg/apis/rbac/v1"
	"k8s.io/kubernetes/pkg/apis/resource"
	resourcev1 "k8s.io/kubernetes/pkg/apis/resource/v1"
	resources "k8s.io/kubernetes/pkg/apis/resource/validation"
	"k8s.io/kubernetes/pkg/apis/scheduling"
	schedulingv1 "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	"k8s.io/kubernetes/pkg/apis/storage"
	storagev1 "k8s.io/kubernetes/pkg/apis/storage/v1"
	"k8s.io/kubernetes/pkg/capabilities"
	"k8s.io/kubernetes/pkg/registry/apps/controllerrevision"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/coordination/lease"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/flowschema"
	"k8s.io/kubernetes/pkg/registry/flowcontrol/prioritylevelconfiguration"
	"k8s.io/kubernetes/pkg/registry/networking/ingress"
	"k8s.io/kubernetes/pkg/registry/networking/ingressclass"
	"k8s.io/kubernetes/pkg/registry/networking/ipaddress"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/networking/servicecidr"
	"k8s.io/kubernetes/pkg/registry/node/runtimeclass"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
	"k8s.io/kubernetes/pkg/registry/resource/deviceclass"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
	"k8s.io/kubernetes/pkg/registry/storage/csidriver"
	"k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattachment"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattributesclass"
)

// group is an API group with the strategies of its kinds.
type group struct {
	versions []string
	install  []func(*runtime.Scheme) error // functions that register its types, defaults, conversions and declarative validations
	kinds    map[string]*strategy

	installed bool // registered in Kubernetes' scheme
}

// of returns a group of kinds.
func of(versions []string, install []func(*runtime.Scheme) error, kinds map[string]registered) *group {
	g := &group{versions: versions, install: install, kinds: map[string]*strategy{}}
	for kind, r := range kinds {
		g.kinds[kind] = &strategy{registered: r, group: g, live: lives[kind]}
	}
	return g
}

// strategyOf returns the strategy of the API server for a kind; nil for a kind that it does not have, or that nobody
// keeps in Git.
func strategyOf(gvk schema.GroupVersionKind) *strategy {
	g := groups()[gvk.Group]
	if g == nil || !slices.Contains(g.versions, gvk.Version) {
		return nil
	}
	return g.kinds[gvk.Kind]
}

// scheme guards Kubernetes' own scheme, which its strategies share. A group is registered when an object of it is first
// checked, so that a program that checks none does not pay for it.
var scheme sync.RWMutex

// use registers a group and returns a function that ends its use.
func (g *group) use() (release func()) {
	scheme.RLock()
	if !g.installed {
		scheme.RUnlock()
		scheme.Lock()
		if !g.installed {
			prepare()
			for _, install := range g.install {
				utilruntime.Must(install(legacyscheme.Scheme))
			}
			g.installed = true
		}
		scheme.Unlock()
		scheme.RLock()
	}
	return scheme.RUnlock
}

// prepare silences the log of Kubernetes' code, which returns all messages, and allows privileged containers, as every
// cluster does that runs its own network.
var prepare = sync.OnceFunc(func() {
	klog.SetLogger(logr.Discard())
	capabilities.Setup(true, 0)
})

type installers = []func(*runtime.Scheme) error

// groups are those that people keep objects of in Git, in the versions that are served. The types of flow control need no
// installing: their own packages register them when the program starts, which takes 0.3 ms.
var groups = sync.OnceValue(func() map[string]*group {
	v1 := []string{"v1"}
	return map[string]*group{
		"": coreGroup(),
		"apps": of(v1, installers{apps.AddToScheme, appsv1.AddToScheme}, map[string]registered{
			"ControllerRevision": controllerrevision.Strategy, "DaemonSet": daemonset.Strategy, "Deployment": deployment.Strategy, "ReplicaSet": replicaSets(),
			"StatefulSet": statefulset.Strategy,
		}),
		"autoscaling": of([]string{"v1", "v2"},
			installers{autoscaling.AddToScheme, autoscalingv1.AddToScheme, autoscalingv2.AddToScheme},
			map[string]registered{"HorizontalPodAutoscaler": horizontalpodautoscaler.Strategy}),
		"batch": of(v1, installers{batch.AddToScheme, batchv1.AddToScheme}, map[string]registered{
			"CronJob": cronjob.Strategy, "Job": jobs(),
		}),
		"flowcontrol.apiserver.k8s.io": of(v1, nil, map[string]registered{
			"FlowSchema": flowschema.Strategy, "PriorityLevelConfiguration": prioritylevelconfiguration.Strategy,
		}),
		"networking.k8s.io": of(v1, installers{networking.AddToScheme, networkingv1.AddToScheme}, map[string]registered{
			"Ingress": ingress.Strategy, "IngressClass": ingressclass.Strategy, "IPAddress": ipaddress.Strategy,
			"NetworkPolicy": networkpolicy.Strategy, "ServiceCIDR": servicecidr.Strategy,
		}),
		"policy": of(v1, installers{policy.AddToScheme, policyv1.AddToScheme}, map[string]registered{
			"PodDisruptionBudget": poddisruptionbudget.Strategy,
		}),
		"rbac.authorization.k8s.io": of(v1, installers{rbac.AddToScheme, rbacv1.AddToScheme}, map[string]registered{
			"ClusterRole": clusterrole.Strategy, "ClusterRoleBinding": clusterrolebinding.Strategy,
			"Role": role.Strategy, "RoleBinding": rolebinding.Strategy,
		}),
		"storage.k8s.io": of(v1, installers{storage.AddToScheme, storagev1.AddToScheme}, map[string]registered{
			"CSIDriver": csidriver.Strategy, "CSIStorageCapacity": csistoragecapacity.Strategy,
			"StorageClass": storageclass.Strategy, "VolumeAttributesClass": volumeattributesclass.Strategy,
			"VolumeAttachment": volumeattachment.Strategy,
		}),
		"scheduling.k8s.io": of(v1, installers{scheduling.AddToScheme, schedulingv1.AddToScheme}, map[string]registered{
			"PriorityClass": priorityclass.Strategy,
		}),
		"coordination.k8s.io": of(v1, installers{coordination.AddToScheme, coordinationv1.AddToScheme},
			map[string]registered{"Lease": lease.Strategy}),
		"node.k8s.io": of(v1, installers{node.AddToScheme, nodev1.AddToScheme}, map[string]registered{
			"RuntimeClass": runtimeclass.Strategy,
		}),
		"resource.k8s.io": of(v1, installers{resource.AddToScheme, resourcev1.AddToScheme}, map[string]registered{
			"DeviceClass":           deviceclass.Strategy,
			"ResourceClaim":         validate(true, resources.ValidateResourceClaim, resources.ValidateResourceClaimUpdate),
			"ResourceClaimTemplate": validate(true, resources.ValidateResourceClaimTemplate, resources.ValidateResourceClaimTemplateUpdate),
		}),
		"certificates.k8s.io": of(v1, installers{certificates.AddToScheme, certificatesv1.AddToScheme},
			map[string]registered{"CertificateSigningRequest": validate(false, requests.ValidateCertificateSigningRequestCreate,
				requests.ValidateCertificateSigningRequestUpdate)}),
		"discovery.k8s.io": of(v1, installers{discovery.AddToScheme, discoveryv1.AddToScheme}, map[string]registered{
			"EndpointSlice": validate(true, slicevalidation.ValidateEndpointSliceCreate, slicevalidation.ValidateEndpointSliceUpdate),
		}),
		"admissionregistration.k8s.io": admissionGroup(),
		"apiextensions.k8s.io":         definitionGroup(),
		"apiregistration.k8s.io":       serviceGroup(),
	}
})
