package view

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// Grouping is what entries are put together by.
type Grouping string

// The groupings. By policy is the default, however many findings there are: what violates one policy is mended the
// same way, so that one entry can stand for all of it; by file or resource the same words come again and again.
const (
	ByPolicy   Grouping = "policy"
	ByFile     Grouping = "file"
	ByResource Grouping = "resource"
)

// Groupings are the names of all groupings, the default first.
func Groupings() []string { return []string{string(ByPolicy), string(ByFile), string(ByResource)} }

// Of is the file or the resource that a finding is put together with others by; empty by policy.
func (g Grouping) Of(f *report.Finding) string {
	switch g {
	case ByFile:
		return OriginOf(f).Path
	case ByResource:
		return f.Resource.String()
	}
	return ""
}

// Entry is what a report says once: findings that differ in nothing but the resource and the place, in the order of
// their places. It is never empty; the first one stands for all.
type Entry []*report.Finding

// Sameness is what the findings of one entry have in common. It is of one rule, whatever the kind of controller that
// Kyverno made it for, and without the name of the own resource in the message: that is no other reason.
func Sameness(f *report.Finding) string {
	message := Sentence(f)
	for _, name := range []string{f.Resource.Name, f.Resource.Namespace} {
		if len(name) > 2 {
			message = strings.ReplaceAll(message, name, "\x00")
		}
	}
	fix, exemption := cmp.Or(f.Suggestion, &report.Suggestion{}), ""
	if f.Exemption != nil {
		exemption = Exemption(f.Exemption)
	}
	return fmt.Sprintf("%q %d %t %t %t", []string{f.Policy, f.PolicyPath, RuleName(f.Rule), f.Severity, message, f.Expected,
		fix.YAML, FixInstruction(f), exemption, string(f.Action), string(f.Result), string(OriginOf(f).Side)},
		StateOf(f), fix.Example, f.New, f.Denied)
}

// OriginOf is the place of a finding, an empty one where it has none.
func OriginOf(f *report.Finding) *report.Origin { return cmp.Or(f.Origin, &report.Origin{}) }

// Entries puts findings together, which come in the order of their places. By policy the policies that matter most
// come first: what blocks, then by severity, then by how much there is; by file the order of places stays; by resource
// those come first that have something that blocks.
func Entries(list []*report.Finding, by Grouping) []Entry {
	out := report.Grouped[Entry](list, func(f *report.Finding) string { return Sameness(f) + by.Of(f) })
	rank := map[string]int{}
	switch by {
	case ByFile:
	case ByResource:
		for _, f := range list {
			name := f.Resource.String()
			if known, ok := rank[name]; !ok || int(StateOf(f)) < known {
				rank[name] = int(StateOf(f))
			}
		}
		slices.SortStableFunc(out, func(a, b Entry) int {
			x, y := a[0].Resource.String(), b[0].Resource.String()
			return cmp.Or(cmp.Compare(rank[x], rank[y]), strings.Compare(x, y))
		})
	default:
		for i, t := range Totals(list) {
			rank[t.Policy] = i
		}
		slices.SortStableFunc(out, func(a, b Entry) int {
			f, g := a[0], b[0]
			return cmp.Or(cmp.Compare(rank[f.Policy], rank[g.Policy]), cmp.Compare(StateOf(f), StateOf(g)),
				strings.Compare(RuleName(f.Rule), RuleName(g.Rule)))
		})
	}
	return out
}

// Spot is a file in which an entry stands for one resource, and those that share its places.
type Spot struct {
	Origin   *report.Origin // the first place; nil: none is known
	Lines    []int          // of all places, each once
	Resource report.Resource
	Others   []report.Resource // that have the very same places
	Verb     string            // what happens to the resource: "create"
}

// Spots are where an entry stands.
func (e Entry) Spots() (out []Spot) {
	for _, same := range report.Grouped[Entry](e, func(f *report.Finding) string {
		return fmt.Sprintf("%q", []string{OriginOf(f).Path, f.Resource.String(), f.Operation, fmt.Sprint(f.Resources)})
	}) {
		f := same[0]
		spot := Spot{Resource: f.Resource, Others: f.Resources, Verb: strings.ToLower(f.Operation)}
		if OriginOf(f).Path != "" {
			spot.Origin = f.Origin
			for _, f := range same {
				if !slices.Contains(spot.Lines, f.Origin.StartLine) {
					spot.Lines = append(spot.Lines, f.Origin.StartLine)
				}
			}
		}
		out = append(out, spot)
	}
	return out
}

// Place is "path:12:5", or "path:12, 18, 24" of several places in one file, those beyond the limit counted.
func (s *Spot) Place(limit int) string {
	if len(s.Lines) < 2 {
		return PlaceOf(s.Origin)
	}
	out := Place(s.Origin.Path, s.Lines[0], 0)
	for _, n := range s.Lines[1:min(len(s.Lines), limit)] {
		out += fmt.Sprintf(", %d", n)
	}
	if n := len(s.Lines) - limit; n > 0 {
		out += fmt.Sprintf(" and %d more", n)
	}
	return out
}

// Who is "Deployment shop/web and 2 more, update".
func (s *Spot) Who() string {
	out := s.Resource.String()
	if n := len(s.Others); n > 0 {
		out += fmt.Sprintf(" and %d more", n)
	}
	if s.Verb != "" {
		out += ", " + s.Verb
	}
	return out
}

// Places counts those of all spots.
func Places(list []Spot) (n int) {
	for i := range list {
		n += max(len(list[i].Lines), 1)
	}
	return n
}

// Fields are the names of the fields of an entry; those that differ in nothing but the index are one.
func (e Entry) Fields() []string {
	names := e.each(func(f *report.Finding) []string { return filled(FieldName(f.Field)) })
	if len(names) < 2 {
		return names
	}
	number := regexp.MustCompile(`\[\d+\]`)
	for i, s := range names {
		names[i] = number.ReplaceAllString(s, "[*]")
	}
	return Distinct(names)
}

// Size is "180 places, 60 resources" of an entry, "" for one that is but one finding.
func (e Entry) Size() string {
	if len(e) < 2 {
		return ""
	}
	words := report.Count(placesOf(e), "place", "places")
	if n := len(e.Resources()); n > 1 {
		words += ", " + report.Count(n, "resource", "resources")
	}
	return words
}

// Named reports whether each finding of an entry names its own resource in its reason.
func (e Entry) Named() bool {
	return len(e.each(func(f *report.Finding) []string { return []string{Sentence(f)} })) > 1
}

// Resources are the names of all that an entry is about, each once.
func (e Entry) Resources() []string { return e.each(ResourcesOf) }

// Roots are those of all findings of an entry, each once.
func (e Entry) Roots() []string { return e.each(func(f *report.Finding) []string { return f.Roots }) }

// Clusters is Roots for clusters.
func (e Entry) Clusters() []string {
	return e.each(func(f *report.Finding) []string { return f.Clusters })
}

// each are the values that findings have, each once.
func (e Entry) each(of func(f *report.Finding) []string) []string {
	var all []string
	for _, f := range e {
		all = append(all, of(f)...)
	}
	return Distinct(all)
}

// Distinct are some texts, each once, in the order of the first of each.
func Distinct(list []string) (out []string) {
	seen := map[string]bool{}
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// filled is a list of what is not empty.
func filled(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// ResourcesOf are the names of what a finding is about.
func ResourcesOf(f *report.Finding) []string {
	return ResourceNames(append([]report.Resource{f.Resource}, f.Resources...))
}

// ResourceNames are resources as people name them.
func ResourceNames(list []report.Resource) (names []string) {
	for _, r := range list {
		names = append(names, r.String())
	}
	return names
}

// placesOf counts the places of findings, each once; those without one are one each.
func placesOf(list []*report.Finding) int {
	type place struct {
		path         string
		line, column int
		side         report.Side
	}
	seen := map[place]bool{}
	none := 0
	for _, f := range list {
		if o := OriginOf(f); o.Path != "" {
			seen[place{o.Path, o.StartLine, o.StartColumn, o.Side}] = true
		} else {
			none++
		}
	}
	return len(seen) + none
}

// ByPlace returns the findings in the order of files, lines and columns, the loudest first; those without a place come last.
func ByPlace(findings []report.Finding) []*report.Finding {
	list := make([]*report.Finding, len(findings))
	for i := range findings {
		list[i] = &findings[i]
	}
	slices.SortStableFunc(list, func(a, b *report.Finding) int {
		x, y := OriginOf(a), OriginOf(b)
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

// fewFindings is how many findings a reader passes over without totals of them.
const fewFindings = 10

// NeedTotals reports whether findings are so many that totals help to pass over them.
func NeedTotals(list []*report.Finding) bool { return len(list) > fewFindings }

// Totals adds up findings by policy: those that block first, then by severity, then those that found most.
func Totals(list []*report.Finding) []Total {
	var out []Total
	for _, own := range report.Grouped[Entry](list, func(f *report.Finding) string { return f.Policy }) {
		t := Total{Policy: own[0].Policy, Loudest: Loudest(own), Places: placesOf(own)}
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
