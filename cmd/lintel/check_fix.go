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
	left    []string        // what is not written, and why
	byHand  int             // findings that no edit is for
}

// fixRounds is how often the tree is checked again: edits that do not help are left out, and an edit can lead to new
// ones.
const fixRounds = 6

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
		useless := unhelpful(rep, now, edits)
		for i, why := range useless {
			x.giveUp(rep, &edits[i], why)
		}
		if len(useless) > 0 {
			continue
		}
		for path, rows := range tried {
			x.files[path].rows = rows
		}
		change, rep = next, now
	}
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
		return -cmp.Compare(lineOf(&a), lineOf(&b)) // from the end, so that lines stay what they are
	})
	for _, e := range byLine {
		if e.Why != "" || x.given[editKey(rep, &e)] {
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

func lineOf(e *report.SourceEdit) int { return cmp.Or(e.Diff, &report.Diff{}).Line }

// editKey identifies an edit independently of its line numbers.
func editKey(rep *report.Report, e *report.SourceEdit) string {
	f := &rep.Findings[e.Findings[0]]
	return fmt.Sprintf("%q %q %q %v %q", e.Path, f.Policy, f.Rule, f.Resource, f.Field)
}

// giveUp leaves an edit out from now on.
func (x *fixing) giveUp(rep *report.Report, e *report.SourceEdit, why string) {
	x.given[editKey(rep, e)] = true
	f := &rep.Findings[e.Findings[0]]
	var policies []string
	for _, i := range e.Findings {
		policies = append(policies, rep.Findings[i].Policy)
	}
	slices.Sort(policies)
	line := fmt.Sprintf("%s:%d for %s: %s", e.Path, f.Origin.StartLine, strings.Join(slices.Compact(policies), ", "), why)
	if !slices.Contains(x.left, line) {
		x.left = append(x.left, line)
	}
}
