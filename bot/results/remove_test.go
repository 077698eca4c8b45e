package results

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
)

// whereIs is a Reached by id; one of installation 9 is not known.
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

// What is taken from the App is hidden at once, removed a day later, and shown again when it is back before.
func TestRemovedRepositoryIsHiddenThenDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		gone        func(s *Store) error
		shown, left string
	}{
		"a repository":        {func(s *Store) error { return s.Gone(t.Context(), 7, 11) }, "12 13 14", "12 13 14"},
		"an installation":     {func(s *Store) error { return s.Gone(t.Context(), 7, 0) }, "13 14", "13 14"},
		"one that is unknown": {func(s *Store) error { return s.Gone(t.Context(), 5, 0) }, "11 12 13 14", "11 12 13 14"},
		"one that it left":    {func(s *Store) error { return s.Gone(t.Context(), 8, 11) }, "11 12 13 14", "11 12 13 14"},
		"what has moved": {func(s *Store) error {
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
			for _, later := range []time.Duration{goneFor, goneFor + time.Second} { // to the moment
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

// The present name and owner of a repository are stored: after the App was installed again, a renaming, a transfer.
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
				*now = clock.Add(time.Second) // it is back, whatever was stored last
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
			if err := s.Gone(t.Context(), 7, 0); err != nil { // the news of the end of the first installation, late
				t.Fatal(err)
			}
			if _, err := s.Find(t.Context(), to.Owner, to.Name); (err == nil) != (to.Installation != 7) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// A list of what the App reaches that is older than a result takes nothing away.
func TestListIsOlder(t *testing.T) {
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

// A repository that has the name of one that was deleted has its pages only, also when that one is removed.
func TestNameIsGivenAgain(t *testing.T) {
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
