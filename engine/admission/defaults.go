package admission

import (
	"strings"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// WithDefaults gives objects of the built-in kinds the values that the API server gives fields nobody set.
//
// Admission webhooks see an object after that
// (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/), so a policy may rely on
// a Service having a type. The rules are those of the API reference
// (https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.34/); what admission plugins of a cluster add
// (service accounts, tolerations, limit ranges) is not among them.

// object is a JSON object.
type object = map[string]any

// WithDefaults returns an object with its defaults, and without the fields that are null: for the API server they are not
// there. The given one is not changed; objects of kinds without defaults are
// returned as they are. Fields of unexpected types are left alone: the API server refuses them.
func WithDefaults(o Object) Object {
	id := IdentityOf(o)
	give := rules(id.Group, id.Kind)
	if give == nil {
		return o
	}
	out, _ := jsonpointer.Copy(o, func(scalar any) any { return scalar }).(object)
	dropNulls(out)
	give(out)
	return out
}

// dropNulls removes fields that are null, but not the entries of maps whose keys the user chooses: there null is the
// empty value.
func dropNulls(v any) {
	switch v := v.(type) {
	case object:
		for key, field := range v {
			if field == nil {
				delete(v, key)
			} else if !userKeys[key] {
				dropNulls(field)
			}
		}
	case []any:
		for _, element := range v {
			dropNulls(element)
		}
	}
}

// userKeys are the fields whose maps have keys that the user chooses.
var userKeys = map[string]bool{"labels": true, "annotations": true, "matchLabels": true, "nodeSelector": true,
	"selector": true, "data": true, "stringData": true, "limits": true, "requests": true, "capacity": true, "parameters": true}

// rules returns the function that sets the defaults of a kind, nil for a kind without defaults here.
func rules(group, kind string) func(object) {
	switch group + "/" + kind {
	case "/Pod":
		return pod
	case "/PodTemplate":
		return func(o object) { template(existing(o, "template")) }
	case "/Service":
		return service
	case "/Secret":
		return func(o object) { set(o, "type", "Opaque") }
	case "/Namespace":
		return namespace
	case "/PersistentVolumeClaim":
		return claim
	case "/PersistentVolume":
		return persistentVolume
	case "/ReplicationController", "apps/ReplicaSet":
		return controller
	case "apps/Deployment":
		return deployment
	case "apps/StatefulSet":
		return statefulSet
	case "apps/DaemonSet":
		return daemonSet
	case "batch/Job":
		return job
	case "batch/CronJob":
		return cronJob
	case "networking.k8s.io/NetworkPolicy":
		return networkPolicy
	case "autoscaling/HorizontalPodAutoscaler":
		return func(o object) { set(child(o, "spec"), "minReplicas", int64(1)) }
	case "rbac.authorization.k8s.io/RoleBinding", "rbac.authorization.k8s.io/ClusterRoleBinding":
		return binding
	case "storage.k8s.io/StorageClass":
		return storageClass
	case "scheduling.k8s.io/PriorityClass":
		return func(o object) { set(o, "preemptionPolicy", "PreemptLowerPriority") }
	case "admissionregistration.k8s.io/ValidatingWebhookConfiguration",
		"admissionregistration.k8s.io/MutatingWebhookConfiguration":
		return func(o object) { webhooks(o, kind == "MutatingWebhookConfiguration") }
	}
	return nil
}

// set sets a field unless it has a value; null counts as no value.
func set(o object, field string, value any) {
	if o != nil && o[field] == nil {
		o[field] = value
	}
}

// child returns the object at a field, and creates it if it is missing; nil if the value is no object.
func child(o object, field string) object {
	set(o, field, object{})
	return existing(o, field)
}

// existing returns the object at a field, nil if there is none. Setting a field of a nil object does nothing.
func existing(o object, field string) object {
	c, _ := o[field].(object)
	return c
}

// each calls do for the objects in a list.
func each(o object, field string, do func(object)) {
	list, _ := o[field].([]any)
	for _, e := range list {
		if c, ok := e.(object); ok {
			do(c)
		}
	}
}

// https://kubernetes.io/docs/reference/kubernetes-api/service-resources/service-v1/
func service(o object) {
	spec := child(o, "spec")
	set(spec, "type", "ClusterIP")
	set(spec, "sessionAffinity", "None")
	if spec["sessionAffinity"] == "ClientIP" {
		set(child(child(spec, "sessionAffinityConfig"), "clientIP"), "timeoutSeconds", int64(10800))
	}
	each(spec, "ports", func(p object) {
		set(p, "protocol", "TCP")
		if port, ok := p["port"]; ok {
			set(p, "targetPort", port)
		}
	})
	switch spec["type"] {
	case "LoadBalancer":
		set(spec, "allocateLoadBalancerNodePorts", true)
		fallthrough
	case "NodePort":
		set(spec, "externalTrafficPolicy", "Cluster")
		fallthrough
	case "ClusterIP":
		set(spec, "internalTrafficPolicy", "Cluster")
	}
}

// https://kubernetes.io/docs/reference/labels-annotations-taints/#kubernetes-io-metadata-name
func namespace(o object) {
	metadata := child(o, "metadata")
	if name, ok := metadata["name"].(string); ok {
		set(child(metadata, "labels"), "kubernetes.io/metadata.name", name)
	}
}

// https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/persistent-volume-claim-v1/
func claim(o object) { set(child(o, "spec"), "volumeMode", "Filesystem") }

// https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/persistent-volume-v1/
func persistentVolume(o object) {
	spec := child(o, "spec")
	set(spec, "persistentVolumeReclaimPolicy", "Retain")
	set(spec, "volumeMode", "Filesystem")
	set(existing(spec, "hostPath"), "type", "")
}

// https://kubernetes.io/docs/reference/kubernetes-api/policy-resources/network-policy-v1/
func networkPolicy(o object) {
	spec := child(o, "spec")
	types := []any{"Ingress"}
	if rules, _ := spec["egress"].([]any); len(rules) > 0 {
		types = append(types, "Egress")
	}
	if list, ok := spec["policyTypes"].([]any); ok && len(list) == 0 {
		delete(spec, "policyTypes")
	}
	set(spec, "policyTypes", types)
	for _, direction := range []string{"ingress", "egress"} {
		each(spec, direction, func(rule object) {
			each(rule, "ports", func(p object) { set(p, "protocol", "TCP") })
		})
	}
}

// https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/role-binding-v1/
func binding(o object) {
	const group = "rbac.authorization.k8s.io"
	set(existing(o, "roleRef"), "apiGroup", group)
	each(o, "subjects", func(s object) {
		if kind := s["kind"]; kind == "User" || kind == "Group" {
			set(s, "apiGroup", group)
		}
	})
}

// https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/storage-class-v1/
func storageClass(o object) {
	set(o, "reclaimPolicy", "Delete")
	set(o, "volumeBindingMode", "Immediate")
}

// https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/validating-webhook-configuration-v1/
func webhooks(o object, mutating bool) {
	each(o, "webhooks", func(w object) {
		set(w, "failurePolicy", "Fail")
		set(w, "matchPolicy", "Equivalent")
		set(w, "timeoutSeconds", int64(10))
		set(w, "namespaceSelector", object{})
		set(w, "objectSelector", object{})
		if mutating {
			set(w, "reinvocationPolicy", "Never")
		}
		set(existing(existing(w, "clientConfig"), "service"), "port", int64(443))
		each(w, "rules", func(r object) { set(r, "scope", "*") })
	})
}

// latest reports whether an image has the tag latest, or no tag and no digest, which means the same
// (https://kubernetes.io/docs/concepts/containers/images/#imagepullpolicy-defaulting).
func latest(image string) bool {
	if strings.Contains(image, "@") {
		return false
	}
	_, tag, tagged := strings.Cut(image[strings.LastIndexByte(image, '/')+1:], ":")
	return !tagged || tag == "latest"
}
