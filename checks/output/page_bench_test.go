package output

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
)

// sizable returns a report of findings and changed resources.
func sizable(findings, changes int) *report.Report {
	r := rich()
	one := r.Findings[0]
	r.Findings = nil
	for i := range findings {
		f := one
		f.Policy, f.Resource.Name = fmt.Sprintf("policy-%d", i%12), fmt.Sprintf("app-%d", i)
		r.Findings = append(r.Findings, f)
	}
	for i := range changes {
		d := report.Difference{Roots: []string{"apps/web"}, Operation: "UPDATE",
			Resource: report.Resource{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: fmt.Sprintf("app-%d", i)}}
		h := report.DiffHunk{Path: "spec.template.spec.containers[web]"}
		for k := range 12 {
			l := report.DiffLine{Sign: " ", Text: fmt.Sprintf("        - name: ENV_%d", k), Field: "/spec"}
			if k == 5 || k == 6 {
				l.Sign, l.Text = []string{"-", "+"}[k-5], fmt.Sprintf("          image: ghcr.io/acme/web:%d.%d", i, k)
				l.Origin = &report.Origin{Path: "apps/web/kustomization.yaml", StartLine: 3, EndLine: 3}
			}
			h.Lines = append(h.Lines, l)
		}
		d.Hunks = []report.DiffHunk{h}
		r.Differences = append(r.Differences, d)
	}
	return r
}

// BenchmarkPage writes a page of 1,000 findings and 200 changed resources, as one file and as it is served, and then
// ten times as many.
func BenchmarkPage(b *testing.B) {
	for _, c := range []struct {
		name  string
		times int
		parts string
	}{{"file", 1, ""}, {"served", 1, "/p/"}, {"file-10", 10, ""}, {"served-10", 10, "/p/"}} {
		b.Run(c.name, func(b *testing.B) {
			r := sizable(1000*c.times, 200*c.times)
			size := 0
			for b.Loop() {
				var out bytes.Buffer
				p := PageOf(r, PageOptions{BlobURL: blobURL, PolicyURL: blobURL})
				p.Static, p.Parts = "/static/", c.parts
				if err := p.Write(&out); err != nil {
					b.Fatal(err)
				}
				size = out.Len()
			}
			b.ReportMetric(float64(size)/(1<<20), "MiB/page")
		})
	}
}
