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
	// The error of a problem may quote one of the repositories. Its place in the checked repository stays.
	quoting := "the error is visible only to those who can read " + strings.Join(from, " and ")
	unquoted := func(p *Problem) {
		if p.Quotes {
			p.Message = quoting
		}
	}
	out.Errors, out.Warnings = edited(r.Errors, unquoted), edited(r.Warnings, unquoted)
	out.Findings = edited(r.Findings, func(f *Finding) {
		if of(f.Roots) || cut(f) {
			f.withhold()
		}
	})
	out.NotChecked = edited(r.NotChecked, func(n *NotChecked) {
		if n.Quotes {
			n.Reason = quoting
		}
	})
	out.Causes = edited(r.Causes, func(c *Cause) {
		if c.Quotes {
			c.Reason, c.Sentence = quoting, quoting
		}
	})
	if r.Preview != nil {
		preview := *r.Preview
		preview.Warnings, preview.Notices = edited(preview.Warnings, unquoted), edited(preview.Notices, unquoted)
		// Some of their roots are not named.
		preview.Findings = edited(preview.Findings, func(f *PreviewFinding) { f.Origin = f.Origin.withhold() })
		out.Preview = &preview
	}
	said := map[Resource]bool{}
	out.Differences = edited(r.Differences, func(d *Difference) {
		if of(d.Roots) || hidden[d.From] {
			d.withhold()
			said[d.Resource] = true
		}
	})
	out.RootChanges = edited(r.RootChanges, func(c *RootChange) {
		if hidden[c.Root] {
			c.Images = nil
		}
	})
	out.Bumps = edited(r.Bumps, func(b *Bump) {
		if hidden[b.Root] {
			for _, res := range slices.Concat(b.Added, b.Removed) {
				said[res] = true
			}
			*b = Bump{Root: b.Root, Moved: b.Moved, Violations: b.Violations,
				Problem: "what it changes is visible only to those who can read its source repository"}
		}
	})
	out.Images = slices.DeleteFunc(slices.Clone(r.Images), func(i ImageChange) bool { return said[i.Resource] })
	return &out
}

// edited returns a copy of a list with changed elements.
func edited[T any](list []T, change func(*T)) []T {
	list = slices.Clone(list)
	for i := range list {
		change(&list[i])
	}
	return list
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
	out.Chain = Kept(o.Chain, func(p Place) bool { return !elsewhere(p.Path) })
	return &out
}

// withhold removes the lines that are not written in the checked repository.
func (d *Difference) withhold() {
	var hunks []DiffHunk
	for _, h := range d.Hunks {
		lines := Kept(h.Lines, func(l DiffLine) bool { return l.Origin.own() })
		d.Withheld += len(h.Lines) - len(lines)
		if len(lines) == len(h.Lines) {
			hunks = append(hunks, h)
		} else if len(lines) > 0 {
			hunks = append(hunks, DiffHunk{Lines: lines}) // the path may contain a withheld name
		}
	}
	d.Hunks, d.LeftOut = hunks, 0
}
