package exempt_test

import (
	"slices"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/checks/exempt"
	"github.com/lintel-bot/lintel/engine"
)

func TestDecide(t *testing.T) {
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	blob := func(p string) string { return "blob of " + p }
	approve := func(path, blob string) []exempt.Approval {
		return []exempt.Approval{{Path: path, Blob: blob, By: []string{"olga"}}}
	}
	for _, c := range []struct {
		name      string
		exception engine.Exception
		proposed  bool
		approved  []exempt.Approval
		refused   []exempt.Approval
		since     time.Time
		want      exempt.State
		ends      time.Time
	}{
		{name: "merged", exception: engine.Exception{Path: "e"}, want: exempt.Merged},
		{name: "proposed", exception: engine.Exception{Path: "e"}, proposed: true, want: exempt.Pending},
		{name: "approved", exception: engine.Exception{Path: "e"}, proposed: true, approved: approve("e", "blob of e"), want: exempt.Approved},
		{name: "approved in other content", exception: engine.Exception{Path: "e"}, proposed: true, approved: approve("e", "older"), want: exempt.Pending},
		{name: "another file approved", exception: engine.Exception{Path: "e"}, proposed: true, approved: approve("f", "blob of f"), want: exempt.Pending},
		{name: "no blob approved", exception: engine.Exception{Path: "e"}, proposed: true, approved: approve("e", ""), want: exempt.Pending},
		{name: "approved on the command line", exception: engine.Exception{Path: "e"}, proposed: true, approved: approve("e", "*"), want: exempt.Approved},
		{name: "refused", exception: engine.Exception{Path: "e"}, proposed: true, refused: approve("e", "blob of e"), want: exempt.Refused},
		{name: "approved by one, refused by another", exception: engine.Exception{Path: "e"}, proposed: true, approved: approve("e", "blob of e"), refused: approve("e", "blob of e"), want: exempt.Refused},
		{name: "refused in other content", exception: engine.Exception{Path: "e"}, proposed: true, refused: approve("e", "older"), want: exempt.Pending},
		{name: "a merged one cannot be refused", exception: engine.Exception{Path: "e"}, refused: approve("e", "*"), want: exempt.Merged},
		{name: "ends later", exception: engine.Exception{Path: "e", Expires: now.Add(time.Second)}, want: exempt.Merged, ends: now.Add(time.Second)},
		{name: "ends now", exception: engine.Exception{Path: "e", Expires: now}, want: exempt.Expired, ends: now},
		{name: "approved, but over", exception: engine.Exception{Path: "e", Expires: now}, proposed: true, approved: approve("e", "*"), want: exempt.Expired, ends: now},
		{name: "young", exception: engine.Exception{Path: "e", TTL: 2 * time.Hour}, since: now.Add(-time.Hour), want: exempt.Merged, ends: now.Add(time.Hour)},
		{name: "old", exception: engine.Exception{Path: "e", TTL: time.Hour}, since: now.Add(-time.Hour), want: exempt.Expired, ends: now},
		{name: "two ends", exception: engine.Exception{Path: "e", TTL: time.Hour, Expires: now.Add(time.Minute)}, since: now, want: exempt.Merged, ends: now.Add(time.Minute)},
		{name: "of unknown age", exception: engine.Exception{Path: "e", TTL: time.Hour}, want: exempt.Expired},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := exempt.Input{Blob: blob, Approved: c.approved, Refused: c.refused, Now: now, Since: func(*engine.Exception) (time.Time, bool) {
				return c.since, !c.since.IsZero()
			}}
			e := &c.exception
			if c.proposed {
				in.Proposed = []*engine.Exception{e}
			} else {
				in.Merged = []*engine.Exception{e}
			}
			d := exempt.Decide(in)
			if got := d.State(e); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if got := d.Ends(e); !got.Equal(c.ends) {
				t.Errorf("ends %s, want %s", got, c.ends)
			}
			counts := c.want == exempt.Merged || c.want == exempt.Approved
			if slices.Contains(d.Counting, e) != counts || slices.Contains(d.Idle, e) == counts {
				t.Errorf("%s: counting %v, idle %v", c.want, d.Counting, d.Idle)
			}
		})
	}
}

// The edit of a merged exception takes its place only once it is approved.
func TestEdited(t *testing.T) {
	merged := &engine.Exception{Path: "e", Namespace: "n", Name: "x"}
	edited := &engine.Exception{Path: "e", Namespace: "n", Name: "x"}
	in := exempt.Input{Merged: []*engine.Exception{merged}, Proposed: []*engine.Exception{edited}, Blob: func(string) string { return "b" }}
	if d := exempt.Decide(in); !slices.Equal(d.Counting, []*engine.Exception{merged}) || !slices.Equal(d.Idle, []*engine.Exception{edited}) {
		t.Errorf("not approved: counting %v, idle %v", d.Counting, d.Idle)
	}
	in.Approved = []exempt.Approval{{Path: "e", Blob: "b"}}
	if d := exempt.Decide(in); !slices.Equal(d.Counting, []*engine.Exception{edited}) || len(d.Idle) != 0 {
		t.Errorf("approved: counting %v, idle %v", d.Counting, d.Idle)
	}
}
