package pages

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/checks/page"
)

// A change is said only where both reports tell it.
func TestPolicyRows(t *testing.T) {
	type v = results.Violations
	for name, c := range map[string]struct {
		first, newest results.Entry
		want          []page.PolicyRow
	}{
		"all is listed": {results.Entry{Total: 5, Violations: []v{{Policy: "gone", Severity: "low", Count: 3}, {Policy: "a", Count: 2}}},
			results.Entry{Total: 5, Violations: []v{{Policy: "new", Count: 4}, {Policy: "a", Severity: "high", Count: 1}}},
			[]page.PolicyRow{{Policy: "new", Violations: 4, Change: "+4"}, {Policy: "a", Severity: "high", Violations: 1, Change: "−1"},
				{Policy: "gone", Severity: "low", Change: "−3"}}},
		"more than is listed": {results.Entry{Total: 9, Violations: []v{{Policy: "gone", Count: 3}, {Policy: "a", Count: 2}}},
			results.Entry{Total: 9, Violations: []v{{Policy: "new", Count: 4}, {Policy: "a", Count: 2}}},
			[]page.PolicyRow{{Policy: "new", Violations: 4}, {Policy: "a", Violations: 2, Change: "0"}}},
	} {
		if diff := cmp.Diff(c.want, policyRows(&c.first, &c.newest)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
