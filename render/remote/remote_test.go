package remote

import (
	"errors"
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
