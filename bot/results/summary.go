package results

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
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

// summarize copies a repository's values of an overview.
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
	return cmp.Or(cmp.Compare(b.present().Blocking, a.present().Blocking), cmp.Compare(b.present().Total, a.present().Total),
		cmp.Compare(strings.ToLower(a.Repository.String()), strings.ToLower(b.Repository.String())))
}

// present is the newest report of the default branch: a pull request says nothing about the repository.
func (s *Summary) present() (p Point) {
	if len(s.Trend) > 0 {
		p = s.Trend[0]
	}
	return p
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

const (
	// goneFor is how long results are kept, and shown to nobody, of a repository that was taken from the App: who
	// installs it again, or chose wrong, finds the pages of the check runs again.
	goneFor = 24 * time.Hour
	// settling is how long a result that was stored knows better where its repository is than a list of those that the
	// App reaches: it may be younger.
	settling = 10 * time.Minute
)

// Gone hides the results of a repository of an installation at once, or with zero those of all its repositories.
// Retain removes them a day later, or shows them again. What has come to another installation stays.
func (s *Store) Gone(ctx context.Context, installation, repository int64) error {
	var all []*Summary
	var err error
	if repository == 0 {
		all, err = s.all(ctx)
	} else if one, failed := s.summary(ctx, repository); failed != nil || one == nil {
		return failed
	} else {
		all = []*Summary{one}
	}
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.Repository.Installation != installation {
			continue
		}
		if err := s.hide(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) hide(ctx context.Context, r *Summary) error {
	return s.amend(ctx, r.Repository.ID, func(now *Summary) bool {
		if now.Repository.Installation != r.Repository.Installation || !now.Gone.IsZero() {
			return false
		}
		now.Gone = s.now().UTC()
		return true
	})
}

// amend changes what is known of a repository; edit reports whether there is something to change.
func (s *Store) amend(ctx context.Context, repository int64, edit func(*Summary) bool) error {
	return store.Change(ctx, s.index, summaryKey(repository), func(data []byte) ([]byte, error) {
		now := decodeSummary(data, repository)
		if now == nil || !edit(now) {
			return nil, nil
		}
		return json.Marshal(now)
	})
}

// Reached notes which repository the App reaches now under an id, with its installation and its name. Not known: it
// cannot be told at the moment.
type Reached func(installation, repository int64) (now forge.Repo, reached, known bool)

// Retain compares all repositories with those that the App reaches: a new name or installation is stored, what is
// not reached is hidden, and removed when it was hidden for a day. It is also for events that were lost.
func (s *Store) Retain(ctx context.Context, reached Reached) error {
	all, err := s.all(ctx)
	if err != nil {
		return err
	}
	for _, r := range all {
		now, is, known := reached(r.Repository.Installation, r.Repository.ID)
		settled := s.now().Sub(r.Stored).Abs() >= settling
		switch {
		case is && (settled || !r.Gone.IsZero()):
			err = s.moved(ctx, r, now)
		case is || !known || !settled:
		case r.Gone.IsZero():
			err = s.hide(ctx, r)
		case s.now().Sub(r.Gone) > goneFor:
			err = s.drop(ctx, r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// moved stores the present name and owner of a repository.
func (s *Store) moved(ctx context.Context, r *Summary, now forge.Repo) error {
	to := forge.Repository{Repo: now, Private: r.Repository.Private}
	if to.ID = r.Repository.ID; to == r.Repository && r.Gone.IsZero() {
		return nil
	}
	if err := s.name(ctx, to); err != nil {
		return err
	}
	return s.amend(ctx, to.ID, func(now *Summary) bool {
		if !now.Stored.Equal(r.Stored) {
			return false // a newer result knows better
		}
		now.Repository, now.Gone = to, time.Time{}
		return true
	})
}

// name has a name lead to a repository.
func (s *Store) name(ctx context.Context, r forge.Repository) error {
	return s.index.Put(ctx, nameKey(r.Owner, r.Name), []byte(strconv.FormatInt(r.ID, 10)))
}

// drop removes all of a repository, first what pages are found by; what the next attempt finds it by goes last. A name
// may belong to another repository by now.
func (s *Store) drop(ctx context.Context, r *Summary) error {
	name := nameKey(r.Repository.Owner, r.Repository.Name)
	id, err := s.named(ctx, name)
	if err == nil && id == r.Repository.ID {
		err = s.index.Remove(ctx, name)
	}
	all := []error{err}
	for _, filter := range []string{overviewKey(r.Repository.ID), fmt.Sprintf("result.%d.>", r.Repository.ID),
		fmt.Sprintf("outlook.%d.>", r.Repository.ID), fmt.Sprintf("outlook.*.*.%d", r.Repository.ID)} {
		all = append(all, s.index.Remove(ctx, filter))
	}
	all = append(all, s.data.Remove(ctx, fmt.Sprintf("%d.>", r.Repository.ID)))
	if err := errors.Join(all...); err != nil {
		return err
	}
	return s.index.Remove(ctx, summaryKey(r.Repository.ID))
}
