package output

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// severe keeps the findings of a severity and above; all of them for "".
func severe(list []*report.Finding, least string) []*report.Finding {
	if least == "" {
		return list
	}
	var out []*report.Finding
	for _, f := range list {
		if report.SeverityRank(f.Severity) <= report.SeverityRank(least) {
			out = append(out, f)
		}
	}
	return out
}

// total is what one policy found.
type total struct {
	policy             string
	severity, action   string
	loudest            view.State
	new, old, excepted int
	places             int
}

// totals adds up findings by policy: those that block first, then by severity, then those that found most.
func totals(list []*report.Finding) []total {
	of := map[string][]*report.Finding{}
	for _, f := range list {
		of[f.Policy] = append(of[f.Policy], f)
	}
	var out []total
	for policy, own := range of {
		t := total{policy: policy, loudest: view.Excepted, places: placesOf(own)}
		t.severity = strings.Join(distinct(own, func(f *report.Finding) []string { return filled(f.Severity) }), ", ")
		actions := distinct(own, func(f *report.Finding) []string { return filled(string(f.Action)) })
		slices.Sort(actions)
		slices.Reverse(actions) // enforce, audit
		t.action = strings.Join(actions, ", ")
		for _, f := range own {
			s := view.StateOf(f)
			t.loudest = min(t.loudest, s)
			switch {
			case s == view.Excepted:
				t.excepted++
			case f.New:
				t.new++
			default:
				t.old++
			}
		}
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b total) int {
		return cmp.Or(cmp.Compare(a.loudest, b.loudest),
			cmp.Compare(report.SeverityRank(a.severity), report.SeverityRank(b.severity)),
			cmp.Compare(b.new+b.old, a.new+a.old), strings.Compare(a.policy, b.policy))
	})
	return out
}

// filled is a list of what is not empty.
func filled(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// totalsTable are the cells of totals with a head, and of several policies with their sum. What exceptions cover has a
// column where there is any.
func totalsTable(list []total) (rows [][]string) {
	covered := slices.ContainsFunc(list, func(t total) bool { return t.excepted > 0 })
	row := func(policy, severity, action, fresh, old, except, places string) {
		cells := []string{policy, severity, action, fresh, old}
		if covered {
			cells = append(cells, except)
		}
		rows = append(rows, append(cells, places))
	}
	row("policy", "severity", "action", "new", "in base", "excepted", "places")
	var sum total
	for _, t := range list {
		row(t.policy, cmp.Or(t.severity, "-"), cmp.Or(t.action, "-"), strconv.Itoa(t.new), strconv.Itoa(t.old),
			strconv.Itoa(t.excepted), strconv.Itoa(t.places))
		sum.new, sum.old, sum.excepted, sum.places = sum.new+t.new, sum.old+t.old, sum.excepted+t.excepted,
			sum.places+t.places
	}
	if len(list) > 1 {
		row(report.Count(len(list), "policy", "policies"), "", "", strconv.Itoa(sum.new), strconv.Itoa(sum.old),
			strconv.Itoa(sum.excepted), strconv.Itoa(sum.places))
	}
	return rows
}

// shortestName is how many columns the name of a policy has at least in the table.
const shortestName = 12

// columnWidths are the widths of the columns of a table, the cells of which it makes safe to show, and what all but the
// first one take.
func columnWidths(rows [][]string) (widths []int, rest int) {
	widths = make([]int, len(rows[0]))
	for i := range widths {
		for _, cells := range rows {
			cells[i] = tame(line(cells[i]))
			widths[i] = max(widths[i], textWidth(cells[i]))
		}
		if i > 0 {
			rest += 2 + widths[i]
		}
	}
	return widths, rest
}

// totals writes how much each policy found, as an aligned table. One finding needs none.
func (t *text) totals(list []*report.Finding) {
	if len(list) < 2 {
		return
	}
	all := totals(list)
	rows := totalsTable(all)
	widths, rest := columnWidths(rows)
	for _, name := range []string{"action", "places", "severity"} { // the entries below have them
		if rest+shortestName <= t.width {
			break
		}
		at := slices.Index(rows[0], name)
		for n := range rows {
			rows[n] = slices.Delete(rows[n], at, at+1)
		}
		widths, rest = columnWidths(rows)
	}
	// A name that is too long is cut: the entry below has the whole.
	widths[0] = min(widths[0], max(t.width-rest, shortestName))
	for n, cells := range rows {
		var b strings.Builder
		for i, c := range cells {
			if i == 0 {
				c = clipWidth(c, widths[0])
			}
			pad := strings.Repeat(" ", max(widths[i]-textWidth(c), 0))
			if i == 0 || rows[0][i] == "severity" || rows[0][i] == "action" {
				c += pad
			} else {
				c = pad + c
			}
			switch {
			case n == 0, n > len(all):
				c = t.paint.dim(c)
			case i == 0 && all[n-1].loudest == view.Blocking:
				c = t.paint.with(red).mark(c)
			case i == 0:
				c = t.paint.bold(c)
			}
			if i > 0 {
				b.WriteString("  ")
			}
			b.WriteString(c)
		}
		t.line(b.String())
	}
	t.blank()
}

// clipWidth cuts text to a number of columns, the last of them an ellipsis.
func clipWidth(s string, width int) string {
	if textWidth(s) <= width {
		return s
	}
	used := 0
	for i, r := range s {
		if used+runeWidth(r) > width-1 {
			return s[:i] + "…"
		}
		used += runeWidth(r)
	}
	return s
}
