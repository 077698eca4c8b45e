package preview

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/eval"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/rules"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render/graph"
	"github.com/lintel-bot/lintel/render/roots"
	"github.com/lintel-bot/lintel/render/tree"
)

// previewTests runs the policy tests that the change can affect. A failing test is an error of the check, because the
// author of a policy must keep its tests passing.
func previewTests(ctx context.Context, in Input, p *report.Preview, e *rules.Edits) ([]report.Problem, error) {
	files, err := testFiles(in.Trees, e)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	run, err := eval.RunTests(ctx, eval.TestInput{Files: treeFiles{in.Trees.Head.Tree}, Tests: files, Now: in.Now})
	if err != nil {
		return nil, err
	}
	problems := run.Errors
	p.Tests = &report.PreviewTests{Files: files, Errors: len(problems), Rows: []report.TestRow{}}
	more := map[string]int{} // number of omitted failed rows by file
	for _, row := range run.Rows {
		switch {
		case row.Excluded:
			p.Tests.Excluded++
		case row.OK:
			p.Tests.Passed++
		default:
			p.Tests.Failed++
			if len(p.Tests.Rows) == maxListed {
				more[row.File]++
				continue
			}
			p.Tests.Rows = append(p.Tests.Rows, row)
			problems = append(problems, report.Problem{Path: row.File, Line: row.Line, Message: row.Words()})
		}
	}
	for _, file := range slices.Sorted(maps.Keys(more)) {
		problems = append(problems, report.Problem{Path: file,
			Message: fmt.Sprintf("%d more rows of this policy test fail", more[file])})
	}
	return problems, nil
}

// testFiles lists the tests of the head that the change can make fail. These are tests that it edits or beside which it
// edits a manifest, tests beside or below a policy or exception that it edits, and tests that name one.
func testFiles(t *diff.Trees, e *rules.Edits) ([]string, error) {
	found := map[string]bool{}
	for _, d := range t.Differences {
		name := path.Join(path.Dir(d.Path), roots.PolicyTestName)
		if entry, err := t.Head.Tree.Entry(name); err == nil && entry.Kind == tree.File && graph.IsManifestName(d.Path) && t.ProposesRules() {
			found[name] = true
		}
	}
	if len(e.Touched) > 0 {
		err := t.Head.Tree.Walk(func(p string, entry tree.Entry) error {
			if path.Base(p) == roots.PolicyTestName && entry.Kind == tree.File && !found[p] {
				found[p] = concernsTest(e, t.Head.Tree, p)
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

// concernsTest reports whether a test is beside or below an edited file of rules, or names one.
func concernsTest(e *rules.Edits, t *tree.Tree, test string) bool {
	for p := range e.Touched {
		if dir := path.Dir(p); dir == "." || strings.HasPrefix(test, dir+"/") {
			return true
		}
	}
	data, _, err := t.ReadFile(test)
	if err != nil {
		return false
	}
	documents, _ := rules.File{Path: test, Data: data}.Documents()
	for _, d := range documents {
		for _, field := range []string{"policies", "exceptions"} {
			list, _ := jsonpointer.At(d.Value(), "/"+field).([]any)
			for _, named := range list {
				name, _ := named.(string)
				name = path.Join(path.Dir(test), name)
				if e.Touched[name] {
					return true
				}
				for p := range e.Touched {
					if path.Dir(p) == name {
						return true
					}
				}
			}
		}
	}
	return false
}
