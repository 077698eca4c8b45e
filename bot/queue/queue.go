package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	streamName   = "LINTEL_CHECKS"
	consumerName = "workers"
	leaseBucket  = "LINTEL_LEASES"
	stateBucket  = "LINTEL_STATE"

	// maxJobs bounds the disk a flood of events can take; Publish fails above it and GitHub keeps the
	// delivery as failed.
	maxJobs = 1_000_000
	// maxPayload is far more than a Message needs.
	maxPayload = 16 << 10
	// duplicates is how long the id of a publication is remembered. GitHub's own redeliveries carry the
	// id of the first attempt.
	duplicates = 10 * time.Minute
	// stateTTL outlives GitHub's record of deliveries (three days) and any job.
	stateTTL = 7 * 24 * time.Hour
)

// Config says where the jobs live and how patient the queue is. Zero values take the defaults named.
type Config struct {
	Dir string // folder of the embedded server; used when URL is empty
	URL string // of a NATS server or cluster, comma separated; credentials may be part of it

	AckWait  time.Duration   // how long a worker may be silent before its job is given to another; 15 s
	Tries    int             // deliveries of one job that count, the last one included; 3
	Backoff  []time.Duration // pauses after the first, second ... failed try; 5 s, 30 s, 2 min
	Occupied time.Duration   // pause before a job is offered again whose key another process works on; 2 s

	Log *slog.Logger // default: discard
}

func (c Config) withDefaults() Config {
	if c.AckWait <= 0 {
		c.AckWait = 15 * time.Second
	}
	if c.Tries <= 0 {
		c.Tries = 3
	}
	if len(c.Backoff) == 0 {
		c.Backoff = []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute}
	}
	if c.Occupied <= 0 {
		c.Occupied = 2 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Queue holds the jobs. It is safe for concurrent use.
type Queue struct {
	config   Config
	embedded *embedded // nil with a URL
	conn     *nats.Conn
	js       jetstream.JetStream
	stream   jetstream.Stream
	consumer jetstream.Consumer
	leases   jetstream.KeyValue
	state    jetstream.KeyValue

	mu   sync.Mutex
	busy map[Key]*parked // a key is present while it is in work here; the value is the job that waits for its end
}

// Open starts the embedded server, or connects to the one at the URL, and prepares the streams. The error
// names neither folders nor credentials.
func Open(ctx context.Context, config Config) (*Queue, error) {
	q := &Queue{config: config.withDefaults(), busy: map[Key]*parked{}}
	if err := q.connect(); err != nil {
		q.Close()
		return nil, err
	}
	var err error
	if q.js, err = jetstream.New(q.conn); err == nil {
		err = q.prepare(ctx)
	}
	if err != nil {
		q.Close()
		return nil, fmt.Errorf("preparing the job queue: %w", err)
	}
	return q, nil
}

func (q *Queue) connect() (err error) {
	options := []nats.Option{nats.Name("lintel"), nats.MaxReconnects(-1)}
	if q.config.URL == "" {
		if q.embedded, err = startEmbedded(q.config.Dir); err != nil {
			return err
		}
		options = append(options, nats.InProcessServer(q.embedded.server))
	}
	if q.conn, err = nats.Connect(q.config.URL, options...); err != nil {
		// The client's error may quote the URL, which may carry a password.
		return &ConnectError{Err: err}
	}
	return nil
}

// ConnectError means that the NATS server did not take the connection. Its text does not quote the
// address; Err may.
type ConnectError struct{ Err error }

func (e *ConnectError) Error() string {
	switch {
	case errors.Is(e.Err, nats.ErrAuthorization):
		return "the NATS server refused the credentials in the address"
	case errors.Is(e.Err, nats.ErrNoServers):
		return "no NATS server answers at the configured address"
	}
	return "the connection to the NATS server failed"
}

func (e *ConnectError) Unwrap() error { return e.Err }

// notClustered is the server's code for a replicated stream on a server that is alone
// (JSStreamReplicasNotSupportedErr in nats-server).
const notClustered jetstream.ErrorCode = 10074

// prepare makes streams of three replicas where the server is part of a cluster, else of one.
func (q *Queue) prepare(ctx context.Context) error {
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
	q.stream, err = q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
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
	})
	if err != nil {
		return err
	}
	q.consumer, err = q.stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable:   consumerName,
		AckPolicy: jetstream.AckExplicitPolicy,
		AckWait:   q.config.AckWait,
		// Postponed jobs count as pending and deliveries that were no fault of the job count as
		// deliveries, so both limits are kept here and not by the server.
		MaxDeliver:    -1,
		MaxAckPending: -1,
	})
	if err != nil {
		return err
	}
	// A lease must not outlive the servers that remember it, so memory is right.
	q.leases, err = q.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: leaseBucket, TTL: q.config.AckWait, Storage: jetstream.MemoryStorage, Replicas: replicas})
	if err != nil {
		return err
	}
	q.state, err = q.js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: stateBucket, TTL: stateTTL, Storage: jetstream.FileStorage, Replicas: replicas})
	return err
}

// Close ends the connection and the embedded server. Jobs in work are delivered again after the next
// Open; end Work first to hand them back at once.
func (q *Queue) Close() {
	if q.conn != nil {
		q.conn.Close()
	}
	if q.embedded != nil {
		q.embedded.stop()
	}
}

// ErrFull means that the queue holds as many jobs as it may, or its disk is full.
var ErrFull = errors.New("the job queue takes no more jobs")

// storeFailed is the server's code for a message that its store refused (JSStreamStoreFailedF in
// nats-server): maximum messages exceeded, no space.
const storeFailed jetstream.ErrorCode = 10077

// Publish stores a job and returns when it is on disk. A second publication with the same id within ten
// minutes is taken and dropped; an empty id is never dropped.
func (q *Queue) Publish(ctx context.Context, key Key, m Message, id string) error {
	if err := key.Validate(); err != nil {
		return fmt.Errorf("job key: %w", err)
	}
	data, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("job %s: %w", key, err)
	}
	var options []jetstream.PublishOpt
	if id != "" {
		// One event can stand for several pull requests.
		options = append(options, jetstream.WithMsgID(id+"/"+key.String()))
	}
	if _, err = q.js.Publish(ctx, key.subject(), data, options...); err != nil {
		var api *jetstream.APIError
		if errors.As(err, &api) && api.ErrorCode == storeFailed {
			return ErrFull
		}
		return fmt.Errorf("storing job %s: %w", key, err)
	}
	return nil
}

// Has reports whether a job of the key waits or is in work.
func (q *Queue) Has(ctx context.Context, key Key) (bool, error) {
	seq, err := q.newest(ctx, key)
	return seq != 0, err
}

// newest is the sequence of the key's job in the stream, zero when there is none. It asks the stream's
// leader, so it never answers from the past.
func (q *Queue) newest(ctx context.Context, key Key) (uint64, error) {
	m, err := q.stream.GetLastMsgForSubject(ctx, key.subject())
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("looking up job %s: %w", key, err)
	}
	return m.Sequence, nil
}

// Depth is how much there is to do.
type Depth struct {
	Waiting int // not yet delivered
	Taken   int // in work or postponed, over all processes
}

// Depth asks the server; an error means that the queue is out of reach.
func (q *Queue) Depth(ctx context.Context) (Depth, error) {
	// The consumer's own count of what waits lags behind the stream.
	stream, err := q.stream.Info(ctx)
	if err != nil {
		return Depth{}, fmt.Errorf("asking for the depth of the queue: %w", err)
	}
	consumer, err := q.consumer.Info(ctx)
	if err != nil {
		return Depth{}, fmt.Errorf("asking for the depth of the queue: %w", err)
	}
	taken := consumer.NumAckPending
	return Depth{Waiting: max(int(stream.State.Msgs)-taken, 0), Taken: taken}, nil
}
