package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
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
	// refreshed is the time after which all open pull requests are checked again, since not all that their results depend on
	// can be seen, such as the members of teams.
	refreshed = 24 * time.Hour
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
	Lost     <-chan struct{} // says that jobs were lost: everything open is checked again. Nil: never
	Interval time.Duration   // default: DefaultInterval
	Log      *slog.Logger    // default: discard
}

// Sweeper finds lost webhooks: failed deliveries, open pull requests whose head has no completed check run of ours or one
// from before their last change, and pushes to their bases. What the App could not reach before is checked again.
// It must be used from one goroutine.
type Sweeper struct {
	config SweepConfig
	since  time.Time            // failed deliveries before this are dealt with
	done   map[store.Key]swept  // pull requests, as they were when they needed no job any more
	tips   map[store.Key]string // tips of branches for which a job was stored
	seen   map[int64]time.Time  // repositories that were reached since all their pull requests were enqueued, with that time
	round  uint64
	// of this round: repositories that the App reaches, installations that cannot be asked, and whether some did not answer
	reached    map[int64]forge.Repo
	suspended  map[int64]bool
	incomplete bool
	asked      map[store.Key]bool // branches whose tip is known
	next       map[int64]int      // by installation: the repository to go on with
}

// NewSweeper makes a sweeper.
func NewSweeper(c SweepConfig) *Sweeper {
	c.Interval = cmp.Or(c.Interval, DefaultInterval)
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	s := &Sweeper{config: c, next: map[int64]int{}}
	s.forget()
	return s
}

// forget drops what is known of earlier rounds, so that the next one checks everything open again.
func (s *Sweeper) forget() {
	s.done, s.tips, s.seen = map[store.Key]swept{}, map[store.Key]string{}, map[int64]time.Time{}
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
		case <-s.config.Lost:
			s.config.Log.Warn("jobs were lost; everything open is checked again")
			s.forget()
		case <-time.After(s.config.Interval):
		}
	}
}

// Sweep does one round. It returns the joined errors; the rest of the round was done.
func (s *Sweeper) Sweep(ctx context.Context) error {
	ctx = github.Background(ctx)
	return errors.Join(s.redeliver(ctx), s.unchecked(ctx))
}

// swept is a pull request as a sweep saw it.
type swept struct {
	sha, base string
	updated   time.Time
	final     bool // else its check runs are looked at again
	round     uint64
}

// unchecked enqueues open pull requests whose result is missing or may be out of date.
func (s *Sweeper) unchecked(ctx context.Context) error {
	s.round++
	installations, err := s.config.Client.Installations(ctx)
	if err != nil {
		return fmt.Errorf("listing installations: %w", err)
	}
	var errs []error
	s.reached, s.suspended, s.incomplete, s.asked = map[int64]forge.Repo{}, map[int64]bool{}, false, map[store.Key]bool{}
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
		maps.DeleteFunc(s.done, func(_ store.Key, is swept) bool { return is.round != s.round }) // closed since
	}
	if !s.incomplete && ctx.Err() == nil {
		away := func(repository int64) bool { _, is := s.reached[repository]; return !is }
		maps.DeleteFunc(s.seen, func(repository int64, _ time.Time) bool { return away(repository) })
		maps.DeleteFunc(s.tips, func(key store.Key, _ string) bool { return away(key.Repository) })
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
		// Less than half of the requests are left, and checks have priority.
		if b, known := s.config.Client.Budget(i.ID); known && b.Remaining < b.Limit/2 {
			s.next[i.ID] = (s.next[i.ID] + n) % len(repos)
			s.config.Log.Info("the rest of the hourly rate limit is reserved for checks, so the sweep "+
				"ends", "installation", i.ID)
			return errors.Join(append(errs, errSpent)...)
		}
		err := s.repository(ctx, repo)
		if forge.IsGone(err) {
			delete(s.seen, repo.ID)
		}
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

func (s *Sweeper) repository(ctx context.Context, repo forge.Repo) error {
	pulls, err := s.config.Client.OpenPullRequests(ctx, repo, "")
	if err != nil {
		return fmt.Errorf("listing open pull requests: %w", err)
	}
	begun := time.Now()
	recent := begun.Sub(s.seen[repo.ID]) < refreshed
	for _, pr := range pulls {
		if err := s.base(ctx, repo, pr.BaseRef); err != nil {
			return err
		}
		key := store.Key{Installation: repo.Installation, Repository: repo.ID, Target: forge.Target{Number: pr.Number}}
		now := swept{sha: pr.HeadSHA, base: pr.BaseRef, updated: pr.Updated, round: s.round}
		last := s.done[key]
		same := recent && last.sha == now.sha && last.base == now.base && last.updated.Equal(now.updated)
		if now.final = same && last.final; !now.final {
			runs, err := s.config.Client.CheckRuns(ctx, repo, pr.HeadSHA)
			if err != nil {
				return fmt.Errorf("listing check runs: %w", err)
			}
			var settled bool
			var checked time.Time
			settled, now.final, checked = s.checked(repo, key, runs)
			// The newest run, which decides about merging, may have the result of a subject that left the head.
			newest, left := newestOf(runs)
			left = left && newest.Number != 0 && !slices.ContainsFunc(pulls, func(pr forge.PullRequest) bool {
				return pr.Number == newest.Number && pr.HeadSHA == now.sha
			})
			now.final = now.final && !left
			// A check that began after the last change has seen it. It may not have seen others, such as those of rules while the
			// App was away.
			again := settled && !same && (!recent || now.updated.After(checked) || last.base != "" && last.base != now.base)
			if !settled || left || again {
				stored, err := s.enqueue(ctx, repo, key, pr.HeadSHA, !settled)
				if err != nil {
					return err
				}
				if again && !stored { // the job that runs may have read the pull request before
					continue
				}
			}
		}
		s.done[key] = now
	}
	if !recent {
		s.seen[repo.ID] = begun
	}
	return nil
}

// base enqueues a branch into which there are pull requests when its tip is another than before. The job finds out
// whether the rules changed, and does nothing if it was done for that tip already.
func (s *Sweeper) base(ctx context.Context, repo forge.Repo, name string) error {
	key := store.Key{Installation: repo.Installation, Repository: repo.ID, Target: forge.Target{Branch: name}}
	if name == "" || s.asked[key] {
		return nil
	}
	tip, err := s.config.Client.Branch(ctx, repo, name)
	if err != nil && !forge.IsGone(err) {
		return fmt.Errorf("reading the tip of a base branch: %w", err)
	}
	if s.asked[key] = true; err != nil || tip == s.tips[key] {
		return nil
	}
	stored, err := s.enqueue(ctx, repo, key, tip, false)
	if stored {
		s.tips[key] = tip
	}
	return err
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

// checked reports whether the newest run on a head needs no job now, whether that is final, and when its check began.
func (s *Sweeper) checked(repo forge.Repo, key store.Key, runs []forge.CheckRun) (settled, final bool, begun time.Time) {
	for _, run := range runs { // newest first
		id, err := forge.ParseRunID(run.ExternalID)
		// A canceled one says nothing about a head that came back.
		if err == nil && id.Target == key.Target && run.Conclusion != forge.Cancelled {
			if settled, final = isSettled(run, id, time.Now()); final && s.config.Ends != nil && id.Until != 0 {
				s.config.Ends(key, repo, id.Ends())
			}
			return settled, final, run.StartedAt
		}
	}
	return false, false, begun
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
func (s *Sweeper) enqueue(ctx context.Context, repo forge.Repo, key store.Key, head string, missing bool) (stored bool, _ error) {
	has, err := s.config.Queue.Has(ctx, key)
	if err != nil || has {
		return false, err
	}
	what := "result may be out of date"
	if missing {
		what = "open pull request without a check"
	}
	s.config.Log.Info(what, "repository", repo.String(), "job", key.String(), "head", head)
	return true, s.config.Queue.Publish(ctx, key, store.Message{Event: "sweep", Missing: missing, Owner: repo.Owner,
		Name: repo.Name, At: time.Now().UTC()}, "")
}

// redeliveryPauses are the pauses before each requested redelivery after a failure, since its cause may last. After the
// last one, only the check of the heads is left.
var redeliveryPauses = []time.Duration{0, 0, 15 * time.Minute, time.Hour, 4 * time.Hour, 12 * time.Hour}

// redeliver asks GitHub to redeliver failed deliveries, once for each failed attempt; all attempts for one event share
// a GUID. The queue stores the attempts, so that neither a restart nor a second server asks again.
func (s *Sweeper) redeliver(ctx context.Context) error {
	begun := time.Now()
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
		if !slices.Contains(github.Events(), d.Event) || d.GUID == "" {
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
