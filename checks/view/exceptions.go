package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
)

// ExceptionFact is one line about an exception: words, followed by names that other people chose.
type ExceptionFact struct {
	Words string
	Names []string
	After string
}

// String returns the fact as text.
func (f ExceptionFact) String() string { return f.With(strings.Join(f.Names, ", ")) }

// With returns the fact with its names as formatted by the caller.
func (f ExceptionFact) With(names string) string {
	return strings.TrimSpace(f.Words + " " + names + f.After)
}

// ObjectsTitle is the heading of objects that need approval as exceptions do.
const ObjectsTitle = "Objects of this change that policies look up"

// Exceptions returns the exceptions of the change or, with objects, the objects that need approval.
func Exceptions(r *report.Report, objects bool) (list []*report.Exception) {
	for i := range r.Exceptions {
		if e := &r.Exceptions[i]; e.Object == objects {
			list = append(list, e)
		}
	}
	return list
}

// ExceptionFacts lists what a reviewer must know about an exception of the change, the most important first.
func ExceptionFacts(e *report.Exception, a *report.Approvers) []ExceptionFact {
	out := decision(e, a)
	add := func(words string, names ...string) { out = append(out, ExceptionFact{Words: words, Names: names}) }
	if e.Object {
		add("is looked up by policies that pass only because of what this change does there")
	}
	if len(e.With) > 0 {
		add("also depends on the changes to", report.Mapped(e.With, func(f report.File) string { return f.Path })...)
	}
	if e.Lets == 0 {
		add("covers no finding of this change")
	} else {
		add("lets through " + report.Count(e.Lets, "finding", "findings") + " of this change")
	}
	if b := e.Beyond; b != nil {
		looked := fmt.Sprintf(" (%s in %d of %s checked)", report.Count(b.Resources, "resource", "resources"), b.Roots,
			report.Count(b.OfRoots, "root", "roots"))
		if b.Fails > 0 {
			f := ExceptionFact{Words: "would also cover " + report.Count(b.Fails, "other resource that fails", "other resources that fail") +
				" its rules now:", Names: ResourceNames(b.Failing), After: looked}
			if more := b.Fails - len(b.Failing); more > 0 {
				f.After = fmt.Sprintf(" and %d more", more) + looked
			}
			out = append(out, f)
		} else {
			add("covers no other resource that fails its rules now" + looked)
		}
		if b.Complying > 0 {
			keep := report.Count(b.Complying, "resource that passes", "resources that pass")
			add("would also cover later violations of " + keep + " its rules now")
		}
	}
	if len(e.Broad) > 0 {
		add("leaves open:", e.Broad...)
	}
	if !e.Expires.IsZero() {
		words := "ends on "
		if e.State == report.Expired {
			words = "ended on "
		}
		add(words + day(e.Expires))
	}
	return out
}

func day(t time.Time) string { return t.UTC().Format("2 January 2006") }

// decision describes the decision of the reviews, and what is missing.
func decision(e *report.Exception, a *report.Approvers) (out []ExceptionFact) {
	add := func(words string, names ...string) {
		if len(names) > 0 {
			out = append(out, ExceptionFact{Words: words, Names: names})
		}
	}
	r := e.Review
	if r == nil {
		add(string(e.State)+" by", e.By...)
		if need := approverWords(cmp.Or(e.Approvers, a)); e.State == report.Pending && need != nil {
			add("needs", need.String())
		}
		return out
	}
	vote := func(v report.Vote) string {
		name := v.User + " at " + v.Commit[:min(len(v.Commit), 7)]
		if v.Why != "" {
			name += " (" + v.Why + ")"
		}
		return name
	}
	add("approved by", report.Mapped(r.Approved, vote)...)
	add("changes requested by", report.Mapped(r.Refused, vote)...)
	if n := r.Missing(); e.State == report.Pending && n > 0 {
		more := ""
		if len(r.Approved) > 0 {
			more = "more "
		}
		add("needs "+report.Count(n, more+"approving review", more+"approving reviews")+" of exactly this content by", strings.Join(r.Who, " or "))
	}
	add("does not count:", report.Mapped(r.Ignored, vote)...)
	return out
}

// CleanupWords says why a merged exception is listed for clean-up.
func CleanupWords(u *report.Cleanup) string {
	var parts []string
	switch {
	case u.Expired && u.Expires.IsZero():
		parts = append(parts, "counts as expired, because Git does not show when its time to live began: set a fixed date")
	case u.Expired:
		parts = append(parts, "ended on "+day(u.Expires)+" and no longer covers anything: remove or renew it")
	case u.Soon:
		parts = append(parts, "ends on "+day(u.Expires)+": renew it, or fix what it covers")
	}
	switch {
	case u.Unused && u.Covers > 0:
		about := report.Count(u.Covers, "resource", "resources")
		parts = append(parts, "is no longer needed: what it covers ("+about+") passes the rules")
	case u.Unused:
		parts = append(parts, "no longer covers anything in this repository: remove it")
	}
	return strings.Join(parts, "; ")
}
