package view

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/checks/report"
)

func TestFixNamesTheOtherRootsOfItsFile(t *testing.T) {
	f := &report.Finding{Result: report.Fail, New: true, Blocks: true, Roots: []string{"overlays/production"}, Origin: &report.Origin{Path: "base/web.yaml"},
		Suggestion: &report.Suggestion{Field: "/spec/a", YAML: "1", Example: true, Diff: &report.Diff{Line: 1, Added: []string{"a: 1"}},
			Shared: 5, SharedWith: []string{"overlays/staging", "overlays/test", "overlays/x", "overlays/y"}}}
	const shared = "in a file that is also part of overlays/staging, overlays/test, overlays/x and 2 more"
	if got := FixOf(f).Words("Write"); got != "Write, for example, "+shared {
		t.Errorf("%q", got)
	}
	if facts := Facts(f); len(facts) != 1 || facts[0] != (Fact{"Note", "the fix is " + shared}) {
		t.Errorf("%+v", facts)
	}
}

func TestFixOfAnExistingValueReplacesIt(t *testing.T) {
	place := func(from, to int, missing string) *report.Origin {
		return &report.Origin{Path: "a.yaml", StartLine: 1, EndLine: 1, StartColumn: from, EndColumn: to, Missing: missing}
	}
	for name, c := range map[string]struct {
		suggestion report.Suggestion
		want       []string
		origin     *report.Origin
	}{
		"a scalar":            {report.Suggestion{Field: "/spec/protocol", YAML: "UDP", Was: "udp"}, []string{" spec:", "-  protocol: udp", "+  protocol: UDP"}, nil},
		"a new key":           {report.Suggestion{Field: "/spec/protocol", YAML: "UDP"}, []string{" spec:", "+  protocol: UDP"}, nil},
		"a removed key":       {report.Suggestion{Field: "/spec/protocol", Was: "udp", Remove: true}, []string{" spec:", "-  protocol:"}, nil},
		"an element":          {report.Suggestion{Field: "/spec/list/1", YAML: "b", Was: "a"}, []string{" spec:", "   list:", "-    - a", "+    - b"}, nil},
		"a value in the file": {report.Suggestion{Field: "/protocol", YAML: "UDP", Was: "udp"}, []string{"-protocol: udp", "+protocol: UDP"}, place(1, 4, "")},
		"a default":           {report.Suggestion{Field: "/protocol", YAML: "UDP", Was: "udp"}, []string{"+protocol: UDP"}, place(1, 4, "protocol")},
		"an alias":            {report.Suggestion{Field: "/protocol", YAML: "UDP", Was: "udp"}, []string{"+protocol: UDP"}, place(1, 3, "")},
	} {
		t.Run(name, func(t *testing.T) {
			f := &report.Finding{Result: report.Fail, New: true, Blocks: true, Suggestion: &c.suggestion, Origin: c.origin}
			if diff := cmp.Diff(c.want, FixOf(f).Rows); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The shape of the rendered object does not fit where a chart gets its values.
func TestFixOfAChartsValueDoesNotShowTheRenderedObject(t *testing.T) {
	f := &report.Finding{Result: report.Fail, New: true, Blocks: true, Suggestion: &report.Suggestion{Field: "/spec/hostNetwork", YAML: "false", Was: "true"},
		Origin: &report.Origin{Path: "apps.yaml", StartLine: 4, EndLine: 4, How: report.Writer, Chain: []report.Place{{Path: "web/values.yaml", Role: "values"}, {Path: "web/templates/d.yaml", Role: "template"}}}}
	if x, words := FixOf(f), FixInstruction(f); x != nil || words != "change the value here so that spec.hostNetwork is rendered as false" {
		t.Errorf("%+v, %q", x, words)
	}
}
