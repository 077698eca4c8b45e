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
	signedIn, used *Bucket
}

// Sessions opens them.
func (q *Queue) Sessions(ctx context.Context) (*Sessions, error) {
	bucket := func(name string, age time.Duration) *Bucket {
		return q.bucket(jetstream.StreamConfig{Name: name, MaxAge: age, DenyDelete: true, MaxMsgs: maxSessions,
			MaxMsgSize: maxSession})
	}
	s := &Sessions{signedIn: bucket(sessionBucket, sessionAge), used: bucket(usedBucket, usedAge)}
	_, err := ask(ctx, requestFor, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, openAll(ctx, s.signedIn, s.used)
	})
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
	if !sessionName.MatchString(name) {
		return fmt.Errorf("storing a session: %w", errSessionName)
	}
	return s.signedIn.Put(ctx, name, data)
}

// Get returns a session, nil when there is none.
func (s *Sessions) Get(ctx context.Context, name string) ([]byte, error) {
	if !sessionName.MatchString(name) {
		return nil, nil
	}
	data, _, err := s.signedIn.Get(ctx, name)
	return data, err
}

// Count is how many sessions belong to a number.
func (s *Sessions) Count(ctx context.Context, holder string) (int, error) {
	if !holderName.MatchString(holder) {
		return 0, fmt.Errorf("counting sessions: %w", errSessionName)
	}
	keys, err := s.signedIn.Keys(ctx, holder+".*")
	return len(keys), err
}

// End removes a session, or all that belong to a number, on every server, before it returns. It is no error if there is
// none. Nothing is left in their place: who signs in and out again and again takes no room.
func (s *Sessions) End(ctx context.Context, name string) error {
	switch {
	case holderName.MatchString(name):
		name += ".*"
	case !sessionName.MatchString(name):
		return fmt.Errorf("ending a session: %w", errSessionName)
	}
	return s.signedIn.Remove(ctx, name)
}

// Once reports whether nobody called it with this name before, on any server, for a quarter of an hour. When an answer
// is lost on the way it may say that somebody did.
func (s *Sessions) Once(ctx context.Context, name string) (bool, error) {
	if !usedName.MatchString(name) {
		return false, fmt.Errorf("using up a state: %w", errSessionName)
	}
	return s.used.Update(ctx, name, nil, 0)
}
