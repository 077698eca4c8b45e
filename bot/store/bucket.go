package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// MaxValue is how large a value of a Bucket may be: NATS servers take 1 MiB by default, headers included.
const MaxValue = 768 << 10

// Bucket keeps values by key beside the jobs: in the folder of the embedded server, or in the NATS cluster, where all
// processes see it. What is too old or too much goes, the oldest first, without being asked. A key consists of tokens
// of letters, digits, dashes and underscores with dots between them; in a filter * stands for a token and > for all
// that follow. It is safe for concurrent use.
//
// It is read without consumers, like the jobs, and from the leader, so that what was stored is seen by every process.
type Bucket struct {
	queue *Queue
	name  string
	bytes int64
	age   time.Duration

	mu     sync.Mutex
	kv     jetstream.KeyValue // nil: not there yet
	stream jetstream.Stream
}

// Bucket returns a bucket with limits, which is made when it is first used. Its name consists of capital letters and
// underscores. Processes that share it should agree on the limits; the last one to use it first decides.
func (q *Queue) Bucket(name string, bytes int64, age time.Duration) *Bucket {
	return &Bucket{queue: q, name: "LINTEL_" + name, bytes: bytes, age: age}
}

// open makes the bucket if it is not there.
func (b *Bucket) open(ctx context.Context) (jetstream.KeyValue, jetstream.Stream, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kv != nil {
		return b.kv, b.stream, nil
	}
	replicas := 3
	if b.queue.embedded != nil {
		replicas = 1
	}
	kv, err := b.make(ctx, replicas)
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == notClustered {
		kv, err = b.make(ctx, 1)
	}
	if err != nil {
		return nil, nil, err
	}
	stream, err := b.queue.js.Stream(ctx, bucketPrefix+b.name)
	if err != nil {
		return nil, nil, err
	}
	b.kv, b.stream = kv, stream
	return kv, stream, nil
}

func (b *Bucket) make(ctx context.Context, replicas int) (jetstream.KeyValue, error) {
	return b.queue.bucket(ctx, jetstream.StreamConfig{Name: b.name, MaxBytes: b.bytes, MaxAge: b.age,
		Discard: jetstream.DiscardOld, Storage: jetstream.FileStorage, Replicas: replicas})
}

// Get returns the value of a key and its revision; nil and zero when there is none.
func (b *Bucket) Get(ctx context.Context, key string) (value []byte, revision uint64, err error) {
	kv, _, err := b.open(ctx)
	var entry jetstream.KeyValueEntry
	if err == nil {
		entry, err = get(ctx, kv, key)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("reading from the bucket %s: %w", b.name, err)
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
		err = put(ctx, kv, key, value)
	}
	if err != nil {
		return fmt.Errorf("storing in the bucket %s: %w", b.name, err)
	}
	return nil
}

// Update is Put, unless the key has another revision than the one given; zero means that there is no such key. It
// reports whether the value was stored. An answer that was lost can make it false all the same.
func (b *Bucket) Update(ctx context.Context, key string, value []byte, revision uint64) (stored bool, err error) {
	kv, _, err := b.open(ctx)
	if err == nil {
		_, err = ask(ctx, requestFor, func(ctx context.Context) (uint64, error) {
			if revision == 0 {
				return kv.Create(ctx, key, value)
			}
			return kv.Update(ctx, key, value, revision)
		})
	}
	switch {
	case err == nil:
		return true, nil
	case isConflict(err) || errors.Is(err, jetstream.ErrKeyExists):
		return false, nil
	}
	return false, fmt.Errorf("storing in the bucket %s: %w", b.name, err)
}

// Keys returns the keys that a filter fits, in no order.
func (b *Bucket) Keys(ctx context.Context, filter string) (keys []string, err error) {
	_, stream, err := b.open(ctx)
	var info *jetstream.StreamInfo
	subjects := "$KV." + b.name + "."
	if err == nil {
		info, err = ask(ctx, requestFor, func(ctx context.Context) (*jetstream.StreamInfo, error) {
			return stream.Info(ctx, jetstream.WithSubjectFilter(subjects+filter))
		})
	}
	if err != nil {
		return nil, fmt.Errorf("listing the bucket %s: %w", b.name, err)
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
		_, err = ask(ctx, requestFor, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, stream.Purge(ctx, jetstream.WithPurgeSubject("$KV."+b.name+"."+filter))
		})
	}
	if err != nil {
		return fmt.Errorf("removing from the bucket %s: %w", b.name, err)
	}
	return nil
}
