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

// tryLock takes a lock without waiting.
func (s *Store) tryLock(key string, shared bool) (func(), error) {
	f, err := LockFile(filepath.Join(s.o.Dir, locksDir, key), shared)
	if err != nil {
		return nil, fmt.Errorf("locking the store: %w", err)
	}
	return func() { f.Close() }, nil
}

// LockFile creates a file, if it does not exist, and takes its lock without waiting, exclusively or shared. The lock
// ends with the process, or when the file is closed. Its holder may remove the file. Errors are ErrLocked and those of
// the file system, without the path. Without flock(2) the lock has no effect.
func LockFile(path string, shared bool) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, WithoutPath(err)
	}
	err = flock(f, shared)
	if err == nil {
		mine, err1 := f.Stat()
		there, err2 := os.Stat(path)
		if err1 != nil || err2 != nil || !os.SameFile(mine, there) {
			err = ErrLocked // of a file that was removed meanwhile
		}
	}
	if err != nil {
		f.Close()
		return nil, WithoutPath(err)
	}
	return f, nil
}
