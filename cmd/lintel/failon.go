package main

import (
	"slices"

	"github.com/lintel-bot/lintel/checks/report"
)

// The values of --fail-on.
const (
	failOnWarn    = "warn"
	failOnNeutral = "neutral"
)

// fails reports whether a check ends with exit code 1: it failed, or is waiting, or has what --fail-on names.
func fails(r *report.Report, on string) bool {
	switch {
	case r.Conclusion == report.Failure || r.Conclusion == report.ActionRequired:
		return true
	case on == failOnNeutral:
		return r.Conclusion != report.Success
	}
	return on == failOnWarn && slices.ContainsFunc(r.Findings, func(f report.Finding) bool {
		return f.New && (f.Result == report.Warn || f.Result == report.Error)
	})
}
