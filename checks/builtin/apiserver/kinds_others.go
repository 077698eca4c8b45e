package apiserver

import (
	"context"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	definitions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiservices "k8s.io/kube-aggregator/pkg/apis/apiregistration/validation"
	"k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/admissionregistration"
	admissionregistrationv1 "k8s.io/kubernetes/pkg/apis/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/kubernetes/pkg/apis/admissionregistration/v1beta1"
	admissions "k8s.io/kubernetes/pkg/apis/admissionregistration/validation"
	"k8s.io/kubernetes/pkg/apis/apps"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/core"
)

func replicaSets() *validated {
	return validate(true, func(now *apps.ReplicaSet) field.ErrorList {
		return appsvalidation.ValidateReplicaSet(now, pod.GetValidationOptionsFromPodTemplate(&now.Spec.Template, nil))
	}, func(now, was *apps.ReplicaSet) field.ErrorList {
		return appsvalidation.ValidateReplicaSetUpdate(now, was,
			pod.GetValidationOptionsFromPodTemplate(&now.Spec.Template, &was.Spec.Template))
	}).warning(func(ctx context.Context, now, was runtime.Object) []string {
		var before *core.PodTemplateSpec
		if rs, ok := was.(*apps.ReplicaSet); ok {
			before = &rs.Spec.Template
		}
		return pod.GetWarningsForPodTemplate(ctx, field.NewPath("spec", "template"), &now.(*apps.ReplicaSet).Spec.Template, before)
	})
}

func admissionGroup() *group {
	return of([]string{"v1", "v1beta1"}, installers{admissionregistration.AddToScheme, admissionregistrationv1.AddToScheme,
		admissionregistrationv1beta1.AddToScheme},
		map[string]registered{
			"MutatingWebhookConfiguration": validate(false, admissions.ValidateMutatingWebhookConfiguration,
				admissions.ValidateMutatingWebhookConfigurationUpdate),
			"ValidatingWebhookConfiguration": validate(false, admissions.ValidateValidatingWebhookConfiguration,
				admissions.ValidateValidatingWebhookConfigurationUpdate),
			"ValidatingAdmissionPolicy": validate(false, admissions.ValidateValidatingAdmissionPolicy,
				admissions.ValidateValidatingAdmissionPolicyUpdate),
			"ValidatingAdmissionPolicyBinding": validate(false, admissions.ValidateValidatingAdmissionPolicyBinding,
				admissions.ValidateValidatingAdmissionPolicyBindingUpdate),
			"MutatingAdmissionPolicy": validate(false, admissions.ValidateMutatingAdmissionPolicy,
				admissions.ValidateMutatingAdmissionPolicyUpdate),
			"MutatingAdmissionPolicyBinding": validate(false, admissions.ValidateMutatingAdmissionPolicyBinding,
				admissions.ValidateMutatingAdmissionPolicyBindingUpdate),
		})
}

func definitionGroup() *group {
	ctx := context.Background()
	v := validate(false, func(now *apiextensions.CustomResourceDefinition) field.ErrorList {
		return definitions.ValidateCustomResourceDefinition(ctx, now)
	}, func(now, was *apiextensions.CustomResourceDefinition) field.ErrorList {
		return definitions.ValidateCustomResourceDefinitionUpdate(ctx, now, was)
	})
	v.prepare = func(o runtime.Object) {
		d := o.(*apiextensions.CustomResourceDefinition)
		d.Status = apiextensions.CustomResourceDefinitionStatus{}
		for _, v := range d.Spec.Versions {
			if v.Storage {
				d.Status.StoredVersions = append(d.Status.StoredVersions, v.Name)
			}
		}
	}
	return of([]string{"v1"}, installers{apiextensions.AddToScheme, apiextensionsv1.AddToScheme},
		map[string]registered{"CustomResourceDefinition": v})
}

func serviceGroup() *group {
	ctx := context.Background()
	return of([]string{"v1"}, installers{apiregistration.AddToScheme, apiregistrationv1.AddToScheme},
		map[string]registered{
			"APIService": validate(false, func(now *apiregistration.APIService) field.ErrorList {
				return apiservices.ValidateAPIService(ctx, now)
			}, func(now, was *apiregistration.APIService) field.ErrorList {
				return apiservices.ValidateAPIServiceUpdate(ctx, now, was)
			}),
		})
}
