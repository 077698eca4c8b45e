package policytest

import (
	"context"
	"io/fs"
	"time"

	"github.com/lintel-bot/lintel/checks"
)

// Runner runs the tests that lie beside what a change does to its policies.
func Runner(ctx context.Context, files fs.FS, tests []string, now time.Time) ([]checks.TestRow, []checks.Problem, error) {
	report, err := Run(ctx, Input{Files: files, Tests: tests, Now: now})
	if err != nil {
		return nil, nil, err
	}
	return report.Rows, report.Errors, nil
}

var _ checks.TestRunner = Runner
