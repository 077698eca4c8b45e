package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/bot/store"
)

const (
	// DefaultInterval is the time from one sweep to the next.
	DefaultInterval = 5 * time.Minute
	// redeliveryHorizon is how far back GitHub redelivers
	// (https://docs.github.com/en/webhooks/testing-and-troubleshooting-webhooks/redelivering-webhooks).
	redeliveryHorizon = 3 * 24 * time.Hour
	// redeliveryOverlap covers clocks that differ and deliveries that were under way during the last sweep.
	redeliveryOverlap = 10 * time.Minute
)

// SweepQueue is where lost jobs go; store.Queue is one.
type SweepQueue interface {
	Publish(ctx context.Context, key store.Key, m store.Message, id string) error
	Has(ctx context.Context, key store.Key) (bool, error)
	Claim(ctx context.Context, name string) (bool, error)
	Forget(ctx context.Context, name string) error
}

// SweepConfig is what a sweeper needs. Client and Queue are required.
type SweepConfig struct {
	Client forge.Client
	Queue  SweepQueue
	// Serves reports whether the App works for an account, by its login. Another installation is as if it were not there,
	// and its jobs go to Drop. Nil: for every account.
	Serves func(account string) bool
	Drop   func(ctx context.Context, installation, repository int64) error
	// Ends is called with the time at which a published result may change by itself. Nil: not called.
	Ends func(key store.Key, repo forge.Repo, at time.Time)
	// Reached is called after each round that saw all installations and repositories. Nil: not called.
	Reached  func(ctx context.Context, reached results.Reached) error
	Interval time.Duration                        // default: DefaultInterval
	Now      func() time.Time                     // default: time.Now
	After    func(time.Duration) <-chan time.Time // default: time.After
	Log      *slog.Logger                         // default: discard
}

// Sweeper finds lost webhooks: failed deliveries, and open pull requests whose head has no completed check run of ours.
// It must be used from one goroutine.
type Sweeper struct {
	config SweepConfig
	since  time.Time            // failed deliveries before this are dealt with
	done   map[sweptHead]uint64 // heads known to be checked, with the last sweep that saw them
	round  uint64
	// of this round: repositories that the App reaches, installations that cannot be asked, and whether some did not answer
	reached    map[int64]forge.Repo
	suspended  map[int64]bool
	incomplete bool
	next       map[int64]int // by installation: the repository to go on with
}

// NewSweeper makes a sweeper.
func NewSweeper(c SweepConfig) *Sweeper {
	c.Interval = cmp.Or(c.Interval, DefaultInterval)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.After == nil {
		c.After = time.After
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return &Sweeper{config: c, done: map[sweptHead]uint64{}, next: map[int64]int{}}
}

// Run sweeps at once and then after each interval, until ctx ends. What fails is logged and found again by
// the next sweep.
func (s *Sweeper) Run(ctx context.Context) {
	for {
		if err := s.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.config.Log.Warn("the sweep is not complete; the next one continues", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-s.config.After(s.config.Interval):
		}
	}
}

// Sweep does one round. It returns the joined errors; the rest of the round was done.
func (s *Sweeper) Sweep(ctx context.Context) error {
	ctx = github.Background(ctx)
	return errors.Join(s.redeliver(ctx), s.unchecked(ctx))
}

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
		return fmt.Errorf("listing installations: %w", err)
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
			s.config.Log.Warn("the results of repositories that the App can no longer access were not removed", "error", err)
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

// installation stops at the first rate limit, since later requests would meet the same one.
func (s *Sweeper) installation(ctx context.Context, i forge.Installation) error {
	repos, err := s.config.Client.Repositories(ctx, i.ID)
	if err != nil {
		s.incomplete = true
		return fmt.Errorf("listing repositories: %w", err)
	}
	var errs []error
	for _, repo := range repos {
		s.reached[repo.ID] = repo
	}
	for n := range repos {
		// Each round continues where the last one stopped, so that every repository is reached.
		repo := repos[(s.next[i.ID]+n)%len(repos)]
		if s.spent(i.ID) {
			s.next[i.ID] = (s.next[i.ID] + n) % len(repos)
			s.config.Log.Info("the rest of the hourly rate limit is reserved for checks, so the sweep "+
				"ends", "installation", i.ID)
			return errors.Join(append(errs, errSpent)...)
		}
		err := s.repository(ctx, repo)
		if err == nil || forge.IsGone(err) {
			continue
		}
		errs = append(errs, fmt.Errorf("%s: %w", repo, err))
		if forge.Is[*forge.RetryLater](err) || ctx.Err() != nil {
			s.next[i.ID] = (s.next[i.ID] + n) % len(repos)
			break
		}
	}
	return errors.Join(errs...)
}

// errSpent keeps the known state of heads that this round did not reach.
var errSpent = errors.New("the rest of the rate limit is reserved for checks")

// spent reports whether less than half of an installation's requests are left, since checks have priority.
func (s *Sweeper) spent(installation int64) bool {
	b, known := s.config.Client.Budget(installation)
	return known && b.Remaining < b.Limit/2
}

func (s *Sweeper) repository(ctx context.Context, repo forge.Repo) error {
	pulls, err := s.config.Client.OpenPullRequests(ctx, repo, "")
	if err != nil {
		return fmt.Errorf("listing open pull requests: %w", err)
	}
	open := map[sweptHead]bool{}
	at := func(number int, sha string) sweptHead {
		return sweptHead{store.Key{Installation: repo.Installation, Repository: repo.ID, Target: forge.Target{Number: number}}, sha}
	}
	for _, pr := range pulls {
		open[at(pr.Number, pr.HeadSHA)] = true
	}
	for _, pr := range pulls {
		h := at(pr.Number, pr.HeadSHA)
		if _, ok := s.done[h]; !ok {
			runs, err := s.config.Client.CheckRuns(ctx, repo, h.sha)
			if err != nil {
				return fmt.Errorf("listing check runs: %w", err)
			}
			settled, final := s.checked(repo, h, runs)
			// The newest run, which decides about merging, may have the result of a subject that left the head.
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

// newestOf returns the subject of the newest run with the name of pull requests' runs.
func newestOf(runs []forge.CheckRun) (about forge.Target, found bool) {
	for _, run := range runs { // newest first
		if run.Part == "" {
			id, err := forge.ParseRunID(run.ExternalID)
			return id.Target, err == nil
		}
	}
	return about, false
}

// checked reports whether the newest run on a head needs no job now, and whether that is final.
func (s *Sweeper) checked(repo forge.Repo, h sweptHead, runs []forge.CheckRun) (settled, final bool) {
	for _, run := range runs { // newest first
		id, err := forge.ParseRunID(run.ExternalID)
		// A canceled one says nothing about a head that came back.
		if err == nil && id.Target == h.key.Target && run.Conclusion != forge.Cancelled {
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

// enqueue stores a job, unless one is stored or running. missing says that the head has no result.
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

// redeliveredEvents are those whose loss would leave a pull request unchecked, a click without effect, or somebody signed in.
var redeliveredEvents = []string{"pull_request", "pull_request_review", "check_run", "check_suite", "push", "merge_group",
	"installation", "installation_repositories", "repository", "github_app_authorization"}

// redeliveryPauses are the pauses before each requested redelivery after a failure, since its cause may last. After the
// last one, only the check of the heads is left.
var redeliveryPauses = []time.Duration{0, 0, 15 * time.Minute, time.Hour, 4 * time.Hour, 12 * time.Hour}

// redeliver asks GitHub to redeliver failed deliveries, once for each failed attempt; all attempts for one event share
// a GUID. The queue stores the attempts, so that neither a restart nor a second server asks again.
func (s *Sweeper) redeliver(ctx context.Context) error {
	begun := s.config.Now()
	since := s.since
	if since.IsZero() {
		since = begun.Add(-redeliveryHorizon)
	}
	failed, err := s.config.Client.FailedDeliveries(ctx, since)
	if err != nil {
		return fmt.Errorf("listing failed deliveries: %w", err)
	}
	next := begun.Add(-redeliveryOverlap)
	for _, d := range failed {
		if !slices.Contains(redeliveredEvents, d.Event) || d.GUID == "" {
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

// number claims the next redelivery of an event; "" if there are no more. pause is the time before it.
func (s *Sweeper) number(ctx context.Context, d forge.Delivery) (claim string, pause time.Duration, err error) {
	for i, pause := range redeliveryPauses {
		claim := fmt.Sprintf("redeliver.%s.%d", d.GUID, i+1)
		first, err := s.config.Queue.Claim(ctx, claim)
		if err != nil || first {
			return claim, pause, err
		}
	}
	return "", 0, nil
}

func (s *Sweeper) again(ctx context.Context, d forge.Delivery, claims ...string) error {
	err := s.config.Client.Redeliver(ctx, d.ID)
	switch {
	case err == nil:
		s.config.Log.Info("failed delivery requested again", "delivery", d.GUID, "event", d.Event, "status", d.StatusCode)
		return nil
	case forge.IsGone(err): // too old by now; the look at the heads makes up for it
		return nil
	}
	err = fmt.Errorf("requesting a redelivery: %w", err)
	for _, claim := range claims {
		err = errors.Join(err, s.config.Queue.Forget(context.WithoutCancel(ctx), claim))
	}
	return err
}
