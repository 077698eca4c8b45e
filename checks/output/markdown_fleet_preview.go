package output

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// FleetPreview returns the summary of a check run about what a change of rules would change in other repositories:
// Markdown of at most limit bytes.
func FleetPreview(p *report.FleetPreview, limit int) string {
	head := "The effect of merging this pull request on the repositories that use its rules, based on their default " +
		"branches. It does not decide whether this pull request may be merged.\n"
	foot := ""
	if p.Hidden > 0 {
		foot = "\n" + report.Count(p.Hidden, "private repository that takes rules from here is not named", "private repositories "+
			"that take rules from here are not named") + ", since everybody may read this one.\n"
	}
	if p.Unnamed() > 0 {
		foot += "\nPrivate repositories are not named here"
		if p.Page != "" {
			foot += ": " + link("a page", p.Page) + " names to each reader those that the reader may see"
		}
		foot += ".\n"
	}
	policies := section{head: "\n| Policy | Once merged | Repositories |\n| --- | --- | ---: |\n", one: "policy", many: "policies"}
	for _, policy := range p.Policies() {
		policies.rows = append(policies.rows, fmt.Sprintf("| %s | %s | %d |\n", breakable(policy.Policy, ""),
			cellProse(policy.PreviewCounts.Words()), policy.Roots))
	}
	seen := section{head: "\n| Repository | Once merged | Checked |\n| --- | --- | --- |\n", one: "repository", many: "repositories"}
	var places []section
	var quiet []report.DependentPreview
	var unnamed report.FleetPreview
	for _, d := range p.Of(report.DependentSeen) {
		switch {
		case d.Unchanged():
			quiet = append(quiet, d)
		case d.Repository == "":
			unnamed.Dependents = append(unnamed.Dependents, d)
		default:
			seen.rows = append(seen.rows, dependentRow(&d))
			places = append(places, dependentPlaces(&d))
		}
	}
	if len(unnamed.Dependents) > 0 {
		seen.rows = append(seen.rows, unnamedRow(&unnamed))
	}
	failed := section{head: "\n#### Could not be checked\n\n", one: "repository", many: "repositories"}
	for _, d := range p.Of(report.DependentFails) {
		failed.rows = append(failed.rows, "- "+dependentName(&d)+": "+prose(clip(d.Reason, messageRunes))+"\n")
	}
	return assemble(head, []section{policies, seen, failed,
		dependentNames("Nothing changes", quiet),
		dependentNames("Still to be checked", p.Of(report.DependentWaits)),
		dependentNames("Use no rules of this branch", p.Of(report.DependentUnrelated)),
	}, places, foot, limit, "")
}

// dependentNames lists repositories without further details, folded.
func dependentNames(what string, list []report.DependentPreview) section {
	s := foldedSection(fmt.Sprintf("%s: %d", what, len(list)), "repository", "repositories")
	unnamed := 0
	for i := range list {
		if list[i].Repository == "" {
			unnamed++
			continue
		}
		s.rows = append(s.rows, "- "+dependentName(&list[i])+"\n")
	}
	if unnamed > 0 {
		s.rows = append(s.rows, "- "+privateOnes(unnamed)+"\n")
	}
	return s
}

func dependentName(d *report.DependentPreview) string {
	if d.Repository == "" {
		return privateOnes(1)
	}
	return link(d.Repository, cmp.Or(d.Page, d.URL))
}

func privateOnes(n int) string {
	if n == 1 {
		return "a private repository"
	}
	return fmt.Sprintf("%d private repositories", n)
}

// unnamedRow returns a row that sums up the repositories that are not named.
func unnamedRow(p *report.FleetPreview) string {
	resources, settings, partly := 0, 0, 0
	for _, d := range p.Dependents {
		resources += d.Resources
		settings += min(1, len(d.Settings))
		partly += min(1, d.Unseen+d.Unrendered)
	}
	becomes, looked := p.Sum().Words(), report.Count(resources, "resource", "resources")
	if settings > 0 {
		becomes += fmt.Sprintf("; settings of %d", settings)
	}
	if partly > 0 {
		looked += fmt.Sprintf("; in part in %d", partly)
	}
	return "| " + privateOnes(len(p.Dependents)) + " | " + cellProse(becomes) + " | " + cellProse(looked) + " |\n"
}

func dependentRow(d *report.DependentPreview) string {
	becomes, looked := d.Words(), report.Count(d.Resources, "resource", "resources")
	if len(d.Settings) > 0 {
		becomes += "; settings: " + strings.Join(d.Settings, ", ")
	}
	if d.Unseen > 0 {
		looked += "; no time for " + report.Count(d.Unseen, "root", "roots")
	}
	if d.Unrendered > 0 {
		looked += "; " + report.Count(d.Unrendered, "root does not render", "roots do not render")
	}
	return "| " + dependentName(d) + " | " + cellProse(becomes) + " | " + cellProse(looked) + " |\n"
}

// dependentPlaces lists the places of a repository for which the rules give another result, folded.
func dependentPlaces(d *report.DependentPreview) section {
	s := foldedSection(prose(d.Repository)+": "+prose(d.Words()), "place", "places")
	blob := Blob(d.URL, d.Head)
	for _, f := range d.Findings {
		where := code(f.Resource.String())
		if o := f.Origin; o != nil {
			where = link(view.Place(o.Path, o.StartLine, 0), blob(o.Path, o.StartLine)) + ", " + where
		}
		s.rows = append(s.rows, "- "+where+": "+code(strings.TrimSuffix(f.Policy+" / "+view.RuleName(f.Rule), " / "))+" "+
			prose(view.Becomes(&f))+", "+prose(clip(view.Reason(f.Rule, f.Message), messageRunes))+"\n")
	}
	return s
}
