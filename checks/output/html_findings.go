package output

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// openFindings is the number of findings of a policy that are shown in full, since further ones mostly say the same.
// Pre-existing ones are folded after the new ones.
const openFindings = 5

// groups groups findings by policy, the most severe first.
func (b *pageOf) groups(list []*report.Finding) (groups []Group, totals []Total) {
	byPolicy := report.Grouped[view.Entry](list, func(f *report.Finding) string { return f.Policy })
	slices.SortFunc(byPolicy, func(x, y view.Entry) int {
		return cmp.Or(cmp.Compare(view.Loudest(x), view.Loudest(y)),
			cmp.Compare(report.SeverityRank(x[0].Severity), report.SeverityRank(y[0].Severity)),
			strings.Compare(x[0].Policy, y[0].Policy))
	})
	for _, findings := range byPolicy {
		first := findings[0]
		name, about := first.Policy, b.report.About[first.Policy]
		id := b.id("policy", name)
		total := Total{ID: id, Policy: shown(name), Title: shown(about.Title), Severity: shown(first.Severity),
			Action: shown(string(first.Action))}
		group := Group{ID: id, Policy: shown(name), Title: shown(about.Title), Why: shown(about.Description),
			Category: shown(about.Category), Source: b.rule(first.PolicyPath, 0), Quiet: view.Loudest(findings) >= view.Before,
		}
		slices.SortStableFunc(findings, func(f, g *report.Finding) int { return cmp.Compare(view.StateOf(f), view.StateOf(g)) })
		for i, f := range findings {
			if view.StateOf(f) == view.Undecided { // it is shown with its cause
				total.States[view.Warning]++
				continue
			}
			one := b.finding(f)
			one.Folded = i >= openFindings || view.StateOf(f) >= view.Before && !group.Quiet
			group.Findings = append(group.Findings, one)
			if f.Action != first.Action {
				total.Action = string(report.Mixed)
			}
			total.States[view.StateOf(f)]++
		}
		if group.Places = len(group.Findings); group.Places > 0 {
			groups = append(groups, group)
		} else {
			total.ID = "not-checked"
		}
		totals = append(totals, total)
	}
	return groups, totals
}

// states are the names of the states, for the styles of the page.
var states = [...]string{view.Blocking: "blocking", view.Pending: "pending", view.Warning: "warning",
	view.Undecided: "warning", view.Before: "before", view.Excepted: "excepted"}

func (b *pageOf) finding(f *report.Finding) Finding {
	o := view.OriginOf(f)
	out := Finding{
		State: states[view.StateOf(f)], Mark: view.Mark(f), Rule: shown(view.RuleName(f.Rule)), Weight: shown(view.Weight(f)),
		Source: b.rule(f.PolicyPath, max(f.PolicyLine, 1)), Message: shown(view.Sentence(f)), Expected: shown(f.Expected),
		Advice: shown(view.FixInstruction(f)), Field: shown(view.FieldName(f.Field)),
		Where: b.at(o.Path, o.StartLine), Code: b.code(o.Path, o.StartLine, o.EndLine, o.StartColumn, o.EndColumn),
		Resources: each(view.ResourcesOf(f)), Roots: each(f.Roots), Clusters: each(f.Clusters),
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
	if x := view.FixOf(f); x != nil {
		out.WriteWords = shown(x.Words("What to write"))
		out.Write = report.Mapped(x.Rows, diffLine)
	}
	if f.Exemption != nil {
		out.Exemption = b.exemption(f.Exemption)
	}
	return out
}

// exemption returns the exception of a finding. An exception of the change is linked at the head, others at the commit
// of the rules.
func (b *pageOf) exemption(e *report.Exemption) Note {
	placeless := *e
	placeless.Path = ""
	n := Note{Where: b.rule(e.Path, 0), Text: shown(view.Exemption(&placeless))}
	if !slices.Contains([]report.State{report.Merged, report.Expired, report.Dropped}, e.State) {
		n.Where = b.at(e.Path, 0)
	}
	return n
}

func (b *pageOf) exceptionFacts(e *report.Exception) []string {
	return each(report.Mapped(view.ExceptionFacts(e, b.report.Approvers), view.ExceptionFact.String))
}

// linksOf returns the links of all sources whose versions change.
func linksOf(b report.Bump) []Link {
	all := slices.Concat(report.Mapped(b.Moved, func(m report.Moved) []report.Link { return m.Links })...)
	return report.Mapped(all, func(l report.Link) Link { return Link{Text: shown(l.Text), Address: l.URL} })
}

func (b *pageOf) bump(of report.Bump) Bump {
	out := Bump{Bump: of}
	for _, c := range of.Changed {
		one := Change{ID: b.id("v", of.Root, c.String()), Resource: shown(c.String()), Operation: "changed"}
		for row := range strings.Lines(c.Diff) {
			one.Lines = append(one.Lines, diffLine(strings.TrimSuffix(row, "\n")))
		}
		if c.LeftOut > 0 {
			one.LeftOut = view.MoreLines(c.LeftOut) + "."
		}
		out.Changed = append(out.Changed, one)
	}
	return out
}

func (b *pageOf) preview() *Preview {
	p := b.report.Preview
	if p == nil {
		return nil
	}
	out := &Preview{Intro: shown(view.PreviewIntro(b.report)), Warnings: b.notes(p.Warnings), Rows: p.Findings}
	for _, i := range view.PreviewItems(p) {
		where := b.at(i.Path, i.Line)
		switch {
		case strings.Contains(i.Path, "://"):
			where = b.rule(i.Path, i.Line)
		case i.Gone:
			where.Address = b.base(i.Path, i.Line)
		}
		out.Items = append(out.Items, Note{Where: where, Text: shown(i.Words)})
	}
	if p.LeftOut > 0 {
		out.LeftOut = report.Count(p.LeftOut, "more difference is", "more differences are") + " counted above and not listed."
	}
	return out
}
