package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// errLost ends the work on a job whose lease another process has, or may have.
var errLost = errors.New("the lease of the job was lost")

// lease is the right to work on a key. It expires if its holder does not renew it, because the bucket removes values
// older than AckWait. The holder stops an eighth of that time earlier, for the time that stopping takes and for
// differences between the servers' clocks.
type lease struct {
	queue    *Queue
	key      string
	owner    string
	revision uint64
	renewed  time.Time // before the request that stored the revision was sent
}

// acquire takes the lease of a key; nil without an error means that another owner has it. For one owner, only one
// caller at a time may acquire a key.
func (q *Queue) acquire(ctx context.Context, key Key, owner string) (*lease, error) {
	l := &lease{queue: q, key: key.String(), owner: owner, renewed: time.Now()}
	limit := min(q.config.AckWait/2, requestFor)
	err := q.do(ctx, limit, func(ctx context.Context) (err error) {
		l.revision, err = q.leases.kv.Create(ctx, l.key, []byte(owner))
		return err
	})
	if errors.Is(err, jetstream.ErrKeyExists) || isConflict(err) {
		// The lease may be our own, from a request whose answer was lost.
		if err = l.again(ctx, limit); errors.Is(err, errLost) {
			return nil, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("taking the lease of job %s: %w", key, err)
	}
	return l, nil
}

// again renews a lease whose revision is unknown; errLost means that it is not ours.
func (l *lease) again(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	owner, revision, err := l.queue.leases.Get(ctx, l.key)
	switch {
	case err != nil:
		return err
	case string(owner) != l.owner:
		return errLost
	}
	begun := time.Now()
	revision, err = l.queue.leases.kv.Update(ctx, l.key, []byte(l.owner), revision)
	if err == nil {
		l.revision, l.renewed = revision, begun
	}
	return err
}

// renew prolongs the lease. An error other than errLost may be temporary. If renewing fails for nearly the whole time
// of the lease, the lease is lost, before the server gives it to another owner.
func (l *lease) renew(ctx context.Context) error {
	ttl := l.queue.config.AckWait
	end := l.renewed.Add(ttl - ttl/8)
	bounded, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	// It is shorter than the remaining time, so that a lost answer costs one of several attempts.
	try, done := context.WithTimeout(bounded, ttl/8)
	begun := time.Now()
	revision, err := l.queue.leases.kv.Update(try, l.key, []byte(l.owner), l.revision)
	done()
	switch {
	case err == nil:
		l.revision, l.renewed = revision, begun
	case isConflict(err):
		err = l.again(bounded, ttl/8) // a renewal whose answer was lost, or somebody else took it
	}
	if err != nil && ctx.Err() == nil && !time.Now().Before(end) {
		return errLost
	}
	return err
}

// release gives up the lease. If that fails, the lease expires.
func (l *lease) release(ctx context.Context) {
	if err := l.queue.remove(ctx, l.queue.leases.stream, l.revision); err != nil {
		return
	}
	// The last renewal may have been stored although its answer did not arrive.
	if owner, revision, err := l.queue.leases.Get(ctx, l.key); err == nil && string(owner) == l.owner {
		_ = l.queue.remove(ctx, l.queue.leases.stream, revision)
	}
}

// during calls do while the lease is held, and then releases it. The context working ends with ctx or with the lease.
// The context keeping ends first and only with the lease: after that, nothing may be stored for the job. It reports
// whether the lease was lost.
func (l *lease) during(ctx context.Context, do func(working, keeping context.Context)) (lost bool) {
	working, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	keeping, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end() // also when do panics: the lease then ends by itself, and not with the process
	var heart sync.WaitGroup
	heart.Go(func() {
		l.heartbeat(keeping, func() { end(); lose(errLost) })
	})
	do(working, keeping)
	lost = keeping.Err() != nil
	end()
	heart.Wait()
	if !lost {
		releasing, done := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
		defer done()
		l.release(releasing)
	}
	return lost
}

// heartbeat renews the lease, and calls lost when that fails.
func (l *lease) heartbeat(ctx context.Context, lost func()) {
	beat := max(l.queue.config.AckWait/4, time.Millisecond)
	timer := time.NewTimer(beat)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		pause := beat
		if err := l.renew(ctx); ctx.Err() != nil {
			return
		} else if errors.Is(err, errLost) {
			l.queue.config.Log.Warn("the lease of a job was lost", "job", l.key)
			lost()
			return
		} else if err != nil {
			l.queue.config.Log.Warn("the lease of a job could not be renewed", "job", l.key, "error", err)
			pause = max(min(beat/4, requestPause), time.Millisecond)
		}
		timer.Reset(pause)
	}
}

const (
	// lockPause is the pause between attempts to take a held lease; lockFor is the limit of all attempts.
	lockPause = 50 * time.Millisecond
	lockFor   = 30 * time.Second
)

// Exclusively calls do while no other process or job holds the key exclusively, so that state shared by several keys
// can be read and written. It waits up to 30 s for its turn. If that fails, or the turn is lost meanwhile, it returns a
// *Later. The context of do ends with the turn.
func (j *Job) Exclusively(ctx context.Context, key Key, do func(ctx context.Context) error) error {
	q := j.queue
	held, err := q.turn(ctx, key, fmt.Sprintf("alone-%d", j.Sequence))
	if err != nil {
		return err
	}
	if held.during(ctx, func(working, _ context.Context) { err = do(working) }) {
		return &Later{After: minLater, Err: errLost}
	}
	return err
}

// turn takes the lease of a key as soon as it is free.
func (q *Queue) turn(ctx context.Context, key Key, owner string) (*lease, error) {
	end := time.Now().Add(lockFor)
	for {
		held, err := q.acquire(ctx, key, owner)
		if held != nil || ctx.Err() != nil {
			return held, ctx.Err()
		}
		if time.Now().After(end) {
			return nil, &Later{After: minLater, Err: errors.Join(fmt.Errorf("%s is busy", key), err)}
		}
		select {
		case <-ctx.Done():
		case <-time.After(lockPause):
		}
	}
}
