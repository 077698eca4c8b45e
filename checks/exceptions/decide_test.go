package exceptions_test

import (
	"slices"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/checks/exceptions"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/engine"
)

// terms are those of all exceptions.
func terms(*engine.Exception) []string { return []string{"t"} }

func TestDecide(t *testing.T) {
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	blob := func(p string) string { return "blob of " + p }
	votes := []report.Vote{{User: "olga"}}
	approve := func(path, blob string) []report.Review {
		return []report.Review{{Path: path, Blob: blob, Terms: []string{"t"}, Needed: 1, Approved: votes}}
	}
	refuse := func(path, blob string, approved ...report.Vote) []report.Review {
		return []report.Review{{Path: path, Blob: blob, Terms: []string{"t"}, Needed: 1, Approved: approved, Refused: votes}}
	}
	for _, c := range []struct {
		name      string
		exception engine.Exception
		proposed  bool
		reviews   []report.Review
		approve   []string
		since     time.Time
		want      report.State
		ends      time.Time
	}{
		{name: "merged", exception: engine.Exception{Path: "e"}, want: report.Merged},
		{name: "proposed", exception: engine.Exception{Path: "e"}, proposed: true, want: report.Pending},
		{name: "approved", exception: engine.Exception{Path: "e"}, proposed: true, reviews: approve("e", "blob of e"),
			want: report.Approved},
		{name: "other content approved", exception: engine.Exception{Path: "e"}, proposed: true,
			reviews: approve("e", "older"), want: report.Pending},
		{name: "another file approved", exception: engine.Exception{Path: "e"}, proposed: true,
			reviews: approve("f", "blob of f"), want: report.Pending},
		{name: "other terms approved", exception: engine.Exception{Path: "e"}, proposed: true,
			reviews: []report.Review{{Path: "e", Blob: "blob of e", Terms: []string{"s"}, Needed: 1, Approved: votes}}, want: report.Pending},
		{name: "approved without a blob", exception: engine.Exception{Path: "e"}, proposed: true, reviews: approve("e", ""),
			want: report.Pending},
		{name: "approved on the command line", exception: engine.Exception{Path: "e"}, proposed: true, approve: []string{"e"},
			want: report.Approved},
		{name: "refused", exception: engine.Exception{Path: "e"}, proposed: true, reviews: refuse("e", "blob of e"),
			want: report.Refused},
		{name: "approved by one, refused by another", exception: engine.Exception{Path: "e"}, proposed: true,
			reviews: refuse("e", "blob of e", votes...), want: report.Refused},
		{name: "other content refused", exception: engine.Exception{Path: "e"}, proposed: true,
			reviews: refuse("e", "older"), want: report.Pending},
		{name: "a merged exception cannot be refused", exception: engine.Exception{Path: "e"}, reviews: refuse("e", "blob of e"),
			want: report.Merged},
		{name: "expires later", exception: engine.Exception{Path: "e", Expires: now.Add(time.Second)}, want: report.Merged,
			ends: now.Add(time.Second)},
		{name: "expires now", exception: engine.Exception{Path: "e", Expires: now}, want: report.Expired, ends: now},
		{name: "approved, but expired", exception: engine.Exception{Path: "e", Expires: now}, proposed: true,
			approve: []string{"e"}, want: report.Expired, ends: now},
		{name: "within its time to live", exception: engine.Exception{Path: "e", TTL: 2 * time.Hour}, since: now.Add(-time.Hour),
			want: report.Merged, ends: now.Add(time.Hour)},
		{name: "after its time to live", exception: engine.Exception{Path: "e", TTL: time.Hour}, since: now.Add(-time.Hour),
			want: report.Expired, ends: now},
		{name: "the first of two expiry times", exception: engine.Exception{Path: "e", TTL: time.Hour, Expires: now.Add(time.Minute)}, since: now,
			want: report.Merged, ends: now.Add(time.Minute)},
		{name: "unknown age", exception: engine.Exception{Path: "e", TTL: time.Hour}, want: report.Expired},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := exceptions.Input{Blob: blob, Terms: terms, Reviews: c.reviews, Approve: c.approve, Now: now,
				Since: func(*engine.Exception) (time.Time, bool) {
					return c.since, !c.since.IsZero()
				}}
			e := &c.exception
			if c.proposed {
				in.Proposed = []*engine.Exception{e}
			} else {
				in.Merged = []*engine.Exception{e}
			}
			d := exceptions.Decide(in)
			if got := d.State(e); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if got := d.Ends(e); !got.Equal(c.ends) {
				t.Errorf("ends %s, want %s", got, c.ends)
			}
			counts := c.want == report.Merged || c.want == report.Approved
			if slices.Contains(d.Effective, e) != counts || slices.Contains(d.Inactive, e) == counts {
				t.Errorf("%s: counting %v, idle %v", c.want, d.Effective, d.Inactive)
			}
		})
	}
}

// An edit of a merged exception takes effect only once it is approved, and the merged content covers nothing of a change
// that edits it.
func TestEditOfAMergedExceptionNeedsApproval(t *testing.T) {
	merged := &engine.Exception{Path: "e", Namespace: "n", Name: "x"}
	edited := &engine.Exception{Path: "e", Namespace: "n", Name: "x"}
	in := exceptions.Input{Merged: []*engine.Exception{merged}, Proposed: []*engine.Exception{edited},
		Blob: func(string) string { return "b" }, Terms: terms}
	if d := exceptions.Decide(in); len(d.Effective) != 0 || !slices.Equal(d.Inactive, []*engine.Exception{edited}) {
		t.Errorf("not approved: counting %v, idle %v", d.Effective, d.Inactive)
	}
	in.Reviews = []report.Review{{Path: "e", Blob: "b", Terms: []string{"t"}}}
	if d := exceptions.Decide(in); !slices.Equal(d.Effective, []*engine.Exception{edited}) || len(d.Inactive) != 0 {
		t.Errorf("approved: counting %v, idle %v", d.Effective, d.Inactive)
	}
}

// A narrowed exception counts in place of the merged one, for as long, and only while the change leaves that in effect.
func TestNarrowedExceptionEndsWithTheMergedOne(t *testing.T) {
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name             string
		merged, narrowed engine.Exception
		removed          bool
		want             report.State // of the narrowed one; "": it does not count at all
		ends             time.Time
	}{
		{name: "without an end", want: report.Merged},
		{name: "the merged one is over", merged: engine.Exception{Expires: now}, want: report.Expired, ends: now},
		{name: "the merged one ends first", merged: engine.Exception{Expires: now.Add(time.Hour)},
			narrowed: engine.Exception{Expires: now.Add(2 * time.Hour)}, want: report.Merged, ends: now.Add(time.Hour)},
		{name: "it gets an end", narrowed: engine.Exception{Expires: now.Add(time.Hour)}, want: report.Merged, ends: now.Add(time.Hour)},
		{name: "it is over", narrowed: engine.Exception{Expires: now}, want: report.Expired, ends: now},
		{name: "the age of the merged one is unknown", merged: engine.Exception{TTL: time.Hour}, want: report.Expired},
		{name: "the change removes it", removed: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			merged, narrowed := &c.merged, &c.narrowed
			d := exceptions.Decide(exceptions.Input{Merged: []*engine.Exception{merged}, Narrowed: []*engine.Exception{narrowed}, Now: now,
				Removed: func(*engine.Exception) bool { return c.removed },
				Since:   func(*engine.Exception) (time.Time, bool) { return time.Time{}, false }})
			if c.want == "" {
				if len(d.Effective) > 0 || !slices.Equal(d.Inactive, []*engine.Exception{merged}) {
					t.Errorf("counting %v, idle %v", d.Effective, d.Inactive)
				}
				return
			}
			counts := slices.Equal(d.Effective, []*engine.Exception{narrowed})
			if d.State(narrowed) != c.want || !d.Ends(narrowed).Equal(c.ends) || counts != (c.want == report.Merged) || slices.Contains(d.Effective, merged) {
				t.Errorf("%s, ends %s: counting %v, idle %v", d.State(narrowed), d.Ends(narrowed), d.Effective, d.Inactive)
			}
		})
	}
}
