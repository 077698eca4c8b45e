package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"sync"
	"time"
)

// watchInterval is the time between checks for changed files.
const watchInterval = 300 * time.Millisecond

// watch runs something, and again when a file or folder that it read has changed and is the same as at the last tick. It
// stops when ctx ends, which is how a user stops it, and returns the result of the last run. If the first run could not
// be done, it returns the error at once, since there may be nothing to watch.
func watch(ctx context.Context, tick <-chan time.Time, log io.Writer,
	run func(files func(root string) fs.FS) error) error {
	var before *watchedFiles
	for {
		files := &watchedFiles{seen: map[string]stamp{}}
		err := run(func(root string) fs.FS {
			files.FS = os.DirFS(root)
			return files
		})
		switch told := err == nil || errors.As(err, new(exitCode)); {
		case ctx.Err() != nil && !told:
			return nil // it was interrupted
		case !told:
			if before == nil {
				return err
			}
			fmt.Fprintf(log, "lintel: %s\n", visible(err.Error()))
			files.keep(before)
		}
		fmt.Fprintln(log, "lintel: waiting for changes; press Ctrl-C to stop")
		if !files.wait(ctx, tick) {
			return err
		}
		before = files
	}
}

// watchedFiles is a file system that records what was read. It is safe for concurrent use.
type watchedFiles struct {
	fs.FS
	mu   sync.Mutex
	seen map[string]stamp
}

// stamp identifies a state of a file, as far as its folder shows it. The zero stamp means a missing file.
type stamp struct {
	size     int64
	modified time.Time
	mode     fs.FileMode
}

// Open implements fs.FS.
func (w *watchedFiles) Open(name string) (fs.File, error) {
	w.mu.Lock()
	if _, known := w.seen[name]; !known {
		w.seen[name] = w.stamp(name) // before it is read: what changes meanwhile is seen later
	}
	w.mu.Unlock()
	return w.FS.Open(name)
}

func (w *watchedFiles) stamp(name string) stamp {
	info, err := fs.Stat(w.FS, name)
	if err != nil {
		return stamp{}
	}
	return stamp{info.Size(), info.ModTime(), info.Mode()}
}

// keep continues to watch the files that were watched before.
func (w *watchedFiles) keep(before *watchedFiles) {
	if w.FS == nil {
		w.FS = before.FS
	}
	for name := range before.seen {
		if _, known := w.seen[name]; !known {
			w.seen[name] = w.stamp(name)
		}
	}
}

// wait returns true when something has changed and stayed the same for a tick, false when ctx ends.
func (w *watchedFiles) wait(ctx context.Context, tick <-chan time.Time) bool {
	var last map[string]stamp
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick:
		}
		now := w.changes()
		if atRest(now, last) {
			return true
		}
		last = now
	}
}

// atRest reports whether something has changed and has been the same since the last tick.
func atRest(now, last map[string]stamp) bool { return len(now) > 0 && maps.Equal(now, last) }

// changes returns the current stamps of files that have changed since they were read.
func (w *watchedFiles) changes() map[string]stamp {
	out := map[string]stamp{}
	for name, was := range w.seen {
		if now := w.stamp(name); now != was {
			out[name] = now
		}
	}
	return out
}
