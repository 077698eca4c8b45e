package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/internal/yamltest"
	"github.com/lintel-bot/lintel/engine/policy"
)

func podPolicies(t testing.TB) *engine.Policies {
	t.Helper()
	files, err := filepath.Glob("testdata/policies/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var sources []policy.Source
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, policy.Source{Path: f, Documents: yamltest.Documents(data)})
	}
	p, problems := engine.CompilePolicies(sources, engine.Options{Now: conformanceNow})
	for _, problem := range problems {
		t.Errorf("%s", problem)
	}
	return p
}

// resources generates objects of a GitOps repository: most of them workloads, some of which violate.
func resources(n int) []admission.Object {
	out := make([]admission.Object, n)
	for i := range out {
		name := fmt.Sprintf("app-%d", i)
		pod := map[string]any{
			"securityContext": map[string]any{"runAsNonRoot": true, "seccompProfile": map[string]any{"type": "RuntimeDefault"}},
			"volumes": []any{
				map[string]any{"name": "tmp", "emptyDir": map[string]any{}},
				map[string]any{"name": "config", "configMap": map[string]any{"name": name}},
			},
			"containers": []any{container("main", i), container("proxy", i+1)},
		}
		labels := map[string]any{"app.kubernetes.io/name": name, "team": fmt.Sprintf("team-%d", i%7)}
		meta := map[string]any{"name": name, "namespace": fmt.Sprintf("ns-%d", i%20), "labels": labels}
		template := map[string]any{"metadata": map[string]any{"labels": labels}, "spec": pod}
		switch i % 10 {
		case 0:
			out[i] = map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": pod}
		case 1:
			job := map[string]any{"spec": map[string]any{"template": template}}
			out[i] = map[string]any{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": meta,
				"spec": map[string]any{"schedule": "@daily", "jobTemplate": job}}
		case 2, 3:
			out[i] = map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": meta,
				"spec": map[string]any{"ports": []any{map[string]any{"port": int64(80)}}}}
		case 4:
			out[i] = map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": map[string]any{"a": "b"}}
		default:
			out[i] = map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta,
				"spec": map[string]any{"replicas": int64(3), "template": template}}
		}
	}
	return out
}

func container(name string, i int) map[string]any {
	c := map[string]any{
		"name": name, "image": fmt.Sprintf("registry.example.com/%s:v%d", name, i),
		"securityContext": map[string]any{
			"allowPrivilegeEscalation": false, "runAsNonRoot": true, "runAsUser": int64(1000),
			"capabilities": map[string]any{"drop": []any{"ALL"}},
		},
		"resources": map[string]any{
			"requests": map[string]any{"cpu": "100m", "memory": "64Mi"}, "limits": map[string]any{"memory": "1Gi"},
		},
		"ports": []any{map[string]any{"containerPort": int64(8080)}},
		"env":   []any{map[string]any{"name": "A", "value": "1"}, map[string]any{"name": "B", "value": "2"}},
	}
	if i%9 == 0 {
		c["image"] = "docker.io/library/nginx:latest"
		c["securityContext"] = map[string]any{"privileged": true}
	}
	return c
}

// BenchmarkEvaluate evaluates 18 policies on 1,000 objects; an evaluation is one policy on one object.
func BenchmarkEvaluate(b *testing.B) {
	policies := podPolicies(b)
	evaluator := policies.Bind(nil, nil)
	objects := resources(1000)
	ctx := context.Background()
	b.ReportAllocs()
	b.ResetTimer()
	results := 0
	start := cpuTime(b)
	for range b.N {
		for _, o := range objects {
			results += len(evaluator.Evaluate(ctx, &admission.Request{Operation: admission.Create, Object: o}))
		}
	}
	evaluations := float64(b.N * len(objects) * len(policies.List()))
	b.ReportMetric(evaluations/(cpuTime(b)-start).Seconds(), "evaluations/cpu-s")
	b.ReportMetric(float64(results)/evaluations, "results/evaluation")
}

// cpuTime is what this process has used; the wall clock says little on a busy machine.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkCompile compiles 18 policies.
func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for range b.N {
		podPolicies(b)
	}
}
