package rendered

import (
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render"
	"github.com/lintel-bot/lintel/render/remote"
)

// GitHub cannot compare ranges of versions, so the URL has the revisions to which they were resolved.
func TestCompareURL(t *testing.T) {
	const at = "https://github.com/o/r"
	for want, refs := range map[string][2]string{
		"v1...v2":   {"v1", "v2"},
		"old...new": {remote.Versions + "1.x", remote.Versions + "2.x"},
	} {
		from, to := report.Version{Ref: refs[0], Revision: "old"}, report.Version{Ref: refs[1], Revision: "new"}
		got := compareURL(at, at+".git", from, to)
		if !strings.HasSuffix(got, "/o/r/compare/"+want) {
			t.Errorf("%q: %s", refs, got)
		}
	}
}

// Another chart of the same repository is not another version of the one before.
func TestMatch(t *testing.T) {
	chart := func(name, version string) render.Use {
		u := render.Use{}
		u.Want.Kind, u.Want.URL, u.Want.Name, u.Want.Ref = "chart", "https://charts.example.com/1.2", name, version
		u.Tree = name + version
		return u
	}
	if moves := match([]render.Use{chart("a", "1.0.0")}, []render.Use{chart("b", "2.0.0")}); len(moves) > 0 {
		t.Errorf("%+v", moves)
	}
	if moves := match([]render.Use{chart("a", "1.0.0")}, []render.Use{chart("a", "2.0.0")}); len(moves) != 1 {
		t.Errorf("%+v", moves)
	}
}

// A range of versions among tags is a reference that moves. A source that was not fetched has no revision.
func TestMoves(t *testing.T) {
	for ref, want := range map[string]bool{remote.Versions + ">=1.0.0": true,
		remote.ShortVersions + "1.2": true, "main": true, "": true, "v1.2.0": false,
		"refs/tags/x": false, strings.Repeat("a", 40): false} {
		u := render.Use{}
		u.Want.Kind, u.Want.Ref, u.Revision = "git", ref, strings.Repeat("a", 40)
		if moves(u) != want {
			t.Errorf("%q: %v", ref, !want)
		}
		if u.Revision = ""; moves(u) {
			t.Errorf("%q that was not had moves", ref)
		}
	}
}
