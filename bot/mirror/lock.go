package mirror

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/lintel-bot/lintel/bot/store"
)

// lockPoll is how often a lock that another process has is tried again.
const lockPoll = 50 * time.Millisecond

// lock takes the lock of a repository's mirror: first among the goroutines of this process, then among
// processes, by a file that the kernel unlocks when its owner dies.
func (m *Mirrors) lock(ctx context.Context, id int64) (unlock func(), err error) {
	held := m.slot(id)
	select {
	case held <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for a mirror: %w", context.Cause(ctx))
	}
	for {
		f, err := m.lockFile(id)
		if err == nil {
			return func() { f.Close(); <-held }, nil
		}
		if !errors.Is(err, store.ErrLocked) {
			<-held
			return nil, err
		}
		timer := time.NewTimer(lockPoll)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			<-held
			return nil, fmt.Errorf("waiting for a mirror: %w", context.Cause(ctx))
		}
	}
}

// tryLock is lock without waiting; datadir.ErrLocked if somebody has it.
func (m *Mirrors) tryLock(id int64) (unlock func(), err error) {
	held := m.slot(id)
	select {
	case held <- struct{}{}:
	default:
		return nil, store.ErrLocked
	}
	f, err := m.lockFile(id)
	if err != nil {
		<-held
		return nil, err
	}
	return func() { f.Close(); <-held }, nil
}

func (m *Mirrors) slot(id int64) chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	held, ok := m.locks[id]
	if !ok {
		held = make(chan struct{}, 1)
		m.locks[id] = held
	}
	return held
}

func (m *Mirrors) lockFile(id int64) (*os.File, error) {
	f, err := store.Lock(filepath.Join(m.dir, strconv.FormatInt(id, 10)+".lock"))
	if err != nil {
		return nil, fmt.Errorf("the lock of a mirror: %w", err)
	}
	return f, nil
}
