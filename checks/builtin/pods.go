package builtin

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/engine/kinds"
	"github.com/lintel-bot/lintel/render"
)

// pods are the Pods that a resource of a root makes, all alike.
type pods struct {
	of       *render.Resource
	id       admission.Identity
	template map[string]any // with metadata and spec
	pointer  string         // of the template
	labels   labels.Set
}

// templates are the places of the Pod in the kinds of Kubernetes that make some, those it had once, too, and in Argo's
// Rollout.
var templates = map[[2]string]string{
	{"", "Pod"}: "", {"", "ReplicationController"}: "/spec/template",
	{"apps", "Deployment"}: "/spec/template", {"apps", "StatefulSet"}: "/spec/template",
	{"apps", "DaemonSet"}: "/spec/template", {"apps", "ReplicaSet"}: "/spec/template",
	{"extensions", "Deployment"}: "/spec/template", {"extensions", "DaemonSet"}: "/spec/template",
	{"extensions", "ReplicaSet"}: "/spec/template",
	{"batch", "Job"}:             "/spec/template", {"batch", "CronJob"}: "/spec/jobTemplate/spec/template",
	{"argoproj.io", "Rollout"}: "/spec/template",
}

// podsOf lists the Pods of some resources.
func podsOf(resources []*render.Resource) (list []pods) {
	for _, r := range resources {
		id := admission.IdentityOf(r.Object)
		at, ok := templates[[2]string{id.Group, id.Kind}]
		template := mapAt(r.Object, at)
		if !ok || template == nil {
			continue
		}
		list = append(list, pods{r, id, template, at, labelsAt(template, "/metadata/labels")})
	}
	return list
}

// String names what makes them.
func (p pods) String() string { return p.id.Kind + " " + p.id.Name }

// idleKinds are kinds of custom resources of which no controller makes Pods or Services, by group; "*": all of it.
var idleKinds = map[string][]string{
	"monitoring.coreos.com": {"ServiceMonitor", "PodMonitor", "PrometheusRule", "Probe", "ScrapeConfig",
		"AlertmanagerConfig"},
	"gateway.networking.k8s.io": {"HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute", "ReferenceGrant",
		"BackendTLSPolicy"},
	"cert-manager.io":              {"Certificate", "Issuer", "ClusterIssuer"},
	"external-secrets.io":          {"*"},
	"bitnami.com":                  {"SealedSecret"},
	"traefik.io":                   {"*"},
	"traefik.containo.us":          {"*"},
	"networking.istio.io":          {"VirtualService", "DestinationRule", "ServiceEntry", "Sidecar", "EnvoyFilter"},
	"security.istio.io":            {"*"},
	"cilium.io":                    {"CiliumNetworkPolicy", "CiliumClusterwideNetworkPolicy"},
	"kyverno.io":                   {"*"},
	"policies.kyverno.io":          {"*"},
	"autoscaling.k8s.io":           {"VerticalPodAutoscaler"},
	"keda.sh":                      {"ScaledObject", "TriggerAuthentication", "ClusterTriggerAuthentication"},
	"argoproj.io":                  {"Rollout", "AnalysisTemplate", "ClusterAnalysisTemplate", "AppProject"},
	"route.openshift.io":           {"Route"},
	"security.openshift.io":        {"SecurityContextConstraints"},
	"secrets-store.csi.x-k8s.io":   {"SecretProviderClass"},
	"apiregistration.k8s.io":       {"*"},
	"admissionregistration.k8s.io": {"*"},
	"apiextensions.k8s.io":         {"*"},
	"metrics.k8s.io":               {"*"},
	"snapshot.storage.k8s.io":      {"*"},
}

// mayMakePods reports whether a resource may have Pods or Services made that the root does not show: a custom resource
// of which nobody knows better, or another kind that has a template of Pods.
func mayMakePods(id admission.Identity, object map[string]any) bool {
	if list, ok := idleKinds[id.Group]; ok {
		return !slices.Contains(list, "*") && !slices.Contains(list, id.Kind)
	}
	if _, known := templates[[2]string{id.Group, id.Kind}]; !known && mapAt(object, "/spec/template/spec") != nil {
		return true
	}
	return strings.Contains(id.Group, ".") && !kinds.OfKubernetes(id.Group)
}

// mapAt returns the map at a pointer, nil where there is none.
func mapAt(o map[string]any, pointer string) map[string]any {
	m, _ := jsonpointer.At(o, pointer).(map[string]any)
	return m
}

// listAt returns the maps in the list at a pointer, with nil in place of what is no map.
func listAt(o map[string]any, pointer string) []map[string]any {
	list, _ := jsonpointer.At(o, pointer).([]any)
	out := make([]map[string]any, len(list))
	for i, item := range list {
		out[i], _ = item.(map[string]any)
	}
	return out
}

// textAt returns the text at a pointer, empty where there is none.
func textAt(o map[string]any, pointer string) string {
	text, _ := jsonpointer.At(o, pointer).(string)
	return text
}

// labelsAt returns the texts of the map at a pointer.
func labelsAt(o map[string]any, pointer string) labels.Set {
	out := labels.Set{}
	for k, v := range mapAt(o, pointer) {
		if text, ok := v.(string); ok {
			out[k] = text
		}
	}
	return out
}
