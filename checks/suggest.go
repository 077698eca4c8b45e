package checks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/checks/view"
	"github.com/lintel-bot/lintel/engine/explain"
	"github.com/lintel-bot/lintel/engine/jsonpointer"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/roots"
)

// suggestLines adds to the findings' suggestions the lines to edit in their files. It does so where the lines are known
// and contain no value of a Secret. It returns the combined edits for the findings that asked selects.
func suggestLines(set *deploy.Set, files *maskedFiles, findings []report.Finding, asked func(*report.Finding) bool,
) (edits []report.SourceEdit) {
	head := set.Tree()
	paths, located := make([]string, len(findings)), []int(nil)
	for i, f := range findings {
		if f.Suggestion == nil || f.Origin == nil || f.Origin.Side != report.Head {
			continue
		}
		if path, _, err := head.Lookup(f.Origin.Path); err == nil {
			paths[i], located = path, append(located, i)
		}
	}
	byPath := report.Grouped[[]int](located, func(i int) string { return paths[i] })
	perPath := make([][]report.SourceEdit, len(byPath))
	deploy.Each(len(byPath), func(k int) {
		path := paths[byPath[k][0]]
		data, _, err := head.ReadFile(path)
		if err != nil {
			return
		}
		file, reach := review.LinesOf(data), set.Reach([]string{path}, nil)
		var wishes []review.Wish
		var of []int
		for _, i := range byPath[k] {
			f := &findings[i]
			w, ok := wish(f)
			why := "the value that sets it is not known"
			switch {
			case file != nil && file.Encrypted:
				f.Origin.Advice, why = withSOPS, withSOPS
			case file == nil:
				why = "the file is a template, or too large to edit"
			case ok:
				if o := *w.Origin; o.Missing == f.Field && o.StartColumn == 0 && file.Begins(o.StartLine, f.Resource.Kind) {
					o.StartColumn, o.EndColumn, w.Origin = 1, 1, &o // the whole object lacks the field
				}
				f.Suggestion.Diff, why = file.Diff(w.Origin, w.Field, w.Suggestion)
			}
			if d := f.Suggestion.Diff; d != nil && !files.showable(f.Origin.Path, d) {
				f.Suggestion.Diff, why = nil, "its lines show a value of a Secret"
			}
			if f.Suggestion.Diff != nil {
				others := others(set, reach, f)
				f.Suggestion.Shared, f.Suggestion.SharedWith = len(others), others[:min(len(others), maxShared)]
			}
			if !asked(f) || !violation(f) {
				continue
			}
			if why = cmp.Or(unwritable(f), why); why != "" {
				perPath[k] = append(perPath[k], report.SourceEdit{Path: path, Why: why, Findings: []int{i}})
			} else {
				wishes, of = append(wishes, w), append(of, i)
			}
		}
		for _, j := range file.Together(wishes) {
			e := report.SourceEdit{Path: path, Diff: j.Diff,
				Findings: report.Mapped(j.Of, func(i int) int { return of[i] })}
			if e.Diff == nil || files.showable(e.Path, e.Diff) {
				files.around(&e)
				perPath[k] = append(perPath[k], e)
			}
		}
	})
	return slices.Concat(perPath...)
}

// withSOPS is the advice for a file that SOPS encrypted.
const withSOPS = "edit the file with sops: it is encrypted, and sops refuses what another editor changed"

// maxLine is the maximum size in bytes of a line that a suggestion shows.
const maxLine = 300

// maxShared is how many of the other roots of a file a suggestion names.
const maxShared = 10

// others returns the names of those roots in reach that a finding does not list. It returns none for a root with a Helm
// release: files that the release reads belong to the root that deploys it, which surprises nobody.
func others(set *deploy.Set, reach []roots.Root, f *report.Finding) (names []string) {
	for _, name := range f.Roots {
		var r roots.Root
		if i := slices.IndexFunc(reach, func(r roots.Root) bool { return r.Name() == name }); i >= 0 {
			r = reach[i]
		} else if found, err := set.Find(name); err == nil { // which lists all roots
			r = found
		} else {
			return nil
		}
		if d := set.Deployment(r); r.Kind == roots.Chart || d != nil && d.Release != nil {
			return nil
		}
	}
	for _, r := range reach {
		if name := r.Name(); !slices.Contains(f.Roots, name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// violation reports whether a finding violates a rule, with or without blocking.
func violation(f *report.Finding) bool {
	state := view.StateOf(f)
	return (f.Result == report.Fail || f.Result == report.Warn) && (state == view.Blocking || state == view.Warning)
}

// unwritable says why a finding's suggestion cannot be written as it is; "" if it can: it has no placeholder, and its
// lines are those of the field.
func unwritable(f *report.Finding) string {
	switch o := f.Origin; {
	case o.Set == nil && o.Advice != "":
		return o.Advice
	case o.Set == nil && o.How == report.Enclosing && o.Missing == "":
		return "its line is not known for sure"
	case strings.Contains(f.Suggestion.YAML, explain.Placeholder):
		return "a person has to choose the value"
	}
	return ""
}

// showable reports whether the lines of a file that an edit shows contain no masked value. It replaces the line above
// with the masked one, as in excerpts.
func (m *maskedFiles) showable(path string, d *report.Diff) bool {
	f := m.head(path)
	for i := range d.Removed {
		if f.Hides(d.Line + i) {
			return false
		}
	}
	if lines := f.Lines(); d.Above != "" && d.Line >= 2 && d.Line-2 < len(lines) {
		d.Above = lines[d.Line-2]
	}
	return true
}

// around adds the lines around an edit, masked as in excerpts.
func (m *maskedFiles) around(e *report.SourceEdit) {
	if e.Diff == nil {
		return
	}
	lines, end := m.head(e.Path).Lines(), e.Diff.Line+len(e.Diff.Removed)
	e.Around = map[int]string{}
	for n := max(1, e.Diff.Line-report.ShownAround); n <= min(len(lines), end+report.ShownAround-1); n++ {
		if n < e.Diff.Line || n >= end {
			e.Around[n] = lines[n-1][:min(len(lines[n-1]), maxExcerpt)]
		}
	}
}

// wish is the suggestion of a finding for its place: the field, or the value of a chart that sets the field.
func wish(f *report.Finding) (review.Wish, bool) {
	if f.Origin.Set == nil {
		return review.Wish{Origin: f.Origin, Field: f.Field, Suggestion: f.Suggestion}, true
	}
	keys, text, ok := view.ChartValue(f)
	if !ok {
		return review.Wish{}, false
	}
	below := jsonpointer.Join(keys[len(f.Origin.Set):]...)
	return review.Wish{Origin: f.Origin, Suggestion: &report.Suggestion{Field: below, YAML: text}}, true
}

// written returns the text that each edit writes.
func written(edits []report.SourceEdit) []string {
	return report.Mapped(edits, func(e report.SourceEdit) string {
		return fmt.Sprintf("%q", cmp.Or(e.Diff, &report.Diff{}).Lines())
	})
}

// unmasked removes the edits whose text was masked after it was written, and those of findings that no longer have a
// suggestion. Of the others, suggestions with long lines keep their edit, but do not show it.
func unmasked(rep *report.Report, before []string) {
	var kept []report.SourceEdit
	for i, now := range written(rep.Edits) {
		if e := rep.Edits[i]; now == before[i] && (e.Why != "" || !slices.ContainsFunc(e.Findings, func(k int) bool {
			s := rep.Findings[k].Suggestion
			return s == nil || s.Diff == nil
		})) {
			kept = append(kept, e)
		}
	}
	rep.Edits = kept
	for i := range rep.Findings {
		if s := rep.Findings[i].Suggestion; s != nil && s.Diff != nil && slices.ContainsFunc(
			slices.Concat([]string{s.Diff.Above}, s.Diff.Removed, s.Diff.Added),
			func(line string) bool { return len(line) > maxLine }) {
			s.Diff = nil
		}
	}
}
