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
	// maxEntries is how many results a repository's overview has: of pull requests, and of the default branch.
	maxEntries = 200
	// maxPolicies, maxExceptions and maxNotChecked bound what the overview keeps of one result, the most important first.
	maxPolicies, maxExceptions, maxNotChecked = 40, 200, 200
)

// Overview is what the page of a repository shows. It is kept beside the results, and none of them is read for it.
type Overview struct {
	Schema     int              `json:"schema"`
	Repository forge.Repository `json:"repository"`
	GitHub     string           `json:"github"`
	Pulls      []Entry          `json:"pulls,omitempty"`  // the newest result of each pull request, newest first
	Branch     []Entry          `json:"branch,omitempty"` // the reports of the default branch, newest first

	// Of the newest report of the default branch.
	Exceptions     []Exception         `json:"exceptions,omitempty"` // those that end first, first
	MoreExceptions int                 `json:"moreExceptions,omitempty"`
	NotChecked     []report.NotChecked `json:"notChecked,omitempty"`
	MoreNotChecked int                 `json:"moreNotChecked,omitempty"`
}

// Entry is one result in an overview.
type Entry struct {
	ID         string            `json:"id"`
	Head       string            `json:"head"`
	Pull       int               `json:"pull,omitempty"`
	Name       string            `json:"name,omitempty"` // title of the pull request, or name of the branch
	Author     string            `json:"author,omitempty"`
	Conclusion report.Conclusion `json:"conclusion"`
	Title      string            `json:"title"`
	Completed  time.Time         `json:"completed"`
	Violations []Violations      `json:"violations,omitempty"` // of the default branch, most first
	Total      int               `json:"total"`                // violations of all policies, exempted ones not counted
	Blocking   int               `json:"blocking"`             // of these, those that block
	NotChecked int               `json:"notChecked"`
	Resources  int               `json:"resources"` // that were evaluated
}

// Violations counts those of one policy.
type Violations struct {
	Policy   string `json:"policy"`
	Severity string `json:"severity,omitempty"` // the worst of its findings; empty: it states none
	Count    int    `json:"count"`
}

// Exception is a merged exception that is in effect, or that somebody should look at.
type Exception struct {
	Name    string    `json:"name"`
	Path    string    `json:"path"`
	Line    int       `json:"line,omitempty"`
	Expires time.Time `json:"expires,omitzero"` // zero: never, where Never says so, or not known
	Never   bool      `json:"never,omitempty"`
	Expired bool      `json:"expired,omitempty"`
	Unused  bool      `json:"unused,omitempty"`
	Covers  int       `json:"covers"` // findings that it covers
}

// maxOverview bounds an overview that is read back.
const maxOverview = 32 << 20

// decodeOverview is an empty one where there is none, or one that cannot be read.
func decodeOverview(data []byte) *Overview {
	o := &Overview{}
	plain, err := decompress(data, maxOverview)
	if err != nil || readJSON(plain, o) != nil {
		return &Overview{}
	}
	return o
}

// encode leaves out what there is no room for, half of every list at a time: a repository with odd names has no
// smaller right to be stored.
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

// limit cuts the lists of the newest report and counts what they had more.
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

// entryOf sums a result up.
func entryOf(m *Meta, rep *report.Report) Entry {
	e := Entry{ID: m.ID, Head: m.Head, Name: m.Branch, Conclusion: m.Conclusion, Title: m.Title, Completed: m.Completed,
		NotChecked: len(rep.NotChecked), Resources: rep.Stats.Resources}
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

// add puts a result into the overview, in place of the same one and of older ones of its pull request. One that is
// older than what is there changes little: it has its place in the order, and its pull request goes on to show the newer
// one. What is from the future, of a clock that was wrong, is not newer.
func (o *Overview) add(m *Meta, rep *report.Report, now time.Time) {
	rep = rep.Withhold(m.foreign()) // it is the same for all readers
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

// insert puts an entry behind those that are newer, the newest first, and takes out what is the same.
func insert(list []Entry, e Entry, newer, same func(Entry) bool) []Entry {
	list = slices.DeleteFunc(list, same)
	at := slices.IndexFunc(list, func(p Entry) bool { return !newer(p) })
	if at < 0 {
		at = len(list)
	}
	list = slices.Insert(list, at, e)
	return list[:min(len(list), maxEntries)]
}

// exceptionsOf are those in effect, and those that somebody should look at: the ones that end first, first.
func exceptionsOf(rep *report.Report) []Exception {
	type place struct {
		path string
		line int
	}
	at := map[place]int{}
	var list []Exception
	for _, a := range rep.Active {
		at[place{a.Path, a.Line}] = len(list)
		list = append(list, Exception{Name: a.Name, Path: a.Path, Line: a.Line, Expires: a.Expires, Covers: a.Covers,
			Never: a.Expires.IsZero()})
	}
	for _, u := range rep.Cleanup {
		i, known := at[place{u.Path, u.Line}]
		if !known {
			i = len(list)
			list = append(list, Exception{Name: u.Name, Path: u.Path, Line: u.Line, Expires: u.Expires})
		}
		list[i].Expired, list[i].Unused = u.Expired, u.Unused
	}
	slices.SortFunc(list, func(a, b Exception) int {
		return cmp.Or(compareBool(a.Expires.IsZero(), b.Expires.IsZero()), a.Expires.Compare(b.Expires),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
	return list
}

// prune drops what is older than results are kept.
func (o *Overview) prune(before time.Time) {
	old := func(e Entry) bool { return e.Completed.Before(before) }
	o.Pulls, o.Branch = slices.DeleteFunc(o.Pulls, old), slices.DeleteFunc(o.Branch, old)
}
