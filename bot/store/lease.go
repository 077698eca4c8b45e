package store

import (
	"context"
	"errors"
	"fmt"
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
		return q.leases.Create(ctx, l.key, []byte(owner))
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
	entry, err := get(ctx, l.queue.leases, l.key)
	switch {
	case err != nil:
		return err
	case entry == nil || string(entry.Value()) != l.owner:
		return errLost
	}
	begun := time.Now()
	revision, err := l.queue.leases.Update(ctx, l.key, []byte(l.owner), entry.Revision())
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
	revision, err := l.queue.leases.Update(try, l.key, []byte(l.owner), l.revision)
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
	if err := remove(ctx, l.queue.leaseStream, l.revision); err != nil {
		return
	}
	// The last renewal may have been stored although its answer did not arrive.
	if entry, err := get(ctx, l.queue.leases, l.key); err == nil && entry != nil && string(entry.Value()) == l.owner {
		_ = remove(ctx, l.queue.leaseStream, entry.Revision())
	}
}
