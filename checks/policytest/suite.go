// Package policytest runs policy tests: files named kyverno-test.yaml, which list policies, objects and the results to
// expect.
//
// It follows the format as the kyverno command reads it
// (https://kyverno.io/docs/kyverno-cli/reference/kyverno_test/), with one difference: a row where nothing was
// compared says so, and is no pass.
package policytest

import (
	"cmp"
	"context"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/roots"
)

// FileName is how the files of tests are called.
const FileName = roots.PolicyTestName

// Input is what a run depends on.
type Input struct {
	Files fs.FS    // all that tests refer to must lie in it
	Tests []string // the test files, as paths of Files
	// Name is how reports call a path of Files; nil for the path itself.
	Name    func(path string) string
	Now     time.Time
	Workers int // tests that run at a time; 0 means one a processor
	// Match chooses results to check; nil for all.
	Match func(policy, rule, resource string) bool
}

// Report is the outcome of a run, and the stable form of "lintel test -o json".
type Report struct {
	Rows    []Row            `json:"rows"`   // in the order of the files and their results
	Errors  []report.Problem `json:"errors"` // what kept a test, or a part of it, from running
	Summary Summary          `json:"summary"`
}

// Row compares one expected result with one answer about one object.
type Row = report.TestRow

// Summary counts rows. Excluded ones are not among the checked.
type Summary struct {
	Files    int `json:"files"`
	Checked  int `json:"checked"`
	Passed   int `json:"passed"`
	Failed   int `json:"failed"`
	Excluded int `json:"excluded"`
}

// OK says whether all tests could be run and none of their rows failed.
func (r *Report) OK() bool { return len(r.Errors) == 0 && r.Summary.Failed == 0 }

// Find lists the test files in a folder of a file system and those below, in the order of their paths.
func Find(files fs.FS, dir string) ([]string, error) {
	var out []string
	err := fs.WalkDir(files, dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path.Base(p) == FileName {
			out = append(out, p)
		}
		return err
	})
	return out, err
}

// Run runs tests, several at a time. What is wrong with their files is in the report, and the other tests still
// run; the error is that of the context.
func Run(ctx context.Context, in Input) (*Report, error) {
	type result struct {
		rows   []Row
		errors []report.Problem
	}
	results := make([]result, len(in.Tests))
	next := make(chan int)
	var workers sync.WaitGroup
	count := cmp.Or(in.Workers, runtime.GOMAXPROCS(0))
	for range min(count, len(in.Tests)) {
		workers.Go(func() {
			for i := range next {
				f := file{Input: &in, path: in.Tests[i]}
				f.run(ctx)
				results[i] = result{f.rows, f.errors}
			}
		})
	}
	for i := range in.Tests {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := &Report{Rows: []Row{}, Errors: []report.Problem{}}
	out.Summary.Files = len(in.Tests)
	for _, r := range results {
		out.Rows = append(out.Rows, r.rows...)
		out.Errors = append(out.Errors, r.errors...)
	}
	// Several tests often share a broken policy.
	slices.SortStableFunc(out.Errors, func(a, b report.Problem) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	out.Errors = slices.Compact(out.Errors)
	for _, row := range out.Rows {
		out.Summary.add(row)
	}
	return out, nil
}

func (s *Summary) add(r Row) {
	switch {
	case r.Excluded:
		s.Excluded++
		return
	case r.OK:
		s.Passed++
	default:
		s.Failed++
	}
	s.Checked++
}
