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
	r.exceptions()
	report.Conclusion = conclude(report)
	report.Title = title(report)
	report.Excerpts = r.excerpts()
}

// exceptions reports the exceptions that the change proposes.
func (r *run) exceptions() {
	for _, e := range r.proposed {
		x := Exception{Name: exempt.Name(e), Path: e.Path, Line: e.Line, State: string(r.decision.State(e)), By: r.decision.By(e)}
		if entry, err := r.headTree.Entry(e.Path); err == nil {
			x.Blob = entry.ID
		}
		for _, f := range r.report.Findings {
			if f.Exemption != nil && f.Exemption.Path == e.Path && f.Exemption.Exception == x.Name {
				x.Lets++
			}
		}
		r.report.Exceptions = append(r.report.Exceptions, x)
	}
	slices.SortFunc(r.report.Exceptions, func(a, b Exception) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
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

// title says in one line what a check came to.
func title(r *Report) string {
	var blocking, waiting, warnings, unknown int
	waits := map[string]bool{}
	for _, f := range r.Findings {
		switch {
		case f.Blocks && f.Exemption != nil && f.Exemption.State == string(exempt.Pending):
			waiting++
			waits[f.Exemption.Exception] = true
		case f.Blocks:
			blocking++
		case f.Result == Unknown:
			unknown++
		case f.New && (f.Result == Warn || f.Result == Error):
			warnings++
		}
	}
	var parts []string
	add := func(n int, one, many string) {
		if n == 1 {
			parts = append(parts, "1 "+one)
		} else if n > 1 {
			parts = append(parts, fmt.Sprintf("%d %s", n, many))
		}
	}
	add(len(r.Errors), "error", "errors")
	add(blocking, "new violation", "new violations")
	if waiting > 0 {
		add(len(waits), "exception waits for approval", "exceptions wait for approval")
	}
	add(warnings, "warning", "warnings")
	add(r.Stats.Unchecked, "Helm chart is not checked", "Helm charts are not checked")
	add(unknown, "rule needs the cluster", "rules need the cluster")
	switch {
	case len(parts) > 0:
		return strings.Join(parts, ", ")
	case r.Stats.Policies == 0:
		return "No policies in this repository: nothing was checked"
	case r.Stats.Resources == 0:
		return "No deployed manifest changes"
	case r.Stats.PreExisting > 0:
		return fmt.Sprintf("No new violations (%d in the base already)", r.Stats.PreExisting)
	case r.Stats.Resources == 1:
		return "1 resource checked, no violations"
	}
	return fmt.Sprintf("%d resources checked, no violations", r.Stats.Resources)
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
