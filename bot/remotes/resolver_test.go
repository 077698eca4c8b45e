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

// side is a fetcher that has everything, and knows what is called so.
type side struct {
	got []remote.Want
	err error
}

func (s *side) Fetch(_ context.Context, wants []remote.Want) (lock remote.Lock, _ error) {
	s.got = append(s.got, wants...)
	for _, w := range wants {
		lock = append(lock, remote.Entry{Want: w, Tree: "t"})
	}
	return lock, s.err
}

func (s *side) Known(_ context.Context, wants []remote.Want) (lock remote.Lock, _ error) {
	for _, w := range wants {
		if rest, ok := strings.CutPrefix(w.URL, "known "); ok && strings.HasPrefix(rest, "gone") {
			lock = append(lock, remote.Entry{Want: w, Failure: &remote.Failure{Message: "not there", Passing: rest == "gone for now"}})
		} else if ok {
			lock = append(lock, remote.Entry{Want: w, Tree: "t"})
		}
	}
	return lock, nil
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

// A job may ask for what need not be fetched. Its requests that have an answer are part of the lock, and are not fetched.
// The head gets no failure where the base may have another answer, and nothing at all for a fork.
func TestKnownSourcesAreNotFetched(t *testing.T) {
	of := func(name string, base bool) remote.Asked { return asked(name, base) }
	given := remote.Asked{Want: remote.Want{Kind: remote.Git, URL: "known given"}, Given: true}
	for _, c := range []struct {
		name       string
		same, fork bool
		wants      []remote.Asked
		got        string
	}{
		{"both sides", false, false, []remote.Asked{of("known a", true), of("known b", false), of("new", true), given},
			"known a, known b, known given"},
		{"a failure that passes", true, false, []remote.Asked{of("known gone for now", true), of("known a", true)}, "known a"},
		{"failures", false, false, []remote.Asked{of("known gone", true), of("known gone 2", false)}, "known gone!"},
		{"failures where nobody is special", true, false, []remote.Asked{of("known gone", true), of("known gone 2", false)},
			"known gone!, known gone 2!"},
		{"the base asks second", false, false, []remote.Asked{of("known gone", false), of("known gone", true)}, "known gone!"},
		{"the head asks second", false, false, []remote.Asked{of("known gone", true), of("known gone", false)},
			"known gone!, known gone!"},
		{"a fork", false, true, []remote.Asked{of("known a", true), of("known b", false)}, "known a"},
		{"a fork asks for what the base has", false, true, []remote.Asked{of("known a", true), of("known a", false)},
			"known a, known a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			base, head := &side{}, &side{}
			if c.same {
				base = head
			}
			opened, ended := 0, 0
			s := &Resolver{GitDir: "/store", Fork: c.fork, Open: func(Request) (Fetcher, Fetcher, func(), error) {
				opened++
				return base, head, func() { ended++ }, nil
			}}
			var got []string
			var locks []string
			err := s.Until(t.Context(), func(have *report.Sources) (json.RawMessage, error) {
				if locks = append(locks, string(have.Lock)); len(locks) > 1 {
					return nil, nil
				}
				for _, a := range c.wants {
					request, err := json.Marshal(remote.Request{Wants: []remote.Asked{a}})
					if err != nil {
						t.Fatal(err)
					}
					var lock remote.Lock
					if err := json.Unmarshal(have.Ask(request), &lock); err != nil {
						t.Fatal(err)
					}
					for _, e := range lock {
						url := e.Want.URL
						if e.Failure != nil {
							url += "!"
						}
						got = append(got, url)
					}
				}
				return json.Marshal(remote.Request{Wants: c.wants})
			})
			if list := strings.Join(got, ", "); list != c.got || err != nil {
				t.Errorf("got %s, %v", list, err)
			}
			for _, w := range slices.Concat(base.got, head.got) {
				if strings.Contains(", "+strings.ReplaceAll(c.got, "!", "")+", ", ", "+w.URL+", ") {
					t.Errorf("%s is fetched although it is known", w.URL)
				}
			}
			if len(locks) != 2 || strings.Count(locks[1], "known a\"") > 1 || opened != ended {
				t.Errorf("rounds %q, opened %d, ended %d", locks, opened, ended)
			}
		})
	}
}

// A store that cannot be opened is an error of the request for a want, not of the question.
func TestNothingIsKnownWithoutAStore(t *testing.T) {
	s := &Resolver{Open: func(Request) (Fetcher, Fetcher, func(), error) { return nil, nil, nil, errors.New("no room") }}
	ask, end := s.asking(t.Context())
	defer end()
	request, err := json.Marshal(remote.Request{Wants: []remote.Asked{asked("a", true)}})
	if got := string(ask(request)); err != nil || got != "[]" || ask([]byte("{")) != nil {
		t.Errorf("%s, %v", got, err)
	}
}

// A job can only open a few stores, whatever it names as allowed.
func TestManyAllowedLists(t *testing.T) {
	s, _, _, _ := newStore()
	open, opened := s.Open, 0
	s.Open = func(a Request) (Fetcher, Fetcher, func(), error) {
		opened++
		return open(a)
	}
	ask, end := s.asking(t.Context())
	defer end()
	for i := range 3 * maxOpened {
		request, err := json.Marshal(remote.Request{Wants: []remote.Asked{asked(fmt.Sprint(i), true)}, Allow: []string{fmt.Sprint(i)}})
		if err != nil || ask(request) == nil {
			t.Fatal(err)
		}
	}
	if opened != maxOpened {
		t.Errorf("%d were opened", opened)
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
		used time.Duration
		want string
	}{{"time enough", 0, "[b a]"}, {"none", previewTime + 1, "[b]"}} {
		var askings []Request
		s, _, head, _ := newStore()
		s.preview = c.used
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
			if limited := a.Within > 0 && a.Within <= previewTime; limited != (i == 1) {
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
