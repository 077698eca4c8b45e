package output

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/view"
)

// Outlook is what a change of rules changes in other repositories, as the summary of a check run: Markdown of at most
// limit bytes.
func Outlook(o *report.Outlook, limit int) string {
	head := "What merging this pull request changes in the repositories that take their rules from here, by what their " +
		"default branches deploy. It has no say in whether this pull request may be merged.\n"
	foot := ""
	if o.Hidden > 0 {
		foot = "\n" + report.Count(o.Hidden, "private repository that takes rules from here is not named", "private repositories "+
			"that take rules from here are not named") + ", since everybody may read this one.\n"
	}
	if unnamed := o.Unnamed(); unnamed > 0 {
		foot += "\nPrivate repositories are not named here"
		if o.Page != "" {
			foot += ": " + link("a page", o.Page) + " names to each reader those that the reader may see"
		}
		foot += ".\n"
	}
	policies := section{head: "\n| Policy | Once merged | Repositories |\n| --- | --- | ---: |\n", one: "policy", many: "policies"}
	for _, p := range o.Policies() {
		policies.rows = append(policies.rows, fmt.Sprintf("| %s | %s | %d |\n", breakable(p.Policy, ""),
			cellProse(p.Foretold().Words()), p.Roots))
	}
	seen := section{head: "\n| Repository | Once merged | Looked at |\n| --- | --- | --- |\n", one: "repository", many: "repositories"}
	var places []section
	var quiet, unnamed []report.UserOutlook
	for _, u := range o.Of(report.OutlookSeen) {
		switch {
		case !u.Tells():
			quiet = append(quiet, u)
			continue
		case u.Repository == "":
			unnamed = append(unnamed, u)
			continue
		}
		seen.rows = append(seen.rows, outlookRow(&u))
		places = append(places, outlookPlaces(&u))
	}
	if len(unnamed) > 0 {
		seen.rows = append(seen.rows, unnamedRow(unnamed))
	}
	failed := section{head: "\n#### Could not be looked at\n\n", one: "repository", many: "repositories"}
	for _, u := range o.Of(report.OutlookFails) {
		failed.rows = append(failed.rows, "- "+outlookName(&u)+": "+prose(clip(u.Reason, messageRunes))+"\n")
	}
	first := []section{policies, seen, failed,
		outlookNames("Nothing changes", quiet),
		outlookNames("Still to be looked at", o.Of(report.OutlookWaits)),
		outlookNames("Take no rules from this branch", o.Of(report.OutlookApart))}
	return assemble(head, first, places, foot, limit, "")
}

// outlookNames lists repositories of which there is nothing more to say, folded.
func outlookNames(what string, list []report.UserOutlook) section {
	s := section{head: "\n<details><summary>" + what + ": " + strconv.Itoa(len(list)) + "</summary>\n\n",
		foot: "\n</details>\n", one: "repository", many: "repositories"}
	unnamed := 0
	for i := range list {
		if list[i].Repository == "" {
			unnamed++
			continue
		}
		s.rows = append(s.rows, "- "+outlookName(&list[i])+"\n")
	}
	if unnamed > 0 {
		s.rows = append(s.rows, "- "+privateOnes(unnamed)+"\n")
	}
	return s
}

func outlookName(u *report.UserOutlook) string {
	switch {
	case u.Repository == "":
		return "a private repository"
	case u.Page != "":
		return link(u.Repository, u.Page)
	}
	return link(u.Repository, u.URL)
}

func privateOnes(n int) string {
	if n == 1 {
		return "a private repository"
	}
	return report.Count(n, "private repository", "private repositories")
}

// unnamedRow sums up repositories that are not named.
func unnamedRow(list []report.UserOutlook) string {
	all := report.Outlook{Users: list}
	resources, settings, partly := 0, 0, 0
	for _, u := range list {
		resources += u.Resources
		settings += min(1, len(u.Settings))
		partly += min(1, u.Unseen+u.Unrendered)
	}
	becomes, looked := all.Sum().Words(), report.Count(resources, "resource", "resources")
	if settings > 0 {
		becomes += "; settings of " + strconv.Itoa(settings)
	}
	if partly > 0 {
		looked += "; in part in " + strconv.Itoa(partly)
	}
	return "| " + privateOnes(len(list)) + " | " + cellProse(becomes) + " | " + cellProse(looked) + " |\n"
}

func outlookRow(u *report.UserOutlook) string {
	becomes := u.Foretold.Words()
	if len(u.Settings) > 0 {
		becomes += "; settings: " + strings.Join(u.Settings, ", ")
	}
	looked := report.Count(u.Resources, "resource", "resources")
	if u.Unseen > 0 {
		looked += "; no time for " + report.Count(u.Unseen, "root", "roots")
	}
	if u.Unrendered > 0 {
		looked += "; " + report.Count(u.Unrendered, "root does not render", "roots do not render")
	}
	return "| " + outlookName(u) + " | " + cellProse(becomes) + " | " + cellProse(looked) + " |\n"
}

// outlookPlaces names the places of a repository of which the rules say something else, folded.
func outlookPlaces(u *report.UserOutlook) section {
	s := section{head: "\n<details><summary>" + prose(u.Repository) + ": " + prose(u.Foretold.Words()) + "</summary>\n\n",
		foot: "\n</details>\n", one: "place", many: "places"}
	blob := Blob(u.URL, u.Head)
	for i := range u.Findings {
		f := &u.Findings[i]
		where := code(f.Resource.String())
		if o := f.Origin; o != nil {
			where = link(view.Place(o.Path, o.StartLine, 0), blob(o.Path, o.StartLine)) + ", " + where
		}
		s.rows = append(s.rows, "- "+where+": "+code(strings.TrimSuffix(f.Policy+" / "+view.RuleName(f.Rule), " / "))+" "+
			prose(becomes(f))+", "+prose(clip(view.Reason(f.Rule, f.Message), messageRunes))+"\n")
	}
	return s
}
