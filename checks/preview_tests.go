package checks

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine/policy"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// TestFileName is how the files of policy tests are called
// (https://kyverno.io/docs/kyverno-cli/reference/kyverno_test/).
const TestFileName = roots.PolicyTestName

// previewTests runs the policy tests that bear on what the change edits. One that fails fails the check: whoever edits
// a policy mends its tests.
func (r *run) previewTests(ctx context.Context, p *report.Preview, e *ruleEdits, test TestRunner) error {
	files, err := r.testFiles(e)
	if err != nil || len(files) == 0 {
		return err
	}
	if test == nil {
		p.Warnings = append(p.Warnings, report.Problem{Path: files[0], Message: "the policy tests were not run: this program cannot run any"})
		return nil
	}
	rows, errs, err := test(ctx, treeFiles{r.headTree}, files, r.change.Now)
	if err != nil {
		return err
	}
	r.problems(errs...)
	p.Tests = &report.PreviewTests{Files: files, Errors: len(errs), Rows: []report.TestRow{}}
	more := map[string]int{} // failed rows by file for which there is no room
	for _, row := range rows {
		switch {
		case row.Excluded:
			p.Tests.Excluded++
		case row.OK:
			p.Tests.Passed++
		default:
			p.Tests.Failed++
			if len(p.Tests.Rows) == maxPreviewed {
				more[row.File]++
				continue
			}
			p.Tests.Rows = append(p.Tests.Rows, row)
			r.problems(report.Problem{Path: row.File, Line: row.Line, Message: row.Words()})
		}
	}
	for _, file := range slices.Sorted(maps.Keys(more)) {
		r.problems(report.Problem{Path: file, Message: fmt.Sprintf("%d more rows of this policy test fail", more[file])})
	}
	return nil
}

// testFiles lists the tests of the head that the change can make fail: those it edits or whose folder it edits, those
// beside or below a policy or an exception that it edits, and those that name one.
func (r *run) testFiles(e *ruleEdits) ([]string, error) {
	found := map[string]bool{}
	for p := range r.changed {
		name := path.Join(path.Dir(p), TestFileName)
		if entry, err := r.headTree.Entry(name); err == nil && entry.Kind == tree.File && r.proposesRules() {
			found[name] = true
		}
	}
	if len(e.touched) > 0 {
		err := r.headTree.Walk(func(p string, entry tree.Entry) error {
			if path.Base(p) == TestFileName && entry.Kind == tree.File && !found[p] {
				found[p] = e.concernsTest(r.headTree, p)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	maps.DeleteFunc(found, func(_ string, yes bool) bool { return !yes })
	return slices.Sorted(maps.Keys(found)), nil
}

// proposesRules says whether the head is another commit than the one whose rules apply; else there is nothing to preview.
func (r *run) proposesRules() bool { return r.headTree.ID() != r.rulesTree.ID() }

// concernsTest says whether a test lies beside or below a file of rules that is edited, or names one.
func (e *ruleEdits) concernsTest(t *tree.Tree, test string) bool {
	for p := range e.touched {
		if dir := path.Dir(p); dir == "." || strings.HasPrefix(test, dir+"/") {
			return true
		}
	}
	data, _, err := t.ReadFile(test)
	if err != nil {
		return false
	}
	documents, _ := policy.Documents(policy.Source{Path: test, Data: data})
	for _, d := range documents {
		for _, field := range []string{"policies", "exceptions"} {
			for _, named := range items(d.Value(), field) {
				name, _ := named.(string)
				name = path.Join(path.Dir(test), name)
				if e.touched[name] {
					return true
				}
				for p := range e.touched {
					if path.Dir(p) == name {
						return true
					}
				}
			}
		}
	}
	return false
}
