package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// lockPause is between attempts to take a lease that another holds, and aloneFor how long they go on.
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
	working, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	beating, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end() // also when do panics: the turn then ends by itself, and not with the process
	var heart sync.WaitGroup
	heart.Go(func() { q.heartbeat(beating, held, func() { lose(errLost) }) })
	err = do(working)
	lost := errors.Is(context.Cause(working), errLost)
	end()
	heart.Wait()
	if lost {
		return &Later{After: minLater, Err: errLost}
	}
	releasing, done := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer done()
	held.release(releasing)
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
