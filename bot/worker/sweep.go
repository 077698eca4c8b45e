package worker

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
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
	// Budget is what an installation has left of its hourly limit; false if unknown. Default: unknown.
	Budget func(installation int64) (forge.Budget, bool)
	// Serves reports whether the App works for an account, by its login. Another installation is as if it were not there,
	// and its jobs go to Drop. Nil: for every account.
	Serves func(account string) bool
	Drop   func(ctx context.Context, installation, repository int64) error
	// Ends is told when a result that stands may become another by itself. Nil: nobody wants to know.
	Ends func(key store.Key, repo forge.Repo, at time.Time)
	// Reached is called in each round that saw all installations and repositories. Nil: nobody wants to know.
	Reached  func(ctx context.Context, reached results.Reached) error
	Interval time.Duration                        // default: DefaultInterval
	Now      func() time.Time                     // default: time.Now
	After    func(time.Duration) <-chan time.Time // default: time.After
	Log      *slog.Logger                         // default: discard
}

// Sweeper finds what webhooks did not bring: deliveries that failed, and open pull requests whose head has no completed
// check run of ours. Use it from one goroutine.
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
	if c.Interval <= 0 {
		c.Interval = DefaultInterval
	}
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
	ctx = github.Background(ctx)
	return errors.Join(s.redeliver(ctx), s.unchecked(ctx))
}
