package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// fixing implements "lintel check --fix": it makes the edits that a report suggests in a copy of the checked tree, and
// checks that again. Only edits that helped are written into the work tree.
type fixing struct {
	repo    *repository
	run     func(report.Change) (*report.Report, error)
	top     *os.Root // of the work tree
	checked string   // the tree that was checked first
	objects string   // the folder beside the repository into which git writes
	files   map[string]*fixedFile
	given   map[string]bool // edits that were given up
	held    map[string]bool // edits that the next trial leaves out
	left    []string        // what is not written, and why
	byHand  int             // findings that no edit is for
}

// fixRounds is how often the tree is checked again: edits that do not help are left out, which takes several trials where it is
// not clear which of them it is, and an edit can lead to new ones.
const fixRounds = 24

// tryFixes tries the edits that a report suggests. It returns the change and the report for the tree with all edits
// that helped, which [fixing.write] writes.
func tryFixes(ctx context.Context, repo *repository, change report.Change, rep *report.Report,
	run func(report.Change) (*report.Report, error),
) (*fixing, report.Change, *report.Report, error) {
	name, err := repo.top(ctx)
	if err != nil {
		return nil, change, rep, err
	}
	top, err := os.OpenRoot(name)
	if err != nil {
		return nil, change, rep, err
	}
	x := &fixing{repo: repo, run: run, top: top, checked: change.Head, objects: change.Alternates[0],
		files: map[string]*fixedFile{}, given: map[string]bool{}}
	for _, policy := range change.Edits {
		if policy != "*" && !slices.ContainsFunc(rep.Findings, func(f report.Finding) bool { return f.Policy == policy }) {
			x.left = append(x.left, "policy "+policy+" finds nothing")
		}
	}
	change, rep, err = x.rounds(ctx, change, rep)
	for _, e := range rep.Edits {
		if e.Why != "" {
			x.giveUp(rep, &e, e.Why)
		}
	}
	x.byHand = withoutEdit(change, rep)
	return x, change, rep, err
}

// withoutEdit counts the violations of the requested policies for which a report has no edit.
func withoutEdit(change report.Change, rep *report.Report) (n int) {
	for i := range rep.Findings {
		f := &rep.Findings[i]
		state := view.StateOf(f)
		if (state == view.Blocking || state == view.Warning) &&
			(slices.Contains(change.Edits, "*") || slices.Contains(change.Edits, f.Policy)) &&
			!slices.ContainsFunc(rep.Edits, func(e report.SourceEdit) bool {
				return e.Why == "" && slices.Contains(e.Findings, i)
			}) {
			n++
		}
	}
	return n
}

// rounds tries edits until none is left. It returns the change and the report for the tree with all edits that helped.
func (x *fixing) rounds(ctx context.Context, change report.Change, rep *report.Report,
) (report.Change, *report.Report, error) {
	for range fixRounds {
		edits, tried, err := x.possible(ctx, rep)
		if len(edits) == 0 || err != nil {
			return change, rep, err
		}
		tree, err := x.tree(ctx, x.edited(tried))
		if err != nil {
			return change, rep, fmt.Errorf("try the edits: %w", err)
		}
		next := change
		if next.Rules == next.Head {
			next.Rules = tree
		}
		next.Head = tree
		now, err := x.run(next)
		if err != nil {
			return change, rep, err
		}
		useless, suspects := unhelpful(rep, now, edits)
		if len(useless) > 0 || len(suspects) == 0 || x.held == nil { // else fewer and fewer are tried
			x.held = map[string]bool{}
		}
		for i, why := range useless {
			x.giveUp(rep, &edits[i], why)
		}
		if len(useless) > 0 {
			continue
		}
		for _, i := range suspects[len(suspects)/2:] {
			x.held[editKey(rep, &edits[i])] = true
		}
		if len(suspects) > 0 {
			continue
		}
		for path, rows := range tried {
			x.files[path].rows = rows
		}
		change, rep = next, now
	}
	x.held = nil
	edits, _, err := x.possible(ctx, rep)
	for i := range edits {
		x.giveUp(rep, &edits[i], "not tried: the limit of failed trials was reached first")
	}
	return change, rep, err
}

// possible returns the edits of a report that can be made, and the contents of the edited files with them.
func (x *fixing) possible(ctx context.Context, rep *report.Report,
) (edits []report.SourceEdit, tried map[string]rows, _ error) {
	tried = map[string]rows{}
	if err := x.open(ctx, rep.Edits); err != nil {
		return nil, nil, err
	}
	byLine := slices.SortedFunc(slices.Values(rep.Edits), func(a, b report.SourceEdit) int {
		return -cmp.Compare(a.Line(), b.Line()) // from the end, so that lines stay what they are
	})
	for _, e := range byLine {
		if key := editKey(rep, &e); e.Why != "" || x.given[key] || x.held[key] {
			continue
		}
		if e.Diff == nil {
			x.giveUp(rep, &e, "the suggested edits contradict each other")
			continue
		}
		f := x.files[e.Path]
		if f.why != "" {
			x.giveUp(rep, &e, f.why)
			continue
		}
		now := tried[e.Path]
		if now == nil {
			now = f.rows
		}
		now, why := now.with(&e, f)
		if why != "" {
			x.giveUp(rep, &e, why)
			continue
		}
		tried[e.Path] = now
		edits = append(edits, e)
	}
	return edits, tried, nil
}

// editKey identifies an edit independently of its line numbers.
func editKey(rep *report.Report, e *report.SourceEdit) string {
	f := &rep.Findings[e.Findings[0]]
	return fmt.Sprintf("%q %q %q %v %q", e.Path, f.Policy, f.Rule, f.Resource, f.Field)
}

// giveUp leaves an edit out from now on.
func (x *fixing) giveUp(rep *report.Report, e *report.SourceEdit, why string) {
	x.given[editKey(rep, e)] = true
	f := &rep.Findings[e.Findings[0]]
	policies := report.Mapped(e.Findings, func(i int) string { return rep.Findings[i].Policy })
	slices.Sort(policies)
	line := fmt.Sprintf("%s:%d for %s: %s", e.Path, f.Origin.StartLine, strings.Join(slices.Compact(policies), ", "), why)
	x.left = report.Union(x.left, []string{line})
}

// ruleName is a rule of a policy.
type ruleName struct{ policy, rule string }

// comparison is a report before and after edits.
type comparison struct {
	before, after *report.Report
	edits         []report.SourceEdit // of the findings before
	useless       map[int]string      // edits that are not worth it, by index, with the reason
	suspects      []int               // edits of which at least one is not worth it
}

// unhelpful returns the edits that did not help, by index, with the reason: one of their findings is still there, or
// there is a new one. Where it is not clear which of several edits it is, it returns these as suspects. Findings are counted by
// rule, since an edit may change their lines and the names of generated objects.
func unhelpful(before, after *report.Report, edits []report.SourceEdit) (useless map[int]string, suspects []int) {
	c := &comparison{before: before, after: after, edits: edits, useless: map[int]string{}}
	was, is, mends := countRules(before), countRules(after), map[ruleName]int{}
	for _, e := range edits {
		for _, k := range e.Findings {
			mends[ruleOf(&before.Findings[k])] += weight(&before.Findings[k])
		}
	}
	for rule, n := range mends {
		if is[rule] > was[rule]-n {
			ofRule := func(f *report.Finding) bool { return ruleOf(f) == rule }
			c.blame(true, "the edit does not reduce the findings of the rule", func(f *report.Finding) bool {
				return ofRule(f) && slices.ContainsFunc(after.Findings, func(g report.Finding) bool {
					return ruleOf(&g) == rule && g.Field == f.Field && shared(resources(&g), resources(f)) && shared(g.Roots, f.Roots)
				})
			}, ofRule)
		}
	}
	for rule, n := range is {
		if mends[rule] == 0 && n > was[rule] {
			c.newFinding(rule)
		}
	}
	if n := len(after.Errors) + len(after.NotChecked); n > len(before.Errors)+len(before.NotChecked) {
		c.blame(false, "with this edit, something can no longer be checked", func(f *report.Finding) bool {
			at := func(path string) bool { return f.Origin.Path == path }
			return slices.ContainsFunc(after.Errors, func(p report.Problem) bool { return at(p.Path) }) ||
				slices.ContainsFunc(after.NotChecked, func(n report.NotChecked) bool {
					return at(n.Path) || slices.Contains(f.Roots, n.Root)
				})
		})
	}
	return c.useless, c.suspects
}

// newFinding blames edits for a new finding of a rule: those of the same resources, otherwise those of the same roots.
func (c *comparison) newFinding(rule ruleName) {
	var list []report.Finding
	for _, g := range c.after.Findings {
		if ruleOf(&g) == rule && !slices.ContainsFunc(c.before.Findings, func(f report.Finding) bool {
			return ruleOf(&f) == rule && f.Field == g.Field && shared(resources(&f), resources(&g))
		}) {
			list = append(list, g)
		}
	}
	c.blame(false, "with it "+rule.policy+" is violated", func(f *report.Finding) bool {
		return slices.ContainsFunc(list, func(g report.Finding) bool { return shared(resources(f), resources(&g)) })
	}, func(f *report.Finding) bool {
		return slices.ContainsFunc(list, func(g report.Finding) bool { return shared(f.Roots, g.Roots) })
	})
}

// blame marks the edits that match the first of the conditions that any edit matches, or all edits if none does. They are
// suspects where there are several, unless the first condition is exact.
func (c *comparison) blame(exact bool, why string, conditions ...func(*report.Finding) bool) {
	for n, is := range append(conditions, func(*report.Finding) bool { return true }) {
		var found []int
		for i, e := range c.edits {
			if slices.ContainsFunc(e.Findings, func(k int) bool { return is(&c.before.Findings[k]) }) {
				found = append(found, i)
			}
		}
		if len(found) > 1 && !(exact && n == 0) {
			c.suspects = report.Union(c.suspects, found)
			return
		}
		for _, i := range found {
			c.useless[i] = cmp.Or(c.useless[i], why)
		}
		if len(found) > 0 {
			return
		}
	}
}

func ruleOf(f *report.Finding) ruleName { return ruleName{f.Policy, f.Rule} }

func resources(f *report.Finding) []report.Resource {
	return append([]report.Resource{f.Resource}, f.Resources...)
}

// shared reports whether two lists have a common element.
func shared[T comparable](a, b []T) bool {
	return slices.ContainsFunc(a, func(x T) bool { return slices.Contains(b, x) })
}

// countRules counts the findings of each rule, except those that an exception covers.
func countRules(rep *report.Report) map[ruleName]int {
	out := map[ruleName]int{}
	for i := range rep.Findings {
		if f := &rep.Findings[i]; f.Result != report.Skip {
			out[ruleOf(f)] += weight(f)
		}
	}
	return out
}

// weight is how many findings one stands for: those of several roots and resources are one while they say the same.
func weight(f *report.Finding) int { return max(1, len(f.Roots)) + len(f.Resources) }
