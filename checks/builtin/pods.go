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

// pods are the equal Pods that a resource of a root creates.
type pods struct {
	of       *render.Resource
	id       admission.Identity
	template map[string]any // with metadata and spec
	pointer  string         // of the template
	labels   labels.Set
}

// templates are the pointers of the Pod template in all kinds that create Pods: those of Kubernetes, including removed
// ones, and Argo's Rollout.
var templates = map[[2]string]string{
	{"", "Pod"}: "", {"", "ReplicationController"}: "/spec/template",
	{"apps", "Deployment"}: "/spec/template", {"apps", "StatefulSet"}: "/spec/template",
	{"apps", "DaemonSet"}: "/spec/template", {"apps", "ReplicaSet"}: "/spec/template",
	{"extensions", "Deployment"}: "/spec/template", {"extensions", "DaemonSet"}: "/spec/template",
	{"extensions", "ReplicaSet"}: "/spec/template",
	{"batch", "Job"}:             "/spec/template", {"batch", "CronJob"}: "/spec/jobTemplate/spec/template",
	{"argoproj.io", "Rollout"}: "/spec/template",
}

// podsOf lists the Pods that some resources create.
func podsOf(resources []*render.Resource) (list []pods) {
	for _, r := range resources {
		id := admission.IdentityOf(r.Object)
		at, ok := templates[[2]string{id.Group, id.Kind}]
		template := mapAt(r.Object, at)
		if !ok || template == nil {
			continue
		}
		list = append(list, pods{r, id, template, at, admission.TextsAt(template, "/metadata/labels")})
	}
	return list
}

// String returns the kind and name of the resource that creates them.
func (p pods) String() string { return p.id.Kind + " " + p.id.Name }

// idleKinds are kinds of custom resources whose controllers create neither Pods nor Services, by group; "*": all kinds.
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

// mayMakePods reports whether Pods or Services that the root does not contain may be created from a resource. This is
// so for a custom resource that is not in idleKinds, and for other kinds with a Pod template.
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
