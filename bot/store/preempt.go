package store

import (
	"context"
	"time"
)

// preempt is for when all that could be begun was. Where no worker is free and an installation has waited for its turn
// while it has none, the one with the most, if these are several, hands back the job that was begun last: it loses the
// least, and the others of its jobs go on, so that each comes to its end.
func (l *tenants) preempt(ctx context.Context, now time.Time, free bool) {
	for _, at := range l.byID {
		switch {
		case free || len(at.busy) > 0 || !at.wants(now):
			at.lacks = time.Time{}
		case at.lacks.IsZero():
			at.lacks = now
		case l.yielding == nil && now.Sub(at.lacks) >= l.queue.config.Courtesy:
			at.lacks = now // where nothing can be done, it is looked again after as long
			if job := l.spare(); job != nil && l.free(ctx, at, now) {
				l.yielding = job
				job.yield()
			}
		}
	}
}

// spare is the job that was begun last of the lane with the most; nil where none has several.
func (l *tenants) spare() (last *running) {
	most := 1
	for _, at := range l.byID {
		for _, job := range at.busy {
			if n := len(at.busy); n > most || n == most && last != nil && job.turn > last.turn {
				most, last = n, job
			}
		}
	}
	return last
}

// maxLooks is of how many jobs relieve finds out at a time whether they could be begun.
const maxLooks = 10

// free reports whether a lane has a job that could be begun now.
func (l *tenants) free(ctx context.Context, at *tenant, now time.Time) bool {
	for range maxLooks {
		key, found := l.first(ctx, at, now)
		if !found {
			return false
		}
		brief, cancel := context.WithTimeout(ctx, requestTry)
		until, err := l.queue.waits(brief, key, now)
		cancel()
		switch {
		case err != nil:
			return false
		case !until.After(now):
			return true
		}
		at.later[key] = wait{until: until, seq: at.later[key].seq}
	}
	return false
}
