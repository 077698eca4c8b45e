package apiserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/lintel-bot/lintel/engine/jsonpointer"
)

// objectOf parses an object as renderings have it, with whole numbers as integers.
func objectOf(t testing.TB, text string) (o map[string]any) {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// hasFields checks that an object has some fields: each line of want is the pointer of one and its value as JSON, or "absent".
func hasFields(t *testing.T, got map[string]any, want string) {
	t.Helper()
	for line := range strings.Lines(strings.TrimSpace(want)) {
		pointer, want, _ := strings.Cut(strings.TrimSpace(line), " ")
		value, has := jsonpointer.Lookup(got, pointer)
		text, _ := json.Marshal(value)
		if is := string(text); has && is != want || !has && want != "absent" {
			t.Errorf("%s is %s (%v), want %s", pointer, is, has, want)
		}
	}
}

func TestReceived(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"a custom resource is not changed", "{apiVersion: serving.knative.dev/v1, kind: Service, spec: {paused: false}}", `
			/spec {"paused":false}`},
		{"what the API server cannot read is not changed", "{apiVersion: apps/v1, kind: Deployment, spec: x}", `/spec "x"
			/status absent`},
		{"a version that is not served is not changed", "{apiVersion: apps/v1beta2, kind: Deployment, spec: {paused: false}}",
			`/spec {"paused":false}`},
		{"defaults of a Pod", `{apiVersion: v1, kind: Pod, spec: {hostNetwork: true, containers: [{image: nginx,
			ports: [{containerPort: 80}], resources: {limits: {memory: 1Gi}}, livenessProbe: {httpGet: {port: 80}}}],
			volumes: [{name: e}]}}`, `
			/spec/restartPolicy "Always"
			/spec/securityContext {}
			/spec/containers/0/imagePullPolicy "Always"
			/spec/containers/0/ports/0 {"containerPort":80,"hostPort":80,"protocol":"TCP"}
			/spec/containers/0/resources/requests {"memory":"1Gi"}
			/spec/containers/0/livenessProbe/httpGet/path "/"
			/spec/volumes/0/emptyDir {}`},
		{"defaults of a Deployment", "{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 0, template: {spec: {containers: " +
			"[{image: 'r:5000/a:1'}]}}}}", `
			/spec/replicas 0
			/spec/strategy {"rollingUpdate":{"maxSurge":"25%","maxUnavailable":"25%"},"type":"RollingUpdate"}
			/spec/selector absent
			/spec/template/spec/containers/0/imagePullPolicy "IfNotPresent"`},
		{"fields without a value are not there", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, labels: {}, annotations:
			{x: null}, creationTimestamp: null}, spec: {paused: false, minReadySeconds: 0, template: {spec: {hostNetwork: false,
			containers: [{name: a, env: [], securityContext: {privileged: false}, volumeMounts: [{name: v, mountPath: /v,
			readOnly: false}]}]}}}}`, `
			/metadata {"annotations":{"x":""},"name":"a"}
			/spec/paused absent
			/spec/minReadySeconds absent
			/spec/template/spec/hostNetwork absent
			/spec/template/spec/containers/0/env absent
			/spec/template/spec/containers/0/securityContext {"privileged":false}
			/spec/template/spec/containers/0/volumeMounts/0 {"mountPath":"/v","name":"v"}`},
		{"unknown fields stay", "{apiVersion: v1, kind: Service, metadata: {name: a, owner: b}, spec: {tpye: LoadBalancer, ports: " +
			"[{port: 80, prot: UDP}]}}", `
			/metadata {"name":"a","owner":"b"}
			/spec/tpye "LoadBalancer"
			/spec/ports/0/prot "UDP"
			/spec/ports/0/protocol "TCP"`},
		{"quantities are short", "{apiVersion: v1, kind: Pod, spec: {containers: [{name: a, resources: {limits: {cpu: 1000m, memory: " +
			"1024Mi}, requests: {cpu: 0.5}}}]}}", `
			/spec/containers/0/resources {"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"500m","memory":"1Gi"}}`},
		{"a Service has an address", "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}]}}", `
			/spec/type "ClusterIP"
			/spec/ipFamilyPolicy "SingleStack"
			/spec/clusterIP "10.254.253.252"
			/spec/ports/0/targetPort 80`},
		{"data of a Secret has what stringData has", "{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {a: eA==}, " +
			"stringData: {b: 'y'}}", `
			/type "Opaque"
			/data {"a":"eA==","b":"eQ=="}
			/stringData {"b":"y"}`},
		{"a Job selects its Pods", "{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {parallelism: 2, template: {spec: " +
			"{serviceAccount: s}}}}", `
			/spec/completions absent
			/spec/backoffLimit 6
			/spec/selector/matchLabels/batch.kubernetes.io~1controller-uid "00000000-0000-4000-8000-000000000000"
			/spec/template/metadata/labels/job-name "a"
			/spec/template/spec/serviceAccountName "s"`},
		{"a Namespace has the label of its name", "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}", `
			/metadata/labels {"kubernetes.io/metadata.name":"shop"}`},
		{"the status of a manifest is dropped", "{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Bound}}", `
			/status {}
			/metadata absent
			/spec/volumeMode "Filesystem"`},
		{"types of a NetworkPolicy", "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {policyTypes: [], egress: " +
			"[{ports: [{port: 80}]}]}}", `/spec/policyTypes ["Ingress","Egress"]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := objectOf(t, tt.in)
			got := Received(in)
			hasFields(t, got, tt.want)
			if diff := cmp.Diff(objectOf(t, tt.in), in); diff != "" {
				t.Errorf("the object itself changed:\n%s", diff)
			}
		})
	}
}

// Whatever an object holds, it can be received, and is not changed by that.
func FuzzReceived(f *testing.F) {
	for group, of := range groups() {
		for kind := range of.kinds {
			version := strings.TrimPrefix(group+"/"+of.versions[0], "/")
			for _, body := range []string{`{}`, `null`, `[]`,
				`{"template":{"spec":{"containers":[null,{"ports":[{}]}],"volumes":[{},1]}}}`,
				`{"ports":{},"strategy":[],"policyTypes":"x"}`} {
				f.Add(fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"spec":%s,"webhooks":%s,"metadata":{"labels":{}}}`, version, kind, body, body))
			}
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		var o, same map[string]any
		if json.Unmarshal([]byte(text), &o) != nil || json.Unmarshal([]byte(text), &same) != nil {
			return
		}
		Received(o)
		if diff := cmp.Diff(same, o); diff != "" {
			t.Errorf("%s is changed:\n%s", text, diff)
		}
	})
}
