package results

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lintel-bot/lintel/checks/report"
)

func newStore(limits Limits) (s *Store, index, data *bucketDouble, now *time.Time) {
	index, data = newBucket(), newBucket()
	at := clock
	now = &at
	return NewStore(index, data, limits, func() time.Time { return *now }), index, data, now
}

func TestResultComesBack(t *testing.T) {
	s, _, _, _ := newStore(Limits{})
	r := resultOf("pr-12/x", headA, clock)
	put(t, s, r)
	got := load(t, s, 11, headA, r.ID)
	if diff := cmp.Diff(r, got); diff != "" {
		t.Errorf("another result came back (-stored +got):\n%s", diff)
	}
	for name, of := range map[string][3]string{"another repository": {"12", headA, r.ID},
		"another head": {"11", headB, r.ID},
		"another id":   {"11", headA, ID("y")}, "no head": {"11", "*", r.ID}, "no id": {"11", headA, ">"}} {
		var repository int64
		fmt.Sscan(of[0], &repository)
		if _, err := s.Meta(t.Context(), repository, of[1], of[2]); !errors.Is(err, ErrNone) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Put(t.Context(), &Stored{Meta: r.Meta}); err == nil {
		t.Error("a result without a report was stored")
	}
}

func TestNewestOfHeadFirst(t *testing.T) {
	s, _, _, _ := newStore(Limits{})
	for i, external := range []string{"b", "a", "c"} {
		put(t, s, resultOf(external, headA, clock.Add(time.Duration(i)*time.Minute)))
	}
	put(t, s, resultOf("other", headB, clock.Add(time.Hour)))
	all, err := s.OfHead(t.Context(), 11, headA)
	if err != nil || len(all) != 3 || all[0].ID != ID("c") || all[2].ID != ID("b") {
		t.Errorf("%v, %+v", err, all)
	}
	if err := s.Published(t.Context(), 11, headA, ID("c"), 99); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := load(t, s, 11, headA, ID("c")); got.CheckRun != 99 || got.Report == nil {
			t.Errorf("after it was published: %+v", got)
		}
		put(t, s, resultOf("c", headA, clock.Add(time.Hour))) // the same result once more
	}
}

// If a process is killed while it stores a result, the store has the new result, the one before, or none. The next
// process repeats the job and stores the result.
func TestKilledWhileStoring(t *testing.T) {
	for _, before := range []bool{false, true} {
		for dies := 1; ; dies++ {
			s, index, data, _ := newStore(Limits{})
			old, r := resultOf("x", headA, clock), resultOf("x", headA, clock.Add(time.Minute))
			old.Report.Title, r.Report.Title = "old", "new"
			s.chunk = 100 // several parts
			if before {
				put(t, s, old)
			}
			data.writings, index.writings = 0, 0
			if data.dies = dies; dies > 2 {
				data.dies, index.dies = 0, dies-2
			}
			err := s.Put(t.Context(), r)
			if dies > 2 && err == nil {
				break // it was killed before it stored the result
			}
			m, none := s.Meta(t.Context(), 11, headA, r.ID)
			if none == nil {
				got, err := s.Load(t.Context(), m)
				if err != nil || got.Report == nil || got.Report.Title != "new" && (!before || got.Report.Title != "old") {
					t.Errorf("died at %d: %v, %+v", dies, err, got)
				}
			} else if !errors.Is(none, ErrNone) || before {
				t.Errorf("died at %d: %v", dies, none)
			}
			data.dies, index.dies = 0, 0
			put(t, s, r)
			if got := load(t, s, 11, headA, r.ID); got.Report == nil || got.Report.Title != "new" {
				t.Errorf("died at %d, then: %+v", dies, got.Report)
			}
			if dies > 20 {
				t.Fatal("it never gets through")
			}
		}
	}
}

// A report that was removed or is damaged leaves a page that says so.
func TestPageOfMissingReport(t *testing.T) {
	s, _, data, _ := newStore(Limits{})
	r := resultOf("x", headA, clock)
	put(t, s, r)
	key := partKey(11, r.Parts, 0)
	whole := data.values[key]
	for name, value := range map[string][]byte{"gone": nil, "cut": whole[:len(whole)-1], "other": []byte("x")} {
		data.values[key] = value
		if got := load(t, s, 11, headA, r.ID); got.Report != nil || got.Title != "2 violations" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// From a report that is too large, other fields are left out before the findings' source lines, and the findings last.
func TestTooLargeReportLosesFields(t *testing.T) {
	large := func(n int) *Stored {
		r := resultOf("x", headA, clock)
		r.Report.Bumps = []report.Bump{{Root: strings.Repeat("b", 5000)}}
		r.Report.Drafts = []report.Draft{{YAML: strings.Repeat("d", 4000)}}
		r.Report.Excerpts = map[string]map[int]string{"a.yaml": {1: strings.Repeat("e", 6000)}}
		r.Report.Findings[0].Message = strings.Repeat("m", n)
		return r
	}
	for _, c := range []struct {
		limit int
		left  string
		all   bool
	}{{100_000, "", false}, {12_000, "bumps", false}, {9_000, "bumps drafts", false}, {3_000, "excerpts", false},
		{1_500, "", true}} {
		s, _, _, _ := newStore(Limits{Result: c.limit})
		r := large(1000)
		put(t, s, r)
		got := load(t, s, 11, headA, r.ID)
		left := strings.Join(got.LeftOut, " ")
		if !strings.HasSuffix(left, c.left) || c.left == "" && left != "" || got.TooLarge != c.all ||
			got.Parts.Size > c.limit {
			t.Errorf("limit %d: left out %q, all %t, %d bytes", c.limit, left, got.TooLarge, got.Parts.Size)
		}
		if got.Report == nil || got.Report.Title != "2 violations" || (len(got.Report.Findings) == 0) != c.all {
			t.Errorf("limit %d: %+v", c.limit, got.Report)
		}
		if r.Report.Excerpts == nil || len(r.Report.Findings) != 1 {
			t.Errorf("limit %d: the report itself was changed", c.limit)
		}
	}
}

// A report that is larger than a quarter of the store is not stored, even if Limits.Result is larger.
func TestReportAboveQuarterOfStoreIsNotStored(t *testing.T) {
	s, _, _, _ := newStore(Limits{Bytes: 1 << 20, Result: 100 << 20})
	r := resultOf("x", headA, clock)
	r.Report.Findings[0].Message = strings.Repeat("m", 300<<10)
	put(t, s, r)
	if got := load(t, s, 11, headA, r.ID); !got.TooLarge || got.Report == nil {
		t.Errorf("%+v", got.Meta)
	}
}

// Records in the store may be forged: none of them makes this process read or allocate more than the limits.
func TestHostileRecords(t *testing.T) {
	bomb := compress(make([]byte, maxOverview+1))
	for name, p := range map[string]parts{
		"small value, large size": {Name: "x", Count: 1, Size: MaxResult + 1, Sum: sumOf(bomb)},
		"small size, large value": {Name: "x", Count: 1, Size: 100, Sum: sumOf(bomb)},
		"too many parts":          {Name: "x", Count: 1 << 60, Size: 100},
		"negative counts":         {Name: "x", Count: -1, Size: -1},
		"wildcard as name":        {Name: "*.>", Count: 1, Size: 100},
	} {
		s, index, data, _ := newStore(Limits{})
		r := resultOf("x", headA, clock)
		put(t, s, r)
		data.values["11.x.0"] = bomb
		r.Parts = p
		index.values[resultKey(11, headA, r.ID)], _ = json.Marshal(r.Meta)
		data.gets = 0
		if got := load(t, s, 11, headA, r.ID); got.Report != nil || data.gets > 1 {
			t.Errorf("%s: %+v, %d readings", name, got, data.gets)
		}
	}
	if o := decodeOverview(bomb); o.Repository.ID != 0 {
		t.Errorf("a bomb as an overview: %+v", o)
	}
}

// Records of another version are shown as far as they can be read.
func TestOldSchema(t *testing.T) {
	s, index, data, _ := newStore(Limits{})
	r := resultOf("x", headA, clock)
	put(t, s, r)
	key := resultKey(11, headA, r.ID)
	change := func(edit func(m, rep map[string]any)) {
		t.Helper()
		var m, rep map[string]any
		packed := data.values[partKey(11, r.Parts, 0)]
		plain, err := decompress(packed, MaxResult)
		if err = errors.Join(err, json.Unmarshal(index.values[key], &m), json.Unmarshal(plain, &rep)); err != nil {
			t.Fatal(err)
		}
		edit(m, rep)
		other := *r
		var changed report.Report
		raw, _ := json.Marshal(rep)
		_ = json.Unmarshal(raw, &changed)
		other.Report = &changed
		put(t, s, &other)
		// Change the record to one with fields of other types, as another version might write it.
		p := m["parts"].(map[string]any)
		packed = compress(raw)
		data.values[partKey(11, other.Parts, 0)] = packed
		p["name"], p["count"], p["size"], p["sum"] = other.Parts.Name, 1, len(raw), sumOf(packed)
		index.values[key], _ = json.Marshal(m)
		r.Parts = other.Parts
		r.Parts.Size = len(raw)
	}
	change(func(m, rep map[string]any) {
		m["schema"], m["pull"] = 0, "12"
		rep["stats"], rep["later"] = "many", 1
		rep["bumps"] = map[string]any{}
	})
	got := load(t, s, 11, headA, r.ID)
	if !got.Outdated || got.Report == nil || len(got.Report.Findings) != 1 || got.Report.Title != "2 violations" {
		t.Errorf("%+v, %+v", got, got.Report)
	}
	index.values[key] = []byte("{")
	if _, err := s.Meta(t.Context(), 11, headA, r.ID); !errors.Is(err, ErrNone) {
		t.Errorf("a damaged record: %v", err)
	}
	index.values[overviewKey(11)] = []byte("{")
	if _, err := s.Overview(t.Context(), 11); !errors.Is(err, ErrNone) {
		t.Errorf("a damaged overview: %v", err)
	}
	put(t, s, resultOf("x", headA, clock)) // replaces the records of the other version
	if o, err := s.Overview(t.Context(), 11); err != nil || len(o.Pulls) != 1 {
		t.Errorf("%v, %+v", err, o)
	}
}

func TestNamesFollowTheID(t *testing.T) {
	s, _, _, _ := newStore(Limits{})
	put(t, s, resultOf("x", headA, clock))
	r := resultOf("y", headB, clock.Add(time.Minute))
	r.Repository.Name = "renamed"
	put(t, s, r)
	for _, name := range []string{"fleet.gitops", "FLEET.gitops", "renamed"} {
		if found, err := s.Find(t.Context(), "octo-org", name); err != nil || found.Repository != r.Repository {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
	all, err := s.Organisation(t.Context(), "OCTO-ORG")
	if err != nil || len(all) != 1 || all[0].Repository.Name != "renamed" {
		t.Errorf("%v, %d repositories", err, len(all))
	}
	for _, none := range []string{"", "octo", "*"} {
		if all, err := s.Organisation(t.Context(), none); err != nil || len(all) != 0 {
			t.Errorf("%q: %v, %d repositories", none, err, len(all))
		}
	}
}

func TestOverviewOfRepository(t *testing.T) {
	s, _, _, now := newStore(Limits{})
	*now = clock.Add(2 * time.Hour)
	for i := range maxEntries + 10 {
		r := resultOf(fmt.Sprint(i), headA, clock.Add(time.Duration(i)*time.Second))
		r.Pull.Number = i + 1
		put(t, s, r)
	}
	again := resultOf("again", headB, clock.Add(time.Hour))
	again.Pull.Number = 100
	put(t, s, again)
	late := resultOf("late", headA, clock) // finished by a job after a newer one
	late.Pull.Number = 100
	put(t, s, late)
	branch := resultOf("branch", headA, clock)
	branch.Pull, branch.Branch = nil, "main"
	branch.Report.Findings = append(branch.Report.Findings,
		report.Finding{Policy: "more", Result: report.Warn, Severity: "low"},
		report.Finding{Policy: "let", Result: report.Skip, Exemption: &report.Exemption{Exception: "shop/a", Path: "a.yaml",
			State: report.Merged}})
	branch.Report.Active = []report.Active{{Name: "shop/a", Path: "a.yaml", Line: 1, Covers: 1},
		{Name: "shop/b", Path: "b.yaml", Line: 2, Expires: clock, Covers: 3}}
	branch.Report.Cleanup = []report.Cleanup{{Name: "shop/b", Path: "b.yaml", Line: 2, Expires: clock, Unused: true},
		{Name: "shop/c", Path: "c.yaml", Expired: true}}
	for range maxNotChecked + 3 {
		branch.Report.NotChecked = append(branch.Report.NotChecked, report.NotChecked{Reason: "no"})
	}
	put(t, s, branch)
	older := resultOf("older", headB, clock.Add(-time.Hour))
	older.Pull, older.Branch = nil, "main"
	put(t, s, older)
	o, err := s.Overview(t.Context(), 11)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Pulls) != maxEntries || o.Pulls[0].Pull != 100 || o.Pulls[0].ID != again.ID ||
		o.Pulls[1].Pull != maxEntries+10 {
		t.Errorf("%d pull requests, the first %+v", len(o.Pulls), o.Pulls[:2])
	}
	if len(o.Branch) != 2 || o.Branch[0].ID != branch.ID || len(o.NotChecked) != maxNotChecked || o.MoreNotChecked != 3 {
		t.Errorf("the branch: %+v, %d and %d not checked", o.Branch, len(o.NotChecked), o.MoreNotChecked)
	}
	want := []Violations{{"latest", "", 2}, {"more", "low", 1}}
	if e := o.Branch[0]; cmp.Diff(want, e.Violations) != "" || e.Total != 3 || e.Blocking != 2 {
		t.Errorf("%+v", e)
	}
	if diff := cmp.Diff([]Exception{
		{Active: report.Active{Name: "shop/b", Path: "b.yaml", Line: 2, Expires: clock, Covers: 3}, Unused: true},
		{Active: report.Active{Name: "shop/a", Path: "a.yaml", Line: 1, Covers: 1}, Never: true},
		{Active: report.Active{Name: "shop/c", Path: "c.yaml"}, Expired: true}}, o.Exceptions); diff != "" {
		t.Error(diff)
	}
}

// Results of several processes are all in one overview.
func TestOverviewIsShared(t *testing.T) {
	s, _, _, _ := newStore(Limits{})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			r := resultOf(fmt.Sprint(i), headA, clock)
			r.Pull.Number = i + 1
			if err := s.Put(t.Context(), r); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if o, err := s.Overview(t.Context(), 11); err != nil || len(o.Pulls) != 8 {
		t.Errorf("%v, %+v", err, o)
	}
}

// A repository with very long names gets an overview, and its results can be stored.
func TestOverviewWithLongNamesFits(t *testing.T) {
	s, index, _, _ := newStore(Limits{})
	words := make([]byte, 1000)
	name := func() string { _, _ = rand.Read(words); return hex.EncodeToString(words) }
	for n := range 20 {
		r := branchResult(fmt.Sprint(n), headA, clock.Add(time.Duration(n)*time.Second))
		for range maxPolicies {
			r.Report.Findings = append(r.Report.Findings, report.Finding{Policy: name(), Result: report.Fail})
		}
		for range maxNotChecked {
			r.Report.NotChecked = append(r.Report.NotChecked, report.NotChecked{Reason: name()})
		}
		put(t, s, r)
		if size := len(index.values[overviewKey(11)]); size > maxValue {
			t.Fatalf("%d bytes", size)
		}
	}
	o, err := s.Overview(t.Context(), 11)
	if err != nil || len(o.Branch) < 5 || o.Branch[0].ID != ID("19") || len(o.NotChecked)+o.MoreNotChecked != maxNotChecked {
		t.Errorf("%v, %d reports, %d and %d not checked", err, len(o.Branch), len(o.NotChecked), o.MoreNotChecked)
	}
}

// A result is replaced while another process stores its check run: the record has the new report and the check run.
func TestPublishedMeanwhile(t *testing.T) {
	s, index, _, _ := newStore(Limits{})
	r := resultOf("x", headA, clock)
	put(t, s, r)
	index.got = func(string) {
		index.got = nil
		put(t, s, resultOf("x", headA, clock.Add(time.Minute)))
	}
	if err := s.Published(t.Context(), 11, headA, r.ID, 99); err != nil {
		t.Fatal(err)
	}
	if got := load(t, s, 11, headA, r.ID); got.Report == nil || got.CheckRun != 99 || !got.Completed.After(r.Completed) {
		t.Errorf("%+v", got)
	}
	if err := s.Published(t.Context(), 11, headB, r.ID, 99); !errors.Is(err, ErrNone) {
		t.Errorf("a result that is not there: %v", err)
	}
}

// If a commit was checked many times, its newest results are listed.
func TestManyResultsOfACommit(t *testing.T) {
	s, _, _, _ := newStore(Limits{})
	const count = maxOthers + 30
	for n := range count {
		put(t, s, resultOf(fmt.Sprint(n), headA, clock))
	}
	all, err := s.OfHead(t.Context(), 11, headA)
	if err != nil || len(all) != maxOthers || all[0].ID != ID(fmt.Sprint(count-1)) || all[maxOthers-1].ID != ID("30") {
		t.Errorf("%v, %d", err, len(all))
	}
}

func TestRecorder(t *testing.T) {
	s, index, _, now := newStore(Limits{})
	k := NewRecorder(s, "https://lintel.example.com", false, func() time.Time { return *now })
	r := resultOf("x", headA, clock)
	want := "https://lintel.example.com/r/Octo-Org/fleet.gitops/" + headA + "/" + r.ID
	if got, err := k.Record(t.Context(), r); err != nil || got != want {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	r = resultOf("y", headA, clock)
	r.Repository.Private = true
	if got, err := k.Record(t.Context(), r); err != nil || got != "" {
		t.Errorf("a private repository: %q, %v", got, err)
	}
	if _, err := s.Meta(t.Context(), 11, headA, r.ID); !errors.Is(err, ErrNone) {
		t.Error("what nobody can open was stored")
	}
	if got, err := NewRecorder(s, "https://x", true, time.Now).Record(t.Context(), r); err != nil || got == "" {
		t.Errorf("a private repository with a guard: %q, %v", got, err)
	}
	index.fail = errors.New("no")
	if _, err := k.Record(t.Context(), resultOf("z", headA, clock)); err == nil || errors.Is(err, ErrPaused) {
		t.Errorf("a store that fails: %v", err)
	}
	index.fail = nil
	if _, err := k.Record(t.Context(), resultOf("z", headA, clock)); !errors.Is(err, ErrPaused) {
		t.Errorf("right after: %v", err)
	}
	*now = now.Add(storePause)
	if got, err := k.Record(t.Context(), resultOf("z", headA, clock)); err != nil || got == "" {
		t.Errorf("a minute later: %q, %v", got, err)
	}
	full := errors.New("the disk is full")
	k.Room = func() error { return full }
	index.gets = 0
	r.Repository.Private = false
	for _, want := range []error{full, ErrPaused} {
		if got, err := k.Record(t.Context(), r); !errors.Is(err, want) || got != "" || index.gets > 0 {
			t.Errorf("%q, %v; want %v, and nothing stored", got, err, want)
		}
	}
}
