package cel

import (
	"slices"
	"strings"
)

// resource is what the API server knows of a kind: its plural name and whether it lives in a namespace.
type resource struct {
	group, kind, plural string
	cluster             bool
}

// builtin lists the kinds of Kubernetes itself whose scope or plural has to be known
// (kubectl api-resources of 1.34), with the plural as Kubernetes forms it.
func builtin() []resource {
	var out []resource
	add := func(group string, cluster bool, kinds ...string) {
		for _, k := range kinds {
			out = append(out, resource{group, k, plural(k), cluster})
		}
	}
	add("", true, "Namespace", "Node", "PersistentVolume", "ComponentStatus")
	add("", false, "Binding", "ConfigMap", "Event", "LimitRange", "PersistentVolumeClaim", "Pod", "PodTemplate", "ReplicationController", "ResourceQuota", "Secret", "Service", "ServiceAccount")
	add("admissionregistration.k8s.io", true, "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration")
	add("apiextensions.k8s.io", true, "CustomResourceDefinition")
	add("apiregistration.k8s.io", true, "APIService")
	add("apps", false, "ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")
	add("authentication.k8s.io", true, "TokenReview", "SelfSubjectReview")
	add("authorization.k8s.io", true, "SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview")
	add("authorization.k8s.io", false, "LocalSubjectAccessReview")
	add("autoscaling", false, "HorizontalPodAutoscaler")
	add("batch", false, "CronJob", "Job")
	add("certificates.k8s.io", true, "CertificateSigningRequest", "ClusterTrustBundle")
	add("coordination.k8s.io", false, "Lease")
	add("discovery.k8s.io", false, "EndpointSlice")
	add("events.k8s.io", false, "Event")
	add("flowcontrol.apiserver.k8s.io", true, "FlowSchema", "PriorityLevelConfiguration")
	add("networking.k8s.io", false, "Ingress", "NetworkPolicy")
	add("networking.k8s.io", true, "IngressClass", "IPAddress", "ServiceCIDR")
	add("node.k8s.io", true, "RuntimeClass")
	add("policy", false, "PodDisruptionBudget")
	add("rbac.authorization.k8s.io", true, "ClusterRole", "ClusterRoleBinding")
	add("rbac.authorization.k8s.io", false, "Role", "RoleBinding")
	add("scheduling.k8s.io", true, "PriorityClass")
	add("storage.k8s.io", true, "CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass")
	add("storage.k8s.io", false, "CSIStorageCapacity")
	out = append(out, resource{"", "Endpoints", "endpoints", false})
	return out
}

// plural is the resource name of a kind as Kubernetes guesses it for custom resources
// (meta.UnsafeGuessKindToResource of k8s.io/apimachinery).
func plural(kind string) string {
	s := strings.ToLower(kind)
	switch {
	case s == "endpoints":
		return s
	case strings.HasSuffix(s, "s"), strings.HasSuffix(s, "x"), strings.HasSuffix(s, "ch"), strings.HasSuffix(s, "sh"):
		return s + "es"
	case strings.HasSuffix(s, "y") && len(s) > 1 && !strings.ContainsRune("aeiou", rune(s[len(s)-2])):
		return s[:len(s)-1] + "ies"
	}
	return s + "s"
}

// catalog finds kinds by name; it is immutable.
type catalog struct {
	byKind   map[[2]string]resource
	byPlural map[[2]string]resource
}

func newCatalog() *catalog {
	c := &catalog{map[[2]string]resource{}, map[[2]string]resource{}}
	for _, r := range builtin() {
		c.byKind[[2]string{r.group, r.kind}] = r
		c.byPlural[[2]string{r.group, r.plural}] = r
	}
	return c
}

// kinds are the kinds with one of the plural names, of any group; nil where one of the names is not known.
func (c *catalog) kinds(plurals []string) []string {
	out := []string{}
	for _, name := range plurals {
		name, _, _ = strings.Cut(name, "/")
		found := false
		for key, r := range c.byPlural {
			if key[1] == name {
				out = append(out, r.kind)
				found = true
			}
		}
		if !found {
			return nil
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// of is the resource of a kind; known is false for a guess, whose scope is not known either.
func (c *catalog) of(group, kind string) (r resource, known bool) {
	if r, ok := c.byKind[[2]string{group, kind}]; ok {
		return r, true
	}
	return resource{group: group, kind: kind, plural: plural(kind)}, false
}

// kindOf is the kind with a plural name. For a custom resource it is the name in lower case and singular:
// the plural does not tell how the kind is capitalized.
func (c *catalog) kindOf(group, name string) string {
	if r, ok := c.byPlural[[2]string{group, name}]; ok {
		return r.kind
	}
	switch {
	case strings.HasSuffix(name, "ies"):
		return name[:len(name)-3] + "y"
	case strings.HasSuffix(name, "ches"), strings.HasSuffix(name, "shes"), strings.HasSuffix(name, "sses"), strings.HasSuffix(name, "xes"):
		return name[:len(name)-2]
	}
	return strings.TrimSuffix(name, "s")
}
