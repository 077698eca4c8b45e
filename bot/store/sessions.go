package store

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
	// maxSessions bounds the disk that sign-ins can take; Set fails above it.
	maxSessions = 200_000
	// A state is used up for longer than it is good for.
	usedBucket = "LINTEL_SIGN_INS"
	usedAge    = 15 * time.Minute
	// maxSession is far more than a session needs.
	maxSession = 4 << 10
)

// Sessions keeps who is signed in, for all servers that share the queue, on disk and for a day. It knows names and
// bytes, not what they mean. A name consists of a word, the number of whom it belongs to, and a hash, with dots between
// them; without the hash it stands for all that belong to that number. It is safe for concurrent use.
type Sessions struct {
	kv, used jetstream.KeyValue
	stream   jetstream.Stream // of kv
}

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
	if err == nil {
		s.stream, err = ask(ctx, requestFor, func(ctx context.Context) (jetstream.Stream, error) {
			return q.js.Stream(ctx, bucketPrefix+sessionBucket)
		})
	}
	if err != nil {
		return nil, fmt.Errorf("opening the sessions: %w", err)
	}
	return s, nil
}

var (
	sessionName = regexp.MustCompile(`^[a-z]{1,20}\.[0-9]{1,20}\.[0-9a-f]{64}$`)
	holderName  = regexp.MustCompile(`^[a-z]{1,20}\.[0-9]{1,20}$`)
	// usedName is a hash with what it is of.
	usedName = regexp.MustCompile(`^[a-z]{1,20}\.[0-9a-f]{64}$`)
)

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

// Count is how many sessions belong to a number.
func (s *Sessions) Count(ctx context.Context, holder string) (int, error) {
	if !holderName.MatchString(holder) {
		return 0, fmt.Errorf("counting sessions: %w", errSessionName)
	}
	info, err := ask(ctx, requestFor, func(ctx context.Context) (*jetstream.StreamInfo, error) {
		return s.stream.Info(ctx, jetstream.WithSubjectFilter(sessionSubjects+holder+".*"))
	})
	if err != nil {
		return 0, fmt.Errorf("counting sessions: %w", err)
	}
	return len(info.State.Subjects), nil
}

const sessionSubjects = "$KV." + sessionBucket + "."

// End removes a session, or all that belong to a number, on every server, before it returns. It is no error if there is
// none. Nothing is left in their place: who signs in and out again and again takes no room.
func (s *Sessions) End(ctx context.Context, name string) error {
	err := errSessionName
	switch {
	case holderName.MatchString(name):
		name += ".*"
		fallthrough
	case sessionName.MatchString(name):
		_, err = ask(ctx, requestFor, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, s.stream.Purge(ctx, jetstream.WithPurgeSubject(sessionSubjects+name))
		})
	}
	if err != nil {
		return fmt.Errorf("ending a session: %w", err)
	}
	return nil
}

// Once reports whether nobody called it with this name before, on any server, for a quarter of an hour. When an answer
// is lost on the way it may say that somebody did.
func (s *Sessions) Once(ctx context.Context, name string) (bool, error) {
	if !usedName.MatchString(name) {
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
