package output

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// Grouping is what text puts together.
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

// entry is what a report says once: findings that differ in nothing but the resource and the place, in the order of
// their places. It is never empty; the first one stands for all.
type entry []*report.Finding

// sameness is what the findings of one entry have in common.
type sameness struct {
	group, policy, policyPath, rule, severity, message, expected, written, advice, exemption string
	action                                                                                   report.Action
	result                                                                                   report.Result
	side                                                                                     report.Side
	state                                                                                    view.State
	example, isNew, denied                                                                   bool
}

// samenessOf is of one rule, whatever the kind of controller that Kyverno made it for.
func samenessOf(f *report.Finding, by Grouping) sameness {
	s := sameness{policy: f.Policy, policyPath: f.PolicyPath, rule: view.RuleName(f.Rule), severity: f.Severity,
		message: impersonal(f), expected: f.Expected, action: f.Action, result: f.Result, state: view.StateOf(f),
		isNew: f.New, denied: f.Denied}
	if o := f.Origin; o != nil {
		s.side, s.advice = o.Side, view.Advice(f)
	}
	if w := f.Suggestion; w != nil {
		s.written, s.example = w.YAML, w.Example
	}
	if e := f.Exemption; e != nil {
		s.exemption = view.Exemption(e)
	}
	switch by {
	case ByFile:
		s.group = pathOf(f)
	case ByResource:
		s.group = f.Resource.String()
	}
	return s
}

// impersonal is the reason of a finding without the name of its own resource: that is no other reason.
func impersonal(f *report.Finding) string {
	s := view.Sentence(f)
	for _, name := range []string{f.Resource.Name, f.Resource.Namespace} {
		if len(name) > 2 {
			s = strings.ReplaceAll(s, name, "\x00")
		}
	}
	return s
}

func pathOf(f *report.Finding) string {
	if f.Origin == nil {
		return ""
	}
	return f.Origin.Path
}

// entries puts findings together, which come in the order of their places. By policy the policies that matter most
// come first: what blocks, then by severity, then by how much there is; by file the order of places stays; by resource
// those come first that have something that blocks.
func entries(list []*report.Finding, by Grouping) []entry {
	at := map[sameness]int{}
	var out []entry
	for _, f := range list {
		k := samenessOf(f, by)
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], f)
	}
	switch by {
	case ByFile:
	case ByResource:
		loud := map[string]view.State{}
		for _, f := range list {
			name := f.Resource.String()
			s, ok := loud[name]
			if !ok {
				s = view.Excepted
			}
			loud[name] = min(s, view.StateOf(f))
		}
		slices.SortStableFunc(out, func(a, b entry) int {
			x, y := a[0].Resource.String(), b[0].Resource.String()
			return cmp.Or(cmp.Compare(loud[x], loud[y]), strings.Compare(x, y))
		})
	default:
		rank := map[string]int{}
		for i, t := range totals(list) {
			rank[t.policy] = i
		}
		slices.SortStableFunc(out, func(a, b entry) int {
			return cmp.Or(cmp.Compare(rank[a[0].Policy], rank[b[0].Policy]),
				cmp.Compare(view.StateOf(a[0]), view.StateOf(b[0])), strings.Compare(view.RuleName(a[0].Rule),
					view.RuleName(b[0].Rule)))
		})
	}
	return out
}

// spot is a file in which an entry stands for one resource, and those that share its places.
type spot struct {
	origin   *report.Origin // the first place; nil: none is known
	lines    []int          // of all places, each once
	resource report.Resource
	others   []report.Resource // that have the very same places
	verb     string            // what happens to the resource: "create"
}

// spots are where an entry stands.
func (e entry) spots() (out []spot) {
	at := map[string]int{}
	for _, f := range e {
		o := f.Origin
		if o != nil && o.Path == "" {
			o = nil
		}
		k := strings.Join([]string{pathOf(f), f.Resource.String(), f.Operation, fmt.Sprint(f.Resources)}, "\x00")
		i, ok := at[k]
		if !ok {
			at[k] = len(out)
			s := spot{origin: o, resource: f.Resource, others: f.Resources, verb: strings.ToLower(f.Operation)}
			if o != nil {
				s.lines = []int{o.StartLine}
			}
			out = append(out, s)
			continue
		}
		if o != nil && !slices.Contains(out[i].lines, o.StartLine) {
			out[i].lines = append(out[i].lines, o.StartLine)
		}
	}
	return out
}

// place is "path:12:5", or "path:12, 18, 24" of several places in one file, those beyond the limit counted.
func (s *spot) place(limit int) string {
	if s.origin == nil {
		return view.Place("", 0, 0)
	}
	if len(s.lines) < 2 {
		return view.Place(s.origin.Path, s.origin.StartLine, s.origin.StartColumn)
	}
	out := view.Place(s.origin.Path, s.lines[0], 0)
	for _, n := range s.lines[1:min(len(s.lines), limit)] {
		out += fmt.Sprintf(", %d", n)
	}
	if n := len(s.lines) - limit; n > 0 {
		out += fmt.Sprintf(" and %d more", n)
	}
	return out
}

// who is "Deployment shop/web and 2 more, update".
func (s *spot) who() string {
	out := s.resource.String()
	if n := len(s.others); n > 0 {
		out += fmt.Sprintf(" and %d more", n)
	}
	if s.verb != "" {
		out += ", " + s.verb
	}
	return out
}

// places counts those of all spots.
func places(list []spot) (n int) {
	for i := range list {
		n += max(len(list[i].lines), 1)
	}
	return n
}

// fields are the names of the fields of an entry; those that differ in nothing but the index are one.
func (e entry) fields() []string {
	names := distinct(e, func(f *report.Finding) []string { return filled(view.FieldName(f.Field)) })
	if len(names) < 2 {
		return names
	}
	number := regexp.MustCompile(`\[\d+\]`)
	var out []string
	for _, s := range names {
		if s = number.ReplaceAllString(s, "[*]"); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// size is "180 places, 60 resources" of an entry, "" for one that is but one finding.
func (e entry) size() string {
	if len(e) < 2 {
		return ""
	}
	words := report.Count(placesOf(e), "place", "places")
	if n := len(e.resources()); n > 1 {
		words += ", " + report.Count(n, "resource", "resources")
	}
	return words
}

// named reports whether each finding of an entry names its own resource in its reason.
func (e entry) named() bool {
	return len(distinct(e, func(f *report.Finding) []string { return []string{view.Sentence(f)} })) > 1
}

// resources are the names of all that an entry is about, each once.
func (e entry) resources() []string {
	return distinct(e, func(f *report.Finding) (names []string) {
		for _, r := range append([]report.Resource{f.Resource}, f.Resources...) {
			names = append(names, r.String())
		}
		return names
	})
}

// distinct are the values that findings have, in the order of the first of each.
func distinct(list []*report.Finding, of func(f *report.Finding) []string) (out []string) {
	seen := map[string]bool{}
	for _, f := range list {
		for _, s := range of(f) {
			if !seen[s] {
				seen[s] = true
				out = append(out, s)
			}
		}
	}
	return out
}

// placesOf counts the places of findings, each once; those without one are one each.
func placesOf(list []*report.Finding) int {
	type at struct {
		path         string
		line, column int
		side         report.Side
	}
	seen := map[at]bool{}
	none := 0
	for _, f := range list {
		if o := f.Origin; o != nil && o.Path != "" {
			seen[at{o.Path, o.StartLine, o.StartColumn, o.Side}] = true
		} else {
			none++
		}
	}
	return len(seen) + none
}

// first lists some names and counts the rest.
func first(names []string, limit int) string {
	if len(names) <= limit {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:limit], ", "), len(names)-limit)
}
