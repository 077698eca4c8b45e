package report

import "strings"

// Foretold counts what a change of rules changes, by policy and resource: a resource that two policies treat otherwise
// counts twice.
type Foretold struct {
	Fails     int `json:"fails"`
	Warns     int `json:"warns"`
	Undecided int `json:"undecided"`
	Relaxed   int `json:"relaxed"`
	Passes    int `json:"passes"`
}

// Foretold sums up the policies of a preview; nothing for the nil Preview.
func (p *Preview) Foretold() (all Foretold) {
	if p == nil {
		return all
	}
	for i := range p.Policies {
		all = all.With(p.Policies[i].Foretold())
	}
	return all
}

// Foretold is what the policy says otherwise.
func (p *PolicyPreview) Foretold() Foretold {
	return Foretold{Fails: p.Fails, Warns: p.Warns, Undecided: p.Undecided, Relaxed: p.Relaxed, Passes: p.Passes}
}

// With returns the sum of two.
func (f Foretold) With(g Foretold) Foretold {
	return Foretold{f.Fails + g.Fails, f.Warns + g.Warns, f.Undecided + g.Undecided, f.Relaxed + g.Relaxed, f.Passes + g.Passes}
}

// Louder reports whether anything becomes worse.
func (f Foretold) Louder() bool { return f.Fails+f.Warns+f.Undecided > 0 }

// Words says what is counted: "4 new failures, 1 new warning"; "nothing changes" where that is nothing.
func (f Foretold) Words() string {
	var parts []string
	for _, part := range []struct {
		n         int
		one, many string
	}{
		{f.Fails, "new failure", "new failures"},
		{f.Undecided, "newly undecided", "newly undecided"},
		{f.Warns, "new warning", "new warnings"},
		{f.Relaxed, "failure that becomes a warning", "failures that become warnings"},
		{f.Passes, "no longer reported", "no longer reported"},
	} {
		if part.n > 0 {
			parts = append(parts, Count(part.n, part.one, part.many))
		}
	}
	if len(parts) == 0 {
		return "nothing changes"
	}
	return strings.Join(parts, ", ")
}

// Foretell concludes a report with Change.Proposed: it never blocks, as nothing of the repository is wrong.
func (r *Report) Foretell() {
	switch p := r.Preview; {
	case !r.Concerned:
		r.Conclusion, r.Title = Success, "No rules come from the branch that would change"
	case len(r.Errors) > 0:
		r.Conclusion, r.Title = Neutral, "What would change is not known: "+Count(len(r.Errors), "error", "errors")
	case p == nil:
		r.Conclusion, r.Title = Success, "Nothing would change"
	default:
		f := p.Foretold()
		if r.Conclusion, r.Title = Success, "Once merged: "+f.Words(); f.Louder() {
			r.Conclusion = Neutral
		}
		if n := p.Stats.Unseen + p.Stats.Unrendered; n > 0 {
			r.Conclusion = Neutral
			r.Title += "; " + Count(n, "root was", "roots were") + " not looked at"
		}
	}
}
