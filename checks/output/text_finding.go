package output

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

const (
	manyFindings = 20 // more than these are told in brief from the fourth entry of a rule on
	fullEntries  = 3
	briefEntries = 10 // of a rule, after those in full; the rest is counted
	manyPlaces   = 8  // more than these are folded
	fewPlaces    = 5  // shown then
	fewNames     = 5
)

// findings writes entries, by policy, file or resource as the options say. Of many findings, the first few of a rule are
// told in full and the others in brief; by policy, those of a rule that has very many different ones are counted.
func (t *text) findings(list []*report.Finding) {
	by := cmp.Or(t.o.GroupBy, ByPolicy)
	full := fullEntries
	if by != ByPolicy {
		full = 1 // the same rules come again for each file or resource
	}
	if len(list) <= manyFindings || t.o.AllPlaces {
		full = len(list)
	}
	told := map[string]int{} // entries of each rule
	left, rule, group := 0, "", ""
	var last *report.Origin
	said := "" // the resource above, of a file
	rest := func() {
		if left > 0 {
			t.rows("", fmt.Sprintf("and %s of %s; --all-places lists them", report.Count(left, "more finding", "more findings"),
				line(rule)))
		}
		left = 0
	}
	for _, e := range entries(list, by) {
		f := e[0]
		k := samenessOf(f, by)
		if name := view.Title(f.Policy, f.Rule); name != rule {
			rest()
			rule = name
		}
		if k.group != group {
			t.blank()
			said = ""
			if group = k.group; by == ByResource {
				t.line(t.paint.bold(line(group) + ":"))
				t.blank()
			}
		}
		told[rule]++
		switch n := told[rule]; {
		case n <= full:
			t.blank()
			t.entry(e, last)
			last, said = f.Origin, ""
		case by != ByPolicy || n <= full+briefEntries:
			said = t.brief(e, by, said)
		default:
			left += len(e)
		}
		k.group = ""
		t.told[fmt.Sprint(k)] = true
	}
	rest()
	t.blank()
}

// title writes the first line of an entry.
func (t *text) title(e entry, at string) painter {
	f := e[0]
	paint := t.paint.with(yellow)
	if view.StateOf(f) == view.Blocking {
		paint = t.paint.with(red)
	}
	m := view.Mark(f)
	if m != "" {
		m = "[" + m + "]"
	}
	size := e.size()
	if size != "" {
		size = "(" + size + ")"
	}
	t.head(paint, line(at), line(view.Weight(f)), line(view.Title(f.Policy, f.Rule)), m, size)
	return paint
}

// entry is what one, or several findings say, in full.
func (t *text) entry(e entry, last *report.Origin) {
	f := e[0]
	paint := t.title(e, view.PlaceOf(f))
	t.rows("  ", lines(view.Sentence(f)))
	if o := f.Origin; o != nil && (last == nil || !sameSpan(o, last)) {
		t.frame(o.Path, span{o.StartLine, o.EndLine, o.StartColumn, o.EndColumn}, paint)
	}
	t.write(f)
	t.facts(e)
	t.blank()
}

// brief is an entry of a rule that was told in full before: where it is, and what is new about it. said is the resource
// that stands above already, where entries are grouped by file; brief returns the one for the next.
func (t *text) brief(e entry, by Grouping, said string) string {
	list := e.spots()
	at := view.PlaceOf(e[0])
	if len(list) == 1 {
		at = list[0].place(fewNames)
	}
	t.title(e, at)
	if k := samenessOf(e[0], ByPolicy); !t.told[fmt.Sprint(k)] {
		t.rows("  ", lines(view.Sentence(e[0])))
	}
	if len(list) > 1 {
		t.places(e)
		return ""
	}
	who := list[0].who()
	if by == ByPolicy || by == ByFile && who != said {
		t.rows("    ", line(who))
	}
	return who
}

// write shows what to write, as a difference of the source where its lines are known.
func (t *text) write(f *report.Finding) {
	x := view.FixOf(f)
	if x == nil {
		return
	}
	words := x.Words("  write")
	if x.Path != "" {
		words += fmt.Sprintf(" (%s)", view.Place(x.Path, x.Line, 0))
	}
	t.line(t.paint.dim(line(words) + ":"))
	t.blank()
	for _, row := range x.Rows {
		row = "    " + line(row)
		switch {
		case strings.HasPrefix(row, "    +"):
			row = t.paint.with(green).mark(row)
		case strings.HasPrefix(row, "    -"):
			row = t.paint.with(red).mark(row)
		}
		t.line(row)
	}
	t.blank()
}

// facts are what is known of an entry. What only one place has is told where there is only one.
func (t *text) facts(e entry) {
	f := e[0]
	t.fact("field", t.some(e.fields()))
	t.fact("expected", f.Expected)
	if !t.told[f.Policy] {
		t.fact("why", why(t.report, f.Policy))
		t.told[f.Policy] = true
	}
	if f.PolicyPath != "" {
		t.fact("policy", view.Place(f.PolicyPath, f.PolicyLine, 0))
	}
	t.places(e)
	roots := distinct(e, func(f *report.Finding) []string { return f.Roots })
	if len(e) > 1 && len(roots) > fewNames && !t.o.AllPlaces {
		t.fact("roots", first(roots, 1)) // the places say as much
	} else {
		t.fact("roots", t.some(roots))
	}
	t.fact("clusters", t.some(distinct(e, func(f *report.Finding) []string { return f.Clusters })))
	if e.named() {
		t.fact("note", "the message is that of the first; the others name their own resource in it")
	}
	if o := f.Origin; o != nil {
		if o.Set == nil && len(e) == 1 {
			t.fact("missing", view.FieldName(o.Missing))
		}
		t.fact("advice", view.Advice(f))
		if o.Side == report.Base {
			t.fact("note", "the place is in the base; the change deletes it")
		} else if o.How == report.Enclosing && o.Missing == "" && view.Advice(f) == "" {
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

// some names a few of many, or all where that is asked for.
func (t *text) some(names []string) string {
	if t.o.AllPlaces {
		return strings.Join(names, ", ")
	}
	return first(names, fewNames)
}

// places names the resource of an entry that has one place, else each place with its resource.
func (t *text) places(e entry) {
	f := e[0]
	if len(e) == 1 {
		resource := f.Resource.String()
		if f.Operation != "" {
			resource += ", " + strings.ToLower(f.Operation)
		}
		t.fact("resource", resource)
		var names []string
		for _, r := range f.Resources {
			names = append(names, r.String())
		}
		t.fact("also", t.some(names))
		return
	}
	list := e.spots()
	shown := list
	if len(list) > manyPlaces && !t.o.AllPlaces {
		shown = list[:fewPlaces]
	}
	label := "places"
	for i := range shown {
		t.spot(label, &shown[i])
		label = ""
	}
	if n := places(list[len(shown):]); n > 0 {
		t.fact("", fmt.Sprintf("and %d more; --all-places lists them", n))
	}
}

// spot writes a place with its resource, below each other where they do not fit in one line.
func (t *text) spot(label string, s *spot) {
	const indent = 13
	limit := fewNames
	if t.o.AllPlaces {
		limit = len(s.lines)
	}
	at := tame(line(s.place(limit)))
	what := tame(line(s.who()))
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
	t.line(t.paint.bold(title))
	t.blank()
	for _, e := range entries(list, ByPolicy) {
		f := e[0]
		size := e.size()
		if size != "" {
			size = "(" + size + ")"
		}
		t.head(t.paint.with(cyan), "  "+line(view.PlaceOf(f)), line(view.Weight(f)), line(view.Title(f.Policy, f.Rule)), size)
		if t.o.AllPlaces && len(e) > 1 {
			t.places(e)
			continue
		}
		detail := first(e.resources(), fewNames)
		if f.Exemption != nil {
			detail += ", " + view.Exemption(f.Exemption)
		}
		if f.Denied {
			detail += ", " + view.DeniedWords
		}
		t.rows("    ", line(detail))
	}
	t.blank()
}

func sameSpan(a, b *report.Origin) bool {
	return a.Path == b.Path && a.StartLine == b.StartLine && a.EndLine == b.EndLine &&
		a.StartColumn == b.StartColumn && a.EndColumn == b.EndColumn
}
