package checks_test

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/tree/treetest"
)

// A test that names a deployed file does not silently remove it from the check, in one step or in two. Files that a
// change adds together with their test are not checked.
func TestTestsDoNotHideDeployedFiles(t *testing.T) {
	const (
		chainsaw = "apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\n" +
			"spec: {steps: [{try: [{apply: {file: FILE}}]}]}\n"
		kuttl = "apiVersion: kuttl.dev/v1beta1\nkind: TestSuite\ntestDirs: [FILE]\n"
		head  = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\n"
	)
	test := func(text, file string) string { return strings.ReplaceAll(text, "FILE", file) }
	other := strings.ReplaceAll(badPod, "name: a", "name: b")
	plain := "-- apps/a.yaml --\n" + goodPod
	for _, c := range []struct {
		name, base, head string
		want             report.Conclusion
		mentions         string
	}{
		{"Chainsaw names a deployed file", plain, "-- apps/chainsaw-test.yaml --\n" + test(chainsaw, "a.yaml"),
			report.Neutral, "apps/a.yaml"},
		{"Chainsaw above names a deployed file", plain, "-- chainsaw-test.yaml --\n" + test(chainsaw, "apps/a.yaml"),
			report.Success, ""},
		{"KUTTL names a deployed folder", plain, "-- kuttl-test.yaml --\n" + test(kuttl, "apps"),
			report.Success, ""},
		{"a policy test names a deployed file as something else", plain, "-- apps/kyverno-test.yaml --\n" + head +
			"policies: [a.yaml]\nresources: []\nresults: []\n", report.Neutral, "apps/a.yaml"},
		{"Chainsaw names a new file beside a deployed one", plain, "-- apps/chainsaw-test.yaml --\n" + test(chainsaw, "b.yaml") +
			"# \n---\n" + test(chainsaw, "a.yaml") + "-- apps/b.yaml --\n" + other, report.Failure, "apps/b.yaml"},
		{"a deployed file that is edited besides", plain, "-- apps/chainsaw-test.yaml --\n" + test(chainsaw, "a.yaml") +
			"-- apps/a.yaml --\n" + badPod, report.Failure, "apps/a.yaml"},
		{"a new test with a new file", plain, "-- tests/chainsaw-test.yaml --\n" + test(chainsaw, "b.yaml") +
			"-- tests/b.yaml --\n" + other, report.Success, ""},
		{"another file for an existing test", plain + "-- tests/chainsaw-test.yaml --\n" + test(chainsaw, "a.yaml") + "-- tests/a.yaml --\n" +
			goodPod, "-- tests/chainsaw-test.yaml --\n" + test(chainsaw, "[a.yaml, b.yaml]") + "-- tests/b.yaml --\n" + other,
			report.Success, ""},
		{"a test's file that an object deploys", "-- argo/a.yaml --\n" + deploysApps + "-- apps/x/chainsaw-test.yaml --\n" +
			test(chainsaw, "b.yaml") + "-- apps/x/b.yaml --\n" + goodPod, "-- apps/x/b.yaml --\n" + badPod,
			report.Failure, "apps/x/b.yaml"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := treetest.New(t)
			base := r.Commit(bare(pods + c.base))
			rep := check(t, r, report.Change{Rules: base, Base: base, Head: r.Commit(c.head)})
			if told := toldOf(rep); rep.Conclusion != c.want || !strings.Contains(told, c.mentions) {
				t.Errorf("%s, %s, want %s and %q:\n%s", rep.Conclusion, rep.Title, c.want, c.mentions, told)
			}
		})
	}
}

// toldOf is everything that a report says about files.
func toldOf(rep *report.Report) string {
	var told strings.Builder
	for _, n := range rep.NotChecked {
		told.WriteString(n.Path + ": " + n.Reason + "\n")
	}
	return told.String() + problems(rep.Errors) + strings.Join(lines(rep), "\n")
}
