package policytest

import (
	"context"
	"io/fs"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
)

// Runner runs the tests that lie beside what a change does to its policies.
func Runner(ctx context.Context, files fs.FS, tests []string, now time.Time) ([]report.TestRow, []report.Problem, error) {
	rep, err := Run(ctx, Input{Files: files, Tests: tests, Now: now})
	if err != nil {
		return nil, nil, err
	}
	return rep.Rows, rep.Errors, nil
}
