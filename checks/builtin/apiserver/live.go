package apiserver

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/job"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/api/service"
	"k8s.io/kubernetes/pkg/apis/batch"
	"k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/kubernetes/pkg/apis/core"
)

// lives are functions that add what a cluster has added to objects of some kinds before they are updated.
var lives = map[string]func(now, was runtime.Object){
	"CustomResourceDefinition": stored,
	"Job":                      generated,
	"PersistentVolumeClaim":    bound,
	"Service":                  addressed,
}

// bound binds a claim to a volume of the requested size, since only the size of a bound claim may grow.
func bound(now, was runtime.Object) {
	claim := was.(*core.PersistentVolumeClaim)
	size := claim.Spec.Resources.Requests[core.ResourceStorage]
	claim.Status = core.PersistentVolumeClaimStatus{Phase: core.ClaimBound, AccessModes: claim.Spec.AccessModes,
		Capacity: core.ResourceList{core.ResourceStorage: size.DeepCopy()}}
	now.(*core.PersistentVolumeClaim).Status = *claim.Status.DeepCopy()
}

// addresses are example addresses of Services, which nobody writes in a manifest.
var addresses = map[core.IPFamily]string{core.IPv4Protocol: "10.254.253.252", core.IPv6Protocol: "fdfe:fdfc::1"}

// healthCheckPort is an example port for health checks, and lastNodePort the first example of a node port. Others follow
// downwards.
const (
	healthCheckPort = 30000
	lastNodePort    = 32767
)

// IsExample reports whether an address or a node port is one that may stand in for what the API server chooses.
func IsExample(text string) bool {
	const most = 64 // ports of a Service
	port, err := strconv.Atoi(text)
	return err == nil && port > lastNodePort-most || slices.Contains(slices.Collect(maps.Values(addresses)), text)
}

// allocate sets what the API server allocates for a new Service before validation: addresses, node ports, and a port for
// health checks.
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
	if s.ClusterIP == core.ClusterIPNone && len(s.Selector) == 0 {
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
		s.HealthCheckNodePort = healthCheckPort
	}
	allocatePorts(s, nil)
}

// allocatePorts sets the node ports of a Service that has none for a port. The examples are none of the ports that it has, and
// for an update it first keeps those that its former version has for ports of the same names.
func allocatePorts(s, former *core.ServiceSpec) {
	refuses := s.AllocateLoadBalancerNodePorts != nil && !*s.AllocateLoadBalancerNodePorts
	if s.Type != core.ServiceTypeNodePort && (s.Type != core.ServiceTypeLoadBalancer || refuses) {
		return
	}
	has := func(port int32) bool {
		return slices.ContainsFunc(s.Ports, func(p core.ServicePort) bool { return p.NodePort == port })
	}
	for i := range s.Ports {
		p := &s.Ports[i]
		if former != nil && p.NodePort == 0 {
			at := slices.IndexFunc(former.Ports, func(was core.ServicePort) bool { return was.Name == p.Name })
			if at >= 0 && !has(former.Ports[at].NodePort) {
				p.NodePort = former.Ports[at].NodePort
			}
		}
	}
	next := int32(lastNodePort)
	for i := range s.Ports {
		for has(next) {
			next--
		}
		s.Ports[i].NodePort = cmp.Or(s.Ports[i].NodePort, next)
	}
}

// addressed keeps the addresses of a Service if the new version sets none. It takes away what a new type does not use and the
// new version does not change, as Kubernetes' registry of Services does.
func addressed(now, was runtime.Object) {
	next, old := now.(*core.Service), was.(*core.Service)
	to, from := &next.Spec, &old.Spec
	if from.ClusterIP != "" && slices.Contains(slices.Collect(maps.Values(addresses)), to.ClusterIP) {
		to.ClusterIP, to.ClusterIPs = from.ClusterIP, from.ClusterIPs
	}
	for i, p := range to.Ports {
		if p.NodePort > lastNodePort-int32(len(to.Ports)) { // an example, see allocatePorts
			to.Ports[i].NodePort = 0
		}
	}
	allocatePorts(to, from)
	switch needs := service.NeedsHealthCheck(next); {
	case needs && to.HealthCheckNodePort == healthCheckPort && from.HealthCheckNodePort != 0:
		to.HealthCheckNodePort = from.HealthCheckNodePort
	case !needs && to.HealthCheckNodePort == from.HealthCheckNodePort:
		to.HealthCheckNodePort = 0
	}
	if to.Type == core.ServiceTypeExternalName {
		if slices.Equal(to.ClusterIPs, from.ClusterIPs) {
			to.ClusterIP, to.ClusterIPs = "", nil
		}
		if slices.Equal(to.IPFamilies, from.IPFamilies) {
			to.IPFamilies = nil
		}
		drop(&to.IPFamilyPolicy, from.IPFamilyPolicy)
	}
	external := to.Type == core.ServiceTypeNodePort || to.Type == core.ServiceTypeLoadBalancer
	for i := range to.Ports {
		if port := &to.Ports[i].NodePort; !external && slices.ContainsFunc(from.Ports, func(p core.ServicePort) bool { return p.NodePort == *port }) {
			*port = 0
		}
	}
	if to.Type != core.ServiceTypeLoadBalancer {
		drop(&to.AllocateLoadBalancerNodePorts, from.AllocateLoadBalancerNodePorts)
		drop(&to.LoadBalancerClass, from.LoadBalancerClass)
	}
	if !service.ExternallyAccessible(next) && to.ExternalTrafficPolicy == from.ExternalTrafficPolicy {
		to.ExternalTrafficPolicy = ""
	}
}

// drop removes a value that is the old one.
func drop[T comparable](value **T, old *T) {
	if *value != nil && old != nil && **value == *old {
		*value = nil
	}
}

// stored establishes a definition, and stores objects in the version that it names for storage.
func stored(now, was runtime.Object) {
	d := was.(*apiextensions.CustomResourceDefinition)
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

// applied returns what applying a new version of an object leaves, as kubectl, Helm and Argo CD do it: defaults that the API
// server and its plugins filled in stay where neither version sets the field, whatever the new version has beside them. It returns the new
// version itself where the old one is of another API version, or where they cannot be merged.
func (s *strategy) applied(gvk apischema.GroupVersionKind, object, old map[string]any, onServer bool, by Plugins) map[string]any {
	if object["apiVersion"] != old["apiVersion"] {
		return object
	}
	internal, err := read(gvk, old)
	if err != nil {
		return object
	}
	if by != nil {
		_ = by(internal) // what it refuses was not created
	}
	filled, err := legacyscheme.Scheme.ConvertToVersion(internal, gvk.GroupVersion())
	if err != nil {
		return object
	}
	fields, err := strategicpatch.NewPatchMetaFromStruct(filled)
	if err != nil {
		return object
	}
	var texts [3][]byte
	for i, o := range []any{old, object, filled} {
		if texts[i], err = json.Marshal(o); err != nil {
			return object
		}
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(texts[0], texts[1], texts[2], fields, true)
	if err != nil {
		return object
	}
	if onServer { // what the client would clear beside a new strategy or source stays
		patch = bytes.ReplaceAll(patch, []byte(`"$retainKeys"`), []byte(`"$ignored"`))
	}
	merged, err := strategicpatch.StrategicMergePatchUsingLookupPatchMeta(texts[2], patch, fields)
	if err != nil {
		return object
	}
	out := map[string]any{}
	if json.Unmarshal(merged, &out) != nil || !keeps(out, object) {
		return object
	}
	return out
}

// keeps reports whether a merged value has as many elements in each list as the one that was written. Merging joins those
// that the API server complains about, since they have the same key.
func keeps(merged, written any) bool {
	switch w := written.(type) {
	case map[string]any:
		m, _ := merged.(map[string]any)
		for key, value := range w {
			if !keeps(m[key], value) {
				return false
			}
		}
	case []any:
		m, _ := merged.([]any)
		if len(m) != len(w) {
			return false
		}
		for i, value := range w {
			if !keeps(m[i], value) {
				return false
			}
		}
	}
	return true
}

// jobOptions are the options of Kubernetes' registry for Jobs. A suspended Job counts as not started yet.
func jobOptions(now, was *batch.Job) validation.JobValidationOptions {
	o := validation.JobValidationOptions{RequirePrefixedLabels: true}
	var before *core.PodTemplateSpec
	if was != nil {
		before = &was.Spec.Template
		suspended := was.Spec.Suspend != nil && *was.Spec.Suspend
		o.AllowMutableSchedulingDirectives, o.AllowMutablePodResources = suspended, suspended
		o.AllowInvalidLabelValueInSelector = metav1validation.LabelSelectorHasInvalidLabelValue(was.Spec.Selector)
	}
	o.PodValidationOptions = pod.GetValidationOptionsFromPodTemplate(&now.Spec.Template, before)
	return o
}
