package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/lintel-bot/lintel/bot/forge"
)

// copyWhileUsed copies a folder in use as cp -a does: file by file, without files that are removed meanwhile.
func copyWhileUsed(t *testing.T, from string) string {
	t.Helper()
	to := t.TempDir()
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(from, path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		}
		in, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer in.Close()
		out, err := os.Create(filepath.Join(to, name))
		if err != nil {
			return err
		}
		defer out.Close()
		for { // in small pieces, so that the file grows meanwhile
			if _, err := io.CopyN(out, in, 4<<10); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// Every job that is on disk before a copy begins, and not done when it ends, is in the copy. So are the records of who
// pushed. Other jobs may be published and done meanwhile.
func TestCopyMadeWhileUsed(t *testing.T) {
	const waiting, copies = 300, 4
	dir := t.TempDir()
	q := open(t, Config{Dir: dir})
	key := func(n int) Key { return Key{Installation: 7, Repository: 1, Target: forge.Target{Number: n}} }
	for n := 1; n <= waiting; n++ {
		publish(t, q, key(n), "waits")
		if err := q.AddPush(t.Context(), Push{Repository: 1, Number: n, Login: "octocat"}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	for worker := range 2 { // other jobs come and go
		busy.Go(func() {
			for n := 1; ctx.Err() == nil; n++ {
				k := Key{Installation: 8, Repository: int64(worker + 1), Target: forge.Target{Number: n%50 + 1}}
				if err := q.Publish(ctx, k, Message{Event: "comes"}, ""); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
				seq, err := q.newest(ctx, k)
				if err == nil {
					err = q.remove(ctx, q.stream, seq)
				}
				if err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	var made []string
	for range copies {
		made = append(made, copyWhileUsed(t, dir))
	}
	stop()
	busy.Wait()
	for i, dir := range made {
		restored := open(t, Config{Dir: dir})
		var lost []string
		for n := 1; n <= waiting; n++ {
			has, err := restored.Has(t.Context(), key(n))
			who, pushErr := restored.Pushers(t.Context(), 1, n)
			if err = errors.Join(err, pushErr); err != nil {
				t.Fatal(err)
			}
			if !has || !slices.Contains(who, "octocat") {
				lost = append(lost, fmt.Sprintf("%d (%t, %v)", n, has, who))
			}
		}
		if len(lost) > 0 {
			t.Errorf("copy %d has not: %v", i, lost)
		}
		restored.Close()
	}
}
