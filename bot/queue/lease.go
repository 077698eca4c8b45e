package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// errLost ends the work on a job whose lease went to another process.
var errLost = errors.New("the lease of the job was lost")

// lease is the right to work on a key. It ends by itself when its holder stops renewing it.
type lease struct {
	kv       jetstream.KeyValue
	key      string
	owner    string
	revision uint64
	renewed  time.Time
}

// acquire takes the lease of a key; nil without an error means that another process has it.
func (q *Queue) acquire(ctx context.Context, key Key) (*lease, error) {
	l := &lease{kv: q.leases, key: key.String(), owner: rand.Text(), renewed: time.Now()}
	revision, err := q.leases.Create(ctx, l.key, []byte(l.owner))
	if errors.Is(err, jetstream.ErrKeyExists) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("taking the lease of job %s: %w", key, err)
	}
	l.revision = revision
	return l, nil
}

// renew prolongs the lease. An error other than errLost may pass; the lease is lost all the same when it could
// not be renewed for nearly its whole time: before the server gives it to somebody else.
func (l *lease) renew(ctx context.Context, ttl time.Duration) error {
	begun := time.Now()
	last := l.renewed.Add(ttl - ttl/8)
	ctx, cancel := context.WithDeadline(ctx, last)
	defer cancel()
	revision, err := l.kv.Update(ctx, l.key, []byte(l.owner), l.revision)
	if isConflict(err) {
		// A renewal whose answer got lost, or somebody else took it?
		var entry jetstream.KeyValueEntry
		if entry, err = l.kv.Get(ctx, l.key); err == nil && string(entry.Value()) == l.owner {
			revision = entry.Revision()
		} else if err == nil || errors.Is(err, jetstream.ErrKeyNotFound) {
			return errLost
		}
	}
	switch {
	case err == nil:
		l.revision, l.renewed = revision, begun
		return nil
	case !time.Now().Before(last):
		return errLost
	}
	return err
}

// release gives the lease up. Should that fail, it ends by itself.
func (l *lease) release(ctx context.Context) {
	_ = l.kv.Purge(ctx, l.key, jetstream.LastRevision(l.revision))
}

// isConflict recognizes that the key changed since the revision we know.
func isConflict(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}
