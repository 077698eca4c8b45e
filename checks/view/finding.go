// Package view decides what a finding of a report means and how it is worded: its level, sentence, place, advice and
// suggested fix. Each is decided here once, so that all output formats and the annotations of check runs agree.
package view

import (
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// State is what a finding means for the change.
type State int

// The states, the worst first.
const (
	Blocking  State = iota // fails the check
	Pending                // blocks until an exception of the change is approved
	Warning                // audited, or otherwise not blocking
	Undecided              // waits for causes of the report, with which it is told
	Before                 // the base had it, too
	Excepted               // an exception covers it
)

// StateOf returns the state of a finding.
func StateOf(f *report.Finding) State {
	switch {
	case f.Waits() && (f.New || f.Blocks):
		return Pending
	case f.Result == report.Skip:
		return Excepted
	case f.Blocks:
		return Blocking
	case !f.New:
		return Before
	case len(f.Causes) > 0:
		return Undecided
	}
	return Warning
}

// Level is how urgently a finding needs attention. The names are those of the annotations of GitHub's check runs.
type Level string

// The levels. Ignored is the level of what an exception covers.
const (
	Failure Level = "failure"
	Warn    Level = "warning"
	Notice  Level = "notice"
	Ignored Level = ""
)

// LevelOf returns the level of a finding: a failure if it blocks the change, a notice if the base had it or if it is
// audited with a low severity, else a warning.
func LevelOf(f *report.Finding) Level {
	switch s := StateOf(f); {
	case f.Blocks:
		return Failure
	case s == Excepted:
		return Ignored
	case s == Before, s == Warning && f.Result == report.Warn && (f.Severity == "low" || f.Severity == "info"):
		return Notice
	}
	return Warn
}

// DeniedWords end the description of a pre-existing violation that a cluster denies nevertheless.
const DeniedWords = "which a cluster denies nevertheless"

// Mark describes the state of a finding; it may be empty.
func Mark(f *report.Finding) string {
	var marks []string
	switch f.Result {
	case report.Error:
		marks = append(marks, "could not be evaluated")
	case report.Unknown:
		marks = append(marks, "undecided: needs the cluster")
	}
	switch StateOf(f) {
	case Pending:
		marks = append(marks, "waits for approval")
	case Excepted:
		marks = append(marks, "excepted")
	}
	if !f.New {
		marks = append(marks, "already in the base")
	}
	if f.Denied {
		marks = append(marks, DeniedWords)
	}
	return strings.Join(marks, ", ")
}

// Sentence returns the message of a finding.
func Sentence(f *report.Finding) string { return Reason(f.Rule, f.Message) }

// Fact is a labelled detail of a finding.
type Fact struct{ Label, Text string }

// Facts returns the expected value and the advice, if known, and the ids of causes.
func Facts(f *report.Finding) (list []Fact) {
	if f.Expected != "" {
		list = append(list, Fact{"Expected", f.Expected})
	}
	if a := FixInstruction(f); a != "" {
		list = append(list, Fact{"Advice", a})
	}
	if x := FixOf(f); x != nil && x.Shared != "" {
		list = append(list, Fact{"Note", "the fix is " + x.Shared})
	}
	if len(f.Causes) > 0 {
		list = append(list, Fact{"Causes", report.Some(f.Causes, maxNames)})
	}
	return list
}

// FixInstruction says where and how to edit, if that needs more than a place and the lines of a fix.
func FixInstruction(f *report.Finding) string {
	if f.Origin == nil {
		return ""
	}
	if a := f.Origin.Advice; a != "" || !renderedElsewhere(f) {
		return a
	}
	s := f.Suggestion
	switch {
	case s.Remove:
		return "change the value here so that " + FieldName(s.Field) + " is not rendered"
	case strings.Contains(s.YAML, "\n"):
		return "change the value here so that " + FieldName(s.Field) + " is rendered as expected"
	}
	return "change the value here so that " + FieldName(s.Field) + " is rendered as " + s.YAML
}

// ToDo is one sentence for a reader who sees only this finding: what to edit, and how to get an exception.
func ToDo(f *report.Finding) string {
	e := f.Exemption
	switch {
	case e != nil && e.State == report.Pending:
		return "nothing here; exception " + e.Exception + " (" + e.Path + ") covers this once it is approved in review."
	case e != nil && e.State == report.Refused:
		return "fix the value, or edit exception " + e.Exception + " (" + e.Path + "), for which " + e.By + " " +
			"requested changes."
	case e != nil && e.State == report.Expired:
		return "exception " + e.Exception + " (" + e.Path + ") has expired; renew it, or fix the value."
	case e != nil && e.State == report.Dropped:
		return "the change removes exception " + e.Exception + " (" + e.Path + "); keep it, or fix the value."
	case f.Result == report.Unknown:
		return "the rule needs data that only the cluster has: check by hand, or declare the data under context in " +
			".lintel.yaml."
	case f.Result == report.Error:
		return "fix the policy, or the value that it fails on; the rule could not be evaluated."
	case StateOf(f) == Before:
		return "nothing to do; the base branch has this violation already and it does not block."
	}
	edit := "change the value here so that the rule holds"
	switch a := FixInstruction(f); {
	case f.Operation == "DELETE" && (a == "" || f.Origin.Side == report.Base):
		edit = "keep what is removed here"
	case a != "":
		edit = a
	case f.Origin != nil && f.Origin.Missing != "":
		edit = "add " + FieldName(f.Origin.Missing) + " at this place"
	}
	if f.Result == report.Warn {
		return "better " + edit + "; the policy only audits, so this does not block."
	}
	return edit + ", or add an exception and have it approved (the button Draft exceptions writes one)."
}
