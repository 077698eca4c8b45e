package output

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

const (
	manyFindings = 20 // with more findings, entries of a rule are brief from the fourth on
	fullEntries  = 3
	briefEntries = 10 // brief entries of a rule; further ones are counted
	manyPlaces   = 8  // with more places, they are folded
	fewPlaces    = 5  // number of places shown if folded
	fewNames     = 5
	fewCauses    = 3 // number of causes, and of findings that depend on them
	manyCauses   = 5 // with more groups of causes, each names one of these
)

// findings writes entries, grouped by policy, file or resource. Of many findings, the first few of a rule are written
// in full and the others in brief. By policy, further different ones of a rule are counted.
func (t *text) findings(list []*report.Finding) {
	by := cmp.Or(t.o.GroupBy, view.ByPolicy)
	full := fullEntries
	if by != view.ByPolicy {
		full = 1 // the same rules come again for each file or resource
	}
	if len(list) <= manyFindings || t.o.AllPlaces {
		full = len(list)
	}
	told := map[string]int{} // number of written entries by rule
	left, rule, group := 0, "", ""
	var last *report.Origin
	who := "" // the resource of the entry above, by file
	rest := func() {
		if left > 0 {
			t.rows("", fmt.Sprintf("and %s of %s; --all-places lists them", report.Count(left, "more finding", "more findings"),
				Line(rule)))
		}
		left = 0
	}
	for _, e := range view.Entries(list, by) {
		f := e[0]
		if name := view.Title(f.Policy, f.Rule); name != rule {
			rest()
			rule = name
		}
		if of := by.Of(f); of != group {
			t.blank()
			group, who = of, ""
			if by == view.ByResource {
				t.title(Line(group) + ":")
			}
		}
		told[rule]++
		switch n := told[rule]; {
		case n <= full:
			t.blank()
			t.entry(e, last)
			last, who = f.Origin, ""
		case by != view.ByPolicy || n <= full+briefEntries:
			who = t.brief(e, by, who)
		default:
			left += len(e)
		}
		t.told[view.Sameness(f)] = true
	}
	rest()
	t.blank()
}

func (t *text) entryHead(p painter, at string, e view.Entry, mark string) {
	size := e.Size()
	if size != "" {
		size = "(" + size + ")"
	}
	if mark != "" {
		mark = "[" + mark + "]"
	}
	t.head(p, Line(at), Line(view.Weight(e[0])), Line(view.Title(e[0].Policy, e[0].Rule)), mark, size)
}

func (t *text) tone(e view.Entry) painter {
	if view.StateOf(e[0]) == view.Blocking {
		return t.paint.with(red)
	}
	return t.paint.with(yellow)
}

// entry writes one or several findings in full.
func (t *text) entry(e view.Entry, last *report.Origin) {
	f := e[0]
	t.entryHead(t.tone(e), view.PlaceOf(f.Origin), e, view.Mark(f))
	t.rows("  ", lines(view.Sentence(f)))
	if o := f.Origin; o != nil && (last == nil || o.Path != last.Path || spanOf(o) != spanOf(last)) {
		t.frame(o.Path, spanOf(o), t.tone(e))
	}
	t.fix(f)
	t.facts(e)
	t.blank()
}

func spanOf(o *report.Origin) span { return span{o.StartLine, o.EndLine, o.StartColumn, o.EndColumn} }

// brief writes an entry of a rule that was written in full before: its place, and what differs. If entries are grouped
// by file, above is the resource written last, and brief returns the one for the next entry.
func (t *text) brief(e view.Entry, by view.Grouping, above string) string {
	list := e.Spots()
	at := view.PlaceOf(e[0].Origin)
	if len(list) == 1 {
		at = list[0].Place(fewNames)
	}
	t.entryHead(t.tone(e), at, e, view.Mark(e[0]))
	if !t.told[view.Sameness(e[0])] {
		t.rows("  ", lines(view.Sentence(e[0])))
	}
	if len(list) > 1 {
		t.places(e)
		return ""
	}
	who := list[0].Who()
	if by == view.ByPolicy || by == view.ByFile && who != above {
		t.rows("    ", Line(who))
	}
	return who
}

// fix writes the suggested fix, as a difference of the source if its lines are known.
func (t *text) fix(f *report.Finding) {
	x := view.FixOf(f)
	if x == nil {
		return
	}
	words := x.Words("  write")
	if x.Path != "" {
		words += fmt.Sprintf(" (%s)", view.Place(x.Path, x.Line, 0))
	}
	t.line(t.paint.dim(Line(words) + ":"))
	t.blank()
	for _, row := range x.Rows {
		switch shown := "    " + Line(row); row[:min(len(row), 1)] {
		case "+":
			t.line(t.paint.with(green).mark(shown))
		case "-":
			t.line(t.paint.with(red).mark(shown))
		default:
			t.line(shown)
		}
	}
	t.blank()
}

// facts writes the facts of an entry. Details that differ between places are written only for an entry with one place.
func (t *text) facts(e view.Entry) {
	f := e[0]
	t.fact("field", t.some(e.Fields()))
	t.fact("expected", f.Expected)
	if !t.told[f.Policy] {
		t.why(f)
		t.told[f.Policy] = true
	}
	t.fact("policy", view.KnownPlace(f.PolicyPath, f.PolicyLine, 0))
	t.places(e)
	if roots := e.Roots(); len(e) > 1 && len(roots) > fewNames && !t.o.AllPlaces {
		t.fact("roots", report.Some(roots, 1)) // the places name the roots, too
	} else {
		t.fact("roots", t.some(roots))
	}
	t.fact("clusters", t.some(e.Clusters()))
	if e.Named() {
		t.fact("note", "the message is that of the first; the others name their own resource in it")
	}
	if o := f.Origin; o != nil {
		if o.Set == nil && len(e) == 1 {
			t.fact("missing", view.FieldName(o.Missing))
		}
		t.fact("advice", view.FixInstruction(f))
		if o.Side == report.Base {
			t.fact("note", "the place is in the base; the change deletes it")
		} else if o.How == report.Enclosing && o.Missing == "" && view.FixInstruction(f) == "" {
			t.fact("note", "this is the nearest place that could be found")
		}
		for _, c := range o.Chain {
			if len(e) == 1 {
				t.fact("over", view.Place(c.Path, c.StartLine, 0)+" ("+c.Role+")")
			}
		}
	}
	if f.Exemption != nil {
		t.fact("exception", view.Exemption(f.Exemption))
	}
}

// why writes in one line why a policy exists, and the command that explains it.
func (t *text) why(f *report.Finding) {
	words := Line(view.Why(t.report, f.Policy))
	if short := ClipWidth(words, t.width-13); short != words {
		t.fact("why", cmp.Or(ClipWidth(Line(t.report.About[f.Policy].Title), t.width-13), short))
		if command := view.ExplainCommand(f); command != "" {
			t.line("  " + t.paint.dim(fmt.Sprintf("%-9s", "more")) + "  " + command) // not wrapped, so that it can be copied
		}
		return
	}
	t.fact("why", words)
}

// some returns the first few of many names, or all if requested.
func (t *text) some(names []string) string {
	if t.o.AllPlaces {
		return strings.Join(names, ", ")
	}
	return report.Some(names, fewNames)
}

// places writes the resource of an entry with one place, or all places with their resources.
func (t *text) places(e view.Entry) {
	list := e.Spots()
	if len(e) == 1 {
		t.fact("resource", (&view.Spot{Resource: list[0].Resource, Verb: list[0].Verb}).Who())
		t.fact("also", t.some(view.ResourceNames(list[0].Others)))
		return
	}
	shown := len(list)
	if shown > manyPlaces && !t.o.AllPlaces {
		shown = fewPlaces
	}
	for i, s := range list[:shown] {
		t.spot([]string{"places", ""}[min(i, 1)], &s)
	}
	t.more(view.Places(list[shown:]))
}

// spot writes a place with its resource, on two lines if they do not fit in one.
func (t *text) spot(label string, s *view.Spot) {
	const indent = 13
	limit := fewNames
	if t.o.AllPlaces {
		limit = len(s.Lines)
	}
	at, what := tame(Line(s.Place(limit))), tame(Line(s.Who()))
	prefix := "  " + t.paint.dim(fmt.Sprintf("%-9s", label)) + "  "
	if label == "" {
		prefix = strings.Repeat(" ", indent)
	}
	if indent+textWidth(at)+2+textWidth(what) <= t.width {
		t.line(prefix + t.paint.bold(at) + "  " + what)
		return
	}
	t.line(prefix + t.paint.bold(at))
	t.rows(strings.Repeat(" ", indent+2), what)
}

// short lists findings without their lines of code.
func (t *text) short(title string, list []*report.Finding) {
	if len(list) == 0 {
		return
	}
	t.title(title)
	for _, e := range view.Entries(list, view.ByPolicy) {
		f := e[0]
		t.entryHead(t.paint.with(cyan), "  "+view.PlaceOf(f.Origin), e, "")
		if t.o.AllPlaces && len(e) > 1 {
			t.places(e)
			continue
		}
		detail := report.Some(e.Resources(), fewNames)
		if f.Exemption != nil {
			detail += ", " + view.Exemption(f.Exemption)
		}
		if f.Denied {
			detail += ", " + view.DeniedWords
		}
		t.rows("    ", Line(detail))
	}
	t.blank()
}

// shortestName is the minimum width of a policy's name in the table.
const shortestName = 12

// columnWidths makes the cells of a table safe to show. It returns the widths of the columns, and the width of all but
// the first.
func columnWidths(rows [][]string) (widths []int, rest int) {
	widths = make([]int, len(rows[0]))
	for i := range widths {
		for _, cells := range rows {
			cells[i] = tame(Line(cells[i]))
			widths[i] = max(widths[i], textWidth(cells[i]))
		}
		if i > 0 {
			rest += 2 + widths[i]
		}
	}
	return widths, rest
}

// totals writes a table of the findings by policy. It writes nothing if there are few findings.
func (t *text) totals(list []*report.Finding) {
	if !view.NeedTotals(list) {
		return
	}
	all := view.Totals(list)
	rows := view.TotalsTable(all)
	widths, rest := columnWidths(rows)
	for _, name := range []string{"action", "places", "severity"} { // the entries below have these columns
		if rest+shortestName <= t.width {
			break
		}
		at := slices.Index(rows[0], name)
		for n := range rows {
			rows[n] = slices.Delete(rows[n], at, at+1)
		}
		widths, rest = columnWidths(rows)
	}
	// A long name is cut, since the entry below has the whole name.
	widths[0] = min(widths[0], max(t.width-rest, shortestName))
	for n, cells := range rows {
		var b strings.Builder
		for i, c := range cells {
			if i == 0 {
				c = ClipWidth(c, widths[0])
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
			case i == 0 && all[n-1].Loudest == view.Blocking:
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
