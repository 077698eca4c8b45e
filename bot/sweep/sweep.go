// Package sweep finds what webhooks did not bring: deliveries that failed, and open pull requests whose
// head has no completed check run of ours. It runs at the start and at an interval.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/queue"
)

const (
	// DefaultInterval is the time from one sweep to the next.
	DefaultInterval = 5 * time.Minute
	// horizon is how far back GitHub redelivers
	// (https://docs.github.com/en/webhooks/testing-and-troubleshooting-webhooks/redelivering-webhooks).
	horizon = 3 * 24 * time.Hour
	// overlap covers clocks that differ and deliveries that were under way during the last sweep.
	overlap = 10 * time.Minute
)

// Queue is where lost jobs go; queue.Queue is one.
type Queue interface {
	Publish(ctx context.Context, key queue.Key, m queue.Message, id string) error
	Has(ctx context.Context, key queue.Key) (bool, error)
	Claim(ctx context.Context, name string) (bool, error)
	Forget(ctx context.Context, name string) error
}

// Config is what a sweeper needs. Door, Queue, Ours and Settled are required.
type Config struct {
	Door  github.Door
	Queue Queue
	Ours  func(run github.CheckRun, number int) bool // whether a check run is about that pull request
	// Settled judges one that is ours: whether the head needs no job now, and whether that stays so.
	Settled func(run github.CheckRun, now time.Time) (settled, final bool)
	// Budget is how many requests an installation has left of how many an hour; false if unknown. Default: unknown.
	Budget   func(installation int64) (remaining, limit int, known bool)
	Interval time.Duration                        // default: DefaultInterval
	Now      func() time.Time                     // default: time.Now
	After    func(time.Duration) <-chan time.Time // default: time.After
	Log      *slog.Logger                         // default: discard
}

// Sweeper sweeps. Use it from one goroutine.
type Sweeper struct {
	config Config
	since  time.Time       // failed deliveries before this are dealt with
	done   map[head]uint64 // heads known to be checked, with the last sweep that saw them
	round  uint64
	next   map[int64]int // by installation: the repository to go on with
}

// head is a pull request at a commit.
type head struct {
	key queue.Key
	sha string
}

// New makes a sweeper.
func New(c Config) *Sweeper {
	if c.Interval <= 0 {
		c.Interval = DefaultInterval
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.After == nil {
		c.After = time.After
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Sweeper{config: c, done: map[head]uint64{}, next: map[int64]int{}}
}

// Run sweeps at once and then after each interval, until ctx ends. What fails is logged and found again by
// the next sweep.
func (s *Sweeper) Run(ctx context.Context) {
	for {
		if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.config.Log.Warn("the sweep is not complete; the next one goes on", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-s.config.After(s.config.Interval):
		}
	}
}

// Sweep does one round. Its error joins what went wrong; the rest of the round was done.
func (s *Sweeper) Sweep(ctx context.Context) error {
	return errors.Join(s.redeliver(ctx), s.unchecked(ctx))
}

// events are those whose loss would leave a pull request unchecked or a click without effect.
var events = []string{"pull_request", "pull_request_review", "check_run", "check_suite", "push", "merge_group", "installation", "installation_repositories", "repository"}

// pauses are how long after a failed attempt at a delivery another one is asked for: what kept it from arriving may
// last. After the last of them, the look at the heads has to do.
var pauses = []time.Duration{0, 0, 15 * time.Minute, time.Hour, 4 * time.Hour, 12 * time.Hour}

// redeliver asks GitHub for another attempt at failed deliveries, once for each failed attempt: all of one event share
// a GUID. The queue remembers them, so neither a restart nor a second server asks again.
func (s *Sweeper) redeliver(ctx context.Context) error {
	begun := s.config.Now()
	since := s.since
	if since.IsZero() {
		since = begun.Add(-horizon)
	}
	failed, err := s.config.Door.FailedDeliveries(ctx, since)
	if err != nil {
		return fmt.Errorf("asking for failed deliveries: %w", err)
	}
	next := begun.Add(-overlap)
	for _, d := range failed {
		if !slices.Contains(events, d.Event) || d.GUID == "" {
			continue
		}
		attempt := fmt.Sprintf("redeliver.%s.of-%d", d.GUID, d.ID)
		first, err := s.config.Queue.Claim(ctx, attempt)
		if err != nil {
			return err
		}
		if !first {
			continue
		}
		number, pause, err := s.number(ctx, d)
		switch {
		case err != nil:
			return errors.Join(err, s.config.Queue.Forget(context.WithoutCancel(ctx), attempt))
		case number == "":
		case begun.Sub(d.At) < pause:
			for _, claim := range []string{attempt, number} {
				if err := s.config.Queue.Forget(context.WithoutCancel(ctx), claim); err != nil {
					return err
				}
			}
			if d.At.Before(next) {
				next = d.At.Add(-time.Second) // to see it again
			}
		default:
			if err := s.again(ctx, d, attempt, number); err != nil {
				return err
			}
		}
	}
	s.since = next
	return nil
}

// number claims the next of the attempts that an event has; "" when there are no more. The pause goes before it.
func (s *Sweeper) number(ctx context.Context, d github.Delivery) (claim string, pause time.Duration, err error) {
	for i, pause := range pauses {
		claim := fmt.Sprintf("redeliver.%s.%d", d.GUID, i+1)
		first, err := s.config.Queue.Claim(ctx, claim)
		if err != nil || first {
			return claim, pause, err
		}
	}
	return "", 0, nil
}

func (s *Sweeper) again(ctx context.Context, d github.Delivery, claims ...string) error {
	err := s.config.Door.Redeliver(ctx, d.ID)
	var gone *github.Gone
	switch {
	case errors.As(err, &gone): // too old by now; the look at the heads makes up for it
	case err != nil:
		err = fmt.Errorf("asking for a redelivery: %w", err)
		for _, claim := range claims {
			err = errors.Join(err, s.config.Queue.Forget(context.WithoutCancel(ctx), claim))
		}
		return err
	default:
		s.config.Log.Info("failed delivery requested again", "delivery", d.GUID, "event", d.Event, "status", d.StatusCode)
	}
	return nil
}

// unchecked enqueues open pull requests whose head has no completed run.
func (s *Sweeper) unchecked(ctx context.Context) error {
	s.round++
	installations, err := s.config.Door.Installations(ctx)
	if err != nil {
		return fmt.Errorf("asking for installations: %w", err)
	}
	var errs []error
	for _, i := range installations {
		if i.Suspended {
			continue
		}
		if err := s.installation(ctx, i); err != nil {
			errs = append(errs, fmt.Errorf("installation %d: %w", i.ID, err))
		}
		if ctx.Err() != nil {
			break
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
func (s *Sweeper) installation(ctx context.Context, i github.Installation) error {
	repos, err := s.config.Door.Repositories(ctx, i.ID)
	if err != nil {
		return fmt.Errorf("asking for repositories: %w", err)
	}
	var errs []error
	for n := range repos {
		// Each round goes on where the last one had to stop, so that every repository has its turn.
		repo := repos[(s.next[i.ID]+n)%len(repos)]
		if s.spent(i.ID) {
			s.next[i.ID] = (s.next[i.ID] + n) % len(repos)
			s.config.Log.Info("the sweep leaves the rest of the hourly rate limit to the checks", "installation", i.ID)
			return errors.Join(append(errs, errSpent)...)
		}
		err := s.repository(ctx, repo)
		var gone *github.Gone
		if err == nil || errors.As(err, &gone) {
			continue
		}
		errs = append(errs, fmt.Errorf("%s: %w", repo, err))
		var later *github.RetryLater
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
	remaining, limit, known := s.config.Budget(installation)
	return known && remaining < limit/2
}

func (s *Sweeper) repository(ctx context.Context, repo github.Repo) error {
	pulls, err := s.config.Door.OpenPullRequests(ctx, repo)
	if err != nil {
		return fmt.Errorf("asking for open pull requests: %w", err)
	}
	for _, pr := range pulls {
		h := head{queue.Key{Installation: repo.Installation, Repository: repo.ID, Number: pr.Number}, pr.HeadSHA}
		if _, ok := s.done[h]; !ok {
			settled, final, err := s.checked(ctx, repo, h)
			if err != nil {
				return err
			}
			if !settled {
				if err := s.enqueue(ctx, repo, h); err != nil {
					return err
				}
			}
			if !final {
				continue
			}
		}
		s.done[h] = s.round
	}
	return nil
}

// checked judges a head by the newest run about it.
func (s *Sweeper) checked(ctx context.Context, repo github.Repo, h head) (settled, final bool, _ error) {
	runs, err := s.config.Door.CheckRuns(ctx, repo, h.sha)
	if err != nil {
		return false, false, fmt.Errorf("asking for check runs: %w", err)
	}
	for _, run := range runs { // newest first
		// A canceled one says nothing about a head that came back.
		if s.config.Ours(run, h.key.Number) && run.Conclusion != "cancelled" {
			settled, final = s.config.Settled(run, s.config.Now())
			return settled, final, nil
		}
	}
	return false, false, nil
}

// enqueue leaves a job alone that waits or is in work.
func (s *Sweeper) enqueue(ctx context.Context, repo github.Repo, h head) error {
	has, err := s.config.Queue.Has(ctx, h.key)
	if err != nil || has {
		return err
	}
	s.config.Log.Info("open pull request without a check", "repository", repo.String(), "pull_request", h.key.Number, "head", h.sha)
	return s.config.Queue.Publish(ctx, h.key, queue.Message{Event: "sweep", Missing: true, Owner: repo.Owner, Name: repo.Name, At: s.config.Now().UTC()}, "")
}
