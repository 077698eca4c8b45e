package report

import (
	"cmp"
	"fmt"
	"strings"
)

// fewNames is the maximum number of names in a sentence.
const fewNames = 5

// Words describes the change of a policy's results in one sentence: "policy require-labels (Enforce) would newly fail
// for 12 resources in 4 roots".
func (p PolicyPreview) Words() string {
	switch p.State {
	case PolicyBroken:
		return p.subject() + " has errors, so what it would do is not known"
	case PolicyUnevaluated:
		return p.subject() + " is of a kind that is not evaluated before merge"
	case PolicyUnknown:
		return "what " + p.subject() + " would do is not known, because another policy has errors"
	}
	return p.words() + partly(p.Partial)
}

// partly returns the end of a sentence with incomplete counts.
func partly(partial bool) string {
	if partial {
		return ", as far as the time limit allowed"
	}
	return ""
}

func (p PolicyPreview) words() string {
	subject := p.subject()
	switch {
	case p.Edit == Removed && p.Mutates > 0:
		return subject + " is removed: it changes " + Count(p.Mutates, "resource", "resources") + " now"
	case p.Edit == Removed && p.Passes == 0:
		return subject + " is removed; nothing here violates it"
	case p.Edit == Removed:
		return fmt.Sprintf("%s is removed: %s in %s would no longer be reported", subject,
			Count(p.Passes, "resource that violates it", "resources that violate it"), Count(p.Roots, "root", "roots"))
	}
	var parts []string
	add := func(n int, words string) {
		if n > 0 {
			parts = append(parts, words)
		}
	}
	of := ""
	if p.Fails < p.Applies && p.Warns < p.Applies {
		of = fmt.Sprintf(" of %d", p.Applies)
	}
	add(p.Fails, "newly fail for "+Count(p.Fails, "resource", "resources")+of)
	add(p.Warns, "newly warn for "+Count(p.Warns, "resource", "resources")+of)
	add(p.Undecided, "not be decidable for "+Count(p.Undecided, "resource", "resources"))
	add(p.Relaxed, "only warn for "+Count(p.Relaxed, "resource that fails now", "resources that fail now"))
	add(p.Passes, "no longer report "+Count(p.Passes, "resource", "resources"))
	ends := "no longer apply to " + Count(p.Ends, "resource that passes it", "resources that pass it")
	switch {
	case len(parts) == 0 && p.Ends > 0:
		return subject + " would " + ends
	case len(parts) > 0 && p.Ends > 0:
		return subject + " would " + enumeration(parts) + " in " + Count(p.Roots, "root", "roots") + ", and " + ends
	case len(parts) > 0:
		return subject + " would " + enumeration(parts) + " in " + Count(p.Roots, "root", "roots")
	case p.Mutates > 0:
		return subject + " would change " + Count(p.Mutates, "resource", "resources") + " before the other policies " +
			"are evaluated"
	case p.Applies == 0:
		return subject + " applies to nothing in this repository"
	case p.Edit == Added:
		return subject + " holds for all it applies to: " + Count(p.Applies, "resource", "resources")
	}
	return subject + " would have the same results as now for " + Count(p.Applies, "resource", "resources")
}

// enumeration joins parts of a sentence: "a, b and c".
func enumeration(parts []string) string {
	last := len(parts) - 1
	if last == 0 {
		return parts[0]
	}
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

func (p PolicyPreview) subject() string {
	subject := "policy " + p.Policy
	if p.Edit == Added {
		subject = "new " + subject
	}
	action := map[Action]string{Enforce: "Enforce", Audit: "Audit", Mixed: "Enforce and Audit"}
	now, before := action[p.Action], action[p.Before]
	switch {
	case now != "" && before != "" && now != before:
		subject += " (" + now + ", now " + before + ")"
	case now+before != "":
		subject += " (" + cmp.Or(now, before) + ")"
	}
	return subject
}

// Words describes the effect of a changed exception in one sentence.
func (x ExceptionPreview) Words() string { return x.words() + partly(x.Partial) }

func (x ExceptionPreview) words() string {
	subject := "exception " + x.Exception
	if x.Edit == Added {
		subject = "new " + subject
	}
	switch {
	case x.Edit == Removed && x.Lets == 0:
		return subject + " is removed; nothing here needs it"
	case x.Edit == Removed:
		return fmt.Sprintf("%s is removed: it lets through %s in %s now", subject, Count(x.Lets, "resource", "resources"),
			Count(x.Roots, "root", "roots"))
	case x.Expired:
		return subject + " has expired: it lets nothing through"
	case x.Lets+x.Needless == 0:
		return subject + " covers nothing in this repository"
	}
	if x.Edit == Changed {
		subject += ", as edited,"
	}
	words := subject + " would let through nothing that violates a rule"
	if x.Lets > 0 {
		words = fmt.Sprintf("%s would let through %s in %s", subject,
			Count(x.Lets, "resource that violates a rule", "resources that violate a rule"), Count(x.Roots, "root", "roots"))
	}
	if x.Needless > 0 {
		words += ", and covers " + Count(x.Needless, "resource that needs", "resources that need") + " none"
	}
	return words
}

// SettingsWords describes the effect of changed settings on the roots; "" if the settings do not change.
func (p *Preview) SettingsWords() string {
	if len(p.Settings) == 0 {
		return ""
	}
	words := "the settings change (" + strings.Join(p.Settings, ", ") + ")"
	var parts []string
	if n := len(p.RootsOut); n > 0 {
		parts = append(parts, Count(n, "root is", "roots are")+" no longer checked: "+Some(p.RootsOut, fewNames))
	}
	if n := len(p.RootsIn); n > 0 {
		parts = append(parts, Count(n, "root is", "roots are")+" checked from then on: "+Some(p.RootsIn, fewNames))
	}
	if n := len(p.RootsMoved); n > 0 {
		parts = append(parts, Count(n, "root gets", "roots get")+" the policies of other clusters: "+Some(p.RootsMoved, fewNames))
	}
	if len(parts) > 0 {
		words += ": " + strings.Join(parts, "; ")
	}
	return words
}

// TestWords describes the results of policy tests; "" if none were run.
func (p *Preview) TestWords() string {
	if p.Tests == nil {
		return ""
	}
	t := p.Tests
	words := fmt.Sprintf("policy tests (%s): %d passed, %d failed", Some(t.Files, fewNames), t.Passed, t.Failed)
	if t.Excluded > 0 {
		words += fmt.Sprintf(", %d compared nothing", t.Excluded)
	}
	if t.Errors > 0 {
		words += ", " + Count(t.Errors, "error", "errors")
	}
	return words
}

// Scope says what the preview evaluated, and what it did not.
func (p *Preview) Scope() string {
	s := p.Stats
	words := fmt.Sprintf("%s in %s", Count(s.Resources, "resource", "resources"),
		Count(s.Roots-s.Unseen, "root", "roots"))
	if s.Unseen > 0 {
		words += fmt.Sprintf("; the time limit was reached before %s, where there may be other differences",
			Count(s.Unseen, "more root", "more roots"))
	}
	if s.Unrendered > 0 {
		words += "; " + Count(s.Unrendered, "root cannot be rendered and is", "roots cannot be rendered and are") +
			" left out"
	}
	return words
}

// SetNotices puts the sentences of a preview at the lines that they are about, if the head has these.
func (p *Preview) SetNotices(has func(path string) bool) {
	var list []Problem
	for _, o := range p.Policies {
		if o.Edit == Added || o.Edit == Changed {
			list = append(list, Problem{Path: o.Path, Line: o.Line, Message: notice(o.Words())})
		}
	}
	for _, x := range p.Exceptions {
		if x.Edit != Removed {
			list = append(list, Problem{Path: x.Path, Line: x.Line, Message: notice(x.Words())})
		}
	}
	if len(p.RootsIn)+len(p.RootsOut)+len(p.RootsMoved) > 0 && has(SettingsPath) {
		list = append(list, Problem{Path: SettingsPath, Line: 1, Message: notice(p.SettingsWords())})
	}
	p.Notices = list
}

func notice(words string) string { return "Once this is merged: " + words }
