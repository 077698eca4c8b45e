package results

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lintel-bot/lintel/bot/forge"
)

const (
	// maxTrend is how many reports of the default branch a summary counts.
	maxTrend = 30
	// maxNamed is how many repositories of an account are looked at.
	maxNamed = 2000
	// reading is how many values are asked for at a time.
	reading = 8
)

// Summary is what is known of a repository without looking at its results: what it is called, and what stands about it
// on the page of its account.
type Summary struct {
	Schema     int              `json:"schema"`
	Repository forge.Repository `json:"repository"`
	Stored     time.Time        `json:"stored"`           // when its newest result was
	Gone       time.Time        `json:"gone,omitzero"`    // since when the App is known not to reach it; zero: it does
	Newest     *Entry           `json:"newest,omitempty"` // of the default branch, or of all pull requests where it has none
	Trend      []Point          `json:"trend,omitempty"`  // of the default branch, newest first
}

// Point is a report of the default branch in numbers.
type Point struct {
	At       time.Time `json:"at"`
	Total    int       `json:"total"`
	Blocking int       `json:"blocking"`
}

// summarize takes over what an overview has of a repository.
func (s *Summary) summarize(o *Overview) {
	s.Newest, s.Trend = nil, nil
	for _, list := range [][]Entry{o.Branch, o.Pulls} {
		if len(list) > 0 && s.Newest == nil {
			newest := list[0]
			newest.Violations = nil
			s.Newest = &newest
		}
	}
	for _, e := range o.Branch[:min(len(o.Branch), maxTrend)] {
		s.Trend = append(s.Trend, Point{e.Completed, e.Total, e.Blocking})
	}
}

// worse orders repositories: those with the most to do first, then by name.
func worse(a, b *Summary) int {
	return cmp.Or(cmp.Compare(b.due(), a.due()), cmp.Compare(b.total(), a.total()),
		cmp.Compare(strings.ToLower(a.Repository.String()), strings.ToLower(b.Repository.String())))
}

// due and total are of the newest report of the default branch: a pull request says nothing about the repository.
func (s *Summary) due() int {
	if len(s.Trend) == 0 {
		return 0
	}
	return s.Trend[0].Blocking
}

func (s *Summary) total() int {
	if len(s.Trend) == 0 {
		return 0
	}
	return s.Trend[0].Total
}

func summaryKey(repository int64) string { return fmt.Sprintf("repo.%d", repository) }

// decodeSummary is nil for what cannot be read, or is not about the repository.
func decodeSummary(data []byte, repository int64) *Summary {
	var s Summary
	if readJSON(data, &s) != nil || s.Repository.ID != repository || repository <= 0 {
		return nil
	}
	return &s
}

// summary is nil where there is none that can be read.
func (s *Store) summary(ctx context.Context, repository int64) (*Summary, error) {
	data, _, err := s.index.Get(ctx, summaryKey(repository))
	if err != nil {
		return nil, err
	}
	return decodeSummary(data, repository), nil
}

// Find returns the repository that has a name, or had it last; ErrNone if there is none that the App reaches.
func (s *Store) Find(ctx context.Context, owner, name string) (*Summary, error) {
	id, err := s.named(ctx, nameKey(owner, name))
	if err != nil {
		return nil, err
	}
	found, err := s.summary(ctx, id)
	if err != nil {
		return nil, err
	}
	if found == nil || !found.Gone.IsZero() {
		return nil, ErrNone
	}
	return found, nil
}

// named is the id behind a key of a name, zero if there is none.
func (s *Store) named(ctx context.Context, key string) (int64, error) {
	data, _, err := s.index.Get(ctx, key)
	if err != nil {
		return 0, err
	}
	id, err := strconv.ParseInt(string(data), 10, 64)
	if err != nil {
		return 0, nil // nothing, or nothing of ours
	}
	return id, nil
}

// Organisation returns the repositories of an account, those with the most to do first.
func (s *Store) Organisation(ctx context.Context, owner string) ([]*Summary, error) {
	if owner == "" {
		return nil, nil
	}
	keys, err := s.index.Keys(ctx, "name."+hexOf(owner)+".*")
	if err != nil {
		return nil, err
	}
	slices.Sort(keys)
	ids, err := each(ctx, keys[:min(len(keys), maxNamed)], s.named)
	if err != nil {
		return nil, err
	}
	slices.Sort(ids)
	found, err := each(ctx, slices.Compact(ids), s.summary) // some had several names
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(f *Summary) bool { // or it was given away
		return f == nil || !f.Gone.IsZero() || !strings.EqualFold(f.Repository.Owner, owner)
	})
	slices.SortFunc(found, worse)
	return found, nil
}

// all returns what is known of all repositories.
func (s *Store) all(ctx context.Context) ([]*Summary, error) {
	keys, err := s.index.Keys(ctx, "repo.*")
	if err != nil {
		return nil, err
	}
	found, err := each(ctx, keys, func(ctx context.Context, key string) (*Summary, error) {
		id, err := strconv.ParseInt(strings.TrimPrefix(key, "repo."), 10, 64)
		if err != nil {
			return nil, nil
		}
		return s.summary(ctx, id)
	})
	return slices.DeleteFunc(found, func(f *Summary) bool { return f == nil }), err
}

// each asks for several values at a time; the answers are in the order of the questions.
func each[Q, A any](ctx context.Context, questions []Q, ask func(context.Context, Q) (A, error)) ([]A, error) {
	answers := make([]A, len(questions))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(reading)
	for i, q := range questions {
		group.Go(func() (err error) {
			answers[i], err = ask(ctx, q)
			return err
		})
	}
	return answers, group.Wait()
}
