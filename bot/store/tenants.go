package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// searchPause is the pause between searches for unannounced jobs, which were left by a dead process or whose
	// announcement was lost. A search takes at most 1/lookShare of the time.
	searchPause = time.Second
	searchShare = 20
	// listRate is the assumed time that the server takes to list a job: a hundred times the usual time.
	listRate = 100 * time.Microsecond
	// gatherFor limits the time that a tenant in short mode spends on finding all of its jobs.
	gatherFor = 100 * time.Millisecond
)

// tenant is the jobs of one installation as this process sees them. A free worker takes the next job of the tenant with
// the fewest running jobs, so that a busy installation does not delay the others. No worker is reserved: an
// installation without a worker gets one of another's, see preempt. Each job of the tenant is at or after next, in
// later, or in busy; a key is never in both later and busy.
//
// Jobs that may take a good result away begin first, also while the tenant is quiet: what others push must not keep it. The
// rest begins in the order in which it came, but the newest first in a tenant with short set. If GitHub's limits allow
// fewer jobs than arrive, the delay would otherwise grow without end, for results that nobody needs any more. So that
// none waits for ever, every fourth job is the oldest.
type tenant struct {
	id    int64
	next  uint64           // sequence from which on nothing was looked at yet
	awake bool             // there may be a job at or after next
	later map[Key]wait     // jobs that were looked at and have to wait
	busy  map[Key]*running // in work here
	quiet time.Time        // begin only what is urgent before
	fails time.Time        // the queue did not answer: look for nothing before
	short bool             // it had to be quiet, and has not caught up since
	begun uint64           // number of jobs
	turn  uint64           // when it was served last
	lacks time.Time        // since when it has waited for a worker while it has none; zero: it has not
}

// running is a running job.
type running struct {
	was   wait
	newer wait   // for another job of the key that was found meanwhile; without a sequence: none was
	turn  uint64 // when it was begun
	yield func() // has it returned to the queue
}

// wait is a job that has not begun yet.
type wait struct {
	until  time.Time
	seq    uint64 // zero if not known
	urgent bool   // see Message.Revokes
}

// before reports whether a job begins before another one, where the newest of those that are not urgent is first or not.
func (w wait) before(o wait, newest bool) bool {
	switch {
	case w.urgent != o.urgent:
		return w.urgent
	case newest && !w.urgent:
		return w.seq > o.seq
	}
	return w.seq < o.seq
}

// due returns the next of the jobs that need not wait.
func (at *tenant) due(now time.Time) (best Key, found bool) {
	var first wait
	for key, w := range at.later {
		if now.Before(w.until) || now.Before(at.quiet) && !w.urgent {
			continue
		}
		oldest := at.begun%4 == 3
		if !found || oldest && w.seq < first.seq || !oldest && w.before(first, at.short) {
			best, first, found = key, w, true
		}
	}
	return best, found
}

// tenants are the known tenants. Only the goroutine of Work uses them.
type tenants struct {
	queue      *Queue
	byID       map[int64]*tenant
	turns      uint64
	nextSearch time.Time // when to look next
	yielding   *running  // was asked to hand its job back and has not yet; nil: none was
	idle       time.Time // begin nothing before
	made       time.Time // when the stream of jobs was made; zero: not known yet
}

// outcome is the result of processing a key.
type outcome struct {
	seq   uint64        // of the job, zero if not known
	again time.Time     // the job, or another of its key, is there and to be looked at then; zero if not known to be
	pause time.Duration // GitHub wants no requests of this installation for so long
	idle  time.Duration // this process begins no job for so long
}

func (l *tenants) tenant(id int64) *tenant {
	if l.byID[id] == nil {
		l.byID[id] = &tenant{id: id, next: 1, awake: true, later: map[Key]wait{}, busy: map[Key]*running{}}
	}
	return l.byID[id]
}

// settle records the end of a job.
func (l *tenants) settle(key Key, o outcome) {
	at := l.tenant(key.Installation)
	job := at.busy[key]
	delete(at.busy, key)
	if l.yielding == job {
		l.yielding = nil
	}
	switch {
	case job.newer.seq != 0:
		at.later[key] = job.newer // what the older one has to wait for is not the newer one's affair
	case !o.again.IsZero():
		at.later[key] = wait{o.again, o.seq, job.was.urgent}
	}
	l.idle = later(l.idle, time.Now().Add(o.idle))
	if until := time.Now().Add(o.pause); o.pause > 0 && until.After(at.quiet) {
		at.quiet, at.short = until, true
	}
}

// wants reports whether a tenant may have a job that can begin.
func (at *tenant) wants(now time.Time) bool {
	if now.Before(at.fails) {
		return false
	}
	_, due := at.due(now)
	return due || at.awake
}

// pick returns the next tenant; nil if none may have a job.
func (l *tenants) pick(now time.Time) (best *tenant) {
	for _, at := range l.byID {
		if at.wants(now) && (best == nil || len(at.busy) < len(best.busy) ||
			len(at.busy) == len(best.busy) && at.turn < best.turn) {
			best = at
		}
	}
	return best
}

// take selects a key, and marks it as busy; yield ends its work early. It returns false if there is none now.
func (l *tenants) take(ctx context.Context, yield func()) (Key, bool) {
	for ctx.Err() == nil {
		now := time.Now()
		at := l.pick(now)
		if at == nil {
			return Key{}, false
		}
		l.turns++
		at.turn = l.turns
		if key, found := l.first(ctx, at, now); found {
			at.busy[key] = &running{was: at.later[key], turn: l.turns, yield: yield}
			delete(at.later, key)
			at.lacks = time.Time{}
			at.begun++
			return key, true
		}
	}
	return Key{}, false
}

// first returns the next job of a tenant, and puts it into later; false if there is none now.
func (l *tenants) first(ctx context.Context, at *tenant, now time.Time) (Key, bool) {
	err := l.gather(ctx, at)
	key, found := at.due(now)
	if !found && err == nil && !at.awake && !now.Before(at.quiet) {
		at.short = false
	}
	if err != nil && ctx.Err() == nil {
		at.fails = time.Now().Add(searchPause)
		l.queue.config.Log.Warn("the job queue does not answer", "installation", at.id, "error", err)
	}
	return key, found
}

// gather finds the jobs of the tenant, all of them if there is time.
func (l *tenants) gather(ctx context.Context, at *tenant) error {
	for begun := time.Now(); at.awake && time.Since(begun) < gatherFor; {
		key, w, found, err := l.walk(ctx, at)
		if err != nil {
			return err
		}
		if found {
			at.later[key] = w
		}
	}
	return nil
}

// walk finds the tenant's next job, oldest first, that is not running here; false if there is none.
func (l *tenants) walk(ctx context.Context, at *tenant) (Key, wait, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTry)
	defer cancel()
	subject := prefix + strconv.FormatInt(at.id, 10) + ".>"
	for {
		msg, err := l.queue.stream.GetMsg(ctx, at.next, jetstream.WithGetMsgSubject(subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			at.awake = false // until a job is announced or found by looking
			return Key{}, wait{}, false, nil
		}
		if err != nil {
			return Key{}, wait{}, false, fmt.Errorf("looking for the next job: %w", err)
		}
		key, err := parseKey(msg.Subject)
		if err != nil {
			l.queue.config.Log.Error("a message in the job queue is not a job", "error", err)
			if err := l.queue.remove(ctx, l.queue.stream, msg.Sequence); err != nil {
				return Key{}, wait{}, false, err
			}
		}
		at.next = msg.Sequence + 1
		if err != nil {
			continue
		}
		var m Message
		_ = json.Unmarshal(msg.Data, &m) // the worker reports what cannot be read
		w := wait{seq: msg.Sequence, urgent: m.Revokes()}
		if job := at.busy[key]; job != nil {
			job.newer = w
			continue
		}
		return key, w, true, nil
	}
}

// search lists the whole stream for unknown jobs. It does not depend on sequences, and so not on what dead servers
// forgot.
func (l *tenants) search(ctx context.Context) error {
	begun := time.Now()
	keys, made, err := l.queue.list(ctx)
	now := time.Now()
	if err != nil {
		l.nextSearch = now.Add(searchPause)
		return err
	}
	l.nextSearch = now.Add(max(searchPause, searchShare*now.Sub(begun)))
	if !made.Equal(l.made) {
		l.renew(made)
	}
	for _, key := range keys {
		at := l.tenant(key.Installation)
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

// renew forgets what is known of a stream that is gone, since sequences begin again. The first stream is no news.
func (l *tenants) renew(made time.Time) {
	known := !l.made.IsZero()
	if l.made = made; !known {
		return
	}
	for _, at := range l.byID {
		at.next, at.awake = 1, true
		clear(at.later)
	}
	select {
	case l.queue.lost <- struct{}{}:
	default: // it is told already
	}
}

// list returns the keys of all jobs, in no order, and when their stream was made.
func (q *Queue) list(ctx context.Context) ([]Key, time.Time, error) {
	brief, cancel := context.WithTimeout(ctx, requestTry)
	defer cancel()
	var info *jetstream.StreamInfo
	err := q.repeat(brief, requestTry, func(ctx context.Context) (err error) {
		info, err = q.stream.Info(ctx)
		return err
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	made := info.Created
	if info.State.Msgs == 0 {
		return nil, made, nil
	}
	long, cancel := context.WithTimeout(ctx, requestTry+time.Duration(info.State.Msgs)*listRate)
	defer cancel()
	if info, err = q.stream.Info(long, jetstream.WithSubjectFilter(prefix+">")); err != nil {
		return nil, made, err
	}
	keys := make([]Key, 0, len(info.State.Subjects))
	for subject := range info.State.Subjects {
		if key, err := parseKey(subject); err == nil {
			keys = append(keys, key)
		}
	}
	return keys, made, nil
}

// Lost tells Work's process that jobs may have been lost, because the stream of jobs was made again.
func (q *Queue) Lost() <-chan struct{} { return q.lost }

// untilNext returns how long there is nothing to do unless a job is announced or ends. free says whether a worker is
// free.
func (l *tenants) untilNext(now time.Time, free bool) time.Duration {
	next := l.nextSearch
	sooner := func(t time.Time) {
		if t.Before(next) {
			next = t
		}
	}
	for _, at := range l.byID {
		switch {
		case free:
			for _, w := range at.later {
				if !w.urgent {
					w.until = later(w.until, at.quiet)
				}
				sooner(later(w.until, at.fails))
			}
			if at.awake {
				sooner(at.fails)
			}
		case !at.lacks.IsZero() && l.yielding == nil:
			sooner(at.lacks.Add(l.queue.config.Courtesy))
		}
	}
	return max(next.Sub(now), time.Millisecond)
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// preempt is called when no more jobs can begin. If no worker is free and an installation without a worker has waited,
// the installation with the most running jobs (if more than one) returns the job that began last. That job loses the
// least work, and the others continue to their end.
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

// spare returns the job that began last of the tenant with the most running jobs; nil if no tenant has several.
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

// maxLooks limits how many jobs preempt examines at a time.
const maxLooks = 10

// free reports whether a tenant has a job that can begin now.
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
		w := at.later[key]
		w.until = until
		at.later[key] = w
	}
	return false
}
