package helm_test

import (
	"os"
	"testing"

	"github.com/lintel-bot/lintel/render/helm"
)

// BenchmarkChart loads and renders the chart in the folder that LINTEL_CHART names.
func BenchmarkChart(b *testing.B) {
	folder := os.Getenv("LINTEL_CHART")
	if folder == "" {
		b.Skip("LINTEL_CHART names no folder of a chart")
	}
	files := readFolder(b, folder)
	c, err := helm.Load(files, helm.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	o := helm.Options{Name: "bench", Namespace: "bench"}
	b.Run("load", func(b *testing.B) {
		for b.Loop() {
			if _, err := helm.Load(files, helm.Limits{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("first", func(b *testing.B) { // includes parsing
		for b.Loop() {
			b.StopTimer()
			fresh, err := helm.Load(files, helm.Limits{})
			if err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			if _, err := fresh.Render(b.Context(), o); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			if _, err := c.Render(b.Context(), o); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("input", func(b *testing.B) {
		for b.Loop() {
			if _, err := c.Input(o); err != nil {
				b.Fatal(err)
			}
		}
	})
}
