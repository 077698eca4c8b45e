package results

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
)

// whereIs returns a Reached that finds repositories by id, and answers for installation 9 that it does not know.
func whereIs(all ...forge.Repository) Reached {
	return func(installation, repository int64) (forge.Repo, bool, bool) {
		for _, r := range all {
			if r.ID == repository {
				return r.Repo, true, true
			}
		}
		return forge.Repo{}, false, installation != 9
	}
}

func ownedBy(installation, repository int64) forge.Repository {
	return forge.Repository{Repo: forge.Repo{ID: repository, Installation: installation, Owner: "octo", Name: fmt.Sprint("r", repository)}}
}

func resultIn(r forge.Repository) *Stored {
	s := resultOf("x", headA, clock)
	s.Repository = r
	return s
}

// A repository that is removed from the App is hidden at once and deleted a day later. If it is added again before, it
// is shown again.
func TestRemovedRepositoryIsHiddenThenDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		gone        func(s *Store) error
		shown, left string
	}{
		"repository":           {func(s *Store) error { return s.Gone(t.Context(), 7, 11) }, "12 13 14", "12 13 14"},
		"installation":         {func(s *Store) error { return s.Gone(t.Context(), 7, 0) }, "13 14", "13 14"},
		"unknown installation": {func(s *Store) error { return s.Gone(t.Context(), 5, 0) }, "11 12 13 14", "11 12 13 14"},
		"former installation":  {func(s *Store) error { return s.Gone(t.Context(), 8, 11) }, "11 12 13 14", "11 12 13 14"},
		"repository moved to another installation": {func(s *Store) error {
			_ = s.Put(t.Context(), resultIn(ownedBy(8, 12)))
			return s.Gone(t.Context(), 7, 0)
		}, "12 13 14", "12 13 14"},
		"nothing": {func(*Store) error { return nil }, "11 12 13 14", "11 12 13 14"},
	} {
		t.Run(name, func(t *testing.T) {
			s, index, data, now := newStore(Limits{})
			all := []forge.Repository{ownedBy(7, 11), ownedBy(7, 12), ownedBy(8, 13), ownedBy(9, 14)}
			for _, r := range all {
				put(t, s, resultIn(r))
			}
			shown := func() string {
				var list []string
				for _, r := range all {
					if _, err := s.Find(t.Context(), r.Owner, r.Name); err == nil {
						list = append(list, fmt.Sprint(r.ID))
					} else if !errors.Is(err, ErrNone) {
						t.Error(err)
					}
				}
				return strings.Join(list, " ")
			}
			if err := c.gone(s); err != nil {
				t.Fatal(err)
			}
			if got := shown(); got != c.shown {
				t.Errorf("%s are shown, want %s", got, c.shown)
			}
			var still []forge.Repository
			for _, r := range all[:3] {
				if strings.Contains(c.left, fmt.Sprint(r.ID)) {
					still = append(still, r)
				}
			}
			for _, later := range []time.Duration{goneFor, goneFor + time.Second} { // up to exactly the time of deletion
				*now = clock.Add(later)
				if err := s.Retain(t.Context(), whereIs(still...)); err != nil {
					t.Fatal(err)
				}
				for _, r := range all {
					kept := index.has("result."+fmt.Sprint(r.ID)+".>") && data.has(fmt.Sprint(r.ID)+".>") &&
						index.has(overviewKey(r.ID)) && index.has(nameKey(r.Owner, r.Name))
					gone := !index.has("*."+fmt.Sprint(r.ID)+".>") && !data.has(fmt.Sprint(r.ID)+".>") &&
						!index.has("*."+fmt.Sprint(r.ID)) && !index.has(nameKey(r.Owner, r.Name))
					want := later == goneFor || strings.Contains(c.left, fmt.Sprint(r.ID))
					if kept != want || gone == want {
						t.Errorf("after %s: repository %d is kept: %t, gone: %t, want %t", later, r.ID, kept, gone, want)
					}
				}
			}
			if got := shown(); got != c.left {
				t.Errorf("%s are left, want %s", got, c.left)
			}
		})
	}
}

func (b *bucketDouble) has(filter string) bool {
	for key := range b.values {
		if fits(filter, key) {
			return true
		}
	}
	return false
}

// The new name, owner or installation is stored after a reinstallation, renaming or transfer.
func TestRepositoryMoves(t *testing.T) {
	for name, to := range map[string]forge.Repository{
		"installed again": {Repo: forge.Repo{ID: 11, Installation: 70, Owner: "Octo-Org", Name: "fleet.gitops"}},
		"renamed":         {Repo: forge.Repo{ID: 11, Installation: 7, Owner: "Octo-Org", Name: "new"}},
		"transferred":     {Repo: forge.Repo{ID: 11, Installation: 8, Owner: "else", Name: "fleet.gitops"}},
	} {
		for _, gone := range []bool{false, true} {
			s, _, _, now := newStore(Limits{})
			put(t, s, resultOf("x", headA, clock))
			if gone {
				if err := s.Gone(t.Context(), 7, 0); err != nil {
					t.Fatal(err)
				}
			}
			if *now = clock.Add(settling); gone {
				*now = clock.Add(time.Second) // the repository is reached again, whichever time was stored last
			}
			if err := s.Retain(t.Context(), whereIs(to)); err != nil {
				t.Fatal(err)
			}
			for _, at := range []forge.Repository{shop(), to} {
				found, err := s.Find(t.Context(), at.Owner, at.Name)
				if err != nil || found.Repository != to {
					t.Errorf("%s, gone %t: by %s there is %+v, %v", name, gone, at, found, err)
				}
			}
			if err := s.Gone(t.Context(), 7, 0); err != nil { // the event about the removed first installation arrives late
				t.Fatal(err)
			}
			if _, err := s.Find(t.Context(), to.Owner, to.Name); (err == nil) != (to.Installation != 7) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// An older list of reachable repositories does not hide a newer result.
func TestOlderListHidesNoNewerResult(t *testing.T) {
	s, _, _, now := newStore(Limits{})
	put(t, s, resultOf("x", headA, clock))
	*now = clock.Add(settling - time.Second)
	old := forge.Repository{Repo: forge.Repo{ID: 11, Installation: 7, Owner: "Octo-Org", Name: "old"}}
	for _, list := range []Reached{whereIs(), whereIs(old)} {
		if err := s.Retain(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		if found, err := s.Find(t.Context(), "Octo-Org", "fleet.gitops"); err != nil || found.Repository != shop() {
			t.Errorf("%+v, %v", found, err)
		}
	}
}

// A repository that reuses the name of a deleted one shows only its own pages, also after the deleted one is removed.
func TestReusedNameShowsNewRepository(t *testing.T) {
	s, _, _, now := newStore(Limits{})
	put(t, s, resultOf("x", headA, clock))
	again := resultOf("y", headB, clock)
	again.Repository.ID = 12
	put(t, s, again)
	for _, later := range []time.Duration{settling, goneFor + 2*settling} {
		*now = clock.Add(later)
		if err := s.Retain(t.Context(), whereIs(again.Repository)); err != nil {
			t.Fatal(err)
		}
		if found, err := s.Find(t.Context(), "octo-org", "fleet.gitops"); err != nil || found.Repository.ID != 12 {
			t.Errorf("%+v, %v", found, err)
		}
	}
	if _, err := s.Meta(t.Context(), 12, headA, ID("x")); !errors.Is(err, ErrNone) {
		t.Errorf("the result of the first one in the second: %v", err)
	}
	if left, err := s.summary(t.Context(), 11); err != nil || left != nil {
		t.Errorf("of the first one is left: %+v, %v", left, err)
	}
}
