package queue

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	sessionBucket = "LINTEL_SESSIONS"
	// sessionAge is longer than a session lasts, whose end is part of it.
	sessionAge = 25 * time.Hour
	// maxSessions bounds the disk that sign-ins can take; SetSession fails above it.
	maxSessions = 200_000
	// A state is used up for longer than it is good for.
	usedBucket = "LINTEL_SIGN_INS"
	usedAge    = 15 * time.Minute
	// maxSession is far more than a session needs.
	maxSession = 4 << 10
)

// Sessions keeps who is signed in, for all servers that share the queue, on disk and for a day. It knows names and
// bytes, not what they mean. It is safe for concurrent use.
type Sessions struct{ kv, used jetstream.KeyValue }

// Sessions opens them.
func (q *Queue) Sessions(ctx context.Context) (*Sessions, error) {
	info, err := ask(ctx, requestFor, func(ctx context.Context) (*jetstream.StreamInfo, error) {
		return q.stream.Info(ctx)
	})
	if err != nil {
		return nil, fmt.Errorf("opening the sessions: %w", err)
	}
	open := func(name string, age time.Duration) (jetstream.KeyValue, error) {
		return ask(ctx, requestFor, func(ctx context.Context) (jetstream.KeyValue, error) {
			return q.bucket(ctx, jetstream.StreamConfig{Name: name, MaxAge: age, DenyDelete: true,
				MaxMsgs: maxSessions, MaxMsgSize: maxSession, Replicas: info.Config.Replicas})
		})
	}
	s := &Sessions{}
	if s.kv, err = open(sessionBucket, sessionAge); err == nil {
		s.used, err = open(usedBucket, usedAge)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the sessions: %w", err)
	}
	return s, nil
}

// sessionName is a hash with what it is of.
var sessionName = regexp.MustCompile(`^[a-z]{1,20}\.[0-9a-f]{64}$`)

var errSessionName = errors.New("that is no name of a session")

// Set stores a session, on disk before it returns.
func (s *Sessions) Set(ctx context.Context, name string, data []byte) error {
	err := errSessionName
	if sessionName.MatchString(name) {
		err = put(ctx, s.kv, name, data)
	}
	if err != nil {
		return fmt.Errorf("storing a session: %w", err)
	}
	return nil
}

// Get returns a session, nil when there is none.
func (s *Sessions) Get(ctx context.Context, name string) ([]byte, error) {
	if !sessionName.MatchString(name) {
		return nil, nil
	}
	entry, err := get(ctx, s.kv, name)
	if err != nil {
		return nil, fmt.Errorf("reading a session: %w", err)
	}
	if entry == nil {
		return nil, nil
	}
	return entry.Value(), nil
}

// End removes a session, on every server, before it returns. It is no error if there is none.
func (s *Sessions) End(ctx context.Context, name string) error {
	err := errSessionName
	if sessionName.MatchString(name) {
		err = purge(ctx, s.kv, name)
	}
	if err != nil {
		return fmt.Errorf("ending a session: %w", err)
	}
	return nil
}

// Once reports whether nobody called it with this name before, on any server, for a quarter of an hour. When an answer
// is lost on the way it may say that somebody did.
func (s *Sessions) Once(ctx context.Context, name string) (bool, error) {
	if !sessionName.MatchString(name) {
		return false, fmt.Errorf("using up a state: %w", errSessionName)
	}
	_, err := ask(ctx, requestFor, func(ctx context.Context) (uint64, error) { return s.used.Create(ctx, name, nil) })
	switch {
	case err == nil:
		return true, nil
	case isConflict(err) || errors.Is(err, jetstream.ErrKeyExists):
		return false, nil
	}
	return false, fmt.Errorf("using up a state: %w", err)
}
