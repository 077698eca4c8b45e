package output

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// standing is what a finding means for the change; all forms tell it the same way.
type standing int

// The standings, loudest first.
const (
	blocking standing = iota // fails the check
	pending                  // blocks until an exception of the change is approved
	warning                  // audited, undecided, or otherwise not blocking
	before                   // the base had it, too
	excepted                 // an exception covers it
)

func standingOf(f *report.Finding) standing {
	switch {
	case f.Result == report.Skip:
		return excepted
	case f.Waits() && (f.New || f.Blocks):
		return pending
	case f.Blocks:
		return blocking
	case !f.New:
		return before
	}
	return warning
}

// deniedWords is said of what the base had, where a cluster does not tolerate that.
const deniedWords = "which a cluster denies all the same"

// mark is what is said about a finding besides its message, or "".
func mark(f *report.Finding) string {
	var marks []string
	switch f.Result {
	case report.Error:
		marks = append(marks, "could not be evaluated")
	case report.Unknown:
		marks = append(marks, "undecided: needs the cluster")
	}
	switch standingOf(f) {
	case pending:
		marks = append(marks, "waits for approval")
	case excepted:
		marks = append(marks, "excepted")
	}
	if !f.New {
		marks = append(marks, "already in the base")
	}
	if f.Denied {
		marks = append(marks, deniedWords)
	}
	return strings.Join(marks, ", ")
}

// byPlace is the findings in the order of files, lines and columns, the loudest first; those without a place come last.
func byPlace(findings []report.Finding) []*report.Finding {
	list := make([]*report.Finding, 0, len(findings))
	for i := range findings {
		list = append(list, &findings[i])
	}
	none := &report.Origin{}
	slices.SortStableFunc(list, func(a, b *report.Finding) int {
		x, y := cmp.Or(a.Origin, none), cmp.Or(b.Origin, none)
		if (x.Path == "") != (y.Path == "") {
			return strings.Compare(y.Path, x.Path)
		}
		return cmp.Or(
			strings.Compare(x.Path, y.Path), cmp.Compare(x.StartLine, y.StartLine), cmp.Compare(x.StartColumn, y.StartColumn),
			cmp.Compare(standingOf(a), standingOf(b)),
			strings.Compare(a.Policy, b.Policy), strings.Compare(a.Rule, b.Rule),
			strings.Compare(a.Resource.String(), b.Resource.String()))
	})
	return list
}

// only keeps the findings of the given standings.
func only(list []*report.Finding, standings ...standing) []*report.Finding {
	var out []*report.Finding
	for _, f := range list {
		if slices.Contains(standings, standingOf(f)) {
			out = append(out, f)
		}
	}
	return out
}
