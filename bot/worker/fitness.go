package worker

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/render/remote"
)

// Fitness tells failures of this server, such as a full disk, from those of a change. It writes to the server's own folders
// to find out, since git and others say it only in prose. It is safe for concurrent use.
type Fitness struct {
	Folders map[string]string // path by name for people

	mu  sync.Mutex
	at  time.Time
	err error
}

const (
	// fitFor is how long an answer counts. A write to a folder of this size has to succeed: a file system that has less is
	// as good as full.
	fitFor    = time.Second
	fitnessOf = 1 << 20
	// unfitPause is the pause of a server that cannot work. Its jobs do not count tries for unfitFor, so that others can
	// do them; afterwards people are told.
	unfitPause = 15 * time.Second
	unfitFor   = 30 * time.Minute
)

// Check returns what keeps this server from working, without paths; nil if nothing does.
func (f *Fitness) Check() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.at) > fitFor {
		f.err = nil
		for _, name := range slices.Sorted(maps.Keys(f.Folders)) {
			if err := probe(f.Folders[name]); err != nil {
				f.err = fmt.Errorf("%s cannot be written to: %w", name, remote.WithoutPath(err))
				break
			}
		}
		f.at = time.Now()
	}
	return f.err
}

// failing is Check where the last answer was an error, so that it costs nothing as long as all is well.
func (f *Fitness) failing() error {
	f.mu.Lock()
	last := f.err
	f.mu.Unlock()
	if last == nil {
		return nil
	}
	return f.Check()
}

func probe(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_ = os.Remove(file.Name()) // already here, where that can be done, so that nothing stays if the process dies
	_, err = file.Write(bytes.Repeat([]byte{1}, fitnessOf))
	return errors.Join(err, file.Close())
}

// unfit returns what keeps this server from working if an error may come of that.
func (w *Worker) unfit(err error) error {
	for _, of := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EMFILE, syscall.ENFILE} {
		if errors.Is(err, of) {
			return of
		}
	}
	return w.Fitness.Check()
}

// elsewhere hands a task back that this server cannot work on, unless it has waited too long for another one.
func (w *Worker) elsewhere(t Task, unfit error) error {
	if unfit == nil || w.Now().Sub(t.Message.At) > unfitFor {
		return nil
	}
	return &store.Later{After: unfitPause, Elsewhere: true, Err: fmt.Errorf("this server cannot work: %w", unfit)}
}

// handBack replaces an error that is this server's own.
func (w *Worker) handBack(t Task, err error) error {
	if err == nil || forge.Is[*forge.RetryLater](err) || forge.Is[*store.Later](err) {
		return err
	}
	if later := w.elsewhere(t, w.unfit(err)); later != nil {
		return errors.Join(later, err)
	}
	return err
}
