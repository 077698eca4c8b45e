package output

import (
	"fmt"
	"strings"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
)

// fact is one line about an exception: words of ours, and names that others wrote behind them.
type fact struct {
	words string
	names []string
	after string
}

// plain is the fact as text.
func (f fact) plain() string {
	return strings.TrimSpace(f.words + " " + strings.Join(f.names, ", ") + f.after)
}

// objectsTitle is the heading of what else waits for approval as exceptions do.
const objectsTitle = "Objects of this change that policies look up"

// facts are what a reviewer has to know of an exception of the change, the most important first.
func facts(e *report.Exception, a *report.Approvers) (out []fact) {
	add := func(words string, names ...string) { out = append(out, fact{words: words, names: names}) }
	out = append(out, decision(e, a)...)
	if e.Object {
		add("is looked up by policies, which pass only as this change has it")
	}
	if len(e.With) > 0 {
		var paths []string
		for _, f := range e.With {
			paths = append(paths, f.Path)
		}
		add("also depends on what this change does to", paths...)
	}
	if e.Lets == 0 {
		add("covers no finding of this change")
	} else {
		add("lets through " + report.Count(e.Lets, "finding", "findings") + " of this change")
	}
	if b := e.Beyond; b != nil {
		looked := fmt.Sprintf("(%s in %d of %s looked at)", report.Count(b.Resources, "resource", "resources"), b.Roots,
			report.Count(b.OfRoots, "root", "roots"))
		switch {
		case b.Fails > 0:
			others := report.Count(b.Fails, "other resource that fails", "other resources that fail")
			f := fact{words: "would also cover " + others + " its rules today:"}
			for _, r := range b.Failing {
				f.names = append(f.names, r.String())
			}
			if more := b.Fails - len(b.Failing); more > 0 {
				f.after = fmt.Sprintf(" and %d more", more)
			}
			f.after += " " + looked
			out = append(out, f)
		default:
			add("covers no other resource that fails its rules today " + looked)
		}
		if b.Complying > 0 {
			keep := report.Count(b.Complying, "resource that keeps", "resources that keep")
			add("would also cover later violations of " + keep + " its rules today")
		}
	}
	if len(e.Broad) > 0 {
		out = append(out, fact{words: "leaves open:", names: e.Broad})
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

// decision says what the reviews came to, and what is missing.
func decision(e *report.Exception, a *report.Approvers) (out []fact) {
	r := e.Review
	if e.Approvers != nil {
		a = e.Approvers
	}
	if r == nil {
		if len(e.By) > 0 {
			out = append(out, fact{words: string(e.State) + " by", names: e.By})
		}
		if need := approverWords(a); e.State == report.Pending && need != nil {
			out = append(out, fact{words: "needs", names: []string{strings.Join(need, "")}})
		}
		return out
	}
	votes := func(words string, list []report.Vote) {
		f := fact{words: words}
		for _, v := range list {
			name := v.User + " at " + v.Commit[:min(len(v.Commit), 7)]
			if v.Why != "" {
				name += " (" + v.Why + ")"
			}
			f.names = append(f.names, name)
		}
		if len(list) > 0 {
			out = append(out, f)
		}
	}
	votes("approved by", r.Approved)
	votes("changes requested by", r.Refused)
	if e.State == report.Pending && r.Missing() > 0 {
		more := ""
		if len(r.Approved) > 0 {
			more = " more"
		}
		words := fmt.Sprintf("needs %d%s approving review", r.Missing(), more)
		if r.Missing() > 1 {
			words += "s"
		}
		out = append(out, fact{words: words + " of exactly this content by", names: []string{strings.Join(r.Who, " or ")}})
	}
	votes("does not count:", r.Ignored)
	return out
}

// upkeepWords says what is the matter with a merged exception.
func upkeepWords(u *report.Upkeep) string {
	var parts []string
	switch {
	case u.Expired && u.Expires.IsZero():
		parts = append(parts, "has ended: since when it counts is not known")
	case u.Expired:
		parts = append(parts, "ended on "+day(u.Expires)+" and covers nothing any more: remove or renew it")
	case u.Soon:
		parts = append(parts, "ends on "+day(u.Expires)+": renew it, or fix what it covers")
	}
	switch {
	case u.Unused && u.Covers > 0:
		about := report.Count(u.Covers, "resource", "resources")
		parts = append(parts, "is not needed any more: what it is about ("+about+") keeps the rules")
	case u.Unused:
		parts = append(parts, "covers nothing in this repository any more: remove it")
	}
	return strings.Join(parts, "; ")
}
