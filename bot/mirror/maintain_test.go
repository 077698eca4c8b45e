package mirror

import (
	"errors"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/render/remote"

	"github.com/lintel-bot/lintel/bot/forge"
)

// noise is text that no compression makes smaller than half.
func noise(seed int64, bytes int) string {
	random := rand.New(rand.NewSource(seed)) //nolint:gosec // a test that can be repeated
	var b strings.Builder
	for range bytes {
		b.WriteByte("0123456789abcdefghijklmnopqrstuvwxyz"[random.Intn(36)])
	}
	return b.String()
}

func there(t *testing.T, dir string) bool {
	t.Helper()
	_, err := os.Stat(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// Mirrors go in the order of their last use, as many as have to, and none that somebody may read.
func TestMakeRoom(t *testing.T) {
	s := newServer(t)
	base := s.commit("main", mainRef, "a", noise(1, 200<<10))
	want := Want{BaseRef: "main", BaseSHA: base, HeadSHA: base}
	repo := func(id int64) forge.Repo {
		return forge.Repo{Installation: id % 2, ID: id, Owner: "octo", Name: "svc"}
	}
	first, err := s.mirrors().Fetch(t.Context(), repo(1), want)
	if err != nil {
		t.Fatal(err)
	}
	type ages map[int64]time.Duration
	for name, c := range map[string]struct {
		used    ages  // by repository, before now
		room    int64 // for how many
		locked  int64
		left    []int64
		fetches int64 // this one, in place of upkeep
		busy    time.Duration
	}{
		"all fit": {used: ages{1: 3 * time.Hour, 2: 2 * time.Hour}, room: 2, left: []int64{1, 2}},
		"the oldest goes": {used: ages{1: 2 * time.Hour, 2: 4 * time.Hour, 3: 3 * time.Hour}, room: 2,
			left: []int64{1, 3}},
		"two go":             {used: ages{1: 2 * time.Hour, 2: 4 * time.Hour, 3: 3 * time.Hour}, room: 1, left: []int64{1}},
		"one is locked":      {used: ages{1: 2 * time.Hour, 2: 4 * time.Hour}, room: 1, locked: 2, left: []int64{2}},
		"one was just read":  {used: ages{1: 50 * time.Minute, 2: 55 * time.Minute, 3: 2 * time.Hour}, left: []int64{1, 2}},
		"a check takes long": {used: ages{1: 3 * time.Hour, 2: 5 * time.Hour}, busy: 4 * time.Hour, left: []int64{1}},
		"after a fetch":      {used: ages{1: 3 * time.Hour, 2: 2 * time.Hour}, room: 2, fetches: 3, left: []int64{2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			m := s.mirrors(func(config *Config) { config.Busy = c.busy })
			var size int64
			for id, ago := range c.used {
				if c.fetches == 0 { // upkeep finds mirrors of former processes, too
					if err := os.CopyFS(m.GitDir(repo(id)), os.DirFS(first.GitDir)); err != nil {
						t.Fatal(err)
					}
				}
				got, err := m.Fetch(t.Context(), repo(id), want)
				if err != nil {
					t.Fatal(err)
				}
				size = remote.Size(got.GitDir)
				if err := os.Chtimes(filepath.Join(got.GitDir, usedFile), now.Add(-ago), now.Add(-ago)); err != nil {
					t.Fatal(err)
				}
			}
			if c.locked > 0 {
				unlock, err := m.lock(t.Context(), c.locked)
				if err != nil {
					t.Fatal(err)
				}
				defer unlock()
			}
			m.config.TotalBytes = c.room*size + size/2
			if c.fetches > 0 {
				if _, err := m.Fetch(t.Context(), repo(c.fetches), want); err != nil {
					t.Fatal(err)
				}
			} else if err := m.Maintain(t.Context(), now.AddDate(0, 0, -14)); err != nil {
				t.Fatal(err)
			}
			left := map[int64]bool{}
			var sum int64
			for _, id := range c.left {
				left[id] = true
			}
			for id := range int64(4) {
				if is := there(t, m.GitDir(repo(id))); is != left[id] {
					t.Errorf("the mirror of %d is there: %v", id, is)
				}
				sum += remote.Size(m.GitDir(repo(id)))
			}
			if m.Bytes() > sum || m.Bytes() < sum-1000 { // but for notes that are written later
				t.Errorf("%d bytes, want %d", m.Bytes(), sum)
			}
		})
	}
}

// A partial mirror is packed to what is still read. What it lost can be had again, and it can be fetched into.
func TestPack(t *testing.T) {
	s := newServer(t)
	small := s.commit("main", mainRef, "a", "0")
	base := s.commit("main", mainRef, "a", "1")
	former := s.commit("feat", pullRef, "b", noise(2, 100<<10))
	m := s.mirrors()
	got, err := m.Fetch(t.Context(), testRepo, wantOf(base, former))
	if err != nil {
		t.Fatal(err)
	}
	head := s.commit("feat", pullRef, "b", "2")
	if _, err := m.Fetch(t.Context(), testRepo, wantOf(base, head)); err != nil {
		t.Fatal(err)
	}
	ses := &session{m: m, dir: got.GitDir, partial: true}
	if err := ses.remember([]string{base, head}); err != nil { // the former head is forgotten, as after many others
		t.Fatal(err)
	}
	old, err := packsOf(got.GitDir)
	if err != nil || len(old) < 3 {
		t.Fatalf("%q, %v", old, err)
	}
	before := remote.Size(got.GitDir)
	if err := ses.pack(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if now, err := packsOf(got.GitDir); err != nil || len(now) != 1 {
		t.Errorf("packs %q, %v", now, err)
	}
	if after := remote.Size(got.GitDir); after > before/2 {
		t.Errorf("it takes %d bytes, and %d before", after, before)
	}
	readable(t, got.GitDir, small, base, head)
	requests := s.count()
	if _, err := m.Fetch(t.Context(), testRepo, wantOf(base, head)); err != nil || s.count() != requests {
		t.Errorf("what was kept is fetched again: %v", err)
	}
	if _, err := m.Fetch(t.Context(), testRepo, wantOf(base, former)); err != nil {
		t.Fatal(err)
	}
	readable(t, got.GitDir, former)
	next := s.commit("feat", pullRef, "c", "3")
	if _, err := m.Fetch(t.Context(), testRepo, wantOf(base, next)); err != nil {
		t.Fatal(err)
	}
	readable(t, got.GitDir, base, next)
}

// A mirror that is too large with what was read once is made anew with what is read now.
func TestTooLargeWithWhatIsOld(t *testing.T) {
	s := newServer(t)
	base := s.commit("main", mainRef, "a", "1")
	m := s.mirrors(func(c *Config) { c.MaxBytes = 150 << 10 })
	for seed := range int64(3) {
		head := s.commit("feat", pullRef, "b", noise(seed, 100<<10))
		got, err := m.Fetch(t.Context(), testRepo, wantOf(base, head))
		if err != nil {
			t.Fatal(err)
		}
		readable(t, got.GitDir, base, head)
	}
	var large *TooLarge
	head := s.commit("feat", pullRef, "c", noise(9, 400<<10))
	if _, err := m.Fetch(t.Context(), testRepo, wantOf(base, head)); !errors.As(err, &large) {
		t.Errorf("want *TooLarge, got %v", err)
	}
	if there(t, m.GitDir(testRepo)) {
		t.Error("it fills the disk for nobody")
	}
}

// What a killed process left beside a mirror goes.
func TestLeftovers(t *testing.T) {
	s := newServer(t)
	base := s.commit("main", mainRef, "a", "1")
	m := s.mirrors()
	got, err := m.Fetch(t.Context(), testRepo, wantOf(base, base))
	if err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{newSuffix, probeSuffix} {
		if err := os.MkdirAll(filepath.Join(got.GitDir+suffix, "objects"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(m.config.Dir, "3", "9.git"+newSuffix), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := m.Maintain(t.Context(), time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	for dir, stays := range map[string]bool{got.GitDir: true, got.GitDir + newSuffix: false, got.GitDir + probeSuffix: false,
		filepath.Join(m.config.Dir, "3", "9.git"+newSuffix): false} {
		if there(t, dir) != stays {
			t.Errorf("%s stays: %v", filepath.Base(dir), !stays)
		}
	}
}
