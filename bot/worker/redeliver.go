package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
)

// redeliveredEvents are those whose loss would leave a pull request unchecked, a click without effect, or somebody signed in.
var redeliveredEvents = []string{"pull_request", "pull_request_review", "check_run", "check_suite", "push", "merge_group",
	"installation", "installation_repositories", "repository", "github_app_authorization"}

// redeliveryPauses are how long after a failed attempt at a delivery another one is asked for: what kept it from arriving may
// last. After the last of them, the look at the heads has to do.
var redeliveryPauses = []time.Duration{0, 0, 15 * time.Minute, time.Hour, 4 * time.Hour, 12 * time.Hour}

// redeliver asks GitHub for another attempt at failed deliveries, once for each failed attempt: all of one event share
// a GUID. The queue remembers them, so neither a restart nor a second server asks again.
func (s *Sweeper) redeliver(ctx context.Context) error {
	begun := s.config.Now()
	since := s.since
	if since.IsZero() {
		since = begun.Add(-redeliveryHorizon)
	}
	failed, err := s.config.Client.FailedDeliveries(ctx, since)
	if err != nil {
		return fmt.Errorf("asking for failed deliveries: %w", err)
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

// number claims the next of the attempts that an event has; "" when there are no more. The pause goes before it.
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
	case forge.IsGone(err): // too old by now; the look at the heads makes up for it
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
