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

// Grouping is the way in which findings are grouped.
type Grouping string

// The groupings. By policy is the default: violations of one policy are fixed in the same way, so that one entry can
// represent all of them. By file or resource, the same messages are repeated.
const (
	ByPolicy   Grouping = "policy"
	ByFile     Grouping = "file"
	ByResource Grouping = "resource"
)

// Groupings lists the names of all groupings, the default first.
func Groupings() []string { return []string{string(ByPolicy), string(ByFile), string(ByResource)} }

// Of returns the file or resource by which a finding is grouped; empty by policy.
func (g Grouping) Of(f *report.Finding) string {
	switch g {
	case ByFile:
		return OriginOf(f).Path
	case ByResource:
		return f.Resource.String()
	}
	return ""
}

// Entry is a group of findings that differ in resource and place only, sorted by place. It is never empty; the first
// one represents all.
type Entry []*report.Finding

// Sameness returns the key of findings in one entry: the rule, without the prefixes that Kyverno generates for kinds of
// controllers, and the message, without the name of the finding's own resource.
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

// OriginOf returns the place of a finding, an empty one if it has none.
func OriginOf(f *report.Finding) *report.Origin { return cmp.Or(f.Origin, &report.Origin{}) }

// Entries groups findings that are sorted by place. By policy, entries are sorted by importance: blocking ones first,
// then by severity, then by number. By file, the order of places stays. By resource, resources with blocking findings
// come first.
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

// Spot is a file with places of an entry for one resource, and for resources with the same places.
type Spot struct {
	Origin   *report.Origin // the first place; nil: none is known
	Lines    []int          // of all places, without duplicates
	Resource report.Resource
	Others   []report.Resource // resources with exactly the same places
	Verb     string            // operation on the resource: "create"
}

// Spots returns the places of an entry.
func (e Entry) Spots() (out []Spot) {
	for _, same := range report.Grouped[Entry](e, func(f *report.Finding) string {
		return fmt.Sprintf("%q", []string{OriginOf(f).Path, f.Resource.String(), f.Operation, fmt.Sprint(f.Resources)})
	}) {
		f := same[0]
		spot := Spot{Resource: f.Resource, Others: f.Resources, Verb: strings.ToLower(f.Operation)}
		if OriginOf(f).Path != "" {
			spot.Origin = f.Origin
			spot.Lines = report.Union(nil, report.Mapped(same, func(f *report.Finding) int { return f.Origin.StartLine }))
		}
		out = append(out, spot)
	}
	return out
}

// Place is "path:12:5", or "path:12, 18, 24" for several places in one file; places beyond the limit are counted.
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

// Who names the resources: "Deployment shop/web and 2 more, update".
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

// Places counts the places of all spots.
func Places(list []Spot) (n int) {
	for i := range list {
		n += max(len(list[i].Lines), 1)
	}
	return n
}

// Fields returns the names of the failing fields of an entry; names that differ in the index only are merged.
func (e Entry) Fields() []string {
	names := e.each(func(f *report.Finding) []string { return report.Filled(FieldName(f.Field)) })
	if len(names) < 2 {
		return names
	}
	number := regexp.MustCompile(`\[\d+\]`)
	for i, s := range names {
		names[i] = number.ReplaceAllString(s, "[*]")
	}
	return Distinct(names)
}

// Size counts the places and resources of an entry: "180 places, 60 resources"; "" for a single finding.
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

// Named reports whether the messages of an entry's findings differ, since each names its own resource.
func (e Entry) Named() bool {
	return len(e.each(func(f *report.Finding) []string { return []string{Sentence(f)} })) > 1
}

// Resources returns the names of all resources of an entry, without duplicates.
func (e Entry) Resources() []string { return e.each(ResourcesOf) }

// Roots returns the roots of all findings of an entry, without duplicates.
func (e Entry) Roots() []string { return e.each(func(f *report.Finding) []string { return f.Roots }) }

// Clusters returns the clusters of all findings of an entry, without duplicates.
func (e Entry) Clusters() []string {
	return e.each(func(f *report.Finding) []string { return f.Clusters })
}

// each collects values of all findings, without duplicates.
func (e Entry) each(of func(f *report.Finding) []string) []string {
	return Distinct(slices.Concat(report.Mapped(e, of)...))
}

// Distinct removes duplicates and keeps the order.
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

// ResourcesOf returns the names of the resources of a finding.
func ResourcesOf(f *report.Finding) []string {
	return ResourceNames(append([]report.Resource{f.Resource}, f.Resources...))
}

// ResourceNames returns the displayed names of resources.
func ResourceNames(list []report.Resource) []string {
	return report.Mapped(list, report.Resource.String)
}

// placesOf counts the distinct places of findings; each finding without a place counts as one.
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

// ByPlace sorts the findings by file, line and column, at one place the most severe first. Findings without a place
// come last.
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

// Only keeps the findings in the given states.
func Only(list []*report.Finding, states ...State) []*report.Finding {
	return report.Kept(list, func(f *report.Finding) bool { return slices.Contains(states, StateOf(f)) })
}

// Severe keeps the findings with at least a severity; "" keeps all.
func Severe(list []*report.Finding, least string) []*report.Finding {
	return report.Kept(list, func(f *report.Finding) bool {
		return least == "" || report.SeverityRank(f.Severity) <= report.SeverityRank(least)
	})
}

// Loudest returns the worst state of some findings.
func Loudest(list []*report.Finding) State {
	s := Excepted
	for _, f := range list {
		s = min(s, StateOf(f))
	}
	return s
}

// Total counts the findings of one policy.
type Total struct {
	Policy             string
	Severity, Action   string
	Loudest            State
	New, Old, Excepted int
	Places             int
}

// fewFindings is the number of findings up to which totals are not needed.
const fewFindings = 10

// NeedTotals reports whether there are so many findings that totals help a reader.
func NeedTotals(list []*report.Finding) bool { return len(list) > fewFindings }

// Totals counts findings by policy: policies with blocking findings first, then by severity, then by number.
func Totals(list []*report.Finding) []Total {
	var out []Total
	for _, own := range report.Grouped[Entry](list, func(f *report.Finding) string { return f.Policy }) {
		t := Total{Policy: own[0].Policy, Loudest: Loudest(own), Places: placesOf(own)}
		t.Severity = strings.Join(own.each(func(f *report.Finding) []string { return report.Filled(f.Severity) }), ", ")
		actions := own.each(func(f *report.Finding) []string { return report.Filled(string(f.Action)) })
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

// TotalsTable returns the cells of totals with a header, and a row with the sum for several policies. The column of
// excepted findings is left out if there are none.
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
