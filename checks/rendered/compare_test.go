package rendered

import (
	"fmt"
	"slices"
	"testing"

	"github.com/lintel-bot/lintel/checks/diff"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render"
)

// A value of a Secret is no image, whatever its key.
func TestImagesOfSecrets(t *testing.T) {
	secret := func(value string) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"image": value}}
	}
	named := report.Resource{APIVersion: "v1", Kind: "Secret", Name: "s"}
	if list := imageChanges(named, secret("aHVudGVyMg=="), secret("c3dvcmRmaXNo")); len(list) > 0 {
		t.Errorf("%+v", list)
	}
}

// An image that moves from one container to another is neither new nor gone.
func TestImagesThatMove(t *testing.T) {
	for name, c := range map[string]struct{ list, want []report.ImageChange }{
		"moved":           {[]report.ImageChange{{From: "a:1"}, {To: "a:1"}}, nil},
		"another version": {[]report.ImageChange{{From: "a:1"}, {To: "a:2"}}, []report.ImageChange{{From: "a:1"}, {To: "a:2"}}},
		"gone from one container, new in another": {[]report.ImageChange{{From: "a:2"}, {From: "a:1", To: "a:2"}}, []report.ImageChange{{From: "a:1", To: "a:2"}}},
		"swapped": {[]report.ImageChange{{From: "a", To: "b"}, {From: "b", To: "a"}}, []report.ImageChange{{From: "a", To: "b"}, {From: "b", To: "a"}}},
		"none":    {},
	} {
		if got := withoutMoved(c.list); !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Differences that are not listed use up no room.
func TestOmittedDifferencesUseNoRoom(t *testing.T) {
	made := func(i int, value string) *render.Resource {
		return &render.Resource{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": fmt.Sprint(i)}, "data": map[string]any{"a": value}}}
	}
	var pairs []*diff.Pair
	for i := range maxListed + 50 {
		pairs = append(pairs, &diff.Pair{Old: made(i, "x"), New: made(i, "y")})
	}
	c := &comparison{bump: &report.Bump{}, room: maxBump}
	c.resources(pairs)
	used := 0
	for _, one := range c.bump.Changed {
		used += len(one.Diff)
	}
	if len(c.bump.Changed) != maxListed || c.bump.LeftOut != 50 || c.room != maxBump-used {
		t.Errorf("%d listed, %d left out, %d bytes for %d", len(c.bump.Changed), c.bump.LeftOut, maxBump-c.room, used)
	}
}
