package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/render/tree"
)

type clock struct{ now atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.now.Store(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) read() time.Time      { return time.Unix(0, c.now.Load()) }
func (c *clock) pass(d time.Duration) { c.now.Add(int64(d)) }

func open(t *testing.T, dir string, c *clock, change ...func(*StoreOptions)) *Store {
	t.Helper()
	o := StoreOptions{Dir: dir, Clock: c.read}
	for _, f := range change {
		f(&o)
	}
	s, err := OpenStore(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// keep stores one file under a key.
func keep(t *testing.T, s *Store, key, text string) string {
	t.Helper()
	id, err := s.WriteFiles(t.Context(), key, []TreeFile{{Name: "a/b.yaml", Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(key, Note{What: key, Tree: id, Digest: "d", First: "d", Bytes: 1000, Asked: s.Now()}); err != nil {
		t.Fatal(err)
	}
	return id
}

func read(t *testing.T, s *Store, id string) (string, error) {
	t.Helper()
	o, err := tree.Open(t.Context(), tree.Config{GitDir: s.GitDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	top, err := o.Tree(id)
	if err != nil {
		return "", err
	}
	data, _, err := top.ReadFile("a/b.yaml")
	return string(data), err
}

func key(name string) string { return Key("test", name) }

func TestStore(t *testing.T) {
	c, dir := newClock(), t.TempDir()
	s := open(t, dir, c)
	id := keep(t, s, key("x"), "one")
	again := open(t, dir, c)
	if got, err := read(t, again, id); err != nil || got != "one" {
		t.Errorf("%q, %v", got, err)
	}
	if n, err := again.Note(key("x")); err != nil || n.Tree != id || !n.Asked.Equal(c.read()) {
		t.Errorf("%+v, %v", n, err)
	}
	if n, err := again.Note(key("y")); err != nil || n.What != "" {
		t.Errorf("%+v, %v", n, err)
	}
	missing, err := s.Missing(t.Context(), []string{id, strings.Repeat("1", 40)})
	if err != nil || missing[id] || !missing[strings.Repeat("1", 40)] {
		t.Errorf("%v, %v", missing, err)
	}
	if err := s.PutFile("f", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if data, err := s.File("f"); err != nil || string(data) != "x" {
		t.Errorf("%q, %v", data, err)
	}
	if entries, err := os.ReadDir(filepath.Join(dir, scratchDir)); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
	out, err := exec.Command("git", "--git-dir="+s.GitDir(), "fsck", "--strict").CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestLocks(t *testing.T) {
	c, dir := newClock(), t.TempDir()
	a, b := open(t, dir, c), open(t, dir, c)
	unlock, err := a.Lock(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if _, err := b.Lock(ctx, "x"); !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
	other, err := b.Lock(ctx, "y")
	if err != nil {
		t.Errorf("another lock: %v", err)
	}
	other()
	unlock()
	if unlock, err = b.Lock(ctx, "x"); err != nil {
		t.Fatal(err)
	}
	unlock()
	// If the holder of a lock removed its file, a waiter for that file does not hold the lock.
	var inside, most atomic.Int32
	var all sync.WaitGroup
	for i := range 8 {
		s := []*Store{a, b}[i%2]
		all.Go(func() {
			for range 20 {
				unlock, err := s.Lock(t.Context(), "z")
				if err != nil {
					t.Error(err)
					return
				}
				if n := inside.Add(1); n > most.Load() {
					most.Store(n)
				}
				inside.Add(-1)
				_ = os.Remove(filepath.Join(dir, locksDir, "z"))
				unlock()
			}
		})
	}
	all.Wait()
	if most.Load() != 1 {
		t.Errorf("%d had the lock at once", most.Load())
	}
}

func TestMaintain(t *testing.T) {
	c := newClock()
	s := open(t, t.TempDir(), c, func(o *StoreOptions) { o.MaxBytes, o.InUse = 2500, time.Hour })
	var ids []string
	for i := range 4 {
		ids = append(ids, keep(t, s, key(fmt.Sprint(i)), fmt.Sprint("content ", i)))
		c.pass(time.Hour)
	}
	s.Used(key("0")) // so another one is the least recently used
	if err := s.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false, false, true} {
		n, err := s.Note(key(fmt.Sprint(i)))
		if err != nil || (n.Tree != "") != want || n.First != "d" {
			t.Errorf("%d: %+v, %v", i, n, err)
		}
		if _, err := read(t, s, ids[i]); want && err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	out, err := exec.Command("git", "--git-dir="+s.GitDir(), "for-each-ref").CombinedOutput()
	if err != nil || strings.Count(string(out), "\n") != 2 {
		t.Errorf("%v: %s", err, out)
	}
	c.pass(365 * 24 * time.Hour)
	if err := s.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Note(key("0")); err != nil || n.Tree != "" || n.First != "d" {
		t.Errorf("%+v, %v", n, err)
	}
	id := keep(t, s, key("0"), "back again")
	if got, err := read(t, s, id); err != nil || got != "back again" {
		t.Errorf("%q, %v", got, err)
	}
}

// Indexes and failures are kept for less time than digests.
func TestMaintainFiles(t *testing.T) {
	c := newClock()
	s := open(t, t.TempDir(), c, func(o *StoreOptions) { o.MaxBytes = 400 })
	for _, name := range []string{"a", "b", "c"} {
		if err := s.PutFile(name, make([]byte, 50)); err != nil {
			t.Fatal(err)
		}
		c.pass(time.Minute)
	}
	if err := s.Put(key("failed"), Note{What: "x"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(key("seen"), Note{What: "x", First: "d"}); err != nil {
		t.Fatal(err)
	}
	if !s.Due() {
		t.Error("nothing is to be done")
	}
	if err := s.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"a": false, "b": true, "c": true} {
		if data, err := s.File(name); err != nil || (data != nil) != want {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
	}
	c.pass(100 * 24 * time.Hour)
	if err := s.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"failed": "", "seen": "x"} {
		if n, err := s.Note(key(name)); err != nil || n.What != want {
			t.Errorf("%s: %+v, %v", name, n, err)
		}
	}
}

// Writers and Maintain wait for each other, and nothing that was just written is lost.
func TestMaintainWhileWriting(t *testing.T) {
	c, dir := newClock(), t.TempDir()
	a, b := open(t, dir, c), open(t, dir, c, func(o *StoreOptions) { o.MaxBytes = 1; o.InUse = time.Nanosecond })
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() {
			for j := range 5 {
				k := key(fmt.Sprint(i, j))
				id, err := a.WriteFiles(t.Context(), k, []TreeFile{{Name: "a/b.yaml", Data: fmt.Append(nil, i, j)}})
				if err != nil {
					t.Error(err)
				} else if got, err := read(t, a, id); err != nil || got != fmt.Sprint(i, j) {
					t.Errorf("%q, %v", got, err)
				}
			}
		})
	}
	all.Go(func() {
		for range 5 {
			if err := b.Maintain(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
}

// Nothing is written during Maintain, because it might rely on objects that are being removed, like the same files.
func TestNothingIsWrittenWhileCleaning(t *testing.T) {
	s := open(t, t.TempDir(), newClock())
	ran, git := filepath.Join(t.TempDir(), "ran"), s.git
	script := fmt.Sprintf("#!/bin/sh\n: > %q\nexec %q \"$@\"\n", ran, git)
	s.git = filepath.Join(t.TempDir(), "git")
	if err := os.WriteFile(s.git, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	unlock, err := s.wait(t.Context(), cleaning, false)
	if err != nil {
		t.Fatal(err)
	}
	brief, cancel := context.WithTimeout(t.Context(), 2*lockPoll)
	defer cancel()
	write := func(ctx context.Context) (wrote bool, err error) {
		_, err = s.WriteFiles(ctx, Key("a"), []TreeFile{{Name: "a", Data: []byte("x")}})
		_, missing := os.Stat(ran)
		return missing == nil, err
	}
	if wrote, err := write(brief); wrote || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("written: %t, %v", wrote, err)
	}
	unlock()
	if wrote, err := write(t.Context()); !wrote || err != nil {
		t.Errorf("afterwards: %t, %v", wrote, err)
	}
}

// Content that is being fetched, or was used since Maintain listed it, is not removed.
func TestUsedMeanwhile(t *testing.T) {
	c := newClock()
	s := open(t, t.TempDir(), c, func(o *StoreOptions) { o.InUse = time.Hour })
	key := Key("a")
	keep(t, s, key, "x: 1")
	seen := held{key: key, used: c.read()}
	var err error
	if seen.note, err = s.Note(key); err != nil {
		t.Fatal(err)
	}
	c.pass(2 * time.Hour)
	there := func() bool {
		n, err := s.Note(key)
		if err != nil {
			t.Fatal(err)
		}
		return n.Tree != ""
	}
	unlock, err := s.Lock(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.MakeRoom(t.Context(), 0); err != nil || !there() {
		t.Errorf("while it is fetched: %v, there %t", err, there())
	}
	unlock()
	s.Used(key)
	if went, err := s.letGo(seen); went || err != nil || !there() {
		t.Errorf("used meanwhile: %t, %v, there %t", went, err, there())
	}
	c.pass(2 * time.Hour)
	if err := s.MakeRoom(t.Context(), 0); err != nil || there() {
		t.Errorf("unused: %v, there %t", err, there())
	}
}

// Remains of killed processes do no harm, and are removed later.
func TestLeftovers(t *testing.T) {
	c, dir := newClock(), t.TempDir()
	s := open(t, dir, c)
	id := keep(t, s, key("x"), "one")
	for _, name := range []string{"scratch/git-dead/objects/pack/tmp_pack_x", "scratch/file-dead", "locks/dead",
		"objects.git/objects/pack/pack-1111111111111111111111111111111111111111.pack", "objects.git/packed-refs.lock",
		"notes/ab/abdead.json"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-24 * time.Hour)
	for _, name := range []string{"scratch/git-dead", "scratch/file-dead"} {
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, dir, c)
	if n, err := s.Note("abdead"); err != nil || n.What != "" {
		t.Errorf("%+v, %v", n, err)
	}
	if got, err := read(t, s, id); err != nil || got != "one" {
		t.Errorf("%q, %v", got, err)
	}
	keep(t, s, key("y"), "two")
	c.pass(200 * 24 * time.Hour)
	if err := s.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"scratch/git-dead", "scratch/file-dead", "locks/dead"} {
		if _, err := os.Stat(filepath.Join(dir, name)); name != "locks/dead" && err == nil {
			t.Errorf("%s is there still", name)
		}
	}
	// A folder without its repository gets a new one.
	if err := os.RemoveAll(s.GitDir()); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, c)
	keep(t, s, key("z"), "three")
}
