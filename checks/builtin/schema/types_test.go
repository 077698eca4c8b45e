package schema

import (
	"fmt"
	"strings"
	"testing"

	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}, creationTimestamp: null}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 1}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: web:1
        env: [{name: A, value: b}, {name: C, valueFrom: {secretKeyRef: {name: s, key: k}}}]
        resources: {requests: {cpu: 0.5, memory: 1Gi}, limits: {cpu: 1}}
        livenessProbe: {httpGet: {path: /, port: http}, periodSeconds: 3}
        ports: [{name: http, containerPort: 80, protocol: TCP}]
        volumeMounts: [{name: v, mountPath: /v}]
      volumes: [{name: v, configMap: {name: c, items: [{key: a, path: b}]}}]
status: {}
`

func TestTypesOfKubernetes(t *testing.T) {
	pod := func(spec string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}], " + spec + "}\n"
	}
	for _, c := range []struct{ name, version, object, want string }{
		{"right", "1.33", deployment, ""},
		{"right in any version", "", deployment, ""},
		{"unknown", "1.33", pod("contaners: []"),
			`/spec/contaners "contaners" is not a field of PodSpec in Kubernetes 1.33: did you mean "containers"? ` +
				`(` + isDropped + ")"},
		{"nothing near", "v1.33.2", pod("somethingElse: 1"), `/spec/somethingElse "somethingElse" is not a field of ` +
			`PodSpec in Kubernetes 1.33: ` + isDropped},
		{"another case", "1.33", pod("HostNetwork: true"), `/spec/HostNetwork "HostNetwork" is not a field of ` +
			`PodSpec in Kubernetes 1.33: did you mean "hostNetwork"? (` + isDropped + ")"},
		{"newer", "1.29", pod("resources: {}"), `/spec/resources "resources" is not a field of PodSpec in Kubernetes ` +
			`1.29, but exists since 1.32: ` + isDropped},
		{"newer, of no version", "", pod("resources: {}"), ""},
		{"newer than all", "1.99", pod("resources: {}"), ""},
		{"type", "1.33", pod("terminationGracePeriodSeconds: '30'"), "/spec/terminationGracePeriodSeconds must be a whole number, not a string: write it without quotes (the API server refuses the object)"},
		{"placeholder", "1.33", pod("terminationGracePeriodSeconds: '${SECONDS}'"), ""},
		{"fraction", "1.33", pod("terminationGracePeriodSeconds: 1.5"), "/spec/terminationGracePeriodSeconds must be a whole number: the API server refuses the object"},
		{"null", "1.33", pod("nodeSelector: null, volumes: null"), ""},
		{"list", "1.33", pod("volumes: {name: a}"), "/spec/volumes must be a list, not a map: the API server refuses the object"},
		{"map of strings", "1.33", pod("nodeSelector: {a/b: 1}"), "/spec/nodeSelector/a~1b must be a string, not a number: write it in quotes (the API server refuses the object)"},
		{"enum", "1.33", pod("dnsPolicy: clusterFirst"), `/spec/dnsPolicy "clusterFirst" is not one of "ClusterFirst", "ClusterFirstWithHostNet", "Default", "None": did you mean "ClusterFirst"? (the API server refuses the object)`},
		{"quantity", "1.33", pod("overhead: {cpu: 2x}"), `/spec/overhead/cpu "2x" is not a quantity: write it like ` +
			`500m or 2Gi: the API server refuses the object`},
		{"missing", "1.33", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{image: i}]}",
			"/spec/containers/0/name is missing: Container requires it"},
		{"missing list", "1.33", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {}", "/spec/containers is " +
			"missing: PodSpec requires it"},
		{"needs nothing in the status", "1.33", pod("") + "status: {containerStatuses: [{}]}", ""},
		{"secret", "1.33", "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: '*', b: YQ==, c: 'ENC[AES256]', d: '<path:a#b>'}",
			"/data/a is not in base64: the API server refuses the object"},
		{"metadata", "1.33", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s, annotations: {a: true}}",
			"/metadata/annotations/a must be a string, not true: write it in quotes (the API server refuses the object)"},
		{"service name", "1.30", "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: s}\nspec: {selector: {}, template: {metadata: {labels: {a: b}}, spec: {containers: []}}}", ""},
		{"role", "1.30", "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: s}\n" +
			"roleRef: {kind: Role}", "/roleRef/name is missing: RoleRef requires it"},
		{"not served", "1.33", "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {nam: s}", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, v := range typesOf(c.version).look(read(t, c.object)) {
				got = append(got, v.Pointer+" "+v.Message)
			}
			if s := strings.Join(got, "\n"); s != c.want {
				t.Errorf("got\n%s\nwant\n%s", s, c.want)
			}
		})
	}
}

func TestVersions(t *testing.T) {
	for _, c := range []struct{ apiVersion, kind, want string }{
		{"apps/v1", "Deployment", "25 37 true"},
		{"autoscaling/v2beta2", "HorizontalPodAutoscaler", "25 25 true"},
		{"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "30 37 true"},
		{"apps/v1", "ReplicationController", "0 0 false"},
	} {
		if first, last, ok := servedIn(c.apiVersion, c.kind); fmt.Sprint(first, last, ok) != c.want {
			t.Errorf("%+v: %d %d %v", c, first, last, ok)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		parseTable(tableText)
	}
}

func BenchmarkLook(b *testing.B) {
	o := read(b, deployment)
	types := typesOf("1.33")
	b.ReportAllocs()
	for b.Loop() {
		types.look(o)
	}
}

// A validation of any object ends without a panic, reports no more than the limit, and the same each time.
func FuzzLook(f *testing.F) {
	f.Add(deployment, "1.33")
	f.Add(`{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"":null}],"":{"~":"/"}}}`, "")
	f.Add(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":{"versions":[{"schema":{}}]}}`, "2")
	f.Fuzz(func(t *testing.T, text, version string) {
		data, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			return
		}
		var o map[string]any
		if kjson.UnmarshalCaseSensitivePreserveInts(data, &o) != nil {
			return
		}
		types := typesOf(version)
		first := types.look(o)
		if len(first) > most {
			t.Errorf("%d violations", len(first))
		}
		if len(first) < most && fmt.Sprint(first) != fmt.Sprint(types.look(o)) {
			t.Error("another look says something else")
		}
	})
}
