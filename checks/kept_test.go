package checks_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/checks"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

const keptApp = `
-- policies/p.yaml --
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate:
      failureAction: Enforce
      message: too late
      deny: {conditions: {all: [{key: "{{ time_after(KEY, '2026-06-01T00:00:00Z') }}", operator: Equals, value: true}]}}
-- app/kustomization.yaml --
resources: [cm.yaml]
-- app/cm.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a, annotations: {at: VALUE}}
`

// The same check again returns the kept report, unless a rule asks for the time: then it runs with the present time.
func TestReportIsKeptUnlessItDependsOnTheTime(t *testing.T) {
	january, july := now, now.AddDate(0, 6, 0)
	for _, c := range []struct {
		name, key    string
		kept, blocks bool // in the second check
	}{
		{"no rule asks", "request.object.metadata.annotations.at", true, false},
		{"a rule asks", "time_now_utc()", false, true},
		{"a continued line hides it", "time_\\\n        now_utc()", false, true},
		{"an escape hides it", `time\u005fnow_utc()`, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			archive := strings.NewReplacer("KEY", c.key, "VALUE", `"2026-01-01T00:00:00Z"`).Replace(keptApp)
			base := r.Commit(archive)
			head := r.Commit(archive + "-- app/other.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, annotations: " +
				"{at: \"2026-01-01T00:00:00Z\"}}\n-- app/kustomization.yaml --\nresources: [cm.yaml, other.yaml]\n")
			cache := t.TempDir()
			run := func(at time.Time) *report.Report {
				var checker checks.Checker
				rep, err := checker.Run(t.Context(), report.Change{GitDir: r.GitDir, Cache: cache, Rules: base, Base: base, Head: head, Now: at})
				if err != nil {
					t.Fatal(err)
				}
				return rep
			}
			first, second := run(january), run(july)
			if kept := second.Work.Rendered+second.Work.Recalled == 0; kept != c.kept {
				t.Errorf("kept: %t, want %t (%+v)", kept, c.kept, second.Work)
			}
			if blocks := second.Conclusion == report.Failure && first.Conclusion != report.Failure; blocks != c.blocks {
				t.Errorf("concludes %s and then %s", first.Conclusion, second.Conclusion)
			}
			if c.kept {
				first.Work, second.Work = nil, nil
				a, _ := json.Marshal(first)
				b, _ := json.Marshal(second)
				if string(a) != string(b) {
					t.Errorf("kept:\n%s\nmade:\n%s", b, a)
				}
			}
		})
	}
}
