package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// MaxValue is the maximum size of a value in a Bucket: NATS servers accept 1 MiB by default, including headers.
const MaxValue = 768 << 10

// Values stores values by key; *Bucket implements it, and defines keys and filters.
type Values interface {
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	Put(ctx context.Context, key string, value []byte) error
	Update(ctx context.Context, key string, value []byte, revision uint64) (stored bool, err error)
	Keys(ctx context.Context, filter string) ([]string, error)
	Remove(ctx context.Context, filter string) error
}

// Bucket stores values by key beside the jobs: in the folder of the embedded server, or in the NATS cluster, where all
// processes share it. Values that are too old, or the oldest ones if there are too many, are removed automatically. A
// key consists of tokens of letters, digits, dashes and underscores, separated by dots. In a filter, * matches a token
// and > all following ones. It is safe for concurrent use.
//
// It reads without consumers, like the jobs, and from the leader, so that every process sees what was stored.
type Bucket struct {
	queue  *Queue
	config jetstream.StreamConfig // but the subjects and the number of replicas

	mu     sync.Mutex
	kv     jetstream.KeyValue // nil: not there yet
	stream jetstream.Stream
}

// Bucket returns a bucket with limits, which is created on first use. Its name consists of capital letters and
// underscores. Processes that share it should use the same limits; those of the last process to open it apply.
func (q *Queue) Bucket(name string, bytes int64, age time.Duration) *Bucket {
	return q.bucket(jetstream.StreamConfig{Name: "LINTEL_" + name, MaxBytes: bytes, MaxAge: age, Discard: jetstream.DiscardOld})
}

func (q *Queue) bucket(config jetstream.StreamConfig) *Bucket {
	return &Bucket{queue: q, config: config}
}

// bucketPrefix starts the name of the stream of a bucket of keys and values.
const bucketPrefix = "KV_"

// openAll creates buckets before they are used.
func openAll(ctx context.Context, buckets ...*Bucket) error {
	for _, b := range buckets {
		if _, _, err := b.open(ctx); err != nil {
			return err
		}
	}
	return nil
}

// open creates the bucket if it does not exist.
func (b *Bucket) open(ctx context.Context) (jetstream.KeyValue, jetstream.Stream, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kv != nil {
		return b.kv, b.stream, nil
	}
	// The client's own function for creating a bucket allows reads from any server, which may return outdated values.
	config := b.config
	config.Name = bucketPrefix + config.Name
	config.Subjects = []string{b.subject(">")}
	config.MaxMsgsPerSubject = 1
	if config.MaxBytes == 0 {
		config.Discard = jetstream.DiscardNew
	}
	config.AllowRollup = true
	config.Duplicates = min(2*time.Minute, config.MaxAge)
	stream, err := b.queue.makeStream(ctx, config)
	if err != nil {
		return nil, nil, err
	}
	kv, err := b.queue.js.KeyValue(ctx, b.config.Name)
	if err != nil {
		return nil, nil, err
	}
	b.kv, b.stream = kv, stream
	return kv, stream, nil
}

// do opens the bucket and repeats a request to it. doing says in errors what the request is for.
func (b *Bucket) do(ctx context.Context, doing string,
	request func(context.Context, jetstream.KeyValue, jetstream.Stream) error) error {
	kv, stream, err := b.open(ctx)
	if err == nil {
		err = b.queue.do(ctx, requestFor, func(ctx context.Context) error { return request(ctx, kv, stream) })
	}
	if err != nil {
		return fmt.Errorf("%s the bucket %s: %w", doing, b.config.Name, err)
	}
	return nil
}

// Get returns the value of a key and its revision; nil and zero if there is none.
func (b *Bucket) Get(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	err = b.do(ctx, "reading from", func(ctx context.Context, kv jetstream.KeyValue, _ jetstream.Stream) error {
		entry, err := kv.Get(ctx, key)
		switch {
		case errors.Is(err, jetstream.ErrKeyNotFound):
			return nil
		case err == nil:
			value, revision = entry.Value(), entry.Revision()
		}
		return err
	})
	return value, revision, err
}

// Put stores a value, on disk before it returns.
func (b *Bucket) Put(ctx context.Context, key string, value []byte) error {
	return b.do(ctx, "storing in", func(ctx context.Context, kv jetstream.KeyValue, _ jetstream.Stream) error {
		_, err := kv.Put(ctx, key, value)
		return err
	})
}

// Update is Put if the key has the given revision; zero means that the key must not exist. It reports whether the value
// was stored. It may return false for a stored value if the answer was lost.
func (b *Bucket) Update(ctx context.Context, key string, value []byte, revision uint64) (stored bool, err error) {
	err = b.do(ctx, "storing in", func(ctx context.Context, kv jetstream.KeyValue, _ jetstream.Stream) (err error) {
		if revision == 0 {
			_, err = kv.Create(ctx, key, value)
		} else {
			_, err = kv.Update(ctx, key, value, revision)
		}
		return err
	})
	if isConflict(err) || errors.Is(err, jetstream.ErrKeyExists) {
		return false, nil
	}
	return err == nil, err
}

// changeTries limits how often a value is read again because another process changed it.
const changeTries = 20

// Change replaces a value by the result of edit, and repeats that if another process changed the value meanwhile. If
// edit returns nil, the value stays.
func Change(ctx context.Context, values Values, key string, edit func([]byte) ([]byte, error)) error {
	for range changeTries {
		data, revision, err := values.Get(ctx, key)
		if err != nil {
			return err
		}
		if data, err = edit(data); err != nil {
			return fmt.Errorf("storing %s: %w", key, err)
		}
		if data == nil {
			return nil
		}
		if stored, err := values.Update(ctx, key, data, revision); err != nil || stored {
			return err
		}
	}
	return fmt.Errorf("storing %s: concurrent changes prevented it", key)
}

// delete removes a key by a marker; an option can require a revision.
func (b *Bucket) delete(ctx context.Context, key string, options ...jetstream.KVDeleteOpt) error {
	return b.do(ctx, "removing from", func(ctx context.Context, kv jetstream.KeyValue, _ jetstream.Stream) error {
		return kv.Purge(ctx, key, options...)
	})
}

// subject returns the subject of the values that a filter fits.
func (b *Bucket) subject(filter string) string { return "$KV." + b.config.Name + "." + filter }

// Keys returns the keys that a filter fits, in no order.
func (b *Bucket) Keys(ctx context.Context, filter string) (keys []string, err error) {
	var info *jetstream.StreamInfo
	err = b.do(ctx, "listing", func(ctx context.Context, _ jetstream.KeyValue, stream jetstream.Stream) (err error) {
		info, err = stream.Info(ctx, jetstream.WithSubjectFilter(b.subject(filter)))
		return err
	})
	if err != nil {
		return nil, err
	}
	for subject := range info.State.Subjects {
		keys = append(keys, strings.TrimPrefix(subject, b.subject("")))
	}
	return keys, nil
}

// Remove removes the keys that a filter fits, if any.
func (b *Bucket) Remove(ctx context.Context, filter string) error {
	return b.do(ctx, "removing from", func(ctx context.Context, _ jetstream.KeyValue, stream jetstream.Stream) error {
		return stream.Purge(ctx, jetstream.WithPurgeSubject(b.subject(filter)))
	})
}

// readRecord decodes a JSON value. One that cannot be decoded counts as missing.
func readRecord[T any](ctx context.Context, b *Bucket, key string) (record T, found bool, err error) {
	data, _, err := b.Get(ctx, key)
	if err != nil || data == nil {
		return record, false, err
	}
	if json.Unmarshal(data, &record) != nil {
		var none T
		return none, false, nil
	}
	return record, true, nil
}

// writeRecord stores a value as JSON.
func writeRecord(ctx context.Context, b *Bucket, key string, record any) error {
	data, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("storing in the bucket %s: %w", b.config.Name, err)
	}
	return b.Put(ctx, key, data)
}

// listRecords returns the values whose keys match a filter, by the number at the end of the key.
func listRecords[T any](ctx context.Context, b *Bucket, filter string) (map[int64]T, error) {
	keys, err := b.Keys(ctx, filter)
	if err != nil {
		return nil, err
	}
	all := map[int64]T{}
	for _, key := range keys {
		record, found, err := readRecord[T](ctx, b, key)
		if err != nil {
			return nil, err
		}
		if id, bad := strconv.ParseInt(key[strings.LastIndexByte(key, '.')+1:], 10, 64); bad == nil && found {
			all[id] = record
		}
	}
	return all, nil
}

const (
	// requestTry limits one attempt of a request. A request to a server that died is never answered, and the client
	// would wait until the caller's context ends.
	requestTry   = 2 * time.Second
	requestPause = 100 * time.Millisecond
	// requestFor is how long a request is repeated: a cluster that lost a server elects leaders within seconds.
	requestFor = 10 * time.Second
)

// repeat repeats a request, each attempt with a time limit, until it is answered or ctx ends. It may take effect more
// than once. A stream that is missing is made again.
func (q *Queue) repeat(ctx context.Context, try time.Duration, request func(context.Context) error) error {
	for {
		trying, done := context.WithTimeout(ctx, try)
		err := request(trying)
		if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrNoStreamResponse) {
			if again := q.restore(trying); again != nil {
				err = again
			} else {
				err = errors.Join(err, errRestored)
			}
		}
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

// do is repeat with a limit for all attempts.
func (q *Queue) do(ctx context.Context, limit time.Duration, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return q.repeat(ctx, requestTry, request)
}

// mayPass reports whether an error is temporary while a cluster recovers.
func mayPass(err error) bool {
	if errors.Is(err, errRestored) {
		return true
	}
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.ErrorCode != storeFailed && (api.Code == 503 || api.Code == 500)
	}
	return slices.ContainsFunc([]error{nats.ErrNoResponders, nats.ErrTimeout, context.DeadlineExceeded,
		jetstream.ErrNoStreamResponse, jetstream.ErrJetStreamNotEnabled, nats.ErrConnectionReconnecting,
		nats.ErrDisconnected, nats.ErrReconnectBufExceeded}, func(passing error) bool { return errors.Is(err, passing) })
}

// isConflict reports whether the key has another revision than expected.
func isConflict(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// last returns the last message of a subject; nil if there is none. The streams do not allow direct access, so the
// leader answers, with the present value.
func (q *Queue) last(ctx context.Context, stream jetstream.Stream,
	subject string) (msg *jetstream.RawStreamMsg, err error) {
	err = q.do(ctx, requestFor, func(ctx context.Context) (err error) {
		msg, err = stream.GetLastMsgForSubject(ctx, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil // with no message
		}
		return err
	})
	return msg, err
}

// remove deletes exactly one message of a stream. It is not an error if the message does not exist.
func (q *Queue) remove(ctx context.Context, stream jetstream.Stream, seq uint64) error {
	err := q.do(ctx, requestFor, func(ctx context.Context) error {
		err := stream.DeleteMsg(ctx, seq)
		if errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
			if _, missing := stream.GetMsg(ctx, seq); errors.Is(missing, jetstream.ErrMsgNotFound) {
				err = nil
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("removing message %d: %w", seq, err)
	}
	return nil
}

const (
	sessionBucket = "LINTEL_SESSIONS"
	// sessionAge is longer than a session lasts; its end is a part of the session.
	sessionAge = 25 * time.Hour
	// maxSessions limits the disk space of sessions; Put fails above it.
	maxSessions = 200_000
	// A used sign-in is stored for longer than a sign-in is valid.
	usedBucket = "LINTEL_SIGN_INS"
	usedAge    = 15 * time.Minute
	// maxSession is far above the size of a session.
	maxSession = 4 << 10
)

// Sessions opens the buckets that all servers share: who is signed in, for a day, and which sign-ins were used, for a
// quarter of an hour. Removing a value leaves no marker, so that repeated sign-ins take no room.
func (q *Queue) Sessions(ctx context.Context) (signedIn, used *Bucket, err error) {
	bucket := func(name string, age time.Duration) *Bucket {
		return q.bucket(jetstream.StreamConfig{Name: name, MaxAge: age, DenyDelete: true, MaxMsgs: maxSessions,
			MaxMsgSize: maxSession})
	}
	signedIn, used = bucket(sessionBucket, sessionAge), bucket(usedBucket, usedAge)
	if err := q.do(ctx, requestFor, func(ctx context.Context) error { return openAll(ctx, signedIn, used) }); err != nil {
		return nil, nil, fmt.Errorf("opening the sessions: %w", err)
	}
	return signedIn, used, nil
}
