package builtin

import (
	"slices"
	"strings"
	"testing"
)

func TestSelector(t *testing.T) {
	workload := func(name, labels string) string {
		return "\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " + name + ", namespace: shop}\n" +
			"spec: {template: {metadata: {labels: {" + labels + "}}}}\n"
	}
	service := func(name, selector string) string {
		return "\n---\napiVersion: v1\nkind: Service\nmetadata: {name: " + name + ", namespace: shop, labels: {app: web}}\n" +
			"spec: {selector: {" + selector + "}}\n"
	}
	other := func(version, kind, name, spec string) string {
		return "\n---\napiVersion: " + version + "\nkind: " + kind + "\nmetadata: {name: " + name +
			", namespace: shop}\nspec: {" + spec + "}\n"
	}
	web := workload("web", "app: web, tier: front")
	const typo = "/spec/selector/app: matches no Pod of this root: Deployment web has the label app: web, not wbe"
	for _, c := range []struct {
		name, files string
		want        string
	}{
		{"it matches", web + service("web", "app: web"), ""},
		{"one of several matches", workload("web", "app: wbe") + web + service("web", "app: web"), ""},
		{"a typo", web + service("web", "app: wbe"), typo},
		{"a typo in one of two, by a label in common", web + service("public", "app: web, tier: frnt"),
			"/spec/selector/tier: matches no Pod of this root: Deployment web has the label tier: front, not frnt"},
		{"no label in common: it may be for another root", web + service("api", "app: api"), ""},
		{"a label that no Pod here has", web + service("web", "app: web, vault-active: 'true'"), ""},
		{"a label that people write and the Pods lack", workload("web", "app.kubernetes.io/name: web") + service("web", "app: web"),
			"/spec/selector/app: matches no Pod of this root: Deployment web has no label app"},
		{"a part that the Pods do not name", workload("web-front", "app.kubernetes.io/name: web, app.kubernetes.io/instance: a") +
			service("web", "app.kubernetes.io/name: web, app.kubernetes.io/instance: a, app.kubernetes.io/component: front"),
			"/spec/selector/app.kubernetes.io~1component: matches no Pod of this root: Deployment web-front has no label " +
				"app.kubernetes.io/component"},
		{"no label at all, of other Pods", workload("other", "") + service("web", "app: web"), ""},
		{"a label that a program changes", workload("web", "app: web, role: replica") +
			service("web", "app: web, role: primary"), ""},
		{"a value that Flux substitutes", web + service("web", "app: '${APP}'"), ""},
		{"no selector", web + service("web", ""), ""},
		{"an external name", web + other("v1", "Service", "web", "type: ExternalName, selector: {app: wbe}"), ""},
		{"another namespace", strings.ReplaceAll(web, "shop", "else") + service("web", "app: wbe"), ""},
		{"an operator may make Pods", web + service("web", "app: wbe") +
			other("db.example.com/v1", "Database", "web", ""), ""},
		{"an operator of a group that only looks like Kubernetes'", web + service("web", "app: wbe") +
			other("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "web", ""), ""},
		{"a custom resource that creates no Pods", web + service("web", "app: wbe") +
			other("monitoring.coreos.com/v1", "PrometheusRule", "web", ""), typo},
		{"a Pod without controller", "\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop, " +
			"labels: {app: web}}\n" + service("web", "app: wbe"), strings.ReplaceAll(typo, "Deployment", "Pod")},
		{"a CronJob", other("batch/v1", "CronJob", "web", "jobTemplate: {spec: {template: {metadata: {labels: {app: web}}}}}") +
			other("networking.k8s.io/v1", "NetworkPolicy", "web", "podSelector: {matchLabels: {app: wbe}}"),
			strings.ReplaceAll(strings.ReplaceAll(typo, "Deployment", "CronJob"), "/spec/selector", "/spec/podSelector/matchLabels")},
		{"a Job, beside a Service that may be for others", other("batch/v1", "Job", "web",
			"template: {metadata: {labels: {app: web, part: import}}}") + service("web", "app: web, part: core"), ""},
		{"a removed version of a kind", strings.ReplaceAll(web, "apps/v1", "extensions/v1beta1") +
			workload("other", "app: web, tier: back") + service("web", "app: web, tier: front"), ""},
		{"a removed version of a kind, with a typo", strings.ReplaceAll(web, "apps/v1", "extensions/v1beta1") +
			service("web", "app: wbe"), typo},
		{"a Pod template in an unknown kind", web + service("web", "app: wbe") + other("v1", "DeploymentConfig",
			"other", "template: {metadata: {labels: {app: wbe}}, spec: {containers: []}}"), ""},
		{"a NetworkPolicy of the same name", web + other("networking.k8s.io/v1", "NetworkPolicy", "web",
			"podSelector: {matchLabels: {app: wbe}}"), strings.ReplaceAll(typo, "/spec/selector", "/spec/podSelector/matchLabels")},
		{"a NetworkPolicy for all Pods", web + other("networking.k8s.io/v1", "NetworkPolicy", "web", "podSelector: {}"), ""},
		{"a NetworkPolicy with a common label may be for others", web + other("networking.k8s.io/v1", "NetworkPolicy",
			"back", "podSelector: {matchLabels: {app: web, tier: back}}"), ""},
		{"a budget", web + other("policy/v1", "PodDisruptionBudget", "web", "selector: {matchLabels: {app: wbe}}"),
			strings.ReplaceAll(typo, "/spec/selector", "/spec/selector/matchLabels")},
		{"a budget whose expressions match", web + other("policy/v1", "PodDisruptionBudget", "web",
			"selector: {matchLabels: {app: wbe}, matchExpressions: [{key: tier, operator: In, values: [front]}]}"),
			strings.ReplaceAll(typo, "/spec/selector", "/spec/selector/matchLabels")},
		{"a budget whose expressions do not match", web + other("policy/v1", "PodDisruptionBudget", "web",
			"selector: {matchLabels: {app: wbe}, matchExpressions: [{key: tier, operator: In, values: [back]}]}"), ""},
		{"a monitor", web + service("web", "app: web") + other("monitoring.coreos.com/v1", "ServiceMonitor", "web",
			"selector: {matchLabels: {app: wbe}}"), "/spec/selector/matchLabels/app: matches no Service of this root: " +
			"Service web has the label app: web, not wbe"},
		{"a monitor that is named after its Service", web + service("web", "app: web") + other("monitoring.coreos.com/v1",
			"ServiceMonitor", "web-metrics", "selector: {matchLabels: {app: web-metrics}}"), "/spec/selector/matchLabels/app: " +
			"matches no Service of this root: Service web has the label app: web, not web-metrics"},
		{"a monitor of other namespaces", web + service("web", "app: web") + other("monitoring.coreos.com/v1",
			"ServiceMonitor", "web", "selector: {matchLabels: {app: wbe}}, namespaceSelector: {any: true}"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := sights(t, rootChecks()[0], area(t, "-- app/a.yaml --"+c.files))
			want := []string(nil)
			if c.want != "" {
				want = []string{c.want}
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
