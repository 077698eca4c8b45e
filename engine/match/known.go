package match

import (
	"slices"
	"strings"
)

// The kinds of Kubernetes itself (https://kubernetes.io/docs/reference/kubernetes-api/), each between spaces.
const (
	namespacedKinds = " Binding ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController" +
		" ResourceQuota Secret Service ServiceAccount ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet" +
		" HorizontalPodAutoscaler CronJob Job Lease EndpointSlice Ingress NetworkPolicy PodDisruptionBudget Role RoleBinding" +
		" CSIStorageCapacity LocalSubjectAccessReview ResourceClaim ResourceClaimTemplate "
	clusterKinds = " ComponentStatus Namespace Node PersistentVolume MutatingWebhookConfiguration ValidatingWebhookConfiguration" +
		" ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding CustomResourceDefinition APIService CertificateSigningRequest" +
		" FlowSchema PriorityLevelConfiguration IngressClass RuntimeClass ClusterRole ClusterRoleBinding PriorityClass CSIDriver" +
		" CSINode StorageClass VolumeAttachment VolumeAttributesClass TokenReview SubjectAccessReview SelfSubjectAccessReview" +
		" SelfSubjectRulesReview DeviceClass ResourceSlice ClusterTrustBundle PodSecurityPolicy "
)

// ClusterScoped reports whether a kind is one of Kubernetes whose objects have no namespace.
func ClusterScoped(kind string) bool { return strings.Contains(clusterKinds, " "+kind+" ") }

// Misspelled looks at the name of a kind, which may hold wildcards. unknown is set for one that can be no kind,
// since kinds start with a capital letter
// (https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#types-kinds);
// near is the kind of Kubernetes that was likely meant: by plural, letter case or a letter more or less.
func Misspelled(kind string) (near string, unknown bool) {
	if kind == "" || strings.ContainsAny(kind, "*?{ ") || ClusterScoped(kind) || strings.Contains(namespacedKinds, " "+kind+" ") {
		return "", false
	}
	known := strings.Fields(namespacedKinds + clusterKinds)
	unknown = kind[0] < 'A' || kind[0] > 'Z'
	lower := strings.ToLower(kind)
	for _, k := range known {
		singular := strings.ToLower(k)
		if slices.Contains([]string{singular, plural(singular)}, lower) {
			return k, unknown
		}
	}
	// A kind of some other API may be close to one of Kubernetes, so only what nobody would choose counts:
	// two letters changed places, one is missing or doubled.
	for _, k := range known {
		if len(k) > 5 && slip(lower, strings.ToLower(k)) {
			near = max(near, k)
		}
	}
	return near, unknown
}

// Plural is the name under which the API serves a kind, as Kubernetes forms it.
func Plural(kind string) string { return plural(strings.ToLower(kind)) }

func plural(s string) string {
	switch {
	case s == "" || s == "endpoints":
		return s
	case strings.HasSuffix(s, "s"), strings.HasSuffix(s, "x"), strings.HasSuffix(s, "ch"):
		return s + "es"
	case strings.HasSuffix(s, "y") && !strings.HasSuffix(s, "ay") && !strings.HasSuffix(s, "ey"):
		return s[:len(s)-1] + "ies"
	}
	return s + "s"
}

// slip reports whether a differs from b by two neighboring letters that changed places, or by one letter
// inside that is missing or too much.
func slip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch {
	case i == 0:
		return false
	case len(a) == len(b):
		return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
	case len(a)+1 == len(b):
		return (i < len(a) || b[i] == b[i-1]) && a[i:] == b[i+1:]
	}
	return false
}
