package remotes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/remote"
)

// side is a fetcher that has everything but what is missing.
type side struct {
	got     []remote.Want
	err     error
	missing string // the address that cannot be had
}

func (s *side) Fetch(_ context.Context, wants []remote.Want) (lock remote.Lock, _ error) {
	s.got = append(s.got, wants...)
	for _, w := range wants {
		if s.missing != "" && (w.URL == s.missing || w.URL == "late") {
			lock = append(lock, remote.Entry{Want: w, Failure: &remote.Failure{Message: "not there", Passing: w.URL == "late"}})
			continue
		}
		lock = append(lock, remote.Entry{Want: w, Tree: "t"})
	}
	return lock, s.err
}

func newStore() (s *Resolver, base, head *side, named *[]string) {
	base, head, named = &side{}, &side{}, &[]string{}
	return &Resolver{GitDir: "/store", Open: func(a Request) (Fetcher, Fetcher, func(), error) {
		*named = a.Named
		return base, head, func() {}, nil
	}}, base, head, named
}

func asked(name string, base bool) remote.Asked {
	return remote.Asked{Want: remote.Want{Kind: remote.Git, URL: name}, Base: base}
}

// wanting is a job that wants things round by round.
func wanting(t *testing.T, rounds *[]*report.Sources, wants func(round int) []remote.Asked) func(*report.Sources) (
	json.RawMessage, error) {
	return func(have *report.Sources) (json.RawMessage, error) {
		*rounds = append(*rounds, have)
		list := wants(len(*rounds))
		if len(list) == 0 {
			return nil, nil
		}
		data, err := json.Marshal(remote.Request{Wants: list})
		if err != nil {
			t.Fatal(err)
		}
		return data, nil
	}
}

// What is wanted is got once, by who may get it for its side, and what it came to is the same for good.
func TestWantIsFetchedOnceForItsSide(t *testing.T) {
	s, base, head, named := newStore()
	for range 2 {
		var rounds []*report.Sources
		err := s.Until(t.Context(), wanting(t, &rounds, func(round int) []remote.Asked {
			return [][]remote.Asked{{asked("a", true), asked("b", false), asked("b", false)},
				{asked("a", true), asked("c", true)}, nil}[min(round, 3)-1]
		}))
		if err != nil || rounds[0].Last || len(rounds) > 3 {
			t.Errorf("%d rounds, %v", len(rounds), err)
		}
	}
	urls := func(wants []remote.Want) string { return fmt.Sprint(wants) }
	if got := urls(base.got); got != "[a c]" {
		t.Errorf("of the base: %s", got)
	}
	if got := urls(head.got); got != "[b]" {
		t.Errorf("of the head: %s", got)
	}
	if len(s.Lock()) != 3 || s.ID() == "" || !slices.Contains(*named, "a") || slices.Contains(*named, "b") {
		t.Errorf("%v, %q", s.Lock(), *named)
	}
}

// What is expected is got like what only a change names, and what cannot be had so is asked for once more. Where it does
// not matter who asks, everything is an answer. It is asked for in the first round alone.
func TestPrefetchUsesOnlyNamedSources(t *testing.T) {
	chart := func(name string) remote.Asked {
		return remote.Asked{Want: remote.Want{Kind: remote.Chart, URL: name}}
	}
	for _, c := range []struct {
		name  string
		same  bool
		allow []string
		got   string // in the expected round, with those that failed
	}{
		{"two who ask", false, nil, "there"},
		{"one who asks", true, nil, "there gone! git"}, // and nothing of what may be there a while later
		{"not all is allowed", true, []string{}, "there git"},
	} {
		t.Run(c.name, func(t *testing.T) {
			base, head := &side{}, &side{missing: "gone"}
			if c.same {
				base = head
			}
			s := &Resolver{GitDir: "/store", Open: func(Request) (Fetcher, Fetcher, func(), error) {
				return base, head, func() {}, nil
			}}
			var got []string
			rounds := 0
			err := s.Until(t.Context(), func(have *report.Sources) (json.RawMessage, error) {
				if rounds++; have.First != (rounds == 1) {
					t.Errorf("round %d: first %t", rounds, have.First)
				}
				if have.First {
					return json.Marshal(remote.Request{Prefetch: true, Allow: c.allow,
						Wants: []remote.Asked{chart("there"), chart("gone"), chart("late"), asked("git", false)}})
				}
				for _, e := range s.Lock() {
					url := e.Want.URL
					if e.Failure != nil {
						url += "!"
					}
					got = append(got, url)
				}
				return nil, nil
			})
			if strings.Join(got, " ") != c.got || err != nil || len(base.got) > 0 && !c.same {
				t.Errorf("got %q, of the base %v, %v", got, base.got, err)
			}
		})
	}
}

// A store that cannot be opened is told to who wants something, not to who may.
func TestPrefetchWithoutAStore(t *testing.T) {
	s := &Resolver{Open: func(Request) (Fetcher, Fetcher, func(), error) { return nil, nil, nil, errors.New("no room") }}
	if lock, err := s.prefetch(t.Context(), remote.Request{}); lock != nil || err != nil {
		t.Errorf("%v, %v", lock, err)
	}
}

// A job that wants more and more, or more at once than anything needs, comes to an end, and is told so.
func TestTooMuch(t *testing.T) {
	for name, each := range map[string]int{"more and more": 1, "at once": 3 * maxWants, "the same": 0} {
		s, base, _, _ := newStore()
		var rounds []*report.Sources
		err := s.Until(t.Context(), wanting(t, &rounds, func(round int) []remote.Asked {
			list := []remote.Asked{asked("same", true)}
			for i := range each {
				list = append(list, asked(fmt.Sprint(round, " ", i), true))
			}
			return list
		}))
		if err != nil || len(rounds) > maxRounds || !rounds[len(rounds)-1].Last || len(base.got) > maxWants {
			t.Errorf("%s: %d rounds, got %d, %v", name, len(rounds), len(base.got), err)
		}
	}
}

// An error of fetching is told apart from one of the job, and nobody takes part of it for the whole.
func TestFetchingFails(t *testing.T) {
	s, base, _, _ := newStore()
	base.err = errors.New("no space left")
	var rounds []*report.Sources
	err := s.Until(t.Context(), wanting(t, &rounds, func(int) []remote.Asked { return []remote.Asked{asked("a", true)} }))
	var fetching *Error
	if !errors.As(err, &fetching) || len(rounds) != 1 || len(s.Lock()) != 0 {
		t.Errorf("%v, %d rounds, %v", err, len(rounds), s.Lock())
	}
	if err := (*Resolver)(nil).Until(t.Context(), func(have *report.Sources) (json.RawMessage, error) {
		if have != nil {
			t.Errorf("got %+v", have)
		}
		return json.RawMessage("{}"), nil
	}); err != nil {
		t.Error(err)
	}
}

// What only a preview wants is got last, within a time of its own, and nothing of it has a check done once more. When
// the time is over, the job is done with what there is.
func TestPreviewWants(t *testing.T) {
	preview := func(name string) remote.Asked {
		return remote.Asked{Want: remote.Want{Kind: remote.Git, URL: name}, Preview: true}
	}
	for _, c := range []struct {
		name string
		time time.Duration
		want string
	}{{"time enough", 0, "[b a]"}, {"none", -1, "[b]"}} {
		var askings []Request
		s, _, head, _ := newStore()
		s.PreviewTime = c.time
		open := s.Open
		s.Open = func(a Request) (Fetcher, Fetcher, func(), error) {
			askings = append(askings, a)
			base, _, end, err := open(a)
			return base, failing{head}, end, err
		}
		var rounds []*report.Sources
		err := s.Until(t.Context(), wanting(t, &rounds, func(round int) []remote.Asked {
			return []remote.Asked{preview("a"), asked("b", false)}
		}))
		if got := fmt.Sprint(head.got); err != nil || got != c.want {
			t.Errorf("%s: got %s, %v", c.name, got, err)
		}
		if n := len(rounds); n != 3 || !rounds[n-1].Last || rounds[n-2].Last {
			t.Errorf("%s: %d rounds", c.name, n)
		}
		for _, e := range s.Lock() {
			if e.Failure == nil || e.Failure.Passing != (e.Want.URL == "b") {
				t.Errorf("%s: %+v", c.name, e)
			}
		}
		for i, a := range askings {
			if limited := a.Within > 0 && a.Within <= defaultPreviewTime; limited != (i == 1) {
				t.Errorf("%s: %d: within %s", c.name, i, a.Within)
			}
		}
	}
}

// A preview that wants more and more is done with what there is after a few rounds.
func TestPreviewWantsMore(t *testing.T) {
	s, _, head, _ := newStore()
	var rounds []*report.Sources
	err := s.Until(t.Context(), wanting(t, &rounds, func(round int) []remote.Asked {
		return []remote.Asked{{Want: remote.Want{Kind: remote.Git, URL: fmt.Sprint(round)}, Preview: true}}
	}))
	if n := len(rounds); err != nil || n != maxPreviewRounds+2 || !rounds[n-1].Last || len(head.got) != maxPreviewRounds {
		t.Errorf("%d rounds, %d fetched, %v", n, len(head.got), err)
	}
}

// failing is a fetcher whose sources do not answer.
type failing struct{ *side }

func (f failing) Fetch(ctx context.Context, wants []remote.Want) (remote.Lock, error) {
	lock, err := f.side.Fetch(ctx, wants)
	for i := range lock {
		lock[i].Failure = &remote.Failure{Passing: true}
	}
	return lock, err
}
