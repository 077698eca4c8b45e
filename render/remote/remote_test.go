package remote

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/lintel-bot/lintel/render/tree"
)

func TestSources(t *testing.T) {
	there := Want{Kind: Git, URL: "https://github.com/o/r", Ref: "v1"}
	gone := Want{Kind: Chart, URL: "https://charts.example.com", Name: "a", Ref: "1.x"}
	lock := Lock{{Want: there, Tree: "id", Revision: "c"}, {Want: gone, Failure: &Failure{Message: "no", Broken: true}}}
	s := New(lock, func(id string) (*tree.Tree, error) {
		if id != "id" {
			return nil, tree.ErrNoObject
		}
		return &tree.Tree{}, nil
	})
	if got, err := s.Get(there); err != nil || got.Revision != "c" || got.Tree == nil {
		t.Errorf("got %v, %v", got, err)
	}
	var f *Failure
	if _, err := s.Get(gone); !errors.As(err, &f) || !f.Broken {
		t.Errorf("got %v", err)
	}
	other := there
	other.Ref = "v2"
	for range 2 {
		if _, err := s.Get(other); !errors.Is(err, ErrWanted) {
			t.Errorf("got %v", err)
		}
	}
	if got := s.Wanted(); !slices.Equal(got, []Want{other}) {
		t.Errorf("wanted %v", got)
	}
	if s.Digest(there) == "" || s.Digest(there) == s.Digest(gone) || s.Digest(other) != "" {
		t.Error("digests")
	}
}

// A want that the lock lacks is asked for once for each side. All sources of a check see the answer. It stays wanted for
// who asked in vain before, since that was rendered without it.
func TestAsk(t *testing.T) {
	var asked []string
	head := New(nil, func(string) (*tree.Tree, error) { return &tree.Tree{}, nil })
	base := head.Aside()
	base.Base = true
	head.Ask(func(a Asked) (Entry, bool) {
		asked = append(asked, fmt.Sprint(a.Want.URL, " ", a.Base, " ", a.Given))
		return Entry{Want: a.Want, Tree: "t"}, a.Base && a.Want.URL == "a"
	})
	a, b := Want{URL: "a"}, Want{URL: "b"}
	for range 2 {
		if _, err := head.Get(b); !errors.Is(err, ErrWanted) || head.Digest(b) != "" {
			t.Errorf("got %v", err)
		}
	}
	if _, err := head.Get(a); !errors.Is(err, ErrWanted) {
		t.Errorf("got %v", err)
	}
	for _, s := range []*Sources{base, base.Aside(), head} {
		if e, err := s.Get(a); err != nil || e.Entry.Tree != "t" || s.Digest(a) == "" {
			t.Errorf("got %+v, %v", e, err)
		}
	}
	if want := []string{"b false false", "a false false", "a true false"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	if !slices.Equal(head.Wanted(), []Want{a, b}) || len(base.Wanted()) > 0 {
		t.Errorf("wanted %v, of the base %v", head.Wanted(), base.Wanted())
	}
	if told := head.Told(); len(told) != 1 || told[Asked{Want: a, Base: true}].Tree != "t" {
		t.Errorf("told %v", told)
	}
}

func TestID(t *testing.T) {
	a, b := Entry{Want: Want{URL: "a"}, Tree: "1"}, Entry{Want: Want{URL: "b"}, Tree: "2"}
	id := New(Lock{a, b}, nil).ID()
	if id == "" || id != New(Lock{b, a}, nil).ID() || id == New(Lock{a}, nil).ID() || (*Sources)(nil).ID() != "" {
		t.Error("ids")
	}
}

func TestNoSources(t *testing.T) {
	var s *Sources
	if _, err := s.Get(Want{}); !errors.Is(err, ErrWanted) {
		t.Error(err)
	}
	if s.Wanted() != nil || s.Digest(Want{}) != "" {
		t.Error("something is wanted")
	}
}

func TestRedacted(t *testing.T) {
	for address, want := range map[string]string{
		"https://user:secret@host/a?ref=v@1":     "https://host/a?ref=v@1",
		"https://user:sec%ret@host/a":            "https://host/a", // no parser takes it
		"git::https://secret@host/a":             "git::https://host/a",
		"git@github.com:org/repo//folder?ref=v1": "git@github.com:org/repo//folder?ref=v1",
		"https://host/a@b":                       "https://host/a@b",
	} {
		if got := Redacted(address); got != want {
			t.Errorf("%s: %s", address, got)
		}
		if got := (Want{Kind: Chart, Name: "c", URL: address}).String(); got != "chart c (newest) of "+want {
			t.Error(got)
		}
	}
}
