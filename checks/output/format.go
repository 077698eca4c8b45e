// Package output writes a report.Report in the forms people and programs read: text for terminals, JSON,
// SARIF, GitHub workflow commands, JUnit, a policy report, and Markdown.
//
// All of it are pure functions of the report. What a report quotes was written by strangers: no form lets
// it inject control characters, markup, or commands of the form.
package output

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// Options are the options of all forms; each reads its own.
type Options struct {
	Color   bool   // text: use ANSI colors
	Width   int    // text: columns of the terminal; 0 means 80
	Version string // sarif: the version of Lintel, may be empty
}

// UnknownError says that there is no form of this name.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("unknown output format %q: choose one of %s", e.Name, strings.Join(Names(), ", "))
}

type writer struct {
	name  string
	write func(w io.Writer, r *report.Report, o Options) error
}

func writers() []writer {
	return []writer{
		{"text", func(w io.Writer, r *report.Report, o Options) error {
			return Text(w, r, TextOptions{Color: o.Color, Width: o.Width})
		}},
		{"json", func(w io.Writer, r *report.Report, _ Options) error { return JSON(w, r) }},
		{"sarif", func(w io.Writer, r *report.Report, o Options) error { return SARIF(w, r, o.Version) }},
		{"github", func(w io.Writer, r *report.Report, _ Options) error { return GitHub(w, r) }},
		{"junit", func(w io.Writer, r *report.Report, _ Options) error { return JUnit(w, r) }},
		{"policyreport", func(w io.Writer, r *report.Report, _ Options) error { return PolicyReport(w, r) }},
		{"markdown", func(w io.Writer, r *report.Report, _ Options) error {
			_, err := io.WriteString(w, Markdown(r, MarkdownOptions{}))
			return err
		}},
	}
}

// Names are the names that Write knows, in the order of the documentation.
func Names() []string {
	var names []string
	for _, w := range writers() {
		names = append(names, w.name)
	}
	return names
}

// Write writes the report in the named form. The error is *UnknownError, or that of w.
func Write(name string, w io.Writer, r *report.Report, o Options) error {
	all := writers()
	i := slices.IndexFunc(all, func(w writer) bool { return w.name == name })
	if i < 0 {
		return &UnknownError{Name: name}
	}
	return all[i].write(w, r, o)
}
