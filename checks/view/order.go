package view

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// ByPlace returns the findings in the order of files, lines and columns, the loudest first; those without a place come last.
func ByPlace(findings []report.Finding) []*report.Finding {
	list := make([]*report.Finding, len(findings))
	for i := range findings {
		list[i] = &findings[i]
	}
	slices.SortStableFunc(list, func(a, b *report.Finding) int {
		x, y := originOf(a), originOf(b)
		if (x.Path == "") != (y.Path == "") {
			return strings.Compare(y.Path, x.Path)
		}
		return cmp.Or(
			strings.Compare(x.Path, y.Path), cmp.Compare(x.StartLine, y.StartLine), cmp.Compare(x.StartColumn, y.StartColumn),
			cmp.Compare(StateOf(a), StateOf(b)),
			strings.Compare(a.Policy, b.Policy), strings.Compare(a.Rule, b.Rule),
			strings.Compare(a.Resource.String(), b.Resource.String()))
	})
	return list
}

// Only keeps the findings of the given states.
func Only(list []*report.Finding, states ...State) []*report.Finding {
	return slices.DeleteFunc(slices.Clone(list), func(f *report.Finding) bool { return !slices.Contains(states, StateOf(f)) })
}

// Severe keeps the findings of a severity and above; all of them for "".
func Severe(list []*report.Finding, least string) []*report.Finding {
	return slices.DeleteFunc(slices.Clone(list), func(f *report.Finding) bool {
		return least != "" && report.SeverityRank(f.Severity) > report.SeverityRank(least)
	})
}

// Loudest is the state of some findings that is the worst.
func Loudest(list []*report.Finding) State {
	s := Excepted
	for _, f := range list {
		s = min(s, StateOf(f))
	}
	return s
}

// Total is what one policy found.
type Total struct {
	Policy             string
	Severity, Action   string
	Loudest            State
	New, Old, Excepted int
	Places             int
}

// Totals adds up findings by policy: those that block first, then by severity, then those that found most.
func Totals(list []*report.Finding) []Total {
	of := map[string]Entry{}
	for _, f := range list {
		of[f.Policy] = append(of[f.Policy], f)
	}
	var out []Total
	for policy, own := range of {
		t := Total{Policy: policy, Loudest: Loudest(own), Places: placesOf(own)}
		t.Severity = strings.Join(own.each(func(f *report.Finding) []string { return filled(f.Severity) }), ", ")
		actions := own.each(func(f *report.Finding) []string { return filled(string(f.Action)) })
		slices.Sort(actions)
		slices.Reverse(actions) // enforce, audit
		t.Action = strings.Join(actions, ", ")
		for _, f := range own {
			switch {
			case StateOf(f) == Excepted:
				t.Excepted++
			case f.New:
				t.New++
			default:
				t.Old++
			}
		}
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b Total) int {
		return cmp.Or(cmp.Compare(a.Loudest, b.Loudest),
			cmp.Compare(report.SeverityRank(a.Severity), report.SeverityRank(b.Severity)),
			cmp.Compare(b.New+b.Old, a.New+a.Old), strings.Compare(a.Policy, b.Policy))
	})
	return out
}

// TotalsTable are the cells of totals with a head, and of several policies with their sum. What exceptions cover has a
// column where there is any.
func TotalsTable(list []Total) [][]string {
	rows := [][]string{{"policy", "severity", "action", "new", "in base", "excepted", "places"}}
	var sum Total
	add := func(policy, severity, action string, t Total) {
		rows = append(rows, []string{policy, severity, action, strconv.Itoa(t.New), strconv.Itoa(t.Old), strconv.Itoa(t.Excepted),
			strconv.Itoa(t.Places)})
	}
	for _, t := range list {
		add(t.Policy, cmp.Or(t.Severity, "-"), cmp.Or(t.Action, "-"), t)
		sum.New, sum.Old, sum.Excepted, sum.Places = sum.New+t.New, sum.Old+t.Old, sum.Excepted+t.Excepted, sum.Places+t.Places
	}
	if len(list) > 1 {
		add(report.Count(len(list), "policy", "policies"), "", "", sum)
	}
	if sum.Excepted == 0 {
		for i, row := range rows {
			rows[i] = slices.Delete(row, 5, 6)
		}
	}
	return rows
}
