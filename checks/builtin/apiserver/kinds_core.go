package apiserver

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/persistentvolume"
	"k8s.io/kubernetes/pkg/api/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/api/service"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/registry/core/limitrange"
	"k8s.io/kubernetes/pkg/registry/core/podtemplate"
	"k8s.io/kubernetes/pkg/registry/core/resourcequota"
	volumes "k8s.io/kubernetes/pkg/volume/validation"
	security "k8s.io/pod-security-admission/api"
)

func coreGroup() *group {
	return of([]string{"v1"}, installers{core.AddToScheme, corev1.AddToScheme}, map[string]registered{
		"ConfigMap":             validate(true, validation.ValidateConfigMap, validation.ValidateConfigMapUpdate),
		"Endpoints":             validate(true, validation.ValidateEndpointsCreate, validation.ValidateEndpointsUpdate),
		"Event":                 events(),
		"LimitRange":            limitrange.Strategy,
		"Namespace":             namespaces(),
		"Node":                  nodes(),
		"PersistentVolume":      persistentVolumes(),
		"PersistentVolumeClaim": claims(),
		"Pod":                   pods(),
		"PodTemplate":           podtemplate.Strategy,
		"ReplicationController": replicationControllers(),
		"ResourceQuota":         resourcequota.Strategy,
		"Secret":                validate(true, validation.ValidateSecret, secretUpdate),
		"Service":               services(),
		"ServiceAccount":        validate(true, validation.ValidateServiceAccount, validation.ValidateServiceAccountUpdate),
	})
}

func secretUpdate(now, was *core.Secret) field.ErrorList {
	if now.Type == "" {
		now.Type = was.Type
	}
	return validation.ValidateSecretUpdate(now, was)
}

// namespaces returns the strategy of Namespaces, whose labels for Pod Security are also validated.
func namespaces() *validated {
	check := func(now *core.Namespace) field.ErrorList {
		_, errs := security.PolicyToEvaluate(now.Labels, security.Policy{})
		return append(validation.ValidateNamespace(now), errs...)
	}
	return validate(false, check, func(now, was *core.Namespace) field.ErrorList {
		now.Spec.Finalizers = was.Spec.Finalizers
		return append(check(now), validation.ValidateNamespaceUpdate(now, was)...)
	})
}

// nodes returns the strategy of Nodes. Kubernetes names taints as if they stood in the metadata.
func nodes() *validated {
	placed := func(errs field.ErrorList) field.ErrorList {
		for _, err := range errs {
			if below, ok := strings.CutPrefix(err.Field, "metadata.taints"); ok {
				err.Field = "spec.taints" + below
			}
		}
		return errs
	}
	return validate(false, func(now *core.Node) field.ErrorList { return placed(validation.ValidateNode(now)) },
		func(now, was *core.Node) field.ErrorList {
			return placed(append(validation.ValidateNode(now), validation.ValidateNodeUpdate(now, was)...))
		})
}

func persistentVolumes() *validated {
	check := func(now, was *core.PersistentVolume) field.ErrorList {
		errs := validation.ValidatePersistentVolume(now, validation.ValidationOptionsForPersistentVolume(now, was))
		return append(errs, volumes.ValidatePersistentVolume(now)...)
	}
	return validate(false, func(now *core.PersistentVolume) field.ErrorList { return check(now, nil) },
		func(now, was *core.PersistentVolume) field.ErrorList {
			return append(check(now, was), validation.ValidatePersistentVolumeUpdate(now, was,
				validation.ValidationOptionsForPersistentVolume(now, was))...)
		}).warning(func(_ context.Context, now, _ runtime.Object) []string {
		return persistentvolume.GetWarningsForPersistentVolume(now.(*core.PersistentVolume))
	})
}

func claims() *validated {
	v := validate(true, func(now *core.PersistentVolumeClaim) field.ErrorList {
		return validation.ValidatePersistentVolumeClaim(now, validation.ValidationOptionsForPersistentVolumeClaim(now, nil))
	}, func(now, was *core.PersistentVolumeClaim) field.ErrorList {
		return validation.ValidatePersistentVolumeClaimUpdate(now, was,
			validation.ValidationOptionsForPersistentVolumeClaim(now, was))
	}).warning(func(_ context.Context, now, _ runtime.Object) []string {
		return persistentvolumeclaim.GetWarningsForPersistentVolumeClaim(now.(*core.PersistentVolumeClaim))
	})
	v.prepare = func(o runtime.Object) {
		claim := o.(*core.PersistentVolumeClaim)
		claim.Status = core.PersistentVolumeClaimStatus{}
		persistentvolumeclaim.EnforceDataSourceBackwardsCompatibility(&claim.Spec, nil)
		persistentvolumeclaim.NormalizeDataSources(&claim.Spec)
	}
	return v
}

func pods() *validated {
	options := func(now, was *core.Pod) validation.PodValidationOptions {
		var spec *core.PodSpec
		var meta *metav1.ObjectMeta
		if was != nil {
			spec, meta = &was.Spec, &was.ObjectMeta
		}
		o := pod.GetValidationOptionsFromPodSpecAndMeta(&now.Spec, spec, &now.ObjectMeta, meta)
		o.ResourceIsPod = true
		return o
	}
	v := validate(true, func(now *core.Pod) field.ErrorList { return validation.ValidatePodCreate(now, options(now, nil)) },
		func(now, was *core.Pod) field.ErrorList {
			return validation.ValidatePodUpdate(now, was, options(now, was))
		},
	).warning(func(ctx context.Context, now, was runtime.Object) []string {
		if was != nil {
			return nil
		}
		return pod.GetWarningsForPod(ctx, now.(*core.Pod), nil)
	})
	v.prepare = func(o runtime.Object) {
		p := o.(*core.Pod)
		p.Status = core.PodStatus{Phase: core.PodPending}
		pod.DropDisabledPodFields(p, nil)
		pod.DefaultPodLevelResources(p)
	}
	return v
}

func events() *validated {
	v1 := apischema.GroupVersion{Version: "v1"}
	return validate(true, func(now *core.Event) field.ErrorList { return validation.ValidateEventCreate(now, v1) },
		func(now, was *core.Event) field.ErrorList { return validation.ValidateEventUpdate(now, was, v1) })
}

func replicationControllers() *validated {
	return validate(true, func(now *core.ReplicationController) field.ErrorList {
		return validation.ValidateReplicationController(now, pod.GetValidationOptionsFromPodTemplate(now.Spec.Template, nil))
	}, func(now, was *core.ReplicationController) field.ErrorList {
		return validation.ValidateReplicationControllerUpdate(now, was,
			pod.GetValidationOptionsFromPodTemplate(now.Spec.Template, was.Spec.Template))
	}).warning(func(ctx context.Context, now, was runtime.Object) []string {
		var before *core.PodTemplateSpec
		if rc, ok := was.(*core.ReplicationController); ok {
			before = rc.Spec.Template
		}
		return pod.GetWarningsForPodTemplate(ctx, field.NewPath("spec", "template"),
			now.(*core.ReplicationController).Spec.Template, before)
	})
}

func services() *validated {
	create := func(now *core.Service) field.ErrorList {
		errs, s := validation.ValidateServiceCreate(now), now.Spec
		if s.IPFamilyPolicy != nil && *s.IPFamilyPolicy == core.IPFamilyPolicySingleStack && max(len(s.IPFamilies), len(s.ClusterIPs)) > 1 {
			errs = append(errs, field.Invalid(field.NewPath("spec", "ipFamilyPolicy"), *s.IPFamilyPolicy,
				"must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families or cluster IPs are specified"))
		}
		return errs
	}
	v := validate(true, create, validation.ValidateServiceUpdate).warning(
		func(_ context.Context, now, was runtime.Object) []string {
			before, _ := was.(*core.Service)
			return service.GetWarningsForService(now.(*core.Service), before)
		})
	v.prepare = allocate
	return v
}
