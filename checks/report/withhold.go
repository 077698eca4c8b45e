package report

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// RemoteSource is another git repository from which roots are rendered: a remote base, or a source of an object of Argo
// CD or Flux.
type RemoteSource struct {
	URL   string   `json:"url"` // as it is asked for, without who asks
	Roots []string `json:"roots"`
}

// JoinRemoteSources joins two lists, sorted by URL.
func JoinRemoteSources(a, b []RemoteSource) (list []RemoteSource) {
	roots := map[string][]string{}
	for _, o := range slices.Concat(a, b) {
		roots[o.URL] = append(roots[o.URL], o.Roots...)
	}
	for _, url := range slices.Sorted(maps.Keys(roots)) {
		names := roots[url]
		slices.Sort(names)
		list = append(list, RemoteSource{URL: url, Roots: slices.Compact(names)})
	}
	return list
}

// Withhold returns the report for readers who may not read some of the repositories in RemoteSources, given by their
// URLs. For roots rendered from one of these, it keeps only lines written in the checked repository. Results of rules
// for rendered objects stay. A report without such roots is returned as it is; r is not changed.
func (r *Report) Withhold(urls []string) *Report {
	hidden := map[string]bool{}
	var from []string
	for _, o := range r.RemoteSources {
		if slices.Contains(urls, o.URL) {
			from = append(from, o.URL)
			for _, root := range o.Roots {
				hidden[root] = true
			}
		}
	}
	if len(from) == 0 {
		return r
	}
	out := *r
	out.Withheld = from
	cut := func(f *Finding) bool {
		return f.Origin != nil && slices.ContainsFunc(f.Origin.Chain, func(p Place) bool {
			return slices.ContainsFunc(from, func(url string) bool { return strings.HasPrefix(p.Path, url) })
		})
	}
	of := func(roots []string) bool {
		return slices.ContainsFunc(roots, func(root string) bool { return hidden[root] })
	}
	out.Findings = slices.Clone(r.Findings)
	for i := range out.Findings {
		if f := &out.Findings[i]; of(f.Roots) || cut(f) {
			f.withhold()
		}
	}
	out.Errors, out.Warnings = unquoted(r.Errors, from), unquoted(r.Warnings, from)
	out.NotChecked = slices.Clone(r.NotChecked)
	for i := range out.NotChecked {
		if n := &out.NotChecked[i]; n.Quotes {
			n.Reason = quoting(from)
		}
	}
	out.Causes = slices.Clone(r.Causes)
	for i := range out.Causes {
		if c := &out.Causes[i]; c.Quotes {
			c.Reason, c.Sentence = quoting(from), quoting(from)
		}
	}
	if r.Preview != nil {
		preview := *r.Preview
		preview.Warnings, preview.Notices = unquoted(preview.Warnings, from), unquoted(preview.Notices, from)
		preview.Findings = slices.Clone(preview.Findings)
		for i := range preview.Findings { // some of their roots are not named
			preview.Findings[i].Origin = preview.Findings[i].Origin.withhold()
		}
		out.Preview = &preview
	}
	said := map[Resource]bool{}
	out.Differences = slices.Clone(r.Differences)
	for i := range out.Differences {
		if d := &out.Differences[i]; of(d.Roots) || hidden[d.From] {
			d.withhold()
			said[d.Resource] = true
		}
	}
	out.RootChanges = slices.Clone(r.RootChanges)
	for i := range out.RootChanges {
		if c := &out.RootChanges[i]; hidden[c.Root] {
			c.Images = nil
		}
	}
	out.Bumps = slices.Clone(r.Bumps)
	for i, b := range r.Bumps {
		if hidden[b.Root] {
			for _, list := range [][]Resource{b.Added, b.Removed} {
				for _, res := range list {
					said[res] = true
				}
			}
			out.Bumps[i] = Bump{Root: b.Root, Moved: b.Moved, Violations: b.Violations,
				Problem: "what it changes is visible only to those who can read its source repository"}
		}
	}
	out.Images = slices.DeleteFunc(slices.Clone(r.Images), func(i ImageChange) bool { return said[i.Resource] })
	return &out
}

// unquoted removes the text of problems that may quote one of the repositories. Their place in the checked repository
// stays.
func unquoted(list []Problem, from []string) []Problem {
	list = slices.Clone(list)
	for i := range list {
		if list[i].Quotes {
			list[i].Message = quoting(from)
		}
	}
	return list
}

func quoting(from []string) string {
	return "the error is visible only to those who can read " + strings.Join(from, " and ")
}

// elsewhere reports whether a path is in another repository or a chart: a URL, or an address of git in the form of scp.
func elsewhere(path string) bool {
	host, _, isSCP := strings.Cut(path, ":")
	return strings.Contains(path, "://") || isSCP && strings.Contains(host, "@") && !strings.Contains(host, "/")
}

// own reports whether a value is written unchanged in the checked repository, without a place in another one in its
// chain. A value that a transformer wrote may be copied from anywhere.
func (o *Origin) own() bool {
	return o != nil && o.How == Identity && o.Path != "" && !elsewhere(o.Path) &&
		!slices.ContainsFunc(o.Chain, func(p Place) bool { return elsewhere(p.Path) })
}

// withhold removes what is not written in the checked repository.
func (f *Finding) withhold() {
	if f.Origin.own() {
		return
	}
	if s := f.Suggestion; s != nil && s.Diff == nil {
		f.Suggestion = nil
	} else if s != nil {
		kept := *s
		kept.Was = ""
		f.Suggestion = &kept
	}
	if f.Policy == checksPolicy {
		f.Message, f.Expected = quoted.ReplaceAllString(f.Message, `"(hidden)"`), ""
	}
	f.Origin = f.Origin.withhold()
}

// checksPolicy is the policy of built-in checks (see checks/builtin), whose messages quote values.
const checksPolicy = "lintel"

var quoted = regexp.MustCompile(`"[^"]*"`)

// withhold returns an origin without places outside of the checked repository.
func (o *Origin) withhold() *Origin {
	if o == nil || o.own() {
		return o
	}
	out := *o
	out.Chain = slices.DeleteFunc(slices.Clone(o.Chain), func(p Place) bool { return elsewhere(p.Path) })
	return &out
}

// withhold removes the lines that are not written in the checked repository.
func (d *Difference) withhold() {
	var hunks []DiffHunk
	for _, h := range d.Hunks {
		lines := slices.DeleteFunc(slices.Clone(h.Lines), func(l DiffLine) bool { return !l.Origin.own() })
		d.Withheld += len(h.Lines) - len(lines)
		if len(lines) == len(h.Lines) {
			hunks = append(hunks, h)
		} else if len(lines) > 0 {
			hunks = append(hunks, DiffHunk{Lines: lines}) // the path may contain a withheld name
		}
	}
	d.Hunks, d.LeftOut = hunks, 0
}
