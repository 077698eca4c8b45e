package rendered

import (
	"cmp"
	"context"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/deploy"
	"github.com/lintel-bot/lintel/render/remote"
)

// maxBumps is how many roots are listed.
const maxBumps = 200

// Bumps lists, for the roots that the change affects, what new versions of their remote sources change. more is the number
// of omitted roots. findings are those of the check.
func Bumps(ctx context.Context, sides *diff.Sides, roots []*diff.Root, findings []report.Finding) (
	list []report.Bump, more int,
) {
	list = []report.Bump{}
	room := maxAllBumps
	for _, r := range roots {
		if ctx.Err() != nil {
			break
		}
		if !sides.Trees.Head.Roots.Has(r.Root) || !sides.Trees.Base.Roots.Has(r.Root) {
			continue
		}
		moved := match(r.Was, r.Now)
		if len(moved) == 0 {
			continue
		}
		if len(list) == maxBumps {
			more++
			continue
		}
		one := report.Bump{Root: r.Name(), Moved: report.Mapped(moved, func(m move) report.Moved { return m.told(sides.Head) })}
		switch {
		case len(r.Head) > 0 && len(r.Deployed) == 0:
			one.Problem = "it does not render with the new version"
		case len(r.Base) > 0 && len(r.Before()) == 0:
			one.Problem = "it did not render with the old version, so there is nothing to compare with"
		default:
			b := &comparison{bump: &one, room: min(room, maxBump), work: maxWork}
			left := b.room
			b.resources(diff.Pairs(r.Root, r.Before(), r.Deployed, false))
			room -= left - b.room
			one.Values = values(ctx, sides, r)
			one.Violations = violations(r, findings)
		}
		list = append(list, one)
	}
	return list, more
}

// values lists the user's values that the new version of a chart treats differently.
func values(ctx context.Context, sides *diff.Sides, r *diff.Root) (list []report.ValueChange) {
	before, now := sides.Base.Charted(r.Root), sides.Head.Charted(r.Root)
	if before == nil || now == nil {
		return nil
	}
	for _, n := range now.ValueNotes(ctx, before) {
		list = append(list, report.ValueChange{Name: strings.Join(n.Path, "."), Path: n.Where.Path, Line: n.Where.Line,
			Gone: n.Unread, Says: sentence(n.Message)})
	}
	return list
}

// violations counts the new findings for the objects of a root.
func violations(r *diff.Root, findings []report.Finding) (n int) {
	deployed := map[report.Resource]bool{}
	for _, res := range r.Deployed {
		deployed[review.Named(res.Object)] = true
	}
	for _, f := range findings {
		if !f.New || f.Result != report.Fail && f.Result != report.Warn ||
			!slices.Contains(f.Roots, r.Name()) {
			continue
		}
		for _, res := range append([]report.Resource{f.Resource}, f.Resources...) {
			if deployed[res] {
				n++
			}
		}
	}
	return n
}

// sentence shortens a description in a schema to one readable sentence.
func sentence(s string) string {
	const most = 200
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return s
}

// ChangedSources returns warnings for exact versions whose content differs from the first fetch.
func ChangedSources(roots []*diff.Root) []report.Problem {
	changed := uses(roots, func(u render.Use) bool { return u.Changed != "" })
	return report.Mapped(changed, func(u render.Use) report.Problem {
		return report.Problem{Path: u.Where.Path, Line: u.Where.Line, Message: nameOf(u.Want) + " " +
			report.Version{Ref: u.Want.Ref, Revision: u.Revision}.String() + ": this version has changed its content " +
			"since it was first fetched (" + firstDigest(u.Changed) + ", now " + firstDigest(u.Digest, u.Tree) + "): ask " +
			"its publisher whether that is intended"}
	})
}

// ResolvedSources lists the revisions of references that move, such as branches.
func ResolvedSources(roots []*diff.Root) (list []report.Resolved) {
	for _, u := range uses(roots, moves) {
		list = append(list, report.Resolved{Name: nameOf(u.Want), Ref: u.Want.Ref, Revision: u.Revision,
			Path: u.Where.Path, Line: u.Where.Line})
	}
	slices.SortFunc(list, func(a, b report.Resolved) int {
		return strings.Compare(a.Path+"\x00"+a.String(), b.Path+"\x00"+b.String())
	})
	return list
}

// RemoteSources lists the other git repositories that contain objects of some roots, on either side.
func RemoteSources(roots []*diff.Root) (list []report.RemoteSource) {
	for _, r := range roots {
		for _, address := range r.From {
			list = append(list, report.RemoteSource{URL: address, Roots: []string{r.Name()}})
		}
	}
	return report.JoinRemoteSources(list, nil)
}

// uses lists the sources of the head that a function selects, each once for each place.
func uses(roots []*diff.Root, wanted func(render.Use) bool) (list []render.Use) {
	seen := map[render.Use]bool{}
	for _, r := range roots {
		for _, u := range r.Now {
			u.Failure = nil
			if wanted(u) && !seen[u] {
				seen[u] = true
				list = append(list, u)
			}
		}
	}
	return list
}

// move is a remote source in two versions.
type move struct{ from, to render.Use }

// match finds the remote sources of a root that changed their version.
func match(was, now []render.Use) (moves []move) {
	was = only(was, now)
	now = only(now, was)
	for _, same := range []func(remote.Want) string{
		func(w remote.Want) string { return string(w.Kind) + "\x00" + w.Name + "\x00" + plain(w.URL) },
		func(w remote.Want) string { return string(w.Kind) + "\x00" + w.Name + "\x00" + masked(w.URL) },
		func(w remote.Want) string { return string(w.Kind) + "\x00" + path.Base(nameOf(w)) },
	} {
		now = slices.DeleteFunc(now, func(u render.Use) bool {
			i := slices.IndexFunc(was, func(o render.Use) bool { return same(o.Want) == same(u.Want) })
			if i < 0 {
				return false
			}
			moves = append(moves, move{was[i], u})
			was = slices.Delete(was, i, i+1)
			return true
		})
	}
	slices.SortFunc(moves, func(a, b move) int { return remote.Compare(a.to.Want, b.to.Want) })
	return moves
}

// only lists the uses that others do not have with the same version and content.
func only(list, others []render.Use) []render.Use {
	return slices.DeleteFunc(slices.Clone(list), func(u render.Use) bool {
		return slices.ContainsFunc(others, func(o render.Use) bool { return o.Want == u.Want && o.Tree == u.Tree })
	})
}

// plain normalizes an address for comparison, since a repository has several spellings.
func plain(address string) string {
	host, rest := place(address)
	return host + "/" + strings.TrimSuffix(strings.Trim(rest, "/"), ".git")
}

// place splits an address, also one of git over ssh, into host and path. It drops the user.
func place(address string) (host, rest string) {
	address = remote.Redacted(address)
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return strings.ToLower(u.Host), strings.TrimPrefix(u.Path, "/")
	}
	if before, after, ok := strings.Cut(address, ":"); ok && !strings.Contains(before, "/") {
		return strings.ToLower(before[strings.LastIndex(before, "@")+1:]), strings.TrimPrefix(after, "/")
	}
	return "", address
}

// versioned matches a part of an address that is a version or a commit.
var versioned = regexp.MustCompile(`v?\d+(\.\d+)+[^/]*|[0-9a-f]{40}`)

// masked returns an address with its versions replaced by "*".
func masked(address string) string { return versioned.ReplaceAllString(plain(address), "*") }

// versionIn returns the version in an address; empty if there is none.
func versionIn(address string) string { return versioned.FindString(plain(address)) }

// nameOf returns the displayed name of a want.
func nameOf(w remote.Want) string {
	if w.Kind == remote.Chart {
		return cmp.Or(w.Name, path.Base(plain(w.URL)))
	}
	return plain(w.URL)
}

// told converts the move for the report.
func (m move) told(head *deploy.Set) report.Moved {
	out := report.Moved{
		Name: nameOf(m.to.Want), URL: remote.Redacted(m.to.Want.URL), Path: m.to.Where.Path, Line: m.to.Where.Line,
		From: report.Version{Ref: m.from.Want.Ref, Revision: m.from.Revision},
		To:   report.Version{Ref: m.to.Want.Ref, Revision: m.to.Revision}, Links: []report.Link{},
	}
	if m.to.Want.Kind == remote.File {
		out.From, out.To = report.Version{Ref: versionIn(m.from.Want.URL)}, report.Version{Ref: versionIn(m.to.Want.URL)}
		out.Name = strings.ReplaceAll(masked(m.to.Want.URL), "/*", "")
	}
	add := func(text, address string) {
		if u, err := url.Parse(address); err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http") &&
			len(address) < 300 && len(out.Links) < maxLinks {
			out.Links = append(out.Links, report.Link{Text: text, URL: address})
		}
	}
	if m.to.Want.Kind != remote.Chart {
		add("compare", compareURL(m.from.Want.URL, m.to.Want.URL, out.From, out.To))
		return out
	}
	var chart struct {
		Home    string   `yaml:"home"`
		Sources []string `yaml:"sources"`
	}
	if yaml.Unmarshal(head.Renderer.ChartFile(m.to), &chart) == nil {
		add("home", chart.Home)
		for _, source := range chart.Sources {
			if source != chart.Home {
				add("source", source)
			}
		}
	}
	add("Artifact Hub", "https://artifacthub.io/packages/search?kind=0&ts_query_web="+url.QueryEscape(out.Name))
	return out
}

// maxLinks is how many links one move has.
const maxLinks = 5

// compareURL returns the page on which GitHub compares two revisions; empty for another host.
func compareURL(was, now string, from, to report.Version) string {
	host, rest := place(now)
	_, before := place(was)
	if host != "github.com" && host != "raw.githubusercontent.com" {
		return ""
	}
	parts, olds := strings.Split(rest, "/"), strings.Split(before, "/")
	if len(parts) < 2 || len(olds) < 2 || olds[0] != parts[0] ||
		strings.TrimSuffix(olds[1], ".git") != strings.TrimSuffix(parts[1], ".git") {
		return ""
	}
	a, b := from.Ref, to.Ref
	if a == b || a == "" || b == "" || strings.Contains(a+b, ":") { // git allows no colon in a name, so this is a range
		a, b = from.Revision, to.Revision
	}
	if a == "" || b == "" || a == b {
		return ""
	}
	return "https://github.com/" + url.PathEscape(parts[0]) + "/" + url.PathEscape(strings.TrimSuffix(parts[1], ".git")) +
		"/compare/" + url.PathEscape(a) + "..." + url.PathEscape(b)
}

// moves reports whether a reference may be resolved to another revision later.
func moves(u render.Use) bool {
	ref := u.Want.Ref
	switch u.Want.Kind {
	case remote.Git:
		isRange := strings.HasPrefix(ref, remote.Versions) || strings.HasPrefix(ref, remote.ShortVersions)
		settled := versioned.MatchString(ref) && !isRange || strings.HasPrefix(ref, "refs/tags/")
		return u.Revision != "" && !settled && (ref == "" || !strings.HasPrefix(u.Revision, ref))
	case remote.Chart:
		return !strings.HasPrefix(ref, "sha256:") && u.Revision != "" &&
			strings.TrimPrefix(ref, "v") != strings.TrimPrefix(u.Revision, "v")
	}
	return false
}

// firstDigest returns the first non-empty string, shortened to a length that people compare.
func firstDigest(list ...string) string {
	if s := cmp.Or(list...); s != "" {
		return report.Version{Ref: s}.String()
	}
	return "unknown"
}
