package render_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// BenchmarkRender measures what origins cost: the whole Render against kustomize alone on the same files. The
// repository is a made-up one, or that of LINTEL_BENCH_REPO.
func BenchmarkRender(b *testing.B) {
	t := benchTree(b)
	g, err := deploy.Open(t, roots.Options{}, &graph.Cache{}, render.Config{})
	if err != nil {
		b.Fatal(err)
	}
	renderer := g
	var chosen []roots.Root
	for _, root := range g.All() {
		if root.Kind == roots.Folder || len(chosen) == 100 {
			continue
		}
		if _, err := renderer.Renderer.Unmarked(b.Context(), root); err == nil {
			chosen = append(chosen, root)
		}
	}
	var ratios []float64
	type slow struct {
		path        string
		with, alone time.Duration
	}
	var all []slow
	for b.Loop() {
		for _, root := range chosen {
			with, alone := time.Hour, time.Hour
			for range 3 {
				start := time.Now()
				if _, _, err := renderer.Render(b.Context(), root); err != nil {
					b.Fatal(err)
				}
				with = min(with, time.Since(start))
				start = time.Now()
				if err := renderer.Renderer.Kustomize(b.Context(), root); err != nil {
					b.Fatal(err)
				}
				alone = min(alone, time.Since(start))
			}
			ratios = append(ratios, float64(with)/float64(alone))
			all = append(all, slow{root.Path, with, alone})
		}
	}
	if len(ratios) == 0 {
		b.Skip("no root renders")
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "ratio-median")
	b.ReportMetric(ratios[len(ratios)*95/100], "ratio-p95")
	b.ReportMetric(float64(len(chosen)), "roots")
	if os.Getenv("LINTEL_BENCH_ROOTS") != "" {
		slices.SortFunc(all, func(a, b slow) int { return cmp.Compare(b.with, a.with) })
		for _, s := range all[:min(10, len(all))] {
			b.Logf("%s: %v with origins, %v alone", s.path, s.with, s.alone)
		}
	}
}

func benchTree(b *testing.B) *tree.Tree {
	if dir := os.Getenv("LINTEL_BENCH_REPO"); dir != "" {
		out, err := exec.Command("git", "-C", dir, "rev-parse", "--absolute-git-dir").Output()
		if err != nil {
			b.Fatal(err)
		}
		objects, err := tree.Open(b.Context(), tree.Config{GitDir: strings.TrimSpace(string(out))})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = objects.Close() })
		t, err := objects.Tree("HEAD")
		if err != nil {
			b.Fatal(err)
		}
		return t
	}
	r := treetest.New(b)
	r.Commit(layered)
	// One root with hundreds of files: padding grows with the square of them.
	var list strings.Builder
	for i := range 300 {
		name := fmt.Sprintf("many/file%d.yaml", i)
		r.Write(name, strings.ReplaceAll(manyFile, "NAME", fmt.Sprint("app", i)))
		fmt.Fprintf(&list, "- file%d.yaml\n", i)
	}
	r.Write("many/kustomization.yaml", "namespace: many\nresources:\n"+list.String())
	r.Write("base/windows.yaml", "apiVersion: v1\r\nkind: Secret\r\nmetadata:\r\n  name: win\r\n")
	return r.Tree(r.Snapshot())
}

const manyFile = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: NAME
  labels:
    app: NAME
spec:
  replicas: 2
  selector:
    matchLabels:
      app: NAME
  template:
    metadata:
      labels:
        app: NAME
    spec:
      containers:
      - name: app
        image: registry.example.com/NAME:1.0
        ports:
        - containerPort: 8080
        env:
        - name: MODE
          value: fast
        resources:
          requests:
            cpu: 10m
            memory: 32Mi
          limits:
            memory: 64Mi
---
apiVersion: v1
kind: Service
metadata:
  name: NAME
spec:
  selector:
    app: NAME
  ports:
  - port: 80
    targetPort: 8080
`
