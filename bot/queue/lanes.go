package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// lookPause is between looks for jobs that nothing announced: left behind by a dead process, or whose
	// announcement was lost. Looking takes at most one part in lookShare of the time.
	lookPause = time.Second
	lookShare = 20
	// listRate is how long the server may take to list the jobs, for each of them: a hundred times what it does.
	listRate = 100 * time.Microsecond
	// gatherFor bounds what a lane that is short spends at a time on finding all of its jobs.
	gatherFor = 100 * time.Millisecond
)

// lane is the queue of one installation as this process sees it: a worker that is free takes its next job from the
// lane with the fewest jobs in work, so that a busy installation does not starve the others. Each job of the lane
// is at or after next, in later, or in busy; a key is not in both of these.
//
// Jobs are begun in the order in which they came, but the newest first in a lane that is short: where GitHub's limits
// let fewer through than come, all would wait longer and longer, and for results that nobody looks at any more.
type lane struct {
	id    int64
	next  uint64         // sequence from which on nothing was looked at yet
	awake bool           // there may be a job at or after next
	later map[Key]wait   // jobs that were looked at and have to wait
	busy  map[Key]uint64 // in work here; the sequence of another job of the key that was found meanwhile, or zero
	quiet time.Time      // begin nothing before
	short bool           // it had to be quiet, and has not caught up since
	turn  uint64         // when it was served last
}

// wait is what is known about a job that is not begun yet.
type wait struct {
	until time.Time
	seq   uint64 // zero if not known
}

// due returns the job whose turn it is of those that need not wait any more.
func (at *lane) due(now time.Time) (best Key, found bool) {
	var first wait
	for key, w := range at.later {
		if !now.Before(w.until) && (!found || at.short && w.seq > first.seq || !at.short && w.until.Before(first.until)) {
			best, first, found = key, w, true
		}
	}
	return best, found
}

// lanes are the lanes that this process knows. Only the goroutine of Work uses them.
type lanes struct {
	queue   *Queue
	workers int
	byID    map[int64]*lane
	known   map[int64]bool // installations that had a job since the start
	turns   uint64
	look    time.Time // when to look next
}

// outcome tells what became of a job.
type outcome struct {
	seq   uint64        // of the job, zero if not known
	again time.Time     // the job, or another of its key, is there and to be looked at then; zero if not known to be
	pause time.Duration // GitHub wants no requests of this installation for so long
}

func (l *lanes) lane(id int64) *lane {
	if l.byID[id] == nil {
		l.known[id] = true
		l.byID[id] = &lane{id: id, next: 1, awake: true, later: map[Key]wait{}, busy: map[Key]uint64{}}
	}
	return l.byID[id]
}

// settle takes note of the end of a job.
func (l *lanes) settle(key Key, o outcome) {
	at := l.lane(key.Installation)
	another := at.busy[key]
	delete(at.busy, key)
	switch {
	case another != 0:
		at.later[key] = wait{seq: another} // what the older one has to wait for is not the newer one's affair
	case !o.again.IsZero():
		at.later[key] = wait{o.again, o.seq}
	}
	if until := time.Now().Add(o.pause); o.pause > 0 && until.After(at.quiet) {
		at.quiet, at.short = until, true
	}
}

// full reports whether a lane has as many workers as it may: where several installations are served, none gets the last
// one, so that others do not wait for its longest jobs.
func (l *lanes) full(at *lane) bool {
	return l.workers > 1 && len(l.known) > 1 && len(at.busy) >= l.workers-1
}

// pick returns the lane whose turn it is, nil when none may have a job.
func (l *lanes) pick(now time.Time) (best *lane) {
	for _, at := range l.byID {
		if now.Before(at.quiet) || l.full(at) {
			continue
		}
		if _, due := at.due(now); !due && !at.awake {
			continue
		}
		if best == nil || len(at.busy) < len(best.busy) || len(at.busy) == len(best.busy) && at.turn < best.turn {
			best = at
		}
	}
	return best
}

// take finds a key to work on, and marks it as busy; false when there is none now.
func (l *lanes) take(ctx context.Context) (Key, bool) {
	for ctx.Err() == nil {
		now := time.Now()
		at := l.pick(now)
		if at == nil {
			return Key{}, false
		}
		l.turns++
		at.turn = l.turns
		var err error
		if at.short {
			err = l.gather(ctx, at)
		}
		key, found := at.due(now)
		if !found && err == nil {
			at.short = false
			key, _, found, err = l.walk(ctx, at)
		}
		if err != nil && ctx.Err() == nil {
			at.quiet = time.Now().Add(lookPause)
			l.queue.config.Log.Warn("the job queue does not answer", "installation", at.id, "error", err)
		}
		if found {
			delete(at.later, key)
			at.busy[key] = 0
			return key, true
		}
	}
	return Key{}, false
}

// gather finds jobs of the lane, all if there is time.
func (l *lanes) gather(ctx context.Context, at *lane) error {
	for begun := time.Now(); at.awake && time.Since(begun) < gatherFor; {
		key, seq, found, err := l.walk(ctx, at)
		if err != nil {
			return err
		}
		if found {
			at.later[key] = wait{seq: seq}
		}
	}
	return nil
}

// walk finds the lane's next job, oldest first, that is not in work here, and its sequence; false at the end of the lane.
func (l *lanes) walk(ctx context.Context, at *lane) (Key, uint64, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTry)
	defer cancel()
	subject := prefix + strconv.FormatInt(at.id, 10) + ".>"
	for {
		msg, err := l.queue.stream.GetMsg(ctx, at.next, jetstream.WithGetMsgSubject(subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			at.awake = false // until a job is announced or found by looking
			return Key{}, 0, false, nil
		}
		if err != nil {
			return Key{}, 0, false, fmt.Errorf("looking for the next job: %w", err)
		}
		key, err := parseKey(msg.Subject)
		if err != nil {
			l.queue.config.Log.Error("a message in the job queue is no job", "error", err)
			if err := remove(ctx, l.queue.stream, msg.Sequence); err != nil {
				return Key{}, 0, false, err
			}
		}
		at.next = msg.Sequence + 1
		if err != nil {
			continue
		}
		if _, busy := at.busy[key]; busy {
			at.busy[key] = msg.Sequence
			continue
		}
		return key, msg.Sequence, true, nil
	}
}

// search looks at all that is in the stream for what this process does not know of. Sequences do not matter, so it
// does not either what servers that died forgot.
func (l *lanes) search(ctx context.Context) error {
	begun := time.Now()
	keys, err := l.queue.list(ctx)
	now := time.Now()
	if err != nil {
		l.look = now.Add(lookPause)
		return err
	}
	l.look = now.Add(max(lookPause, lookShare*now.Sub(begun)))
	for _, key := range keys {
		at := l.lane(key.Installation)
		if at.awake {
			continue // the walk comes by
		}
		_, busy := at.busy[key]
		_, waits := at.later[key]
		if !busy && !waits {
			at.later[key] = wait{}
		}
	}
	for id, at := range l.byID {
		if !at.awake && len(at.later) == 0 && len(at.busy) == 0 && now.After(at.quiet) {
			delete(l.byID, id)
		}
	}
	return nil
}

// list returns the keys of all jobs, in no order.
func (q *Queue) list(ctx context.Context) ([]Key, error) {
	brief, cancel := context.WithTimeout(ctx, requestTry)
	defer cancel()
	info, err := q.stream.Info(brief)
	if err != nil || info.State.Msgs == 0 {
		return nil, err
	}
	long, cancel := context.WithTimeout(ctx, requestTry+time.Duration(info.State.Msgs)*listRate)
	defer cancel()
	if info, err = q.stream.Info(long, jetstream.WithSubjectFilter(prefix+">")); err != nil {
		return nil, err
	}
	keys := make([]Key, 0, len(info.State.Subjects))
	for subject := range info.State.Subjects {
		if key, err := parseKey(subject); err == nil {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// idle is for how long there is nothing to do unless something is announced or ends. Free reports whether a worker is.
func (l *lanes) idle(now time.Time, free bool) time.Duration {
	next := l.look
	if free {
		for _, at := range l.byID {
			if l.full(at) {
				continue
			}
			for _, w := range at.later {
				until := w.until
				if until.Before(at.quiet) {
					until = at.quiet
				}
				if until.Before(next) {
					next = until
				}
			}
			if at.awake && at.quiet.Before(next) {
				next = at.quiet
			}
		}
	}
	return max(next.Sub(now), time.Millisecond)
}
