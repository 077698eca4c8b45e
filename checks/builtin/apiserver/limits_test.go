package apiserver_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/checks/builtin/apiserver"
)

func TestLimits(t *testing.T) {
	const (
		small   = "metadata: {name: small}\nspec: {limits: [{type: Container, min: {cpu: 100m}, max: {memory: 1Gi}, maxLimitRequestRatio: {cpu: 2}}]}"
		filling = "metadata: {name: filling}\nspec: {limits: [{type: Container, default: {memory: 1Gi, cpu: 1}, defaultRequest: {cpu: 1}}]}"
		whole   = "metadata: {name: whole}\nspec: {limits: [{type: Pod, max: {memory: 1Gi}}]}"
		claims  = "metadata: {name: claims}\nspec: {limits: [{type: PersistentVolumeClaim, max: {storage: 5Gi}}]}"
		stating = "metadata: {name: stating}\nspec: {hard: {requests.cpu: 4, limits.memory: 8Gi, pods: 10}}"
		counted = "metadata: {name: counted}\nspec: {hard: {pods: 10, services: 1}}"
		bestOf  = "metadata: {name: best}\nspec: {hard: {pods: 1}, scopes: [BestEffort]}"
		notBest = "metadata: {name: not-best}\nspec: {hard: {requests.cpu: 1}, scopes: [NotBestEffort]}"
	)
	quota := func(hard string) string { return "metadata: {name: q}\nspec: {hard: {" + hard + "}}" }
	one := func(apiVersion, kind, spec string) string {
		return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: web, namespace: shop}\nspec: {" + spec + "}"
	}
	service := func(kind string) string {
		return one("v1", "Service", "type: "+kind+", ports: [{name: a, port: 80}, {name: b, port: 81}]")
	}
	claim := func(size string) string {
		return one("v1", "PersistentVolumeClaim", "storageClassName: gold, accessModes: [ReadWriteOnce], resources: {requests: {storage: "+size+"}}")
	}
	pod := func(containers string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\nspec: {containers: [" + containers + "]}"
	}
	for name, tc := range map[string]struct {
		object, old    string
		ranges, quotas []string
		want           []string
	}{
		"no limits": {object: pod("{name: a, image: a}")},
		"too much memory": {
			object: pod("{name: a, image: a, resources: {requests: {cpu: 1}, limits: {cpu: 1, memory: 2Gi}}}"), ranges: []string{small},
			want: []string{"/spec/containers/0/resources/limits/memory LimitRange small: maximum memory usage per Container is 1Gi, but limit is 2Gi"},
		},
		"nothing stated": {
			object: pod("{name: a, image: a}"), ranges: []string{small},
			want: []string{
				"/spec/containers/0/resources LimitRange small: cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0",
			},
		},
		"defaults of another LimitRange": {object: pod("{name: a, image: a}"), ranges: []string{filling, small}},
		"the second container": {
			object: pod("{name: a, image: a, resources: {limits: {cpu: 1, memory: 1Gi}}}, {name: b, image: b, resources: {requests: {cpu: 50m}, limits: {cpu: 100m, memory: 1Gi}}}"),
			ranges: []string{small},
			want:   []string{"/spec/containers/1/resources/requests/cpu LimitRange small: minimum cpu usage per Container is 100m, but request is 50m"},
		},
		"a ratio": {
			object: pod("{name: a, image: a, resources: {requests: {cpu: 1}, limits: {cpu: 3, memory: 1Gi}}}"), ranges: []string{small},
			want: []string{"/spec/containers/0/resources/limits/cpu LimitRange small: cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000"},
		},
		"all containers together": {
			object: pod("{name: a, image: a, resources: {limits: {memory: 1Gi}}}, {name: b, image: b, resources: {limits: {memory: 1Gi}}}"), ranges: []string{whole},
			want: []string{"/spec/resources LimitRange whole: maximum memory usage per Pod is 1Gi, but limit is 2Gi"},
		},
		"a claim": {
			object: "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}",
			ranges: []string{claims, small}, quotas: []string{stating},
			want: []string{"/spec/resources/requests/storage LimitRange claims: maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 10Gi"},
		},
		"a quota": {
			object: pod("{name: a, image: a, resources: {limits: {cpu: 1}}}, {name: b, image: b, resources: {limits: {cpu: 1, memory: 1Gi}}}"),
			quotas: []string{stating, counted},
			want:   []string{"/spec/containers/0/resources ResourceQuota stating: must specify limits.memory for: a"},
		},
		"more than a quota": {
			object: pod("{name: a, image: a, resources: {limits: {cpu: 5, memory: 1Gi}}}"), quotas: []string{stating},
			want: []string{"/spec ResourceQuota stating: exceeded by this Pod alone: requested requests.cpu: 5, limited: 4"},
		},
		"a quota with the defaults of a LimitRange": {object: pod("{name: a, image: a}"), ranges: []string{filling}, quotas: []string{stating}},
		"quotas of other Pods":                      {object: pod("{name: a, image: a}"), quotas: []string{bestOf, notBest}},
		"limits that cannot be read":                {object: pod("{name: a, image: a}"), ranges: []string{"spec: {limits: 1}"}, quotas: []string{"spec: []"}},
		"an object that cannot be read":             {object: "apiVersion: v1\nkind: Pod\nspec: []", ranges: []string{small}},
		"another kind":                              {object: "apiVersion: v1\nkind: Secret", ranges: []string{small}},
		"a load balancer": {
			object: service("LoadBalancer"), quotas: []string{quota("services.loadbalancers: 0")},
			want: []string{"/spec/type ResourceQuota q: exceeded by this Service alone: requested services.loadbalancers: 1, limited: 0"},
		},
		"a Service of another type": {object: service("ClusterIP"), quotas: []string{quota("services.loadbalancers: 0, services: 1")}},
		"a Service becomes a load balancer": {
			object: service("LoadBalancer"), old: service("ClusterIP"), quotas: []string{quota("services.loadbalancers: 0, services: 0")},
			want: []string{"/spec/type ResourceQuota q: exceeded by this Service alone: requested services.loadbalancers: 1, limited: 0"},
		},
		"a Service that takes no more": {object: service("LoadBalancer"), old: service("LoadBalancer"), quotas: []string{quota("services.loadbalancers: 0")}},
		"a Service that takes less":    {object: service("NodePort"), old: service("LoadBalancer"), quotas: []string{quota("services.nodeports: 1")}},
		"ports of nodes": {
			object: service("NodePort"), quotas: []string{quota("services.nodeports: 1")},
			want: []string{"/spec/type ResourceQuota q: exceeded by this Service alone: requested services.nodeports: 2, limited: 1"},
		},
		"storage": {
			object: claim("2Gi"), quotas: []string{quota("requests.storage: 1Gi")},
			want: []string{"/spec/resources/requests/storage ResourceQuota q: exceeded by this PersistentVolumeClaim alone: requested requests.storage: 2Gi, limited: 1Gi"},
		},
		"a claim grows": {
			object: claim("2Gi"), old: claim("1Gi"), quotas: []string{quota("gold.storageclass.storage.k8s.io/requests.storage: 1Gi")},
			want: []string{"/spec/resources/requests/storage ResourceQuota q: exceeded by this PersistentVolumeClaim alone: requested gold.storageclass.storage.k8s.io/requests.storage: 2Gi, limited: 1Gi"},
		},
		"a claim of a class": {
			object: claim("2Gi"), quotas: []string{quota("gold.storageclass.storage.k8s.io/persistentvolumeclaims: 0, persistentvolumeclaims: 1")},
			want: []string{"/spec/storageClassName ResourceQuota q: exceeded by this PersistentVolumeClaim alone: requested gold.storageclass.storage.k8s.io/persistentvolumeclaims: 1, limited: 0"},
		},
		"a claim of another class": {object: claim("2Gi"), quotas: []string{quota("tin.storageclass.storage.k8s.io/requests.storage: 0, requests.storage: 2Gi")}},
		"the number of Deployments": {
			object: one("apps/v1", "Deployment", ""), quotas: []string{quota("count/deployments.apps: 0")},
			want: []string{"/kind ResourceQuota q: exceeded by this Deployment alone: requested count/deployments.apps: 1, limited: 0"},
		},
		"one is left":                {object: one("apps/v1", "Deployment", ""), quotas: []string{quota("count/deployments.apps: 1, count/deployments: 0")}},
		"a Deployment that is there": {object: one("apps/v1", "Deployment", ""), old: one("apps/v1", "Deployment", ""), quotas: []string{quota("count/deployments.apps: 0")}},
		"the number of custom resources": {
			object: one("acme.io/v1", "Policy", ""), quotas: []string{quota("count/policies.acme.io: 0")},
			want: []string{"/kind ResourceQuota q: exceeded by this Policy alone: requested count/policies.acme.io: 1, limited: 0"},
		},
		"the short name of a kind": {
			object: one("v1", "ConfigMap", ""), quotas: []string{quota("configmaps: 0, secrets: 0")},
			want: []string{"/kind ResourceQuota q: exceeded by this ConfigMap alone: requested configmaps: 1, limited: 0"},
		},
		"quotas of Pods with scopes":    {object: one("v1", "ConfigMap", ""), quotas: []string{"metadata: {name: q}\nspec: {hard: {configmaps: 0}, scopes: [BestEffort]}"}},
		"a quota does not count itself": {object: "apiVersion: v1\nkind: ResourceQuota\n" + quota("resourcequotas: 0"), quotas: []string{quota("resourcequotas: 0")}},
		"a quota counts another": {
			object: one("v1", "ResourceQuota", "hard: {pods: 1}"), quotas: []string{quota("resourcequotas: 0")},
			want: []string{"/kind ResourceQuota q: exceeded by this ResourceQuota alone: requested resourcequotas: 1, limited: 0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			read := func(texts ...string) (list []map[string]any) {
				for _, text := range texts {
					var o map[string]any
					if err := yaml.Unmarshal([]byte(text), &o); err != nil {
						t.Fatal(err)
					}
					list = append(list, o)
				}
				return list
			}
			var got []string
			found, failed := apiserver.Limits{Ranges: read(tc.ranges...), Quotas: read(tc.quotas...)}.Refuse(t.Context(),
				read(tc.object)[0], read(tc.old)[0])
			if failed {
				t.Error("it failed")
			}
			for _, v := range found {
				got = append(got, strings.TrimSpace(v.Pointer+" "+v.Message))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
