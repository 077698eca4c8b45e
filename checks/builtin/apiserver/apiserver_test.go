package apiserver

import (
	"context"
	"testing"

	"sigs.k8s.io/yaml"
)

func object(t testing.TB, text string) map[string]any {
	var o map[string]any
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

const deployed = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: nginx:1
        ports: [{name: http, containerPort: 80}]
        resources: {limits: {cpu: 1, memory: 1Gi}}
        livenessProbe: {httpGet: {path: /, port: http}}
`

func TestTry(t *testing.T) {
	for _, text := range []string{deployed, `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: wob}}
    spec:
      containers:
      - {name: web, image: "", volumeMounts: [{name: x, mountPath: /x}]}
      - {name: web, image: a}
`, `apiVersion: batch/v1
kind: CronJob
metadata: {name: web}
spec:
  schedule: 61 * * * *
  jobTemplate: {spec: {template: {spec: {containers: [{name: a, image: b}]}}}}
`, `apiVersion: v1
kind: Service
metadata: {name: web}
spec: {}
`, `apiVersion: batch/v1
kind: Job
metadata: {name: web}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}
`} {
		o := object(t, text)
		t.Logf("%+v", Look(context.Background(), o, nil))
	}
	t.Logf("%+v", Look(context.Background(), object(t, deployed+"      nodeSelector: {a: b}"), object(t, deployed)))
}

func BenchmarkLook(b *testing.B) {
	o := object(b, deployed)
	for b.Loop() {
		Look(context.Background(), o, nil)
	}
}
