package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
)

// sweptHead is a pull request at a commit.
type sweptHead struct {
	key store.Key
	sha string
}

// unchecked enqueues open pull requests whose head has no completed run.
func (s *Sweeper) unchecked(ctx context.Context) error {
	s.round++
	installations, err := s.config.Client.Installations(ctx)
	if err != nil {
		return fmt.Errorf("asking for installations: %w", err)
	}
	var errs []error
	s.reached, s.suspended, s.incomplete = map[int64]forge.Repo{}, map[int64]bool{}, false
	for _, i := range installations {
		if s.config.Serves != nil && !s.config.Serves(i.Account) {
			if err := s.config.Drop(ctx, i.ID, 0); err != nil { // from before it was so
				errs = append(errs, fmt.Errorf("installation %d: %w", i.ID, err))
			}
			continue
		}
		if i.Suspended {
			s.suspended[i.ID] = true
			continue
		}
		if err := s.installation(ctx, i); err != nil {
			errs = append(errs, fmt.Errorf("installation %d: %w", i.ID, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	if !s.incomplete && ctx.Err() == nil && s.config.Reached != nil {
		err := s.config.Reached(ctx, func(installation, repository int64) (forge.Repo, bool, bool) {
			now, reached := s.reached[repository]
			return now, reached, !s.suspended[installation]
		})
		if err != nil {
			s.config.Log.Warn("the results of what the App does not reach any more were not removed", "error", err)
		}
	}
	if len(errs) == 0 {
		for h, round := range s.done { // closed or pushed over since
			if round != s.round {
				delete(s.done, h)
			}
		}
	}
	return errors.Join(errs...)
}

// installation ends at the first rate limit: what comes after would meet the same one.
func (s *Sweeper) installation(ctx context.Context, i forge.Installation) error {
	repos, err := s.config.Client.Repositories(ctx, i.ID)
	if err != nil {
		s.incomplete = true
		return fmt.Errorf("asking for repositories: %w", err)
	}
	var errs []error
	for _, repo := range repos {
		s.reached[repo.ID] = repo
	}
	for n := range repos {
		// Each round goes on where the last one had to stop, so that every repository has its turn.
		repo := repos[(s.next[i.ID]+n)%len(repos)]
		if s.spent(i.ID) {
			s.next[i.ID] = (s.next[i.ID] + n) % len(repos)
			s.config.Log.Info("the sweep leaves the rest of the hourly rate limit to the checks", "installation", i.ID)
			return errors.Join(append(errs, errSpent)...)
		}
		err := s.repository(ctx, repo)
		if err == nil || forge.IsGone(err) {
			continue
		}
		errs = append(errs, fmt.Errorf("%s: %w", repo, err))
		var later *forge.RetryLater
		if errors.As(err, &later) || ctx.Err() != nil {
			s.next[i.ID] = (s.next[i.ID] + n) % len(repos)
			break
		}
	}
	return errors.Join(errs...)
}

// errSpent keeps what is known about the heads that this round did not get to.
var errSpent = errors.New("the rest of the rate limit is for the checks")

// spent reports whether less than half of an installation's requests are left: the checks come first.
func (s *Sweeper) spent(installation int64) bool {
	if s.config.Budget == nil {
		return false
	}
	b, known := s.config.Budget(installation)
	return known && b.Remaining < b.Limit/2
}

func (s *Sweeper) repository(ctx context.Context, repo forge.Repo) error {
	pulls, err := s.config.Client.OpenPullRequests(ctx, repo, "")
	if err != nil {
		return fmt.Errorf("asking for open pull requests: %w", err)
	}
	open := map[sweptHead]bool{}
	at := func(number int, sha string) sweptHead {
		return sweptHead{store.Key{Installation: repo.Installation, Repository: repo.ID, Number: number}, sha}
	}
	for _, pr := range pulls {
		open[at(pr.Number, pr.HeadSHA)] = true
	}
	for _, pr := range pulls {
		h := at(pr.Number, pr.HeadSHA)
		if _, ok := s.done[h]; !ok {
			runs, err := s.config.Client.CheckRuns(ctx, repo, h.sha)
			if err != nil {
				return fmt.Errorf("asking for check runs: %w", err)
			}
			settled, final := s.checked(repo, h, runs)
			// The newest run, by which people merge, may have the result of one that left the head.
			newest, left := newestOf(runs)
			left = left && newest.Number != 0 && !open[at(newest.Number, h.sha)]
			if !settled || left {
				if err := s.enqueue(ctx, repo, h, !settled); err != nil {
					return err
				}
			}
			if !final || left {
				continue
			}
		}
		s.done[h] = s.round
	}
	return nil
}

// newestOf returns what the newest of some runs is about that have the name of pull requests' runs.
func newestOf(runs []forge.CheckRun) (about forge.Target, found bool) {
	for _, run := range runs { // newest first
		if run.Part == "" {
			id, err := forge.ParseRunID(run.ExternalID)
			return id.Target, err == nil
		}
	}
	return about, false
}

// checked returns what the newest run about a head tells: whether it needs no job now, and whether that stays so.
func (s *Sweeper) checked(repo forge.Repo, h sweptHead, runs []forge.CheckRun) (settled, final bool) {
	for _, run := range runs { // newest first
		id, err := forge.ParseRunID(run.ExternalID)
		// A canceled one says nothing about a head that came back.
		if err == nil && id.Target == h.key.Target() && run.Conclusion != forge.Cancelled {
			if settled, final = isSettled(run, id, s.config.Now()); final && s.config.Ends != nil && id.Until != 0 {
				s.config.Ends(h.key, repo, id.Ends())
			}
			return settled, final
		}
	}
	return false, false
}

// isSettled is about a run of ours. One that was given up is final only after the last retry.
func isSettled(run forge.CheckRun, id forge.RunID, now time.Time) (settled, final bool) {
	if run.Status != forge.Completed {
		return false, false
	}
	pause, again := id.Retry()
	if !again {
		return true, true
	}
	return now.Sub(run.CompletedAt) < pause, false
}

// enqueue leaves a job alone that waits or is in work. missing is for a head without a result.
func (s *Sweeper) enqueue(ctx context.Context, repo forge.Repo, h sweptHead, missing bool) error {
	has, err := s.config.Queue.Has(ctx, h.key)
	if err != nil || has {
		return err
	}
	s.config.Log.Info("open pull request without a check", "repository", repo.String(), "pull_request", h.key.Number,
		"head", h.sha)
	return s.config.Queue.Publish(ctx, h.key, store.Message{Event: "sweep", Missing: missing, Owner: repo.Owner,
		Name: repo.Name, At: s.config.Now().UTC()}, "")
}
