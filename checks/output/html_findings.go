package output

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// openFindings is how many findings of a policy are shown with all there is to them: what follows says the same mostly.
// What is not new is folded behind what is.
const openFindings = 5

// groups puts findings together by policy, the loudest and most severe first.
func (b *pageOf) groups(list []*report.Finding) (groups []Group, totals []Total) {
	byPolicy := map[string][]*report.Finding{}
	var names []string
	for _, f := range list {
		if byPolicy[f.Policy] == nil {
			names = append(names, f.Policy)
		}
		byPolicy[f.Policy] = append(byPolicy[f.Policy], f)
	}
	slices.SortFunc(names, func(x, y string) int {
		f, g := byPolicy[x], byPolicy[y]
		return cmp.Or(cmp.Compare(loud(f), loud(g)),
			cmp.Compare(report.SeverityRank(f[0].Severity), report.SeverityRank(g[0].Severity)), strings.Compare(x, y))
	})
	for _, name := range names {
		findings := byPolicy[name]
		first, about := findings[0], b.report.About[name]
		id := b.id("policy", name)
		total := Total{ID: id, Policy: shown(name), Title: shown(about.Title), Severity: shown(first.Severity),
			Action: shown(string(first.Action))}
		group := Group{ID: id, Policy: shown(name), Title: shown(about.Title), Why: shown(about.Description),
			Category: shown(about.Category), Source: b.rule(first.PolicyPath, 0), Quiet: loud(findings) >= view.Before}
		slices.SortStableFunc(findings, func(f, g *report.Finding) int { return cmp.Compare(view.StateOf(f), view.StateOf(g)) })
		for i, f := range findings {
			one := b.finding(f)
			one.Folded = i >= openFindings || view.StateOf(f) >= view.Before && !group.Quiet
			group.Findings = append(group.Findings, one)
			if f.Action != first.Action {
				total.Action = string(report.Mixed)
			}
			switch view.StateOf(f) {
			case view.Blocking:
				total.Blocking++
			case view.Pending:
				total.Waiting++
			case view.Before:
				total.Before++
			case view.Excepted:
				total.Covered++
			default:
				total.Other++
			}
		}
		group.Places = len(group.Findings)
		groups, totals = append(groups, group), append(totals, total)
	}
	return groups, totals
}

func loud(list []*report.Finding) view.State {
	s := view.Excepted
	for _, f := range list {
		s = min(s, view.StateOf(f))
	}
	return s
}

// states are the names of the states, for the styles of the page.
var states = map[view.State]string{view.Blocking: "blocking", view.Pending: "pending", view.Warning: "warning", view.Before: "before",
	view.Excepted: "excepted"}

func (b *pageOf) finding(f *report.Finding) Finding {
	o := cmp.Or(f.Origin, &report.Origin{})
	out := Finding{
		State: states[view.StateOf(f)], Mark: view.Mark(f), Rule: shown(view.RuleName(f.Rule)), Weight: shown(view.Weight(f)),
		Source: b.rule(f.PolicyPath, max(f.PolicyLine, 1)), Message: shown(view.Sentence(f)), Expected: shown(f.Expected),
		Advice: shown(view.Advice(f)), Field: shown(view.FieldName(f.Field)),
		Where: b.at(o.Path, o.StartLine), Code: b.code(o.Path, o.StartLine, o.EndLine, o.StartColumn, o.EndColumn),
		Roots: each(f.Roots), Clusters: each(f.Clusters),
		ID: b.id("f", f.Policy, f.Rule, o.Path, fmt.Sprint(o.StartLine, ":", o.StartColumn), f.Field, f.Resource.String(),
			string(f.Result)),
	}
	if o.Side == report.Base {
		out.Where = Link{Text: shown(view.Place(o.Path, o.StartLine, 0)) + " (deleted)", Address: b.base(o.Path, o.StartLine)}
	}
	if out.Mark == "" {
		out.Mark = map[view.State]string{view.Blocking: "blocks", view.Warning: "does not block"}[view.StateOf(f)]
	}
	if o.Set == nil {
		out.Missing = shown(view.FieldName(o.Missing))
	}
	for _, c := range o.Chain {
		out.Chain = append(out.Chain, Note{Where: b.at(c.Path, c.StartLine), Text: "(" + shown(c.Role) + ")"})
	}
	for _, res := range append([]report.Resource{f.Resource}, f.Resources...) {
		out.Resources = append(out.Resources, shown(res.String()))
	}
	if x := view.FixOf(f); x != nil {
		out.WriteWords = x.Words("What to write")
		for _, row := range x.Rows {
			out.Write = append(out.Write, diffLine(row))
		}
	}
	if f.Exemption != nil {
		out.Exemption = b.exemption(f.Exemption)
	}
	return out
}

// exemption is the exception of a finding. One of the change is in the head, another one is where the rules are.
func (b *pageOf) exemption(e *report.Exemption) Note {
	n := Note{Where: b.rule(e.Path, 0), Text: shown(view.Exemption(&report.Exemption{Exception: e.Exception, State: e.State, By: e.By}))}
	if e.State != report.Merged && e.State != report.Expired {
		n.Where = b.at(e.Path, 0)
	}
	return n
}
