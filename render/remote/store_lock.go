package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// lockPoll is how often a held lock is tried again.
const lockPoll = 20 * time.Millisecond

// ErrLocked means that another process holds a lock.
var ErrLocked = errors.New("another process holds the lock")

// Lock takes the lock of a key, among goroutines and processes. It ends with the process.
func (s *Store) Lock(ctx context.Context, key string) (unlock func(), err error) {
	return s.wait(ctx, key, false)
}

// using takes a shared lock against Maintain: many may write at the same time, but not while it runs.
func (s *Store) using(ctx context.Context) (unlock func(), err error) {
	return s.wait(ctx, cleaning, true)
}

// cleaning is the key of Maintain's lock.
const cleaning = "maintain"

func (s *Store) wait(ctx context.Context, key string, shared bool) (func(), error) {
	for {
		unlock, err := s.tryLock(key, shared)
		if !errors.Is(err, ErrLocked) {
			return unlock, err
		}
		timer := time.NewTimer(lockPoll)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, fmt.Errorf("waiting for another process that fetches the same: %w", context.Cause(ctx))
		}
	}
}

// tryLock takes a lock without waiting. The holder of a lock may remove its file, so the locked file must still be the
// one with that name.
func (s *Store) tryLock(key string, shared bool) (func(), error) {
	path := filepath.Join(s.o.Dir, locksDir, key)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the store: %w", WithoutPath(err))
	}
	if err := Flock(f, shared); err != nil {
		f.Close()
		if errors.Is(err, ErrLocked) {
			return nil, err
		}
		return nil, fmt.Errorf("locking the store: %w", WithoutPath(err))
	}
	mine, err1 := f.Stat()
	there, err2 := os.Stat(path)
	if err1 != nil || err2 != nil || !os.SameFile(mine, there) {
		f.Close()
		return nil, ErrLocked
	}
	return func() { f.Close() }, nil
}
