package results

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
)

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
	return s.change(ctx, summaryKey(repository), func(data []byte) ([]byte, error) {
		now := decodeSummary(data, repository)
		if now == nil || !edit(now) {
			return nil, nil
		}
		return json.Marshal(now)
	})
}

// Reached says which repository the App reaches now under an id, with its installation and its name. Not known: it
// cannot be told at the moment.
type Reached func(installation, repository int64) (now forge.Repo, reached, known bool)

// Retain compares all repositories with those that the App reaches: a new name or installation is taken over, what is
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

// moved takes over where a repository is now.
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
