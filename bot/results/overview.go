package results

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/checks/report"
)

const (
	// maxEntries limits the results in a repository's overview: those of pull requests, and those of the default
	// branch.
	maxEntries = 200
	// These limit what the overview stores of one result. The most important policies, exceptions and roots are kept.
	maxPolicies, maxExceptions, maxNotChecked = 40, 200, 200
)

// Overview is what the page of a repository shows. It is stored beside the results, so the page reads no result.
type Overview struct {
	Schema     int              `json:"schema"`
	Repository forge.Repository `json:"repository"`
	GitHub     string           `json:"github"`
	Pulls      []Entry          `json:"pulls,omitempty"`  // the newest result of each pull request, newest first
	Branch     []Entry          `json:"branch,omitempty"` // the reports of the default branch, newest first

	// The following fields are of the newest report of the default branch.
	Exceptions     []Exception         `json:"exceptions,omitempty"` // the next to expire first
	MoreExceptions int                 `json:"moreExceptions,omitempty"`
	NotChecked     []report.NotChecked `json:"notChecked,omitempty"`
	MoreNotChecked int                 `json:"moreNotChecked,omitempty"`
}

// Entry is one result in an overview.
type Entry struct {
	ID         string            `json:"id"`
	Head       string            `json:"head"`
	Pull       int               `json:"pull,omitempty"`
	Name       string            `json:"name,omitempty"` // title of the pull request or name of the branch
	Author     string            `json:"author,omitempty"`
	Conclusion report.Conclusion `json:"conclusion"`
	Title      string            `json:"title"`
	Completed  time.Time         `json:"completed"`
	Violations []Violations      `json:"violations,omitempty"` // of the default branch, the most violated policy first
	Total      int               `json:"total"`                // violations of all policies, without exempted ones
	Blocking   int               `json:"blocking"`             // number of Total that block
}

// Violations counts the violations of one policy.
type Violations struct {
	Policy   string `json:"policy"`
	Severity string `json:"severity,omitempty"` // the worst of its findings; empty: the policy states none
	Count    int    `json:"count"`
}

// Exception is a merged exception that is in effect, or that needs attention.
type Exception struct {
	report.Active      // Expires zero: never if Never is set, otherwise unknown
	Never         bool `json:"never,omitempty"`
	Expired       bool `json:"expired,omitempty"`
	Unused        bool `json:"unused,omitempty"`
}

// maxOverview limits the size of an overview that is read from the store.
const maxOverview = 32 << 20

// decodeOverview returns an empty overview if there is none, or if it cannot be read.
func decodeOverview(data []byte) *Overview {
	o := &Overview{}
	plain, err := decompress(data, maxOverview)
	if err != nil || readJSON(plain, o) != nil {
		return &Overview{}
	}
	return o
}

// encode returns the overview as compressed JSON. While it is too large, every list is cut to half its length, so that
// a repository with very long names can be stored, too.
func (o *Overview) encode() ([]byte, error) {
	for {
		plain, err := json.Marshal(o)
		data := compress(plain)
		if err != nil || len(data) <= maxValue || len(o.Pulls)+len(o.Branch)+len(o.Exceptions)+len(o.NotChecked) == 0 {
			return data, err
		}
		o.Pulls, o.Branch = o.Pulls[:len(o.Pulls)/2], o.Branch[:len(o.Branch)/2]
		o.limit(len(o.Exceptions)/2, len(o.NotChecked)/2)
	}
}

// limit cuts the lists of the newest report, and counts the items that it removes.
func (o *Overview) limit(exceptions, notChecked int) {
	if n := len(o.Exceptions) - exceptions; n > 0 {
		o.Exceptions, o.MoreExceptions = o.Exceptions[:exceptions], o.MoreExceptions+n
	}
	if n := len(o.NotChecked) - notChecked; n > 0 {
		o.NotChecked, o.MoreNotChecked = o.NotChecked[:notChecked], o.MoreNotChecked+n
	}
}

// Path is the path of the page of an entry's result.
func (e *Entry) Path(r forge.Repository) string { return ResultsPath(r, e.Head) + "/" + e.ID }

// entryOf returns the entry of a result.
func entryOf(m *Meta, rep *report.Report) Entry {
	e := Entry{ID: m.ID, Head: m.Head, Name: m.Branch, Conclusion: m.Conclusion, Title: m.Title, Completed: m.Completed}
	if m.Pull != nil {
		e.Pull, e.Name, e.Author = m.Pull.Number, m.Pull.Title, m.Pull.Author
	}
	counts := map[string]*Violations{}
	for _, f := range rep.Findings {
		if f.Result == report.Skip {
			continue
		}
		n := 1 + len(f.Resources)
		of := counts[f.Policy]
		if of == nil {
			of = &Violations{Policy: f.Policy, Severity: f.Severity}
			counts[f.Policy] = of
		}
		if of.Count += n; report.SeverityRank(f.Severity) < report.SeverityRank(of.Severity) {
			of.Severity = f.Severity
		}
		e.Total += n
		if f.Blocks {
			e.Blocking += n
		}
	}
	if m.Branch == "" {
		return e
	}
	for _, policy := range slices.Sorted(maps.Keys(counts)) {
		e.Violations = append(e.Violations, *counts[policy])
	}
	slices.SortStableFunc(e.Violations, func(a, b Violations) int { return cmp.Compare(b.Count, a.Count) })
	e.Violations = e.Violations[:min(len(e.Violations), maxPolicies)]
	return e
}

// add puts a result into the overview, in place of the same result and of older results of its pull request. A result
// that is older than a stored one is only put in its place in the order: its pull request keeps the newer result. A
// result with a time in the future, written with a wrong clock, does not count as newer.
func (o *Overview) add(m *Meta, rep *report.Report, now time.Time) {
	// The overview is the same for all readers, of whom not every one may read the foreign repositories.
	rep = rep.Withhold(report.Mapped(m.Foreign, func(f Foreign) string { return f.URL }))
	e := entryOf(m, rep)
	newer := func(p Entry) bool { return p.Completed.After(e.Completed) && !p.Completed.After(now) }
	o.Schema, o.Repository, o.GitHub = Schema, m.Repository, m.GitHub
	switch {
	case m.Pull != nil:
		if !slices.ContainsFunc(o.Pulls, func(p Entry) bool { return p.Pull == e.Pull && newer(p) }) {
			o.Pulls = insert(o.Pulls, e, newer, func(p Entry) bool { return p.Pull == e.Pull })
		}
	case m.Branch != "":
		o.Branch = insert(o.Branch, e, newer, func(p Entry) bool { return p.ID == e.ID && p.Head == e.Head })
		if o.Branch[0].ID != e.ID {
			break
		}
		o.Exceptions, o.NotChecked, o.MoreExceptions, o.MoreNotChecked = exceptionsOf(rep), rep.NotChecked, 0, 0
		o.limit(maxExceptions, maxNotChecked)
	}
}

// insert puts an entry behind all newer entries of a list, and removes the entries that are the same.
func insert(list []Entry, e Entry, newer, same func(Entry) bool) []Entry {
	list = slices.DeleteFunc(list, same)
	at := slices.IndexFunc(list, func(p Entry) bool { return !newer(p) })
	if at < 0 {
		at = len(list)
	}
	list = slices.Insert(list, at, e)
	return list[:min(len(list), maxEntries)]
}

// exceptionsOf returns the exceptions that are in effect, or that need attention; the next to expire comes first.
func exceptionsOf(rep *report.Report) []Exception {
	type place struct {
		path string
		line int
	}
	at := map[place]int{}
	var list []Exception
	for _, a := range rep.Active {
		at[place{a.Path, a.Line}] = len(list)
		list = append(list, Exception{Active: a, Never: a.Expires.IsZero()})
	}
	for _, u := range rep.Cleanup {
		i, known := at[place{u.Path, u.Line}]
		if !known {
			i = len(list)
			list = append(list, Exception{Active: report.Active{Name: u.Name, Path: u.Path, Line: u.Line, Expires: u.Expires}})
		}
		list[i].Expired, list[i].Unused = u.Expired, u.Unused
	}
	slices.SortFunc(list, func(a, b Exception) int {
		return cmp.Or(a.Expires.Compare(b.Expires), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
	ends := slices.IndexFunc(list, func(e Exception) bool { return !e.Expires.IsZero() })
	return slices.Concat(list[max(ends, 0):], list[:max(ends, 0)]) // those that never end come last
}
