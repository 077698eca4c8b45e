package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/lintel-bot/lintel/engine"
	"github.com/lintel-bot/lintel/engine/admission"
	"github.com/lintel-bot/lintel/engine/internal/yamltest"
	"github.com/lintel-bot/lintel/engine/policy"
)

// celPolicies reads the ValidatingPolicies for pods of the conformance cases.
func celPolicies(t testing.TB) *engine.Policies {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "shared", "conformance", "policies", "pod-security-vpol"))
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*", "*", "*.yaml"))
	more, _ := filepath.Glob(filepath.Join(dir, "*", "*.yaml"))
	var sources []policy.Source
	for _, f := range append(files, more...) {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, policy.Source{Path: filepath.Base(f), Documents: yamltest.Documents(data)})
	}
	if len(sources) == 0 {
		t.Skip("the conformance cases are not here")
	}
	p, _ := engine.CompilePolicies(sources, engine.Options{Now: conformanceNow})
	return p
}

// BenchmarkEvaluateCEL evaluates ValidatingPolicies on 1,000 objects.
func BenchmarkEvaluateCEL(b *testing.B) {
	policies := celPolicies(b)
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
	spent := cpuTime(b) - start
	b.ReportMetric(float64(len(policies.List())), "policies")
	b.ReportMetric(float64(spent.Microseconds())/float64(b.N*len(objects)), "cpu-us/object")
	b.ReportMetric(float64(results)/float64(b.N*len(objects)), "results/object")
}
