package checks_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/report"
)

// BenchmarkPreview measures two changes in a repository of 3,000 roots: one edits a manifest and previews nothing, the
// other adds a policy and evaluates every root.
func BenchmarkPreview(b *testing.B) {
	m := newMonorepo(b, 1000, 1)
	var stream bytes.Buffer
	policy := strings.Replace(teamPolicy, "team: ", "owner: ", 1)
	fmt.Fprintf(&stream, "commit refs/heads/policy\ncommitter t <t@example.com> 1700000000 +0000\ndata 1\nx\nfrom "+
		"refs/heads/base\n"+
		"M 100644 inline policies/team.yaml\ndata %d\n%s\n", len(policy), policy)
	m.git(b, &stream, "--git-dir", m.gitDir, "fast-import", "--quiet")
	for _, c := range []struct {
		name, head string
		roots      int
	}{{"manifest", m.edits[0], 0}, {"policy", m.git(b, nil, "--git-dir", m.gitDir, "rev-parse", "policy"), 3002}} {
		b.Run(c.name, func(b *testing.B) {
			var checker checks.Checker
			for b.Loop() {
				rep, err := checker.Run(b.Context(),
					report.Change{GitDir: m.gitDir, Rules: m.base, Base: m.base, Head: c.head, Now: now})
				if err != nil {
					b.Fatal(err)
				}
				if p := rep.Preview; (p == nil) != (c.roots == 0) || p != nil && (p.Stats.Unseen > 0 || p.Policies[0].Fails == 0) {
					b.Fatalf("preview: %+v", p)
				}
				if p := rep.Preview; p != nil {
					b.ReportMetric(float64(p.Stats.Roots), "roots")
					b.ReportMetric(float64(p.Policies[0].Fails), "fails")
				}
			}
		})
	}
}
