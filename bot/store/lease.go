package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// errLost ends the work on a job whose lease went to another process, or may have.
var errLost = errors.New("the lease of the job was lost")

// lease is the right to work on a key. It ends by itself when its holder stops renewing it: the bucket forgets what
// is older than AckWait. It ends here an eighth of that earlier than there, which is what the holder has to stop, and
// by how much the servers' clocks may differ.
type lease struct {
	queue    *Queue
	key      string
	owner    string
	revision uint64
	renewed  time.Time // before the request that stored the revision was sent
}

// acquire takes the lease of a key; nil without an error means that another owner has it. Of one owner, only one
// caller at a time may ask for a key.
func (q *Queue) acquire(ctx context.Context, key Key, owner string) (*lease, error) {
	l := &lease{queue: q, key: key.String(), owner: owner, renewed: time.Now()}
	limit := min(q.config.AckWait/2, requestFor)
	var err error
	l.revision, err = ask(ctx, limit, func(ctx context.Context) (uint64, error) {
		return q.leases.kv.Create(ctx, l.key, []byte(owner))
	})
	if errors.Is(err, jetstream.ErrKeyExists) || isConflict(err) {
		// Perhaps it is our own, of a request whose answer was lost.
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
	entry, err := get(ctx, l.queue.leases.kv, l.key)
	switch {
	case err != nil:
		return err
	case entry == nil || string(entry.Value()) != l.owner:
		return errLost
	}
	begun := time.Now()
	revision, err := l.queue.leases.kv.Update(ctx, l.key, []byte(l.owner), entry.Revision())
	if err == nil {
		l.revision, l.renewed = revision, begun
	}
	return err
}

// renew prolongs the lease. An error other than errLost may pass; the lease is lost all the same when it could
// not be renewed for nearly its whole time: before the server gives it to somebody else.
func (l *lease) renew(ctx context.Context) error {
	ttl := l.queue.config.AckWait
	end := l.renewed.Add(ttl - ttl/8)
	bounded, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	// Short of the time that is left, so that a lost answer costs one attempt of several.
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

// release gives the lease up. Should that fail, it ends by itself.
func (l *lease) release(ctx context.Context) {
	if err := remove(ctx, l.queue.leases.stream, l.revision); err != nil {
		return
	}
	// The last renewal may have been stored although its answer did not arrive.
	if entry, err := get(ctx, l.queue.leases.kv, l.key); err == nil && entry != nil && string(entry.Value()) == l.owner {
		_ = remove(ctx, l.queue.leases.stream, entry.Revision())
	}
}

// during works while the lease holds, and gives it up. The context of the work ends with ctx, or with the lease; keeping
// with the lease alone, and first: when the work ends for it, nothing can be settled any more. It reports whether the lease
// was lost.
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

// heartbeat keeps the lease, and calls lost when it is.
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
	// lockPause is between attempts to take a lease that another holds, and lockFor how long they go on.
	lockPause = 50 * time.Millisecond
	lockFor   = 30 * time.Second
)

// Exclusively calls do while nobody else, in any process, is alone with the key: what jobs of several keys have in common
// is read and written in one piece. It waits for its turn, up to 30 s; then, and when the turn is lost on the way, the
// error is a *Later. The context of do ends with the turn.
func (j *Job) Exclusively(ctx context.Context, key Key, do func(ctx context.Context) error) error {
	q := j.queue
	held, err := q.turn(ctx, key, fmt.Sprintf("alone-%d", j.seq))
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
