package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// MaxValue is how large a value of a Bucket may be: NATS servers take 1 MiB by default, headers included.
const MaxValue = 768 << 10

// Values keeps values by key; *Bucket does, and says what keys and filters are.
type Values interface {
	Get(ctx context.Context, key string) (value []byte, revision uint64, err error)
	Put(ctx context.Context, key string, value []byte) error
	Update(ctx context.Context, key string, value []byte, revision uint64) (stored bool, err error)
	Keys(ctx context.Context, filter string) ([]string, error)
	Remove(ctx context.Context, filter string) error
}

// Bucket keeps values by key beside the jobs: in the folder of the embedded server, or in the NATS cluster, where all
// processes see it. What is too old or too much goes, the oldest first, without being asked. A key consists of tokens
// of letters, digits, dashes and underscores with dots between them; in a filter * stands for a token and > for all
// that follow. It is safe for concurrent use.
//
// It is read without consumers, like the jobs, and from the leader, so that what was stored is seen by every process.
type Bucket struct {
	queue  *Queue
	config jetstream.StreamConfig // but the subjects and the number of replicas

	mu     sync.Mutex
	kv     jetstream.KeyValue // nil: not there yet
	stream jetstream.Stream
}

// Bucket returns a bucket with limits, which is made when it is first used. Its name consists of capital letters and
// underscores. Processes that share it should agree on the limits; the last one to use it first decides.
func (q *Queue) Bucket(name string, bytes int64, age time.Duration) *Bucket {
	return q.bucket(jetstream.StreamConfig{Name: "LINTEL_" + name, MaxBytes: bytes, MaxAge: age, Discard: jetstream.DiscardOld})
}

func (q *Queue) bucket(config jetstream.StreamConfig) *Bucket {
	return &Bucket{queue: q, config: config}
}

// bucketPrefix starts the name of the stream of a bucket of keys and values.
const bucketPrefix = "KV_"

// openAll makes buckets before they are used.
func openAll(ctx context.Context, buckets ...*Bucket) error {
	for _, b := range buckets {
		if _, _, err := b.open(ctx); err != nil {
			return err
		}
	}
	return nil
}

// open makes the bucket if it is not there.
func (b *Bucket) open(ctx context.Context) (jetstream.KeyValue, jetstream.Stream, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kv != nil {
		return b.kv, b.stream, nil
	}
	// The client's own way to make a bucket lets any server answer, and so from the past.
	config := b.config
	config.Name = bucketPrefix + config.Name
	config.Subjects = []string{"$KV." + b.config.Name + ".>"}
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

// Get returns the value of a key and its revision; nil and zero when there is none.
func (b *Bucket) Get(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	kv, _, err := b.open(ctx)
	var entry jetstream.KeyValueEntry
	if err == nil {
		entry, err = get(ctx, kv, key)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("reading from the bucket %s: %w", b.config.Name, err)
	}
	if entry == nil {
		return nil, 0, nil
	}
	return entry.Value(), entry.Revision(), nil
}

// Put stores a value, on disk before it returns.
func (b *Bucket) Put(ctx context.Context, key string, value []byte) error {
	kv, _, err := b.open(ctx)
	if err == nil {
		err = do(ctx, func(ctx context.Context) error {
			_, err := kv.Put(ctx, key, value)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("storing in the bucket %s: %w", b.config.Name, err)
	}
	return nil
}

// Update is Put, unless the key has another revision than the one given; zero means that there is no such key. It
// reports whether the value was stored. An answer that was lost can make it false all the same.
func (b *Bucket) Update(ctx context.Context, key string, value []byte, revision uint64) (stored bool, err error) {
	kv, _, err := b.open(ctx)
	if err == nil {
		err = do(ctx, func(ctx context.Context) (err error) {
			if revision == 0 {
				_, err = kv.Create(ctx, key, value)
			} else {
				_, err = kv.Update(ctx, key, value, revision)
			}
			return err
		})
	}
	switch {
	case err == nil:
		return true, nil
	case isConflict(err) || errors.Is(err, jetstream.ErrKeyExists):
		return false, nil
	}
	return false, fmt.Errorf("storing in the bucket %s: %w", b.config.Name, err)
}

// changeTries is how often a value is read again because another process changed it meanwhile.
const changeTries = 20

// Change replaces a value by what edit makes of it, again where somebody else changed it meanwhile. It stays where edit
// returns nil.
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

// delete removes a key by leaving a mark in its place; an option can say of which revision.
func (b *Bucket) delete(ctx context.Context, key string, options ...jetstream.KVDeleteOpt) error {
	kv, _, err := b.open(ctx)
	if err == nil {
		err = do(ctx, func(ctx context.Context) error { return kv.Purge(ctx, key, options...) })
	}
	return err
}

// Keys returns the keys that a filter fits, in no order.
func (b *Bucket) Keys(ctx context.Context, filter string) (keys []string, err error) {
	_, stream, err := b.open(ctx)
	var info *jetstream.StreamInfo
	subjects := "$KV." + b.config.Name + "."
	if err == nil {
		info, err = ask(ctx, requestFor, func(ctx context.Context) (*jetstream.StreamInfo, error) {
			return stream.Info(ctx, jetstream.WithSubjectFilter(subjects+filter))
		})
	}
	if err != nil {
		return nil, fmt.Errorf("listing the bucket %s: %w", b.config.Name, err)
	}
	for subject := range info.State.Subjects {
		keys = append(keys, strings.TrimPrefix(subject, subjects))
	}
	return keys, nil
}

// Remove removes the keys that a filter fits, if any.
func (b *Bucket) Remove(ctx context.Context, filter string) error {
	_, stream, err := b.open(ctx)
	if err == nil {
		err = do(ctx, func(ctx context.Context) error {
			return stream.Purge(ctx, jetstream.WithPurgeSubject("$KV."+b.config.Name+"."+filter))
		})
	}
	if err != nil {
		return fmt.Errorf("removing from the bucket %s: %w", b.config.Name, err)
	}
	return nil
}

// readRecord returns a value of a bucket that is JSON. One that cannot be read is as good as none.
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

// listRecords returns the values of the keys that a filter fits, by the number that their keys end in.
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
	// requestTry bounds one request to the server. What was asked of a server that died is never answered, and
	// the client alone would wait for as long as the caller's context allows.
	requestTry   = 2 * time.Second
	requestPause = 100 * time.Millisecond
	// requestFor is how long a request is repeated: a cluster that lost a server elects leaders within seconds.
	requestFor = 10 * time.Second
)

// repeat repeats a request, for which a try has a while, until it is answered or ctx ends. It may take effect more than once.
func repeat(ctx context.Context, try time.Duration, request func(context.Context) error) error {
	for {
		trying, done := context.WithTimeout(ctx, try)
		err := request(trying)
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

// ask is repeat, for as long as limit.
func ask[T any](ctx context.Context, limit time.Duration, request func(context.Context) (T, error)) (answer T, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = repeat(ctx, requestTry, func(ctx context.Context) (err error) {
		answer, err = request(ctx)
		return err
	})
	return answer, err
}

// do is ask for what has no answer.
func do(ctx context.Context, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, requestFor)
	defer cancel()
	return repeat(ctx, requestTry, request)
}

// mayPass reports whether an error is one of a cluster that finds itself again.
func mayPass(err error) bool {
	var api *jetstream.APIError
	if errors.As(err, &api) {
		return api.ErrorCode != storeFailed && (api.Code == 503 || api.Code == 500)
	}
	for _, passing := range []error{nats.ErrNoResponders, nats.ErrTimeout, context.DeadlineExceeded,
		jetstream.ErrNoStreamResponse,
		jetstream.ErrJetStreamNotEnabled, nats.ErrConnectionReconnecting, nats.ErrDisconnected,
		nats.ErrReconnectBufExceeded} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}

// isConflict recognizes that the key changed since the revision we know.
func isConflict(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// last is the message of a subject; nil when there is none. The streams allow no direct access, so it is the leader
// that answers, and never from the past.
func last(ctx context.Context, stream jetstream.Stream, subject string) (*jetstream.RawStreamMsg, error) {
	return ask(ctx, requestFor, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		msg, err := stream.GetLastMsgForSubject(ctx, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil, nil
		}
		return msg, err
	})
}

// remove takes one message out of a stream, and no other. It is not an error if the message is gone.
func remove(ctx context.Context, stream jetstream.Stream, seq uint64) error {
	err := do(ctx, func(ctx context.Context) error {
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

// get is kv.Get, repeated; nil when the key does not exist.
func get(ctx context.Context, kv jetstream.KeyValue, key string) (jetstream.KeyValueEntry, error) {
	return ask(ctx, requestFor, func(ctx context.Context) (jetstream.KeyValueEntry, error) {
		entry, err := kv.Get(ctx, key)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return nil, nil
		}
		return entry, err
	})
}

const (
	sessionBucket = "LINTEL_SESSIONS"
	// sessionAge is longer than a session lasts, whose end is part of it.
	sessionAge = 25 * time.Hour
	// maxSessions bounds the disk that sign-ins can take; Put fails above it.
	maxSessions = 200_000
	// A sign-in is used up for longer than it is good for.
	usedBucket = "LINTEL_SIGN_INS"
	usedAge    = 15 * time.Minute
	// maxSession is far more than a session needs.
	maxSession = 4 << 10
)

// Sessions opens where all servers that share the queue keep who is signed in, for a day, and which sign-ins were used up,
// for a quarter of an hour. Nothing is left in place of what is removed: who signs in and out again and again takes no room.
func (q *Queue) Sessions(ctx context.Context) (signedIn, used *Bucket, err error) {
	bucket := func(name string, age time.Duration) *Bucket {
		return q.bucket(jetstream.StreamConfig{Name: name, MaxAge: age, DenyDelete: true, MaxMsgs: maxSessions,
			MaxMsgSize: maxSession})
	}
	signedIn, used = bucket(sessionBucket, sessionAge), bucket(usedBucket, usedAge)
	if err := do(ctx, func(ctx context.Context) error { return openAll(ctx, signedIn, used) }); err != nil {
		return nil, nil, fmt.Errorf("opening the sessions: %w", err)
	}
	return signedIn, used, nil
}
