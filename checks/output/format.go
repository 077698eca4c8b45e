// Package output writes the results of commands in all formats: text for terminals, JSON, SARIF, GitHub workflow
// commands, JUnit, a policy report, Markdown, and HTML.
//
// All writers are pure functions of the data in package report. Texts in a report may come from strangers: no format
// lets them inject control characters, markup, or commands.
package output

import (
	"fmt"
	"io"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// Options are the options of all formats; each uses its own.
type Options struct {
	Color bool // text: use ANSI colors
	Width int  // text: columns of the terminal; 0 selects the default of the format
	Rows  Rows // text of tests: which rows are shown
	// Messages shows the message of each row in tables of tests and evaluations.
	Messages bool
	Chain    bool   // text of blame: show what each value replaced
	Version  string // sarif: the version of Lintel, may be empty
	Counts   bool   // text of evaluations: end with counts in the form of the kyverno command
	JSON     bool   // policyreport: JSON in place of YAML

	GroupBy   view.Grouping // text of checks: how findings are grouped; "" selects the default of the format
	Severity  string        // text of checks: the lowest severity that is shown; "" shows all
	AllPlaces bool          // text of checks: fold nothing
	Quiet     bool          // text of checks: only errors and the verdict
	Drafts    string        // of checks: the command that drafts exceptions; empty: it needs no flags
	Page      string        // markdown: the web address of a page with the whole report; may be empty
	HTML      PageOptions   // html: the content besides the report
}

// Rows says which rows of tests are shown. The zero value shows rows with a comparison, and of many rows only failed
// ones.
type Rows string

// The other values.
const (
	AllRows    Rows = "all"
	FailedRows Rows = "failed"
)

// Value is a type that commands write.
type Value interface {
	*report.Report | *report.Differences | *report.Evaluation | *report.TestRun | *report.Fixes |
		[]report.BlamedResource | []report.ListedRoot | []report.Object | []report.Fetched | report.Build | *report.InitPlan |
		[]report.Explanation
}

// writer writes a value of a command.
type writer[V Value] = func(w io.Writer, v V, o Options) error

// format is a format with its name, and a writer for each type of value that it supports.
type format struct {
	name    string
	writers []any
}

// formats are all formats, in the order of the documentation.
func formats() []format {
	return []format{
		{"text", []any{checkText, diffText, evalText, testText, fixText, blameText, rootsText, fetchedText, buildText, initText,
			explainText}},
		{"json", []any{checkJSON, completeJSON[*report.Differences], evalJSON, valueJSON[*report.TestRun], plainJSON[*report.Fixes],
			plainJSON[[]report.BlamedResource], plainJSON[*report.InitPlan], completeJSON[[]report.ListedRoot], completeJSON[[]report.Object],
			completeJSON[[]report.Fetched], completeJSON[[]report.Explanation]}},
		{"yaml", []any{objectsYAML}},
		{"sarif", []any{checkSARIF}},
		{"github", []any{checkGitHub}},
		{"junit", []any{checkJUnit, testJUnit}},
		{"table", []any{evalTable}},
		{"policyreport", []any{checkPolicyReport, evalPolicyReport}},
		{"markdown", []any{checkMarkdown, diffMarkdown}},
		{"html", []any{checkHTML, diffHTML}},
	}
}

// writerOf returns the writer of a format for a type; nil if the format does not support it.
func writerOf[V Value](f format) writer[V] {
	for _, w := range f.writers {
		if w, ok := w.(writer[V]); ok {
			return w
		}
	}
	return nil
}

// Unknown is the error for a format that does not exist, or that the command does not support. names are those that it
// supports.
func Unknown(name string, names []string) error {
	return fmt.Errorf("unknown output format %q: choose one of %s", name, strings.Join(names, ", "))
}

// Names lists the formats that support a type, in the order of the documentation.
func Names[V Value]() []string {
	own := report.Kept(formats(), func(f format) bool { return writerOf[V](f) != nil })
	return report.Mapped(own, func(f format) string { return f.name })
}

// Write writes a value in the named format. The error is [Unknown], or that of w.
func Write[V Value](name string, w io.Writer, v V, o Options) error {
	for _, f := range formats() {
		if write := writerOf[V](f); write != nil && f.name == name {
			return write(w, v, o)
		}
	}
	return Unknown(name, Names[V]())
}
