package store

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

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
