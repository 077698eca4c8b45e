package results

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/checks/output"
)

// A change is shown only if both reports list the policy, or list all policies.
func TestPolicyRows(t *testing.T) {
	type v = Violations
	for name, c := range map[string]struct {
		first, newest Entry
		want          []output.PolicyRow
	}{
		"all policies are listed": {Entry{Total: 5, Violations: []v{{Policy: "gone", Severity: "low", Count: 3}, {Policy: "a", Count: 2}}},
			Entry{Total: 5, Violations: []v{{Policy: "new", Count: 4}, {Policy: "a", Severity: "high", Count: 1}}},
			[]output.PolicyRow{{Policy: "new", Violations: 4, Change: "+4"}, {Policy: "a", Severity: "high", Violations: 1, Change: "−1"},
				{Policy: "gone", Severity: "low", Change: "−3"}}},
		"more policies than are listed": {Entry{Total: 9, Violations: []v{{Policy: "gone", Count: 3}, {Policy: "a", Count: 2}}},
			Entry{Total: 9, Violations: []v{{Policy: "new", Count: 4}, {Policy: "a", Count: 2}}},
			[]output.PolicyRow{{Policy: "new", Violations: 4}, {Policy: "a", Violations: 2, Change: "0"}}},
	} {
		if diff := cmp.Diff(c.want, policyRows(&c.first, &c.newest)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The legend has an entry for other policies only if there are other policies.
func TestChartLegend(t *testing.T) {
	for total, want := range map[int]string{3: "[a]", 5: "[a others]"} {
		o := &Overview{Branch: []Entry{{Total: total, Violations: []Violations{{Policy: "a", Count: 3}}}}}
		c := chart(o)
		if got := fmt.Sprint(c.Legend); got != want || len(c.Bars[0].Parts) != len(c.Legend) || c.Most() != total {
			t.Errorf("%d violations: %s %+v, want %s", total, got, c.Bars, want)
		}
	}
}
