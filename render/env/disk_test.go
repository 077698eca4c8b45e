package env

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestEntriesAreReadAsWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	d := open(dir, 0, "v1")
	scope := d.Scope("a", "b")
	if _, ok := d.Get(scope, "x"); ok {
		t.Fatal("an entry in a folder that does not exist")
	}
	if err := d.Put(scope, "x", []byte("data")); err != nil {
		t.Fatal(err)
	}
	if data, ok := d.Get(scope, "x"); !ok || string(data) != "data" {
		t.Fatalf("got %q, %v", data, ok)
	}
	if got := d.Names(scope); !slices.Equal(got, []string{"x"}) {
		t.Errorf("names: %q", got)
	}
	for _, other := range []string{open(dir, 0, "v2").Scope("a", "b"), d.Scope("ab"), d.Scope("a", "b", "")} {
		if _, ok := d.Get(other, "x"); ok || other == scope {
			t.Error("another scope has the entry")
		}
	}
	for path, mode := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, scope): 0o700,
		filepath.Join(dir, scope, "x"+suffix): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, ok := d.Get(scope, "x"); ok || len(d.Names(scope)) > 0 {
		t.Error("an entry of a removed folder")
	}
	for _, name := range []string{"", "../x", "a/b", "a.b"} {
		if err := d.Put(scope, name, nil); err == nil {
			t.Errorf("the name %q is accepted", name)
		}
	}
}

// A damaged entry counts as missing, however it is damaged.
func TestDamagedEntryIsMissing(t *testing.T) {
	d := open(t.TempDir(), 0, "v")
	scope := d.Scope()
	content := bytes.Repeat([]byte("content "), 100)
	damage := map[string]func(file string, data []byte) error{
		"cut":   func(f string, data []byte) error { return os.WriteFile(f, data[:len(data)-1], 0o600) },
		"empty": func(f string, _ []byte) error { return os.WriteFile(f, nil, 0o600) },
		"longer": func(f string, data []byte) error {
			return os.WriteFile(f, append(slices.Clone(data), 0), 0o600)
		},
		"flipped": func(f string, data []byte) error {
			data = slices.Clone(data)
			data[len(data)/2] ^= 1
			return os.WriteFile(f, data, 0o600)
		},
		"renamed": func(f string, data []byte) error {
			if err := d.Put(scope, "other", []byte("other")); err != nil {
				return err
			}
			return os.Rename(filepath.Join(filepath.Dir(f), "other"+suffix), f)
		},
	}
	for name, hurt := range damage {
		t.Run(name, func(t *testing.T) {
			if err := d.Put(scope, "x", content); err != nil {
				t.Fatal(err)
			}
			file, _ := d.file(scope, "x")
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := hurt(file, data); err != nil {
				t.Fatal(err)
			}
			if _, ok := d.Get(scope, "x"); ok {
				t.Error("a damaged entry is read")
			}
			if _, err := os.Stat(file); err == nil {
				t.Error("a damaged entry stays")
			}
		})
	}
}

func TestLeastRecentlyUsedEntriesAreRemoved(t *testing.T) {
	d := open(t.TempDir(), 1000, "v")
	scope := d.Scope()
	old := time.Now().Add(-time.Hour)
	for i := range 4 {
		name := fmt.Sprint(i)
		if err := d.Put(scope, name, make([]byte, 200)); err != nil {
			t.Fatal(err)
		}
		file, _ := d.file(scope, name)
		at := old.Add(time.Duration(i) * time.Minute)
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := d.Get(scope, "0"); !ok { // now the most recently used
		t.Fatal("0 is gone early")
	}
	if err := d.Put(scope, "4", make([]byte, 200)); err != nil {
		t.Fatal(err)
	}
	got := d.Names(scope)
	slices.Sort(got)
	if want := []string{"0", "2", "3", "4"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := d.Put(scope, "large", make([]byte, 2000)); err != nil {
		t.Fatal(err)
	}
	if _, ok := d.Get(scope, "large"); ok {
		t.Error("an entry over the limit is kept")
	}
}

// Removing entries reads the whole folder, so not each written entry does it.
func TestEntriesAreNotRemovedOnEachWrite(t *testing.T) {
	dir := t.TempDir()
	first := open(dir, 16_000, "v")
	at := filepath.Join(dir, marker)
	made := func(d *Disk, size int) bool {
		t.Helper()
		old := time.Now().Add(-30 * time.Second)
		_ = os.Chtimes(at, old, old)
		if err := d.Put(d.Scope(), fmt.Sprint(size), make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(at)
		return err == nil && info.ModTime().After(old)
	}
	second := open(dir, 16_000, "v")
	for i, step := range []struct {
		disk *Disk
		size int
		want bool
	}{{first, 1, true}, {first, 400, false}, {second, 1, false}, {first, 599, false}, {first, 1, true}, {first, 2, false},
		{second, 999, true}} {
		if got := made(step.disk, step.size); got != step.want {
			t.Errorf("step %d: made room: %v", i, got)
		}
	}
}

func TestAbandonedFilesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	d := open(dir, 0, "v")
	scope := d.Scope()
	if err := d.Put(scope, "x", nil); err != nil {
		t.Fatal(err)
	}
	fresh, stale := filepath.Join(dir, scope, "1.tmp"), filepath.Join(dir, scope, "2.tmp")
	for _, f := range []string{fresh, stale} {
		if err := os.WriteFile(f, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-2 * abandoned)
	if err := os.Chtimes(stale, old, old); err != nil {
		t.Fatal(err)
	}
	d.trim()
	if _, err := os.Stat(fresh); err != nil {
		t.Error("a file that is being written is removed")
	}
	if _, err := os.Stat(stale); err == nil {
		t.Error("an abandoned file stays")
	}
}

// Readers only see complete entries while others write entries and delete the folder.
func TestConcurrentUse(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			d := open(dir, 64<<10, "v")
			scope := d.Scope()
			for i := range 50 {
				name := fmt.Sprint(i % 7)
				_ = d.Put(scope, name, []byte(strings.Repeat(name, 4096)))
				if data, ok := d.Get(scope, name); ok && string(data) != strings.Repeat(name, 4096) {
					t.Error("a mixed entry is read")
				}
				if w == 0 && i%10 == 0 {
					_ = os.RemoveAll(filepath.Join(dir, scope))
				}
			}
		})
	}
	all.Wait()
}

func TestEntriesOfOtherVersionsAreMissing(t *testing.T) {
	first, err := programVersion()
	if err != nil || first == "" {
		t.Fatalf("%q, %v", first, err)
	}
	clean := &debug.BuildInfo{GoVersion: "go1",
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "r"}, {Key: "vcs.modified", Value: "false"}}}
	if released(clean) == "" {
		t.Error("a clean commit has no version")
	}
	clean.Settings[1].Value = "true"
	if v := released(clean); v != "" {
		t.Errorf("changed files are taken for the commit: %q", v)
	}
	if v := released(&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}); v != "" {
		t.Errorf("a development build is taken for a release: %q", v)
	}
	a, b := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	for f, data := range map[string]string{a: "a", b: "b"} {
		if err := os.WriteFile(f, []byte(data), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	one, _ := digest(a)
	two, _ := digest(b)
	if one == two || one == "" || buildID(a) != "" {
		t.Error("programs are not told apart")
	}
}
