package worker

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
)

// Alarm has pull requests and branches checked again when their result may change by itself: when an exception expires,
// or when an unreachable source may answer. It keeps its times in memory; the sweep sets them again from the ids of
// check runs. It is safe for concurrent use.
type Alarm struct {
	jobs Publisher
	log  *slog.Logger

	mu   sync.Mutex
	set  map[store.Key]appointment
	news chan struct{}
}

type appointment struct {
	repo forge.Repo
	at   time.Time
}

// NewAlarm makes an alarm that stores jobs when they are due.
func NewAlarm(jobs Publisher, log *slog.Logger) *Alarm {
	return &Alarm{jobs: jobs, log: log, set: map[store.Key]appointment{}, news: make(chan struct{}, 1)}
}

// Set requests a check of a key at a time; the zero time cancels the request. Only the last time set for a key counts.
func (a *Alarm) Set(key store.Key, repo forge.Repo, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at.IsZero() {
		delete(a.set, key)
		return
	}
	a.set[key] = appointment{repo, at}
	select {
	case a.news <- struct{}{}:
	default: // it is told already
	}
}

const (
	// longestWait is the longest time without a look at the clock, which may have been set.
	longestWait = 10 * time.Minute
	// alarmRetry is the pause before a job that could not be stored is stored again.
	alarmRetry = 5 * time.Second
)

// Run stores the jobs that are due, until ctx ends.
func (a *Alarm) Run(ctx context.Context) {
	for {
		wait := a.ring(ctx)
		select {
		case <-ctx.Done():
			return
		case <-a.news:
		case <-time.After(wait):
		}
	}
}

// ring stores the due jobs, and returns the time until the next one.
func (a *Alarm) ring(ctx context.Context) time.Duration {
	now := time.Now()
	wait := longestWait
	due := map[store.Key]appointment{}
	a.mu.Lock()
	for key, one := range a.set {
		if rest := one.at.Sub(now); rest > 0 {
			wait = min(wait, rest)
		} else {
			due[key] = one
		}
	}
	a.mu.Unlock()
	for key, one := range due {
		message := store.Message{Event: "alarm", Owner: one.repo.Owner, Name: one.repo.Name, At: now.UTC()}
		// Every replica has an alarm; the queue accepts the job of one of them.
		if err := a.jobs.Publish(ctx, key, message, "alarm-"+strconv.FormatInt(one.at.Unix(), 10)); err != nil {
			a.log.Warn("a job that is due could not be stored; it will be tried again", "job", key.String(), "error", err)
			wait = min(wait, alarmRetry)
			continue
		}
		a.mu.Lock()
		if a.set[key] == one {
			delete(a.set, key)
		}
		a.mu.Unlock()
	}
	return wait
}
