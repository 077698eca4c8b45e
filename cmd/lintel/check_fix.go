package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
)

// fixing is "lintel check --fix": the edits that a report suggests are tried in a copy of the tree that was checked,
// which is checked again. Only what helped there is written into the work tree.
type fixing struct {
	repo  *repository
	run   func(report.Change) (*report.Report, error)
	top   *os.Root // of the work tree
	env   []string // in which git writes beside the repository
	files map[string]*fixedFile
	given map[string]bool // edits that were given up
	left  []string        // what is not written, and why
}

// fixRounds is how often the tree is checked again: an edit that does not help is left out, one can bring up another.
const fixRounds = 6

// tryFixes tries the edits that a report suggests. The change and the report that it returns are those of the tree with
// all that helped, which [fixing.write] writes.
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
	env, _ := repo.besides(change.Alternates[0])
	x := &fixing{repo: repo, run: run, top: top, env: env, files: map[string]*fixedFile{}, given: map[string]bool{}}
	change, rep, err = x.rounds(ctx, change, rep)
	return x, change, rep, err
}

// rounds tries edits until none is left. The change and the report that it returns are those of the tree with all that
// helped.
func (x *fixing) rounds(ctx context.Context, change report.Change, rep *report.Report,
) (report.Change, *report.Report, error) {
	for range fixRounds {
		edits, tried := x.possible(ctx, rep)
		if len(edits) == 0 {
			return change, rep, nil
		}
		tree, err := x.tree(ctx, tried)
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
	edits, _ := x.possible(ctx, rep)
	for i := range edits {
		x.giveUp(rep, &edits[i], "too many edits did not help before it")
	}
	return change, rep, nil
}

// possible returns the edits of a report that can be made, and the files that they edit as they are with them.
func (x *fixing) possible(ctx context.Context, rep *report.Report) (edits []report.SourceEdit, tried map[string]rows) {
	tried = map[string]rows{}
	byLine := slices.SortedFunc(slices.Values(rep.Edits), func(a, b report.SourceEdit) int {
		return -cmp.Compare(lineOf(&a), lineOf(&b)) // from the end, so that lines stay what they are
	})
	for _, e := range byLine {
		if x.given[editKey(rep, &e)] {
			continue
		}
		if e.Diff == nil {
			x.giveUp(rep, &e, "they contradict each other")
			continue
		}
		f, why := x.file(ctx, e.Path)
		if why != "" {
			x.giveUp(rep, &e, why)
			continue
		}
		now := tried[e.Path]
		if now == nil {
			now = f.rows
		}
		if now, why = now.with(&e, f); why != "" {
			x.giveUp(rep, &e, why)
			continue
		}
		tried[e.Path] = now
		edits = append(edits, e)
	}
	return edits, tried
}

func lineOf(e *report.SourceEdit) int { return cmp.Or(e.Diff, &report.Diff{}).Line }

// editKey tells an edit wherever its lines are.
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

// tree writes the tree with files as they are tried and all others as they were.
func (x *fixing) tree(ctx context.Context, tried map[string]rows) (string, error) {
	var entries strings.Builder
	for _, path := range slices.Sorted(maps.Keys(x.files)) {
		f := x.files[path]
		now := f.rows
		if tried[path] != nil {
			now = tried[path]
		}
		if now == nil {
			continue // it is not to be edited
		}
		blob, err := x.blob(ctx, path, now.String(), "-w")
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&entries, "%s %s\t%s\x00", f.gitMode, blob, path)
	}
	_, err := x.repo.runWith(ctx, x.env, entries.String(), "-C", x.top.Name(), "update-index", "-z", "--index-info")
	if err != nil {
		return "", err
	}
	return x.repo.run(ctx, x.env, "write-tree")
}

// blob is what git calls the content of a file, with what its filters do.
func (x *fixing) blob(ctx context.Context, path, content string, more ...string) (string, error) {
	args := append([]string{"-C", x.top.Name(), "hash-object", "--stdin", "--path=" + path}, more...)
	return x.repo.runWith(ctx, x.env, content, args...)
}
