package admission

import (
	"encoding/json"
	"reflect"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/google/go-cmp/cmp"
	kjson "sigs.k8s.io/json"
)

func parse(t testing.TB, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var o map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestApply(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"a kind without", "{apiVersion: v1, kind: ConfigMap, data: {a: b}}",
			"{apiVersion: v1, kind: ConfigMap, data: {a: b}}"},
		{"another group's kind", "{apiVersion: serving.knative.dev/v1, kind: Service, spec: {}}",
			"{apiVersion: serving.knative.dev/v1, kind: Service, spec: {}}"},
		{
			"service", "{apiVersion: v1, kind: Service, spec: {type: null, ports: [{port: 80}, {port: 53, protocol: UDP, " +
				"targetPort: dns}]}}",
			"{apiVersion: v1, kind: Service, spec: {type: ClusterIP, sessionAffinity: None, internalTrafficPolicy: Cluster, " +
				"ports: [{port: 80, protocol: TCP, targetPort: 80}, {port: 53, protocol: UDP, targetPort: dns}]}}",
		},
		{"nulls", "{apiVersion: v1, kind: Secret, immutable: null, metadata: {name: a, labels: null, annotations: {b: null}}, " +
			"data: {c: null}}",
			"{apiVersion: v1, kind: Secret, type: Opaque, metadata: {name: a, annotations: {b: null}}, data: {c: null}}"},
		{
			"load balancer", "{apiVersion: v1, kind: Service, spec: {type: LoadBalancer, sessionAffinity: ClientIP}}",
			"{apiVersion: v1, kind: Service, spec: {type: LoadBalancer, sessionAffinity: ClientIP, sessionAffinityConfig: " +
				"{clientIP: {timeoutSeconds: 10800}}, allocateLoadBalancerNodePorts: true, externalTrafficPolicy: Cluster, " +
				"internalTrafficPolicy: Cluster}}",
		},
		{"external name", "{apiVersion: v1, kind: Service, spec: {type: ExternalName}}",
			"{apiVersion: v1, kind: Service, spec: {type: ExternalName, sessionAffinity: None}}"},
		{
			"pod", `
apiVersion: v1
kind: Pod
spec:
  hostNetwork: true
  containers:
  - image: nginx
    resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 500m}}
    ports: [{containerPort: 80}]
    livenessProbe: {httpGet: {port: 80}}
    env: [{name: n, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
  volumes: [{name: e}, {name: c, configMap: {name: x}}, {name: h, hostPath: {path: /}}]
`, `
apiVersion: v1
kind: Pod
spec:
  hostNetwork: true
  restartPolicy: Always
  dnsPolicy: ClusterFirst
  schedulerName: default-scheduler
  terminationGracePeriodSeconds: 30
  securityContext: {}
  enableServiceLinks: true
  containers:
  - image: nginx
    imagePullPolicy: Always
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
    resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 500m, memory: 1Gi}}
    ports: [{containerPort: 80, hostPort: 80, protocol: TCP}]
    livenessProbe: {httpGet: {port: 80, path: /, scheme: HTTP}, timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3}
    env: [{name: n, valueFrom: {fieldRef: {fieldPath: metadata.name, apiVersion: v1}}}]
  volumes: [{name: e, emptyDir: {}}, {name: c, configMap: {name: x, defaultMode: 420}}, {name: h, hostPath: {path: /, type: ""}}]
`,
		},
		{
			"deployment", "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 0, template: {spec: {containers: [{image: 'r:5000/a:1', resources: {limits: {cpu: 1}}}]}}}}", `
apiVersion: apps/v1
kind: Deployment
spec:
  replicas: 0
  revisionHistoryLimit: 10
  progressDeadlineSeconds: 600
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}
  template:
    spec:
      restartPolicy: Always
      dnsPolicy: ClusterFirst
      schedulerName: default-scheduler
      terminationGracePeriodSeconds: 30
      securityContext: {}
      containers:
      - image: r:5000/a:1
        imagePullPolicy: IfNotPresent
        terminationMessagePath: /dev/termination-log
        terminationMessagePolicy: File
        resources: {limits: {cpu: 1}}
`,
		},
		{"recreate", "{apiVersion: apps/v1, kind: Deployment, spec: {strategy: {type: Recreate}}}",
			"{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: " +
				"600, strategy: {type: Recreate}}}"},
		{
			"stateful set", "{apiVersion: apps/v1, kind: StatefulSet, spec: {volumeClaimTemplates: [{spec: {}}]}}",
			"{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 1, revisionHistoryLimit: 10, podManagementPolicy: " +
				"OrderedReady, persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain, whenScaled: Retain}, updateStrategy: " +
				"{type: RollingUpdate, rollingUpdate: {partition: 0}}, volumeClaimTemplates: [{spec: {volumeMode: Filesystem}}]}}",
		},
		{
			"daemon set", "{apiVersion: apps/v1, kind: DaemonSet}",
			"{apiVersion: apps/v1, kind: DaemonSet, spec: {revisionHistoryLimit: 10, updateStrategy: {type: RollingUpdate, " +
				"rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}}}",
		},
		{
			"job", "{apiVersion: batch/v1, kind: Job, spec: {parallelism: 2}}",
			"{apiVersion: batch/v1, kind: Job, spec: {parallelism: 2, backoffLimit: 6, completionMode: NonIndexed, suspend: " +
				"false, podReplacementPolicy: TerminatingOrFailed}}",
		},
		{
			"cron job", "{apiVersion: batch/v1, kind: CronJob, spec: {suspend: true, jobTemplate: {spec: {template: {spec: " +
				"{restartPolicy: Never}}}}}}",
			"{apiVersion: batch/v1, kind: CronJob, spec: {suspend: true, concurrencyPolicy: Allow, " +
				"successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 1, jobTemplate: {spec: {template: {spec: {restartPolicy: " +
				"Never, dnsPolicy: ClusterFirst, schedulerName: default-scheduler, terminationGracePeriodSeconds: 30, " +
				"securityContext: {}}}}}}}",
		},
		{
			"network policy", "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {policyTypes: [], egress: " +
				"[{ports: [{port: 80}]}]}}",
			"{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {policyTypes: [Ingress, Egress], egress: [{ports: " +
				"[{port: 80, protocol: TCP}]}]}}",
		},
		{
			"role binding", "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {kind: Role, name: x}, " +
				"subjects: [{kind: User, name: x}, {kind: ServiceAccount, name: x}]}",
			"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {apiGroup: rbac.authorization.k8s.io, " +
				"kind: Role, name: x}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: x}, {kind: " +
				"ServiceAccount, name: x}]}",
		},
		{"namespace", "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}",
			"{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {kubernetes.io/metadata.name: shop}}}"},
		{
			"webhook", "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, webhooks: " +
				"[{clientConfig: {service: {name: x}}, rules: [{}]}]}",
			"{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, webhooks: [{failurePolicy: " +
				"Fail, matchPolicy: Equivalent, timeoutSeconds: 10, namespaceSelector: {}, objectSelector: {}, " +
				"reinvocationPolicy: Never, clientConfig: {service: {name: x, port: 443}}, rules: [{scope: '*'}]}]}",
		},
		{"other types are left alone", "{apiVersion: apps/v1, kind: Deployment, spec: x}",
			"{apiVersion: apps/v1, kind: Deployment, spec: x}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := parse(t, tt.in)
			got := WithDefaults(in)
			if diff := cmp.Diff(parse(t, tt.want), got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if diff := cmp.Diff(parse(t, tt.in), in); diff != "" {
				t.Errorf("the object itself changed:\n%s", diff)
			}
		})
	}
}

func TestLatest(t *testing.T) {
	for image, want := range map[string]bool{
		"nginx": true, "nginx:latest": true, "nginx:1": false, "r:5000/nginx": true, "r:5000/nginx:1": false,
		"nginx@sha256:0": false, "nginx:latest@sha256:0": false,
	} {
		if latest(image) != want {
			t.Errorf("%s: %v", image, !want)
		}
	}
}

// Whatever an object holds, its defaults can be given, and once is enough.
func FuzzApply(f *testing.F) {
	for _, kind := range []string{"Pod", "Service", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob",
		"NetworkPolicy", "RoleBinding", "PersistentVolume", "MutatingWebhookConfiguration", "Namespace"} {
		for _, group := range []string{"v1", "apps/v1", "batch/v1", "networking.k8s.io/v1", "rbac.authorization.k8s.io/v1",
			"admissionregistration.k8s.io/v1"} {
			for _, body := range []string{`{}`, `null`, `[]`,
				`{"template":{"spec":{"containers":[null,{"ports":[{}]}],"volumes":[{},1]}}}`,
				`{"ports":{},"strategy":[],"policyTypes":"x"}`} {
				f.Add(`{"apiVersion":"` + group + `","kind":"` + kind + `","spec":` + body + `,"webhooks":` + body + `}`)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		var o map[string]any
		if json.Unmarshal([]byte(text), &o) != nil {
			return
		}
		once := WithDefaults(o)
		if !reflect.DeepEqual(WithDefaults(once), once) {
			t.Errorf("twice gives more than once: %s", text)
		}
	})
}
