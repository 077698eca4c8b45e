package report

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// findingOf returns a finding of random kind at one of a few places.
func findingOf(random *rand.Rand) Finding {
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	f := Finding{Policy: "p", Rule: pick("r", "s"), Resource: Resource{Kind: "Pod", Name: pick("x", "y", "z")},
		Result: Result(pick("fail", "warn", "skip", "error", "unknown")), Message: "m", Field: pick("/a", "/b"),
		Roots: []string{pick("one", "two", "three")}, New: random.IntN(2) == 0,
		Origin: &Origin{Path: "p", StartLine: random.IntN(3)}}
	f.Blocks = f.Result == Fail && random.IntN(2) == 0
	if random.IntN(3) == 0 {
		f.Exemption = &Exemption{Exception: "n/e", State: State(pick("pending", "refused", "expired"))}
	}
	return f
}

func findingsOf(random *rand.Rand, n int) (list []Finding) {
	for range n {
		list = append(list, findingOf(random))
	}
	return list
}

func clone(t *testing.T, list []Finding) (out []Finding) {
	t.Helper()
	data, err := json.Marshal(list)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// An additional finding, error or unchecked part never improves the conclusion.
func TestConclusionOnlyGetsWorse(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	order := []Conclusion{Success, Neutral, ActionRequired, Failure}
	seen := map[Conclusion]bool{}
	for range 2000 {
		r := Report{Findings: findingsOf(random, random.IntN(4)), Stats: Stats{Policies: 1}}
		r.Conclude()
		before := r.Conclusion
		seen[before] = true
		switch random.IntN(4) {
		case 0:
			r.Fail(Problem{Message: "m"})
		case 1:
			r.NotChecked = append(r.NotChecked, NotChecked{Root: "r"})
		default:
			r.Findings = slices.Insert(r.Findings, random.IntN(len(r.Findings)+1), findingOf(random))
		}
		if r.Conclude(); slices.Index(order, r.Conclusion) < slices.Index(order, before) {
			t.Fatalf("%s, then %s: %+v", before, r.Conclusion, r)
		}
	}
	if len(seen) != len(order) {
		t.Errorf("the test came to %v only", seen)
	}
}

// Merging loses no place, resource, root or verdict, and does not change merged findings.
func TestMerge(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	merged := 0
	for range 500 {
		list := findingsOf(random, random.IntN(40))
		once := Merge(clone(t, list))
		if twice := Merge(clone(t, once)); !reflect.DeepEqual(once, twice) {
			t.Fatalf("%+v became %+v", once, twice)
		}
		merged += len(list) - len(once)
		before, after := Report{Findings: list}, Report{Findings: once}
		before.Conclude()
		if after.Conclude(); before.Conclusion != after.Conclusion {
			t.Fatalf("%s became %s", before.Conclusion, after.Conclusion)
		}
		for _, f := range list {
			if !slices.ContainsFunc(once, func(g Finding) bool {
				return g.Origin.Path == f.Origin.Path && g.Origin.StartLine == f.Origin.StartLine && g.Rule == f.Rule &&
					g.Message == f.Message && (g.Blocks || !f.Blocks) && slices.Contains(g.Roots, f.Roots[0]) &&
					(g.Resource == f.Resource || slices.Contains(g.Resources, f.Resource))
			}) {
				t.Fatalf("%+v is lost in %+v", f, once)
			}
		}
	}
	if merged == 0 {
		t.Error("nothing was merged")
	}
}

// A merged finding about the deletion of several objects has no advice about one of them.
func TestMergeOfDeletions(t *testing.T) {
	deletion := func(name, advice string) Finding {
		return Finding{Operation: "DELETE", Resource: Resource{Name: name}, Origin: &Origin{Path: "a", StartLine: 1, Advice: advice}}
	}
	for want, list := range map[string][]Finding{
		"":  {deletion("a", "a"), deletion("b", "b"), deletion("c", "a")},
		"a": {deletion("a", "a"), deletion("b", "a")},
	} {
		if got := Merge(list); len(got) != 1 || got[0].Origin.Advice != want {
			t.Errorf("got %+v, want advice %q", got[0].Origin, want)
		}
	}
}

// Merging lists one after the other gives the same result as merging all at once.
func TestMergeIsAssociative(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		a, b := findingsOf(random, 20), findingsOf(random, 20)
		want := Merge(clone(t, slices.Concat(a, b)))
		got := Merge(slices.Concat(Merge(clone(t, a)), Merge(clone(t, b))))
		for _, list := range [][]Finding{got, want} { // the order of findings at one place does not matter
			for i := range list {
				f := &list[i]
				slices.Sort(f.Roots)
				f.Resources = append(f.Resources, f.Resource)
				slices.SortFunc(f.Resources, func(a, b Resource) int { return slices.Compare([]string{a.Name}, []string{b.Name}) })
				f.Resource = Resource{}
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got\n%+v\nwant\n%+v", got, want)
		}
	}
}

// Sorting does not depend on the order of the report, and sorting again changes nothing.
func TestSortIsDeterministic(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for range 200 {
		r := Report{Findings: findingsOf(random, 10)}
		for i := range 6 {
			p := Problem{Path: string(rune('a' + i%3)), Line: i % 2, Message: "m"}
			r.Fail(p)
			r.Warnings = append(r.Warnings, p, p)
			r.NotChecked = append(r.NotChecked, NotChecked{Root: "r", Path: p.Path}, NotChecked{Root: "r", Path: p.Path})
		}
		r.Sort(func(path string) bool { return path == "a" })
		if !slices.IsSortedFunc(r.Findings, CompareFindings) || !slices.IsSortedFunc(r.Errors, Problem.Compare) {
			t.Fatalf("%+v", r)
		}
		if len(r.Errors) != 6 || len(r.Warnings) != 6 || len(r.NotChecked) != 3 || !r.Warnings[0].Changed ||
			r.Warnings[5].Changed {
			t.Fatalf("%+v\n%+v\n%+v", r.Errors, r.Warnings, r.NotChecked)
		}
		old := 0
		for _, f := range r.Findings {
			if !f.New {
				old++
			}
		}
		again := r
		again.Findings = clone(t, r.Findings)
		again.Sort(func(path string) bool { return path == "a" })
		if r.Stats.PreExisting != old || !reflect.DeepEqual(r, again) {
			t.Fatalf("%d old, counted %+v; sorted again %+v", old, r.Stats, again.Stats)
		}
	}
}

func TestFail(t *testing.T) {
	var r Report
	a, b := Problem{Path: "p", Line: 1, Message: "m"}, Problem{Path: "p", Line: 2, Message: "m"}
	other := a
	other.Column, other.Changed = 3, true // the same problem in another column
	r.Fail(a, b, a)
	r.Fail(other, b)
	if !slices.Equal(r.Errors, []Problem{a, b}) {
		t.Errorf("%+v", r.Errors)
	}
}

func TestReview(t *testing.T) {
	olga, bob := Vote{User: "olga"}, Vote{User: "bob"}
	for _, c := range []struct {
		name    string
		review  Review
		want    State
		by      []string
		missing int
	}{
		{"no review", Review{Needed: 1}, Pending, nil, 1},
		{"one approval", Review{Needed: 1, Approved: []Vote{olga}}, Approved, []string{"olga"}, 0},
		{"one of two approvals", Review{Needed: 2, Approved: []Vote{olga}}, Pending, []string{"olga"}, 1},
		{"more approvals than needed", Review{Needed: 1, Approved: []Vote{olga, bob}}, Approved, []string{"olga", "bob"}, 0},
		{"an ignored approval", Review{Needed: 1, Ignored: []Vote{olga}}, Pending, nil, 1},
		{"a refusal", Review{Needed: 1, Refused: []Vote{bob}}, Refused, []string{"bob"}, 1},
		{"a refusal outweighs an approval", Review{Needed: 1, Approved: []Vote{olga}, Refused: []Vote{bob}}, Refused, []string{"bob"}, 0},
	} {
		if got := c.review.State(); got != c.want || !slices.Equal(c.review.By(), c.by) || c.review.Missing() != c.missing {
			t.Errorf("%s: %s by %q, %d missing", c.name, got, c.review.By(), c.review.Missing())
		}
	}
}
