// Package store stores the data of the App in the streams and key-value buckets of a NATS server, which is embedded in
// the process or a cluster that several servers share. The data are jobs, leases, sessions, pushers, repositories that
// take rules from others, and results.
//
// Jobs are durable, one for each pull request, and the newest replaces older ones.
//
// A job is only a key (installation, repository, pull request); its worker reads the present state. The jobs are the
// messages of a NATS JetStream stream without consumers: a process reads the stream to find a job, takes the lease of
// its key, and deletes this message when the job is done. So there is no state of delivery that could be lost with a
// server, and an installation costs the cluster nothing. Guarantees:
//
//   - Publish returns after the job is on disk. It survives a kill of this process at any later time, and of all
//     servers of a cluster.
//   - Of several jobs of one key that nobody has begun, only the newest is kept.
//   - A job that is published while an older one of its key is running begins afterwards, never beside it: within a
//     process by a table of keys, across processes by a lease that its holder renews.
//   - A job whose worker dies begins again when its lease has ended, and knows how often that happened.
package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/lintel-bot/lintel/render/remote"
)

const (
	streamName   = "LINTEL_CHECKS"
	leaseBucket  = "LINTEL_HOLDERS"
	stateBucket  = "LINTEL_STATE"
	pusherBucket = "LINTEL_PUSHERS"

	// maxJobs limits the disk space of jobs; Publish fails above it, and GitHub records the delivery as failed.
	maxJobs = 1_000_000
	// maxPayload is far above the size of a Message.
	maxPayload = 16 << 10
	// duplicates is how long the id of a publication is stored. GitHub's own redeliveries carry the id of the first
	// attempt.
	duplicates = 10 * time.Minute
	// stateTTL outlives GitHub's record of deliveries (three days) and any job.
	stateTTL = 7 * 24 * time.Hour
	// prepareTry limits an attempt to create the streams; the next one finds those that exist.
	prepareTry = 5 * time.Second
	// reconnectPause is between rounds through the servers of a cluster.
	reconnectPause = 250 * time.Millisecond
	// publishFor is how long a publication is repeated, unless the caller has a deadline before.
	publishFor = 30 * time.Second
)

// Config is the configuration of a Queue. Zero values mean the given defaults.
type Config struct {
	Dir string // folder of the embedded server; used when URL is empty
	URL string // of a NATS server or cluster, comma separated; credentials may be part of it
	App int64  // id of the GitHub App; streams at the URL that belong to another one are refused. 0: any

	AckWait  time.Duration   // how long a worker may be silent before its job is given to another; 15 s
	Tries    int             // deliveries of one job that count, the last one included; 3
	Backoff  []time.Duration // pauses after the first, second ... failed try; 5 s, 30 s, 2 min
	Occupied time.Duration   // pause before a job is offered again whose key another process works on; 2 s
	Courtesy time.Duration   // how long one installation waits for a worker before one is taken from another; 3 s

	Log *slog.Logger // default: discard
}

func (c Config) withDefaults() Config {
	c.AckWait, c.Tries = cmp.Or(c.AckWait, 15*time.Second), cmp.Or(c.Tries, 3)
	c.Occupied, c.Courtesy = cmp.Or(c.Occupied, 2*time.Second), cmp.Or(c.Courtesy, 3*time.Second)
	if len(c.Backoff) == 0 {
		c.Backoff = []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute}
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// Queue holds the jobs. It is safe for concurrent use.
type Queue struct {
	config    Config
	embedded  *embedded // nil with a URL
	conn      *nats.Conn
	js        jetstream.JetStream
	stream    jetstream.Stream // of jobs
	leases    *Bucket
	processes processes
	streams   sync.Map // by name: the jetstream.StreamConfig of those that were made
	restoring sync.Mutex
	lost      chan struct{} // see Lost

	Memory
}

// Open starts the embedded server, or connects to the one at the URL, and prepares the streams. The error
// names neither folders nor credentials.
func Open(ctx context.Context, config Config) (*Queue, error) {
	q := &Queue{config: config.withDefaults(), lost: make(chan struct{}, 1)}
	leases := jetstream.StreamConfig{Name: leaseBucket, MaxAge: q.config.AckWait}
	if config.URL == "" {
		// A lease must end with the process that holds it if that is also the server, and must not end early when
		// servers of a cluster die.
		leases.Storage = jetstream.MemoryStorage
	}
	q.leases = q.bucket(leases)
	q.state = q.bucket(jetstream.StreamConfig{Name: stateBucket, MaxAge: stateTTL, DenyDelete: true})
	q.pushers = q.bucket(jetstream.StreamConfig{Name: pusherBucket, MaxAge: pusherTTL, DenyDelete: true})
	q.dependents = q.Bucket("RULE_USERS", dependentBytes, dependentTTL)
	q.previews = q.Bucket("OUTLOOKS", previewBytes, previewTTL)
	if err := q.connect(); err != nil {
		q.Close()
		return nil, err
	}
	var err error
	if q.js, err = jetstream.New(q.conn); err == nil {
		err = q.repeat(ctx, prepareTry, q.prepare) // a cluster may be electing a leader
	}
	if err != nil {
		q.Close()
		return nil, fmt.Errorf("preparing the job queue: %w", err)
	}
	return q, nil
}

func (q *Queue) connect() (err error) {
	options := []nats.Option{nats.Name("lintel"), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectPause),
		nats.ReconnectBufSize(-1)} // what could not be sent is sent again, and not a second time when nobody expects it
	options = append(options, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		q.config.Log.Warn("the connection to the NATS server has a problem", "error", err) // the client alone would print it
	}))
	if q.config.URL == "" {
		if q.embedded, err = startEmbedded(q.config.Dir); err != nil {
			return err
		}
		options = append(options, nats.InProcessServer(q.embedded.server))
	}
	if q.conn, err = nats.Connect(q.config.URL, options...); err != nil {
		return connectError(err)
	}
	return nil
}

// connectError returns why there is no connection. The client's error may quote the URL, which may carry a password.
func connectError(err error) error {
	switch {
	case errors.Is(err, nats.ErrAuthorization):
		return errors.New("the NATS server refused the credentials in the address")
	case errors.Is(err, nats.ErrNoServers):
		return errors.New("no NATS server answers at the configured address")
	}
	return errors.New("the connection to the NATS server failed")
}

// Close ends the connection and the embedded server. Running jobs are delivered again after the next Open; end Work
// first to return them at once.
func (q *Queue) Close() {
	if q.conn != nil {
		q.conn.Close()
	}
	if q.embedded != nil {
		q.embedded.stop()
	}
}

// ErrFull means that the queue holds as many jobs as it may, or its disk is full.
var ErrFull = errors.New("the job queue does not accept more jobs")

// storeFailed is the server's code for a message that its store refused (JSStreamStoreFailedF in
// nats-server): maximum messages exceeded, no space.
const storeFailed jetstream.ErrorCode = 10077

// Publish stores a job and returns when it is on disk. A second publication with the same id within ten minutes is
// dropped, unless the id is empty. A job with Missing is also dropped if one of its key is stored or running. A Fresh
// one is stored until it is fulfilled, even if a newer job replaces it.
func (q *Queue) Publish(ctx context.Context, key Key, m Message, id string) error {
	if err := key.Validate(); err != nil {
		return fmt.Errorf("job key: %w", err)
	}
	if m.Fresh {
		m.Demand = cmp.Or(m.Demand, m.Delivery)
		// It is kept until a job of the key is done, since a newer job without the request may replace this one.
		if err := q.state.Put(ctx, "demand."+key.String(), []byte(m.Demand)); err != nil {
			return err
		}
	}
	data, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("job %s: %w", key, err)
	}
	var options []jetstream.PublishOpt
	if id != "" {
		// One event can cause jobs for several pull requests.
		options = append(options, jetstream.WithMsgID(id+"/"+key.String()))
	}
	if m.Missing {
		// It must not replace a job that does more.
		options = append(options, jetstream.WithExpectLastSequencePerSubject(0))
	}
	// A job that was stored although the answer was lost does no harm: the next attempt replaces it.
	err = q.do(ctx, publishFor, func(ctx context.Context) error {
		_, err := q.js.Publish(ctx, key.natsSubject(), data, options...)
		return err
	})
	var api *jetstream.APIError
	switch {
	case m.Missing && isConflict(err):
		return nil
	case errors.As(err, &api) && api.ErrorCode == storeFailed:
		return ErrFull
	case err != nil:
		return fmt.Errorf("storing job %s: %w", key, err)
	}
	q.wake(key.Installation)
	return nil
}

// Has reports whether a job of the key waits or is in work.
func (q *Queue) Has(ctx context.Context, key Key) (bool, error) {
	seq, err := q.newest(ctx, key)
	return seq != 0, err
}

// newest returns the sequence of the key's job in the stream; zero if there is none.
func (q *Queue) newest(ctx context.Context, key Key) (uint64, error) {
	m, err := q.last(ctx, q.stream, key.natsSubject())
	if err != nil {
		return 0, fmt.Errorf("looking up job %s: %w", key, err)
	}
	if m == nil {
		return 0, nil
	}
	return m.Sequence, nil
}

// notClustered is the server's code for a replicated stream on a single server (JSStreamReplicasNotSupportedErr in
// nats-server).
const notClustered jetstream.ErrorCode = 10074

// makeStream creates or updates a stream, with three replicas in a cluster and one otherwise.
func (q *Queue) makeStream(ctx context.Context, config jetstream.StreamConfig) (jetstream.Stream, error) {
	if config.Replicas = 3; q.embedded != nil {
		config.Replicas = 1
	}
	stream, err := q.js.CreateOrUpdateStream(ctx, config)
	if api, ok := errors.AsType[*jetstream.APIError](err); ok && api.ErrorCode == notClustered {
		config.Replicas = 1
		stream, err = q.js.CreateOrUpdateStream(ctx, config)
	}
	if err == nil {
		q.streams.Store(config.Name, config)
	}
	return stream, err
}

// errRestored marks the error of a request whose stream was made again since.
var errRestored = errors.New("the stream was made again")

// restore makes the streams again that do not exist any more: somebody removed them, or the server lost its disk. The
// handles of streams and buckets stay valid, since they are names.
func (q *Queue) restore(ctx context.Context) (err error) {
	q.restoring.Lock()
	defer q.restoring.Unlock()
	q.streams.Range(func(name, config any) bool {
		_, err = q.js.Stream(ctx, name.(string))
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			if _, err = q.makeStream(ctx, config.(jetstream.StreamConfig)); err == nil {
				q.config.Log.Error("a stream was gone from the NATS server, with all that was stored in it; it was made again",
					"stream", name)
			}
		}
		return err == nil
	})
	return err
}

// ownerKey is the key of the App's id in the metadata of the stream of jobs.
const ownerKey = "lintel-app"

// owned returns an error if the streams belong to another App: it would take this one's jobs, and could do none of them.
func (q *Queue) owned(ctx context.Context) error {
	stream, err := q.js.Stream(ctx, streamName)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if owner := stream.CachedInfo().Config.Metadata[ownerKey]; owner != "" && owner != strconv.FormatInt(q.config.App, 10) {
		return fmt.Errorf("the streams on the NATS server belong to the GitHub App %s, and this is App %d. Each App needs "+
			"a NATS account of its own. If the App was replaced, remove the streams with LINTEL in their names", owner, q.config.App)
	}
	return nil
}

// prepare creates the streams and buckets.
func (q *Queue) prepare(ctx context.Context) (err error) {
	config := jetstream.StreamConfig{
		Name:              streamName,
		Subjects:          []string{prefix + "*.*.*"},
		Retention:         jetstream.WorkQueuePolicy,
		Storage:           jetstream.FileStorage,
		MaxMsgsPerSubject: 1,
		MaxMsgs:           maxJobs,
		MaxMsgSize:        maxPayload,
		// New is refused only when the whole queue is full; within a subject the older one goes.
		Discard:    jetstream.DiscardNew,
		Duplicates: duplicates,
	}
	if q.config.App != 0 && q.embedded == nil {
		if err := q.owned(ctx); err != nil {
			return err
		}
		config.Metadata = map[string]string{ownerKey: strconv.FormatInt(q.config.App, 10)}
	}
	if q.embedded != nil { // elsewhere the room would be taken from an account that others may share
		config.MaxBytes = maxJobBytes
	}
	if q.stream, err = q.makeStream(ctx, config); err != nil {
		return err
	}
	if err := q.clear(ctx); err != nil {
		return err
	}
	return openAll(ctx, q.leases, q.state, q.pushers)
}

// clear removes the data of earlier versions that this one does not use.
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

// ErrInUse means that another process uses the folder of the embedded queue.
var ErrInUse = errors.New("another process uses this data directory")

// embedded is a NATS server inside this process that listens on no port.
type embedded struct {
	server *server.Server
	lock   io.Closer
}

const (
	startTimeout = 30 * time.Second
	maxMemory    = 64 << 20 // leases only
	// maxStore is no real limit, since each stream has its own. A server with a lower limit than its streams require
	// creates no stream, and would not start after somebody lowered the limits of a Bucket.
	maxStore = 1 << 50
	// maxJobBytes bounds the jobs on disk.
	maxJobBytes = 4 << 30
)

func startEmbedded(dir string) (*embedded, error) {
	if dir == "" {
		return nil, errors.New("the embedded job queue needs a data directory")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the data directory cannot be made: %w", remote.WithoutPath(err))
	}
	// Two embedded servers on one folder would destroy each other's files.
	lock, err := remote.LockFile(filepath.Join(dir, "lock"), false)
	if errors.Is(err, remote.ErrLocked) {
		return nil, ErrInUse
	}
	if err != nil {
		return nil, fmt.Errorf("the data directory cannot be used: %w", err)
	}
	s, err := server.NewServer(&server.Options{
		ServerName:         "lintel",
		DontListen:         true,
		JetStream:          true,
		StoreDir:           dir,
		SyncAlways:         true, // an answered webhook must survive a power cut
		JetStreamMaxMemory: maxMemory,
		JetStreamMaxStore:  maxStore,
		NoSigs:             true,
		NoLog:              true,
	})
	if err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("the embedded job queue: %w", err)
	}
	e := &embedded{server: s, lock: lock}
	s.Start()
	if !s.ReadyForConnections(startTimeout) || !s.JetStreamEnabled() {
		e.stop()
		return nil, errors.New("the embedded job queue did not start; the data directory may be damaged or not writable")
	}
	return e, nil
}

func (e *embedded) stop() {
	e.server.Shutdown()
	e.server.WaitForShutdown()
	_ = e.lock.Close()
}
