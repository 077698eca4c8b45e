package checks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/exempt"
	"github.com/lintel-bot/lintel/render/tree"
)

// finish sorts what was found, draws the conclusion and adds what people need to read it.
func (r *run) finish() {
	report := r.report
	report.Findings = merge(report.Findings)
	slices.SortStableFunc(report.Findings, compareFindings)
	byPlace := func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Message, b.Message))
	}
	slices.SortFunc(report.Errors, byPlace)
	slices.SortFunc(report.Warnings, byPlace)
	report.Warnings = slices.Compact(report.Warnings)
	for i := range report.Warnings {
		report.Warnings[i].Changed = r.changed[report.Warnings[i].Path]
	}
	for _, f := range report.Findings {
		if !f.New {
			report.Stats.PreExisting++
		}
	}
	report.All = r.change.All
	r.exceptions()
	r.upkeep()
	report.Folders = r.folders()
	report.Conclusion = conclude(report)
	report.Title = report.title()
	report.Excerpts = r.excerpts()
}

// conclude draws the conclusion of a finished report.
func conclude(r *Report) Conclusion {
	pending, weak := false, false
	for _, f := range r.Findings {
		waits := f.Exemption != nil && f.Exemption.State == string(exempt.Pending)
		switch {
		case f.Blocks && !waits:
			return Failure
		case f.Blocks:
			pending = true
		case f.Result == Unknown, f.New && (f.Result == Warn || f.Result == Error):
			weak = true
		}
	}
	switch {
	case len(r.Errors) > 0:
		return Failure
	case pending:
		return ActionRequired
	case weak, r.Stats.Unchecked > 0:
		return Neutral
	}
	return Success
}

// excerptLines is how many lines around a place are shown, excerptWidth how many bytes of one.
const (
	excerptLines = 2
	excerptWidth = 300
)

// excerpts collects the source lines around the findings and errors. Lines of the base are shown only for files
// that the head does not have.
func (r *run) excerpts() map[string]map[int]string {
	out := map[string]map[int]string{}
	cached := map[string][]string{}
	lines := func(path string, base bool) []string {
		key := fmt.Sprint(base, path)
		if known, ok := cached[key]; ok {
			return known
		}
		var t *tree.Tree = r.headTree
		if base {
			if _, err := r.headTree.Entry(path); err == nil {
				cached[key] = nil
				return nil
			}
			t = r.baseTree
		}
		var list []string
		if data, _, err := t.ReadFile(path); err == nil {
			list = strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
		}
		cached[key] = list
		return list
	}
	add := func(path string, start, end int, base bool) {
		if path == "" || start < 1 {
			return
		}
		all := lines(path, base)
		for n := max(1, start-excerptLines); n <= min(len(all), max(start, min(end, start+excerptLines))+excerptLines); n++ {
			if out[path] == nil {
				out[path] = map[int]string{}
			}
			text := all[n-1]
			if len(text) > excerptWidth {
				text = strings.ToValidUTF8(text[:excerptWidth], "") + "…"
			}
			out[path][n] = strings.ToValidUTF8(text, "\uFFFD")
		}
	}
	for _, f := range r.report.Findings {
		if f.Result != Skip {
			add(f.Origin.Path, f.Origin.StartLine, f.Origin.EndLine, f.Origin.Side == "base")
		}
	}
	for _, p := range r.report.Errors {
		add(p.Path, p.Line, p.Line, false)
	}
	return out
}
