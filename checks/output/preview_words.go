package output

import (
	"fmt"

	"github.com/lintel-bot/lintel/checks/report"
)

const previewTitle = "Preview: what this change does to the rules"

// previewItem is one sentence of a preview and where it belongs.
type previewItem struct {
	path  string
	line  int
	gone  bool // the place is in the base only
	words string
}

// previewItems are the sentences of a preview in order: settings, policies, exceptions, tests.
func previewItems(p *report.Preview) []previewItem {
	var list []previewItem
	if words := p.SettingsWords(); words != "" {
		list = append(list, previewItem{path: report.SettingsPath, words: words})
	}
	for i := range p.Policies {
		o := &p.Policies[i]
		list = append(list, previewItem{o.Path, o.Line, o.Edit == report.Removed, o.Words()})
	}
	for i := range p.Exceptions {
		x := &p.Exceptions[i]
		list = append(list, previewItem{x.Path, x.Line, x.Edit == report.Removed, x.Words()})
	}
	if words := p.TestWords(); words != "" {
		list = append(list, previewItem{words: words})
	}
	return list
}

// previewIntro says what a preview is of.
func previewIntro(r *report.Report) string {
	p, intro := r.Preview, "This check used the rules of the base branch."
	if r.Concerned {
		intro = "The change is one of another repository that rules come from."
	}
	if p.Stats.Roots > 0 {
		intro += " Once merged, for " + p.Scope() + ":"
	}
	return intro
}

// becomes is "pass → fail".
func becomes(f *report.PreviewFinding) string {
	name := func(r report.Result, none string) string {
		if r == "" {
			return none
		}
		if r == report.Skip {
			return "excepted"
		}
		return string(r)
	}
	words := name(f.Before, "no rule") + " → " + name(f.After, "no rule")
	if f.Exception != "" {
		words += ", exception " + f.Exception
	}
	return words
}

// previewResources names the resources of a difference in short.
func previewResources(f *report.PreviewFinding) string {
	words := f.Resource.String()
	if n := len(f.Resources) + f.More.Resources; n > 0 {
		words += fmt.Sprintf(" and %d more", n)
	}
	if n := len(f.Roots) + f.More.Roots; n > 1 {
		words += fmt.Sprintf(" in %d roots", n)
	}
	return words
}
