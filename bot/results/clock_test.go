package results

import (
	"errors"
	"testing"
	"time"
)

func branchResult(external, head string, at time.Time) *Stored {
	r := resultOf(external, head, at)
	r.Pull, r.Branch = nil, "main"
	return r
}

// Results of a server whose clock was ahead do not remain the newest until that time.
func TestResultsFromTheFuture(t *testing.T) {
	s, _, _, _ := newStore(Limits{})
	ahead, r := resultOf("ahead", headA, clock.Add(366*24*time.Hour)), resultOf("x", headA, clock)
	put(t, s, ahead)
	put(t, s, r)
	put(t, s, branchResult("ahead too", headA, clock.Add(366*24*time.Hour)))
	newest := branchResult("newest", headB, clock)
	put(t, s, newest)
	put(t, s, branchResult("late", headA, clock.Add(-time.Hour))) // finished by a job after a newer one
	o, err := s.Overview(t.Context(), 11)
	if err != nil || len(o.Pulls) != 1 || o.Pulls[0].ID != r.ID {
		t.Errorf("%v, %+v", err, o.Pulls)
	}
	if len(o.Branch) != 3 || o.Branch[0].ID != newest.ID {
		t.Errorf("the branch: %+v", o.Branch)
	}
	if found, err := s.Find(t.Context(), "octo-org", "fleet.gitops"); err != nil || found.Newest.ID != newest.ID {
		t.Errorf("%+v, %v", found, err)
	}
	all, err := s.OfHead(t.Context(), 11, headA)
	if err != nil || len(all) != 4 || all[0].ID != ID("late") || all[3].ID != ahead.ID {
		t.Errorf("not in the order of storing: %v, %+v", err, all)
	}
}

// While the clock is wrong, results that seem too old are hidden, and none is removed.
func TestClockIsWrongForAWhile(t *testing.T) {
	for name, off := range map[string]time.Duration{"a year ahead": 366 * 24 * time.Hour,
		"a day behind": -24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			s, _, _, now := newStore(Limits{})
			right := resultOf("right", headA, clock)
			put(t, s, right)
			put(t, s, branchResult("right too", headA, clock))
			*now = clock.Add(off)
			wrong := resultOf("wrong", headB, *now)
			wrong.Pull.Number = 13
			put(t, s, wrong)
			put(t, s, branchResult("wrong too", headB, *now))
			if o, err := s.Overview(t.Context(), 11); err != nil || o.Branch[0].ID != ID("wrong too") {
				t.Errorf("the newest report meanwhile: %v, %+v", err, o)
			}
			if err := s.Retain(t.Context(), whereIs(shop())); err != nil {
				t.Fatal(err)
			}
			*now = clock.Add(time.Hour)
			put(t, s, branchResult("later", headB, *now))
			o, err := s.Overview(t.Context(), 11)
			if err != nil || len(o.Pulls) != 2 || len(o.Branch) != 3 || o.Branch[0].ID != ID("later") {
				t.Errorf("%v, %+v", err, o)
			}
			if _, err := s.Meta(t.Context(), 11, headA, right.ID); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAge(t *testing.T) {
	s, _, _, now := newStore(Limits{Age: 24 * time.Hour})
	r := resultOf("x", headA, clock)
	put(t, s, r)
	*now = clock.Add(25 * time.Hour)
	if _, err := s.Meta(t.Context(), 11, headA, r.ID); !errors.Is(err, ErrNone) {
		t.Errorf("an old result: %v", err)
	}
	if o, err := s.Overview(t.Context(), 11); err != nil || len(o.Pulls) != 0 {
		t.Errorf("the overview: %v, %+v", err, o)
	}
}
