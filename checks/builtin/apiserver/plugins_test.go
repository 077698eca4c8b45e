package apiserver

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/engine/admission"
)

func TestPlugins(t *testing.T) {
	const (
		limits = "{apiVersion: v1, kind: LimitRange, metadata: {name: l}, spec: {limits: [{type: Container, default: {cpu: 1, memory: 1Gi}, " +
			"defaultRequest: {cpu: 100m}}]}}"
		account = "{apiVersion: v1, kind: ServiceAccount, metadata: {name: own}, automountServiceAccountToken: false, " +
			"imagePullSecrets: [{name: registry}]}"
		standard = "{apiVersion: v1, kind: ServiceAccount, metadata: {name: default}, imagePullSecrets: [{name: common}]}"
		high     = "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000, preemptionPolicy: Never}"
		usual    = "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: usual}, value: 10, globalDefault: true}"
		sandbox  = "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: sandbox}, handler: x, overhead: {podFixed: {cpu: 250m}}, " +
			"scheduling: {nodeSelector: {sandbox: 'on'}, tolerations: [{key: sandbox, operator: Exists}]}}"
		slow = "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: slow}, provisioner: x}"
		fast = "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast, annotations: " +
			"{storageclass.kubernetes.io/is-default-class: 'true'}}, provisioner: x}"
		early = "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: early, annotations: " +
			"{storageclass.beta.kubernetes.io/is-default-class: 'true'}}, provisioner: x}"
		outer = "{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: outer, annotations: " +
			"{ingressclass.kubernetes.io/is-default-class: 'true'}}}"
		claim     = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: {resources: {requests: {storage: 1Gi}}}}"
		container = "containers: [{name: a, image: 'r/a:1'}]"
		pod       = "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop}, spec: {" + container + "}}"
	)
	with := func(spec string) string {
		return "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop}, spec: {" + spec + ", " + container + "}}"
	}
	for _, tt := range []struct {
		name, in string
		has      []string
		want     string
	}{
		{"a Deployment gets nothing", "{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {" + container + "}}}}", []string{limits, usual}, `
			/spec/template/spec/serviceAccountName absent
			/spec/template/spec/containers/0/resources absent`},
		{"a Pod in an empty cluster", pod, nil, `
			/spec/serviceAccountName "default"
			/spec/serviceAccount "default"
			/spec/containers/0/resources {}
			/spec/containers/0/volumeMounts/0 {"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount","name":"kube-api-access-00000","readOnly":true}
			/spec/volumes/0/name "kube-api-access-00000"
			/spec/volumes/0/projected/sources/0 {"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}}
			/spec/imagePullSecrets absent
			/spec/priority 0
			/spec/priorityClassName absent
			/spec/preemptionPolicy "PreemptLowerPriority"
			/spec/tolerations/0 {"effect":"NoExecute","key":"node.kubernetes.io/not-ready","operator":"Exists","tolerationSeconds":300}
			/spec/tolerations/1/key "node.kubernetes.io/unreachable"`},
		{"limits of the namespace", pod, []string{limits}, `
			/spec/containers/0/resources {"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"100m","memory":"1Gi"}}`},
		{"limits that a Pod has", with("initContainers: [{name: b, resources: {limits: {cpu: 2, memory: 2Gi}}}]"), []string{limits}, `
			/spec/initContainers/0/resources {"limits":{"cpu":"2","memory":"2Gi"},"requests":{"cpu":"2","memory":"2Gi"}}`},
		{"the default account", pod, []string{account, standard}, `
			/spec/imagePullSecrets [{"name":"common"}]
			/spec/volumes/0/name "kube-api-access-00000"`},
		{"an account without its token", with("serviceAccountName: own"), []string{account, standard}, `
			/spec/serviceAccountName "own"
			/spec/imagePullSecrets [{"name":"registry"}]
			/spec/volumes absent`},
		{"a Pod decides before its account", with("serviceAccountName: own, automountServiceAccountToken: true, imagePullSecrets: [{name: x}]"), []string{account}, `
			/spec/imagePullSecrets [{"name":"x"}]
			/spec/volumes/0/name "kube-api-access-00000"`},
		{"an account that is not there", with("serviceAccountName: other"), []string{account}, `
			/spec/serviceAccountName "other"
			/spec/volumes/0/name "kube-api-access-00000"`},
		{"a token that is mounted already", "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, volumeMounts: [{name: v, " +
			"mountPath: /var/run/secrets/kubernetes.io/serviceaccount}]}], volumes: [{name: v}]}}", nil, `
			/spec/volumes/1 absent
			/spec/containers/0/volumeMounts/1 absent`},
		{"a mirror Pod", "{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {kubernetes.io/config.mirror: x}}, spec: {" + container + "}}", nil, `
			/spec/serviceAccountName absent`},
		{"a priority class", with("priorityClassName: high"), []string{high, usual}, `
			/spec/priority 1000
			/spec/preemptionPolicy "Never"`},
		{"the default priority class", pod, []string{high, usual}, `
			/spec/priority 10
			/spec/priorityClassName "usual"`},
		{"a priority class of Kubernetes", with("priorityClassName: system-node-critical"), nil, "/spec/priority 2000001000"},
		{"a priority class that is not there", with("priorityClassName: other"), []string{high, usual}, `
			/spec/priorityClassName "other"
			/spec/priority absent
			/spec/serviceAccountName "default"`},
		{"a runtime class", with("runtimeClassName: sandbox"), []string{sandbox}, `
			/spec/overhead {"cpu":"250m"}
			/spec/nodeSelector {"sandbox":"on"}
			/spec/tolerations/2/key "sandbox"`},
		{"a runtime class that is not there", with("runtimeClassName: other"), []string{sandbox}, "/spec/overhead absent"},
		{"tolerations of its own", with("tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists}]"), nil, `
			/spec/tolerations/1/key "node.kubernetes.io/unreachable"
			/spec/tolerations/2 absent`},
		{"no default class", claim, []string{slow}, "/spec/storageClassName absent"},
		{"a default class", claim, []string{slow, fast}, `/spec/storageClassName "fast"`},
		{"two default classes", claim, []string{fast, early}, `/spec/storageClassName "early"`},
		{"a claim without a class", "{apiVersion: v1, kind: PersistentVolumeClaim, spec: {storageClassName: ''}}", []string{fast}, `/spec/storageClassName ""`},
		{"a claim with a class", "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {annotations: {volume.beta.kubernetes.io/storage-class: slow}}}",
			[]string{fast}, "/spec/storageClassName absent"},
		{"an Ingress", "{apiVersion: networking.k8s.io/v1, kind: Ingress}", []string{outer}, `/spec/ingressClassName "outer"`},
		{"an Ingress with a class", "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {annotations: {kubernetes.io/ingress.class: x}}}",
			[]string{outer}, "/spec/ingressClassName absent"},
		{"an Ingress without a default class", "{apiVersion: networking.k8s.io/v1, kind: Ingress}", []string{"{apiVersion: networking.k8s.io/v1, " +
			"kind: IngressClass, metadata: {name: outer}}"}, "/spec/ingressClassName absent"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := objectOf(t, tt.in)
			got := PluginsFor(in, func(group, kind string) (list []admission.Object) {
				for _, text := range tt.has {
					if o := objectOf(t, text); admission.IdentityOf(o).Group == group && o["kind"] == kind {
						list = append(list, o)
					}
				}
				return list
			}).Add(in)
			hasFields(t, got, tt.want)
			if diff := cmp.Diff(objectOf(t, tt.in), in); diff != "" {
				t.Errorf("the object itself changed:\n%s", diff)
			}
		})
	}
}
