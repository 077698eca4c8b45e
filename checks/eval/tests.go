package eval

import (
	"cmp"
	"context"
	"io/fs"
	"path"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lintel-bot/lintel/checks/mask"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/roots"
)

// TestName is the name of the test files.
const TestName = roots.PolicyTestName

// TestInput is which policy tests to run, files which list policies, objects and the results to expect, and what the run
// depends on. They follow the format as the kyverno command reads it
// (https://kyverno.io/docs/kyverno-cli/reference/kyverno_test/), with one difference: a row where nothing was compared
// says so, and is not a pass.
type TestInput struct {
	Files fs.FS    // all that tests refer to must lie in it
	Tests []string // the test files, as paths of Files
	// Name is how reports call a path of Files; nil for the path itself.
	Name    func(path string) string
	Now     time.Time
	Workers int // tests that run at a time; 0 means one a processor
	// Match chooses results to check; nil for all.
	Match func(policy, rule, resource string) bool
	// Strict has rows fail where nothing is compared, and is an error where a test, or all of them, has none.
	Strict bool
	// Coverage asks which rules the rows reach.
	Coverage bool
}

// FindTests lists the test files in a folder of a file system and those below, in the order of their paths. They have the
// name, mostly TestName.
func FindTests(files fs.FS, dir, name string) ([]string, error) {
	var out []string
	err := fs.WalkDir(files, dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path.Base(p) == name {
			out = append(out, p)
		}
		return err
	})
	return out, err
}

// RunTests runs tests, several at a time. What is wrong with their files is in the report, and the other tests still
// run; the error is that of the context.
func RunTests(ctx context.Context, in TestInput) (*report.TestRun, error) {
	secrets := &mask.Values{}
	results := make([]report.TestRun, len(in.Tests))
	var workers errgroup.Group
	workers.SetLimit(cmp.Or(in.Workers, runtime.GOMAXPROCS(0)))
	for i, path := range in.Tests {
		workers.Go(func() error {
			if ctx.Err() == nil {
				f := testFile{TestInput: &in, path: path, secrets: secrets}
				f.run(ctx)
				// And not what the file has read.
				results[i] = report.TestRun{Rows: f.rows, Errors: f.errors, Coverage: f.coverage}
			}
			return ctx.Err()
		})
	}
	if err := workers.Wait(); err != nil {
		return nil, err
	}
	out := &report.TestRun{Rows: []report.TestRow{}, Errors: []report.Problem{}}
	out.Summary.Files = len(in.Tests)
	for _, r := range results {
		out.Rows = append(out.Rows, r.Rows...)
		out.Errors = append(out.Errors, r.Errors...)
		out.Coverage = append(out.Coverage, r.Coverage...)
	}
	if in.Strict && len(out.Rows)+len(out.Errors) == 0 {
		out.Errors = append(out.Errors, report.Problem{Message: "nothing was compared"})
	}
	out.Coverage = merged(out.Coverage)
	// Several tests often share a broken policy.
	out.Errors = report.SortProblems(out.Errors)
	for i := range out.Rows {
		out.Summary.Count(&out.Rows[i])
	}
	mask.Texts(out, secrets)
	return out, nil
}
