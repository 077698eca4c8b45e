package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

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
