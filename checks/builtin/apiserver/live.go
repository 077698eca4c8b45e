package apiserver

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/job"
	"k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/api/service"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/kubernetes/pkg/apis/core"
)

// lives are functions that add what a cluster has added to objects of some kinds before they are updated.
var lives = map[string]func(now, was runtime.Object){
	"CustomResourceDefinition": stored,
	"Job":                      generated,
	"PersistentVolumeClaim":    bound,
	"Pod":                      pulled,
	"Service":                  addressed,
	"StatefulSet":              defaulted,
}

// bound binds a claim to a volume of the requested size, since only the size of a bound claim may grow.
func bound(now, was runtime.Object) {
	claim := was.(*core.PersistentVolumeClaim)
	claim.Status = core.PersistentVolumeClaimStatus{Phase: core.ClaimBound, AccessModes: claim.Spec.AccessModes,
		Capacity: core.ResourceList{}}
	if size, ok := claim.Spec.Resources.Requests[core.ResourceStorage]; ok {
		claim.Status.Capacity[core.ResourceStorage] = size.DeepCopy()
	} else {
		claim.Status.Capacity[core.ResourceStorage] = resource.Quantity{}
	}
	now.(*core.PersistentVolumeClaim).Status = *claim.Status.DeepCopy()
}

// addresses are example addresses of Services, which nobody writes in a manifest.
var addresses = map[core.IPFamily]string{core.IPv4Protocol: "10.254.253.252", core.IPv6Protocol: "fdfe:fdfc::1"}

// allocate sets what the API server allocates for a new Service before validation: addresses, and a port for health
// checks.
func allocate(o runtime.Object) {
	s := &o.(*core.Service).Spec
	o.(*core.Service).Status = core.ServiceStatus{}
	if s.ClusterIP != "" && len(s.ClusterIPs) == 0 {
		s.ClusterIPs = []string{s.ClusterIP}
	}
	if s.Type == core.ServiceTypeExternalName {
		return
	}
	policy := core.IPFamilyPolicySingleStack
	if len(s.IPFamilies) > 1 || len(s.ClusterIPs) > 1 {
		policy = core.IPFamilyPolicyRequireDualStack
	}
	for i, family := range s.IPFamilies {
		if addresses[family] == "" || slices.Contains(s.IPFamilies[:i], family) {
			return // errors are reported before anything is allocated
		}
	}
	if s.IPFamilyPolicy == nil {
		s.IPFamilyPolicy = &policy
	}
	if len(s.IPFamilies) == 0 {
		s.IPFamilies = []core.IPFamily{core.IPv4Protocol}
		if len(s.ClusterIPs) > 0 && strings.Contains(s.ClusterIPs[0], ":") {
			s.IPFamilies[0] = core.IPv6Protocol
		}
	}
	if len(s.IPFamilies) == 1 && *s.IPFamilyPolicy == core.IPFamilyPolicyRequireDualStack {
		other := core.IPv6Protocol
		if s.IPFamilies[0] == core.IPv6Protocol {
			other = core.IPv4Protocol
		}
		s.IPFamilies = append(s.IPFamilies, other)
	}
	if s.ClusterIP != core.ClusterIPNone {
		for _, family := range s.IPFamilies[min(len(s.ClusterIPs), len(s.IPFamilies)):] {
			s.ClusterIPs = append(s.ClusterIPs, addresses[family])
		}
		if s.ClusterIP == "" && len(s.ClusterIPs) > 0 {
			s.ClusterIP = s.ClusterIPs[0]
		}
	}
	if service.NeedsHealthCheck(o.(*core.Service)) && s.HealthCheckNodePort == 0 {
		s.HealthCheckNodePort = 30000
	}
}

// addressed keeps the addresses of a Service if the new version sets none.
func addressed(now, was runtime.Object) {
	to, from := &now.(*core.Service).Spec, &was.(*core.Service).Spec
	if from.ClusterIP != "" && slices.Contains(slices.Collect(maps.Values(addresses)), to.ClusterIP) {
		to.ClusterIP, to.ClusterIPs = from.ClusterIP, from.ClusterIPs
	}
}

// stored establishes a definition, and stores objects in the version that it names for storage.
func stored(now, was runtime.Object) {
	d := was.(*apiextensions.CustomResourceDefinition)
	for _, v := range d.Spec.Versions {
		if v.Storage {
			d.Status.StoredVersions = []string{v.Name}
		}
	}
	d.Status.AcceptedNames = d.Spec.Names
	apiextensions.SetCRDCondition(d, apiextensions.CustomResourceDefinitionCondition{Type: apiextensions.Established,
		Status: apiextensions.ConditionTrue})
	next := now.(*apiextensions.CustomResourceDefinition)
	next.Status = *d.Status.DeepCopy()
	for _, v := range next.Spec.Versions {
		if v.Storage && !slices.Contains(next.Status.StoredVersions, v.Name) {
			next.Status.StoredVersions = append(next.Status.StoredVersions, v.Name)
		}
	}
}

// pulled keeps the pull policy of containers, whose default depends on the image's tag. Applying a manifest does not
// change a field that neither version sets.
func pulled(now, was runtime.Object) {
	to, from := &now.(*core.Pod).Spec, &was.(*core.Pod).Spec
	for _, list := range [][2][]core.Container{{to.Containers, from.Containers}, {to.InitContainers, from.InitContainers}} {
		for i := range list[0] {
			if i < len(list[1]) && list[0][i].Image != list[1][i].Image {
				list[0][i].ImagePullPolicy = list[1][i].ImagePullPolicy
			}
		}
	}
}

// defaulted keeps the default of a StatefulSet's field that no version sets, since applying a manifest does not remove
// it.
func defaulted(now, was runtime.Object) {
	to, from := &now.(*apps.StatefulSet).Spec.UpdateStrategy, was.(*apps.StatefulSet).Spec.UpdateStrategy
	if to.RollingUpdate == nil {
		to.RollingUpdate = from.RollingUpdate
	}
}

func jobs() *validated {
	v := validate(true, func(now *batch.Job) field.ErrorList {
		return validation.ValidateJobCreate(now, jobOptions(now, nil))
	}, func(now, was *batch.Job) field.ErrorList {
		return validation.ValidateJobUpdate(now, was, jobOptions(now, was))
	})
	v.prepare = func(o runtime.Object) {
		j := o.(*batch.Job)
		j.Status = batch.JobStatus{}
		job.DropDisabledFields(&j.Spec, nil)
		if j.Spec.ManualSelector == nil || !*j.Spec.ManualSelector {
			selected(j)
		}
	}
	return v
}

// selected sets the selector of a Job and the labels of its Pods, which the API server generates.
func selected(j *batch.Job) {
	template := &j.Spec.Template
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	for key, value := range map[string]string{batch.LegacyJobNameLabel: j.Name, batch.JobNameLabel: j.Name,
		batch.LegacyControllerUidLabel: string(j.UID), batch.ControllerUidLabel: string(j.UID)} {
		if _, set := template.Labels[key]; !set {
			template.Labels[key] = value
		}
	}
	if j.Spec.Selector == nil {
		j.Spec.Selector = &metav1.LabelSelector{}
	}
	if j.Spec.Selector.MatchLabels == nil {
		j.Spec.Selector.MatchLabels = map[string]string{}
	}
	if _, set := j.Spec.Selector.MatchLabels[batch.ControllerUidLabel]; !set {
		j.Spec.Selector.MatchLabels[batch.ControllerUidLabel] = string(j.UID)
	}
}

// generated keeps the selector that the API server generated, and its labels, where the new version names none.
func generated(now, was runtime.Object) {
	if j := now.(*batch.Job); j.Spec.Selector == nil {
		selected(j)
	}
}

// texts returns a Secret with the keys of the old stringData that it does not have: applying a manifest without them leaves
// them in data, since the API server keeps no stringData. It returns nil for what has no such keys.
func texts(object, old map[string]any) map[string]any {
	was, _ := old["stringData"].(map[string]any)
	if object["kind"] != "Secret" || len(was) == 0 {
		return nil
	}
	data, _ := object["data"].(map[string]any)
	now, _ := object["stringData"].(map[string]any)
	kept := map[string]any{}
	for key, value := range was {
		if _, there := data[key]; !there {
			kept[key] = value
		}
	}
	maps.Copy(kept, now)
	out := maps.Clone(object)
	out["stringData"] = kept
	return out
}

// jobOptions are the options of Kubernetes' registry for Jobs. A suspended Job counts as not started yet.
func jobOptions(now, was *batch.Job) validation.JobValidationOptions {
	if was == nil {
		return validation.JobValidationOptions{RequirePrefixedLabels: true,
			PodValidationOptions: pod.GetValidationOptionsFromPodTemplate(&now.Spec.Template, nil)}
	}
	suspended := was.Spec.Suspend != nil && *was.Spec.Suspend
	o := validation.JobValidationOptions{RequirePrefixedLabels: true,
		PodValidationOptions:             pod.GetValidationOptionsFromPodTemplate(&now.Spec.Template, &was.Spec.Template),
		AllowMutableSchedulingDirectives: suspended, AllowMutablePodResources: suspended}
	o.AllowInvalidLabelValueInSelector = o.AllowInvalidLabelValueInSelector ||
		metav1validation.LabelSelectorHasInvalidLabelValue(was.Spec.Selector)
	return o
}
