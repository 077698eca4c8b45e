package checks_test

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// The author of a change is told about rules that the change leaves alone in one line, and about those that it edits in full.
func TestWarningsAboutRulesOfTheBaseBranchAreOneLine(t *testing.T) {
	t.Parallel()
	rule := func(name string) string {
		return "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: " + name + "}\nspec:\n  rules:\n  - name: make\n    match: {any: " +
			"[{resources: {kinds: [Namespace]}}]}\n    generate: {apiVersion: v1, kind: ConfigMap, name: c, namespace: d, data: {data: {a: b}}}\n"
	}
	r := treetest.New(t)
	r.Write("rules/one.yaml", rule("one"))
	r.Write("rules/two.yaml", rule("two"))
	r.Write("rules/three.yaml", rule("three"))
	base := r.Commit("")
	told := func(change report.Change) (list []string) {
		for _, w := range check(t, r, change).Warnings {
			if strings.Contains(w.Message, "generate") {
				list = append(list, w.Path+" "+w.Message)
			}
		}
		return list
	}
	r.Write("apps/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: d}\n")
	alone := told(report.Change{Rules: base, Base: base, Head: r.Snapshot()})
	if len(alone) != 1 || !strings.Contains(alone[0], "(and 2 more warnings about rules, see the report of the branch)") {
		t.Errorf("a change beside the rules is told %q", alone)
	}
	if all := told(report.Change{Rules: base, Head: base, All: true}); len(all) != 3 {
		t.Errorf("the report of the branch tells %q", all)
	}
	r.Write("rules/two.yaml", rule("two")+"  background: true\n")
	if edited := told(report.Change{Rules: base, Base: base, Head: r.Snapshot()}); len(edited) != 2 ||
		!strings.HasPrefix(edited[1], "rules/two.yaml") && !strings.HasPrefix(edited[0], "rules/two.yaml") {
		t.Errorf("a change of one rule is told %q", edited)
	}
}
