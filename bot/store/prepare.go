package store

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// notClustered is the server's code for a replicated stream on a server that is alone
// (JSStreamReplicasNotSupportedErr in nats-server).
const notClustered jetstream.ErrorCode = 10074

// prepare makes what is needed, and waits, as long as ctx allows, for a cluster that is electing a leader.
func (q *Queue) prepare(ctx context.Context) error {
	for {
		try, done := context.WithTimeout(ctx, prepareTry)
		err := q.prepareOnce(try)
		done()
		if err == nil || !mayPass(err) || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(requestPause):
		case <-ctx.Done():
			return err
		}
	}
}

// prepareOnce makes streams of three replicas where the server is part of a cluster, else of one.
func (q *Queue) prepareOnce(ctx context.Context) error {
	if q.embedded != nil {
		return q.prepareWith(ctx, 1)
	}
	err := q.prepareWith(ctx, 3)
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == notClustered {
		return q.prepareWith(ctx, 1)
	}
	return err
}

func (q *Queue) prepareWith(ctx context.Context, replicas int) (err error) {
	config := jetstream.StreamConfig{
		Name:              streamName,
		Subjects:          []string{prefix + "*.*.*"},
		Retention:         jetstream.WorkQueuePolicy,
		Storage:           jetstream.FileStorage,
		Replicas:          replicas,
		MaxMsgsPerSubject: 1,
		MaxMsgs:           maxJobs,
		MaxMsgSize:        maxPayload,
		// New is refused only when the whole queue is full; within a subject the older one goes.
		Discard:    jetstream.DiscardNew,
		Duplicates: duplicates,
	}
	if q.embedded != nil { // elsewhere the room would be taken from an account that others may share
		config.MaxBytes = maxJobBytes
	}
	if q.stream, err = q.js.CreateOrUpdateStream(ctx, config); err != nil {
		return err
	}
	if err := q.clear(ctx); err != nil {
		return err
	}
	// A lease must not outlive the process that holds it, if that is also the server, nor end early when servers die
	// that others work with.
	storage := jetstream.FileStorage
	if q.embedded != nil {
		storage = jetstream.MemoryStorage
	}
	if q.leases, err = q.makeBucket(ctx, jetstream.StreamConfig{Name: leaseBucket, MaxAge: q.config.AckWait, Storage: storage,
		Replicas: replicas}); err != nil {
		return err
	}
	if q.leaseStream, err = q.js.Stream(ctx, bucketPrefix+leaseBucket); err != nil {
		return err
	}
	return openAll(ctx, q.state, q.pushers)
}

// clear removes what earlier versions made and this one does not use.
func (q *Queue) clear(ctx context.Context) error {
	names := q.stream.ConsumerNames(ctx)
	for name := range names.Name() {
		if err := q.stream.DeleteConsumer(ctx, name); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return err
		}
	}
	if err := names.Err(); err != nil && !errors.Is(err, jetstream.ErrEndOfData) {
		return err
	}
	if err := q.js.DeleteStream(ctx, bucketPrefix+"LINTEL_LEASES"); err != nil &&
		!errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	return nil
}

// bucketPrefix starts the name of the stream of a bucket of keys and values.
const bucketPrefix = "KV_"

// makeBucket makes a bucket, named in the configuration, that answers from its leader only. The client's own way to make
// one lets any server answer, and so from the past.
func (q *Queue) makeBucket(ctx context.Context, c jetstream.StreamConfig) (jetstream.KeyValue, error) {
	name := c.Name
	c.Name = bucketPrefix + name
	c.Subjects = []string{"$KV." + name + ".>"}
	c.MaxMsgsPerSubject = 1
	if c.MaxBytes == 0 {
		c.Discard = jetstream.DiscardNew
	}
	c.AllowRollup = true
	c.Duplicates = min(2*time.Minute, c.MaxAge)
	if _, err := q.js.CreateOrUpdateStream(ctx, c); err != nil {
		return nil, err
	}
	return q.js.KeyValue(ctx, name)
}
