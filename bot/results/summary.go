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
	"github.com/lintel-bot/lintel/checks/report"
)

const (
	// maxTrend limits the reports of the default branch in a summary.
	maxTrend = 30
	// maxNamed limits the repositories of an account that are read.
	maxNamed = 2000
	// reading is the number of values that are read at the same time.
	reading = 8
)

// Summary is stored for each repository, so that the page of its account reads no results.
type Summary struct {
	Schema     int              `json:"schema"`
	Repository forge.Repository `json:"repository"`
	Stored     time.Time        `json:"stored"`           // time of the newest result
	Gone       time.Time        `json:"gone,omitzero"`    // since when the App does not reach the repository; zero: it does
	Newest     *Entry           `json:"newest,omitempty"` // of the default branch, or of all pull requests if it has none
	Trend      []Point          `json:"trend,omitempty"`  // of the default branch, newest first
}

// Point contains the numbers of a report of the default branch.
type Point struct {
	At       time.Time `json:"at"`
	Total    int       `json:"total"`
	Blocking int       `json:"blocking"`
}

// summarize sets the values that come from the repository's overview.
func (s *Summary) summarize(o *Overview) {
	s.Newest = nil
	for _, list := range [][]Entry{o.Branch, o.Pulls} {
		if len(list) > 0 && s.Newest == nil {
			newest := list[0]
			newest.Violations = nil
			s.Newest = &newest
		}
	}
	newest := o.Branch[:min(len(o.Branch), maxTrend)]
	s.Trend = report.Mapped(newest, func(e Entry) Point { return Point{e.Completed, e.Total, e.Blocking} })
}

// present returns the newest report of the default branch. Pull requests do not count, since they are not merged.
func (s *Summary) present() (p Point) {
	if len(s.Trend) > 0 {
		p = s.Trend[0]
	}
	return p
}

func summaryKey(repository int64) string { return fmt.Sprintf("repo.%d", repository) }

// decodeSummary returns nil for a record that cannot be read, or is about another repository.
func decodeSummary(data []byte, repository int64) *Summary {
	var s Summary
	if readJSON(data, &s) != nil || s.Repository.ID != repository || repository <= 0 {
		return nil
	}
	return &s
}

// summary returns nil if there is no readable summary.
func (s *Store) summary(ctx context.Context, repository int64) (*Summary, error) {
	data, _, err := s.index.Get(ctx, summaryKey(repository))
	return decodeSummary(data, repository), err
}

// Find returns the repository that has a name, or had it last. It returns ErrNone if the App reaches no such
// repository.
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

// named returns the id of the repository with a name's key, zero if there is none.
func (s *Store) named(ctx context.Context, key string) (int64, error) {
	data, _, err := s.index.Get(ctx, key)
	if err != nil {
		return 0, err
	}
	id, err := strconv.ParseInt(string(data), 10, 64)
	if err != nil {
		return 0, nil // no record, or an invalid one
	}
	return id, nil
}

// Organisation returns the repositories of an account, those with the most violations first.
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
	found, err := each(ctx, slices.Compact(ids), s.summary) // a repository may have had several names
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(f *Summary) bool { // a repository may have been transferred
		return f == nil || !f.Gone.IsZero() || !strings.EqualFold(f.Repository.Owner, owner)
	})
	slices.SortFunc(found, func(a, b *Summary) int { // most violations first, then by name
		return cmp.Or(cmp.Compare(b.present().Blocking, a.present().Blocking), cmp.Compare(b.present().Total, a.present().Total),
			cmp.Compare(strings.ToLower(a.Repository.String()), strings.ToLower(b.Repository.String())))
	})
	return found, nil
}

// all returns the summaries of all repositories.
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

// each reads several values at the same time, and returns the answers in the order of the questions.
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
	// goneFor is how long results of a repository are kept, hidden, after it was removed from the App. If the App is
	// installed again in that time, for example after a mistake, the pages of the check runs return.
	goneFor = 24 * time.Hour
	// settling is how long a stored result's installation and name take precedence over a list of reachable
	// repositories, which may be older.
	settling = 10 * time.Minute
)

// Gone hides the results of a repository of an installation at once; repository zero: of all its repositories. Retain
// removes them a day later, or shows them again. Repositories that moved to another installation stay.
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

// amend changes the summary of a repository. edit returns false if nothing has to change.
func (s *Store) amend(ctx context.Context, repository int64, edit func(*Summary) bool) error {
	return store.Change(ctx, s.index, summaryKey(repository), func(data []byte) ([]byte, error) {
		now := decodeSummary(data, repository)
		if now == nil || !edit(now) {
			return nil, nil
		}
		return json.Marshal(now)
	})
}

// Reached returns the repository that the App now reaches under an id, with its installation and name. known is false
// if this cannot be determined at the moment.
type Reached func(installation, repository int64) (now forge.Repo, reached, known bool)

// Retain compares all repositories with those that the App reaches. It stores new names and installations, hides
// repositories that are not reached, and removes them after a day. It also covers events that were lost.
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
			return false // a newer result has the present values
		}
		now.Repository, now.Gone = to, time.Time{}
		return true
	})
}

// name stores the id of a repository under its name.
func (s *Store) name(ctx context.Context, r forge.Repository) error {
	return s.index.Put(ctx, nameKey(r.Owner, r.Name), []byte(strconv.FormatInt(r.ID, 10)))
}

// drop removes all records of a repository. It begins with those that lead to its pages, and ends with the summary, by
// which another attempt finds the repository after an error. The name is kept if it belongs to another repository by
// now.
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
