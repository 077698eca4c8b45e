package view

import (
	"cmp"
	"fmt"

	"github.com/lintel-bot/lintel/checks/report"
)

// PreviewTitle is the heading of a preview.
const PreviewTitle = "Preview: what this change does to the rules"

// PreviewItem is one sentence of a preview and where it belongs.
type PreviewItem struct {
	Path  string
	Line  int
	Gone  bool // the place is in the base only
	Words string
}

// PreviewItems are the sentences of a preview in order: settings, policies, exceptions, tests.
func PreviewItems(p *report.Preview) (list []PreviewItem) {
	if words := p.SettingsWords(); words != "" {
		list = append(list, PreviewItem{Path: report.SettingsPath, Words: words})
	}
	for i := range p.Policies {
		o := &p.Policies[i]
		list = append(list, PreviewItem{o.Path, o.Line, o.Edit == report.Removed, o.Words()})
	}
	for i := range p.Exceptions {
		x := &p.Exceptions[i]
		list = append(list, PreviewItem{x.Path, x.Line, x.Edit == report.Removed, x.Words()})
	}
	if words := p.TestWords(); words != "" {
		list = append(list, PreviewItem{Words: words})
	}
	return list
}

// PreviewIntro says what a preview is of.
func PreviewIntro(r *report.Report) string {
	p, intro := r.Preview, "This check used the rules of the base branch."
	if r.Concerned {
		intro = "The change is one of another repository that rules come from."
	}
	if p.Stats.Roots > 0 {
		intro += " Once merged, for " + p.Scope() + ":"
	}
	return intro
}

// Becomes is "pass → fail".
func Becomes(f *report.PreviewFinding) string {
	name := func(r report.Result) string {
		if r == report.Skip {
			return "excepted"
		}
		return cmp.Or(string(r), "no rule")
	}
	words := name(f.Before) + " → " + name(f.After)
	if f.Exception != "" {
		words += ", exception " + f.Exception
	}
	return words
}

// PreviewResources names the resources of a difference in short.
func PreviewResources(f *report.PreviewFinding) string {
	words := f.Resource.String()
	if n := len(f.Resources) + f.More.Resources; n > 0 {
		words += fmt.Sprintf(" and %d more", n)
	}
	if n := len(f.Roots) + f.More.Roots; n > 1 {
		words += fmt.Sprintf(" in %d roots", n)
	}
	return words
}
