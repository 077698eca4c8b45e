package rendered

import (
	"context"
	"slices"
	"strings"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/checks/review"
	"github.com/lintel-bot/lintel/render"
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
		one := report.Bump{Root: r.Name()}
		for _, m := range moved {
			one.Moved = append(one.Moved, m.told(sides.Head))
		}
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
func ChangedSources(roots []*diff.Root) (list []report.Problem) {
	for _, u := range uses(roots, func(u render.Use) bool { return u.Changed != "" }) {
		list = append(list, report.Problem{Path: u.Where.Path, Line: u.Where.Line, Message: nameOf(u.Want) + " " +
			report.Version{Ref: u.Want.Ref, Revision: u.Revision}.String() + ": this version has changed its content " +
			"since it was first fetched (" + firstDigest(u.Changed) + ", now " + firstDigest(u.Digest, u.Tree) + "): ask " +
			"its publisher whether that is intended"})
	}
	return list
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
