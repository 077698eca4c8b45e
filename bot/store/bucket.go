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
