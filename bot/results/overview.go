package results

import (
	"cmp"
	"maps"
	"slices"
	"time"

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
	Schema     int        `json:"schema"`
	Repository Repository `json:"repository"`
	GitHub     string     `json:"github"`
	Pulls      []Entry    `json:"pulls,omitempty"`  // the newest result of each pull request, newest first
	Branch     []Entry    `json:"branch,omitempty"` // the reports of the default branch, newest first

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
	Policy string `json:"policy"`
	Count  int    `json:"count"`
}

// Exception is a merged exception that something uses, or that somebody should look at.
type Exception struct {
	Name    string    `json:"name"`
	Path    string    `json:"path"`
	Line    int       `json:"line,omitempty"`
	Expires time.Time `json:"expires,omitzero"` // zero: never, or not soon
	Expired bool      `json:"expired,omitempty"`
	Unused  bool      `json:"unused,omitempty"`
	Covers  int       `json:"covers"` // findings that it covers
}

// Path is the path of the page of an entry's result.
func (e *Entry) Path(r Repository) string { return ResultsPath(r, e.Head) + "/" + e.ID }

// entryOf sums a result up.
func entryOf(m *Meta, rep *report.Report) Entry {
	e := Entry{ID: m.ID, Head: m.Head, Name: m.Branch, Conclusion: m.Conclusion, Title: m.Title, Completed: m.Completed,
		NotChecked: len(rep.NotChecked), Resources: rep.Stats.Resources}
	if m.Pull != nil {
		e.Pull, e.Name, e.Author = m.Pull.Number, m.Pull.Title, m.Pull.Author
	}
	counts := map[string]int{}
	for _, f := range rep.Findings {
		if f.Result == report.Skip {
			continue
		}
		n := 1 + len(f.Resources)
		counts[f.Policy] += n
		e.Total += n
		if f.Blocks {
			e.Blocking += n
		}
	}
	if m.Branch == "" {
		return e
	}
	for _, policy := range slices.Sorted(maps.Keys(counts)) {
		e.Violations = append(e.Violations, Violations{policy, counts[policy]})
	}
	slices.SortStableFunc(e.Violations, func(a, b Violations) int { return cmp.Compare(b.Count, a.Count) })
	e.Violations = e.Violations[:min(len(e.Violations), maxPolicies)]
	return e
}

// add puts a result into the overview, in place of the same one and of older ones of its pull request. One that is
// older than what is there of its pull request changes nothing, unless that is from the future: of a clock that was
// wrong.
func (o *Overview) add(m *Meta, rep *report.Report, now time.Time) {
	e := entryOf(m, rep)
	o.Schema, o.Repository, o.GitHub = Schema, m.Repository, m.GitHub
	switch {
	case m.Pull != nil:
		newer := slices.ContainsFunc(o.Pulls, func(p Entry) bool {
			return p.Pull == e.Pull && p.Completed.After(e.Completed) && !p.Completed.After(now)
		})
		if !newer {
			o.Pulls = insert(o.Pulls, e, func(p Entry) bool { return p.Pull == e.Pull })
		}
	case m.Branch != "":
		o.Branch = insert(o.Branch, e, func(p Entry) bool { return p.ID == e.ID && p.Head == e.Head })
		if o.Branch[0].ID != e.ID {
			break
		}
		o.Exceptions = exceptionsOf(rep)
		o.MoreExceptions = max(0, len(o.Exceptions)-maxExceptions)
		o.Exceptions = o.Exceptions[:len(o.Exceptions)-o.MoreExceptions]
		o.MoreNotChecked = max(0, len(rep.NotChecked)-maxNotChecked)
		o.NotChecked = rep.NotChecked[:len(rep.NotChecked)-o.MoreNotChecked]
	}
}

// insert keeps a list in order of time, newest first.
func insert(list []Entry, e Entry, same func(Entry) bool) []Entry {
	list = slices.DeleteFunc(list, same)
	at := slices.IndexFunc(list, func(p Entry) bool { return !p.Completed.After(e.Completed) })
	if at < 0 {
		at = len(list)
	}
	list = slices.Insert(list, at, e)
	return list[:min(len(list), maxEntries)]
}

// exceptionsOf are those in use by the report's findings, and those that somebody should look at.
func exceptionsOf(rep *report.Report) []Exception {
	type file struct{ name, path string }
	all := map[file]*Exception{}
	at := func(name, path string) *Exception {
		if all[file{name, path}] == nil {
			all[file{name, path}] = &Exception{Name: name, Path: path}
		}
		return all[file{name, path}]
	}
	for _, f := range rep.Findings {
		if f.Exemption != nil && f.Exemption.State == report.Merged {
			at(f.Exemption.Exception, f.Exemption.Path).Covers += 1 + len(f.Resources)
		}
	}
	for _, u := range rep.Upkeep {
		e := at(u.Name, u.Path)
		e.Line, e.Expires, e.Expired, e.Unused = u.Line, u.Expires, u.Expired, u.Unused
	}
	var list []Exception
	for _, e := range all {
		list = append(list, *e)
	}
	slices.SortFunc(list, func(a, b Exception) int {
		return cmp.Or(compareBool(a.Expires.IsZero(), b.Expires.IsZero()), a.Expires.Compare(b.Expires),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// prune drops what is older than results are kept.
func (o *Overview) prune(before time.Time) {
	old := func(e Entry) bool { return e.Completed.Before(before) }
	o.Pulls, o.Branch = slices.DeleteFunc(o.Pulls, old), slices.DeleteFunc(o.Branch, old)
}
