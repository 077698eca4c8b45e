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

// watchInterval is how often files are looked at.
const watchInterval = 300 * time.Millisecond

// watch runs something, and again whenever a file or folder that it read has changed and rests since the last tick. It
// ends with the context, which is how a user ends it, and as the last run did. A first run that is an error, and tells
// nothing by itself, ends it, too: there may be nothing to look at.
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

// watchedFiles is a file system that remembers what was read of it. It is safe for concurrent use.
type watchedFiles struct {
	fs.FS
	mu   sync.Mutex
	seen map[string]stamp
}

// stamp tells one state of a file from another, as far as its folder knows it. The zero stamp is one that is not there.
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

// keep goes on to watch what was watched before.
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

// wait returns true when something has changed and is the same at two ticks, false when the context ends.
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

// atRest reports whether something has changed and was the same a tick before.
func atRest(now, last map[string]stamp) bool { return len(now) > 0 && maps.Equal(now, last) }

// changes are the present stamps of what is not as it was when it was read.
func (w *watchedFiles) changes() map[string]stamp {
	out := map[string]stamp{}
	for name, was := range w.seen {
		if now := w.stamp(name); now != was {
			out[name] = now
		}
	}
	return out
}
