package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// Causes are the causes of one kind and reason, with everything that depends on them.
type Causes struct {
	List       []report.Cause // at least one
	Findings   Entry          // undecided findings, in the order of their places
	NotChecked []report.NotChecked
	Warnings   []report.Problem
}

// CausesTitle is the heading of the list of causes.
const CausesTitle = "Undecided or not checked"

// CausesOf groups the causes of a report, with the undecided ones among some findings. Causes of undecided rules come
// first, then those of unchecked parts.
func CausesOf(r *report.Report, findings []*report.Finding) (list []*Causes) {
	type alike struct {
		kind   report.CauseKind
		reason string
		rules  bool
	}
	groups, causes, listed := map[alike]*Causes{}, map[string]report.Cause{}, map[string]bool{}
	for _, c := range r.Causes {
		causes[c.ID] = c
	}
	of := func(c report.Cause, rules bool) *Causes {
		key := alike{c.Kind, c.Reason, rules}
		g := groups[key]
		if g == nil {
			g = &Causes{}
			groups[key], list = g, append(list, g)
		}
		if key := fmt.Sprint(c.ID, rules); !listed[key] {
			listed[key], g.List = true, append(g.List, c)
		}
		return g
	}
	undecided := Only(findings, Undecided)
	waits := map[*Causes]int{}
	for _, f := range undecided {
		for _, id := range f.Causes {
			waits[of(causes[id], false)]++
		}
	}
	for _, f := range undecided { // listed once, for the cause with the most findings
		most := of(causes[f.Causes[0]], false)
		for _, id := range f.Causes {
			if g := of(causes[id], false); waits[g] > waits[most] {
				most = g
			}
		}
		most.Findings = append(most.Findings, f)
	}
	for _, n := range r.NotChecked {
		c, known := causes[n.Cause]
		if !known {
			c = n.Because()
		}
		g := of(c, n.Rules)
		g.NotChecked = append(g.NotChecked, n)
	}
	for _, w := range r.Warnings {
		if c, known := causes[w.Cause]; known {
			g := of(c, false)
			g.Warnings = append(g.Warnings, w)
		}
	}
	for _, g := range list {
		slices.SortStableFunc(g.List, func(a, b report.Cause) int {
			return cmp.Or(cmp.Compare(b.Rules, a.Rules), cmp.Compare(b.Roots, a.Roots))
		})
	}
	return list
}

// united merges entries with the same reason and place, and joins the names of their roots.
func united(list []report.NotChecked) (out []report.NotChecked) {
	for _, same := range report.Grouped[[]report.NotChecked](list, func(n report.NotChecked) report.NotChecked {
		n.Root, n.By, n.Touched = "", "", false
		return n
	}) {
		if names := rootsOf(same); len(names) > 1 {
			same[0].Root, same[0].By = "each of "+report.Some(names, fewRoots), ""
		}
		out = append(out, same[0])
	}
	return out
}

// rootsOf returns the names of unchecked roots, without duplicates.
func rootsOf(list []report.NotChecked) []string {
	return Distinct(report.Mapped(list, func(n report.NotChecked) string { return n.Root }))
}

// fewRoots is how many unchecked roots with one reason are named.
const fewRoots = 1

// NotChecked returns the unchecked parts as problems with their places, and the causes of undecided rules by their ids.
func NotChecked(list []report.NotChecked, causes []report.Cause) (problems []report.Problem) {
	problems = report.Mapped(united(list), report.NotChecked.Problem)
	for _, c := range causes {
		if c.Rules > 0 {
			problems = append(problems, report.Problem{Path: c.Path, Line: c.Line, Message: "cause " + c.ID + ": " + c.Sentence})
		}
	}
	return problems
}

// Alone returns the warnings that share no cause with others.
func Alone(list []report.Problem) []report.Problem {
	return report.Kept(list, func(p report.Problem) bool { return p.Cause == "" })
}

// One reports whether there is a single place to show: of one unchecked part, or of a cause that the change touches.
func (c *Causes) One() bool {
	return len(c.List) == 1 && (c.decides() && c.List[0].Changed || !c.decides() && len(united(c.NotChecked)) == 1)
}

// decides reports whether rules are undecided because of any of the causes.
func (c *Causes) decides() bool {
	return slices.ContainsFunc(c.List, func(one report.Cause) bool { return one.Rules > 0 })
}

// Label is the effect of the causes.
func (c *Causes) Label() string {
	switch {
	case c.decides():
		return "undecided"
	case len(c.NotChecked) > 0:
		return "not checked"
	}
	return "warning"
}

// Problem is the headline: the message of the only unchecked root, or what several causes have in common. Its place is
// one of a cause.
func (c *Causes) Problem() report.Problem {
	one := c.List[0]
	switch {
	case len(c.List) > 1:
		words := map[report.CauseKind]string{
			report.CauseSource:  "remote sources could not be fetched",
			report.CauseUnseen:  "files whose deployed objects are not known",
			report.CauseCluster: "things that rules need are only in the cluster",
			report.CauseDiffer:  "objects that rules look up are declared several times, and the declarations differ",
		}[one.Kind]
		return report.Problem{Message: strings.Join(report.Filled(report.Count(len(c.List), "", words), one.Reason), ": ")}
	case c.decides():
		return report.Problem{Path: one.Path, Line: one.Line, Message: one.Sentence}
	case len(c.NotChecked) > 0:
		return united(c.NotChecked)[0].Problem()
	case len(c.Warnings) == 1:
		return c.Warnings[0]
	}
	return report.Problem{Message: one.Sentence}
}

// Reasons returns the causes of an undecided finding.
func Reasons(r *report.Report, f *report.Finding) []string {
	own := report.Kept(r.Causes, func(c report.Cause) bool { return slices.Contains(f.Causes, c.ID) })
	return report.Mapped(own, func(c report.Cause) string { return c.Sentence })
}

// Item is a named thing, with its place if that is known.
type Item struct {
	Words, Path string
	Line        int
	Rule        bool // the place is of a rule, at the commit of the rules
	Gone        bool // the place is in the base only
}

// String returns the words and the place.
func (i Item) String() string {
	return strings.TrimSpace(i.Words + " " + KnownPlace(i.Path, i.Line, 0))
}

// Waiting is a labelled list of items for some causes.
type Waiting struct {
	Label string
	Items []Item
}

// Waiting lists what to do, the causes if there are several, and what depends on them.
func (c *Causes) Waiting() (list []Waiting) {
	add := func(label string, items ...Item) {
		if len(items) > 0 {
			list = append(list, Waiting{label, items})
		}
	}
	add("to do", items(report.Filled(c.List[0].ToDo))...)
	others := report.Mapped(united(c.NotChecked), func(n report.NotChecked) Item {
		return Item{Words: n.Root, Path: n.Path, Line: n.Line}
	})
	switch {
	case len(c.List) > 1: // these have the places
		add("causes", report.Mapped(c.List, func(one report.Cause) Item {
			words := one.What
			if waits := waiting(one); waits != "" {
				words += " (" + waits + ")"
			}
			return Item{Words: words, Path: one.Path, Line: one.Line}
		})...)
		add("unchecked", items(rootsOf(c.NotChecked))...)
	case c.decides():
		add("waiting", Item{Words: waiting(c.List[0])})
		add("unchecked", others...)
	case len(others) > 0:
		add("likewise", others[1:]...)
	case len(c.Warnings) > 1:
		add("places", report.Mapped(c.Warnings, func(w report.Problem) Item { return Item{Path: w.Path, Line: w.Line} })...)
	}
	policy := func(f *report.Finding) []string { return []string{Title(f.Policy, f.Rule) + " (" + Weight(f) + ")"} }
	placed := func(f *report.Finding) []string {
		return []string{policy(f)[0] + KnownPlace(f.PolicyPath, f.PolicyLine, 0)}
	}
	if len(c.Findings.each(placed)) == 1 {
		f := c.Findings[0]
		add("policy", Item{Words: policy(f)[0], Path: f.PolicyPath, Line: f.PolicyLine, Rule: true})
	} else {
		add("policies", items(c.Findings.each(policy))...)
	}
	add("objects", report.Mapped(c.Findings.Spots(), func(s Spot) Item {
		o := cmp.Or(s.Origin, &report.Origin{})
		return Item{Words: s.Who(), Path: o.Path, Line: o.StartLine}
	})...)
	if len(c.Findings) == 1 {
		add("message", Item{Words: Sentence(c.Findings[0])})
		add("field", items(c.Findings.Fields())...)
	}
	add("roots", items(c.Findings.Roots())...)
	add("clusters", items(c.Findings.Clusters())...)
	return list
}

func items(names []string) []Item {
	return report.Mapped(names, func(name string) Item { return Item{Words: name} })
}

// waiting counts what depends on a cause: "48 rules on 20 objects, 3 roots".
func waiting(c report.Cause) string {
	words := ""
	if c.Rules > 0 {
		words = report.Count(c.Rules, "rule", "rules") + " on " + report.Count(c.Objects, "object", "objects")
	}
	return strings.Join(append(report.Filled(words), report.Counts([]report.Number{{N: c.Roots, One: "root", Many: "roots"}})...), ", ")
}
