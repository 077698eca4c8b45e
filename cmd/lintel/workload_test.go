package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// writeWorkload writes the manifests of n applications as "helm template" and "kustomize build" print them: three
// objects and 2.6 kB each, a service account for every eighth.
func writeWorkload(b *testing.B, file string, n int) {
	b.Helper()
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, workload, i, i%9, i%3 == 0, i%20)
		if i%8 == 0 {
			fmt.Fprintf(&out, "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: shop-%d\n  namespace: team-%d\n---\n",
				i, i%20)
		}
	}
	if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
		b.Fatal(err)
	}
}

// workload takes a number, a version, whether privileges are escalated, and a team.
const workload = `apiVersion: apps/v1
kind: Deployment
metadata:
  annotations:
    checksum/config: 3f786850e387550fdab836ed7e6dc881de23001b
    description: "application %[1]d: a part of the shop"
  labels:
    app.kubernetes.io/component: server
    app.kubernetes.io/instance: shop-%[1]d
    app.kubernetes.io/managed-by: Helm
    app.kubernetes.io/name: shop
    helm.sh/chart: shop-1.%[2]d.0
  name: shop-%[1]d
  namespace: team-%[4]d
spec:
  replicas: 2
  revisionHistoryLimit: 10
  selector:
    matchLabels:
      app.kubernetes.io/instance: shop-%[1]d
      app.kubernetes.io/name: shop
  template:
    metadata:
      labels:
        app.kubernetes.io/instance: shop-%[1]d
        app.kubernetes.io/name: shop
    spec:
      automountServiceAccountToken: false
      containers:
      - args:
        - --port=8080
        - --config=/etc/shop/config.yaml
        env:
        - name: POD_NAMESPACE
          valueFrom:
            fieldRef:
              fieldPath: metadata.namespace
        - name: LOG_LEVEL
          value: "info"
        image: ghcr.io/shop/server:%[2]d.2.1
        imagePullPolicy: IfNotPresent
        livenessProbe:
          httpGet:
            path: /healthz
            port: http
          initialDelaySeconds: 10
          periodSeconds: 10
        name: server
        ports:
        - containerPort: 8080
          name: http
          protocol: TCP
        readinessProbe:
          httpGet:
            path: /readyz
            port: http
        resources:
          limits:
            cpu: 500m
            memory: 256Mi
          requests:
            cpu: 100m
            memory: 128Mi
        securityContext:
          allowPrivilegeEscalation: %[3]t
          capabilities:
            drop:
            - ALL
          readOnlyRootFilesystem: true
        volumeMounts:
        - mountPath: /etc/shop
          name: config
      securityContext:
        runAsNonRoot: true
        seccompProfile:
          type: RuntimeDefault
      serviceAccountName: shop-%[1]d
      volumes:
      - configMap:
          name: shop-%[1]d
        name: config
---
apiVersion: v1
kind: Service
metadata:
  labels:
    app.kubernetes.io/instance: shop-%[1]d
  name: shop-%[1]d
  namespace: team-%[4]d
spec:
  ports:
  - name: http
    port: 80
    protocol: TCP
    targetPort: http
  selector:
    app.kubernetes.io/instance: shop-%[1]d
  type: ClusterIP
---
apiVersion: v1
data:
  MODE: production
  config.yaml: |
    server:
      port: 8080
      # how long to wait
      timeout: 30s
    features:
      - cart
      - search
kind: ConfigMap
metadata:
  labels:
    app.kubernetes.io/instance: shop-%[1]d
  name: shop-%[1]d
  namespace: team-%[4]d
---
`
