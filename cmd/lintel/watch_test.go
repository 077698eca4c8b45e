package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// watching is a watch with a clock that the test holds.
type watching struct {
	t    *testing.T
	dir  string
	tick chan time.Time
	runs chan string // what each run read
	end  chan error
	fail chan error // what runs end with
	stop context.CancelFunc
}

func startWatch(t *testing.T) *watching {
	w := &watching{t: t, dir: t.TempDir(), tick: make(chan time.Time), runs: make(chan string), end: make(chan error, 1),
		fail: make(chan error, 1)}
	w.write("dir/a", "one")
	ctx, cancel := context.WithCancel(t.Context())
	w.stop = cancel
	go func() {
		w.end <- watch(ctx, w.tick, io.Discard, func(files func(string) fs.FS) error {
			f := files(w.dir)
			var read []string
			_ = fs.WalkDir(f, "dir", func(p string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					data, _ := fs.ReadFile(f, p)
					read = append(read, string(data))
				}
				return err
			})
			w.runs <- strings.Join(read, " ")
			select {
			case err := <-w.fail:
				return err
			default:
				return nil
			}
		})
	}()
	return w
}

// write replaces a file at once, as far as its folder can be read.
func (w *watching) write(name, text string) {
	w.t.Helper()
	path, fresh := filepath.Join(w.dir, name), filepath.Join(w.dir, "fresh")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(fresh, []byte(text), 0o600),
		os.Rename(fresh, path)); err != nil {
		w.t.Fatal(err)
	}
}

// ran waits for the next run, however many ticks that takes.
func (w *watching) ran(want string) {
	w.t.Helper()
	for {
		select {
		case w.tick <- time.Time{}:
		case got := <-w.runs:
			if got != want {
				w.t.Fatalf("read %q, want %q", got, want)
			}
			return
		}
	}
}

// quiet looks whether ticks let nothing run.
func (w *watching) quiet() {
	w.t.Helper()
	for range 5 {
		select {
		case w.tick <- time.Time{}:
		case got := <-w.runs:
			w.t.Fatalf("it ran: %q", got)
		}
	}
}

func TestWatch(t *testing.T) {
	w := startWatch(t)
	w.ran("one")
	w.quiet()
	w.write("dir/a", "more")
	w.ran("more")
	w.quiet()
	w.write("dir/b", "new") // a file in a folder that was read
	w.ran("more new")
	w.write("elsewhere", "x")
	w.quiet()
	w.fail <- errors.New("broken")
	if err := os.Remove(filepath.Join(w.dir, "dir/b")); err != nil {
		t.Fatal(err)
	}
	w.ran("more")
	w.quiet() // an error is no change
	if err := os.Rename(filepath.Join(w.dir, "dir"), filepath.Join(w.dir, "away")); err != nil {
		t.Fatal(err)
	}
	w.ran("")
	w.quiet()
	w.fail <- exitBlocked
	if err := os.Rename(filepath.Join(w.dir, "away"), filepath.Join(w.dir, "dir")); err != nil {
		t.Fatal(err)
	}
	w.ran("more")
	w.stop()
	if err := <-w.end; !errors.Is(err, exitBlocked) {
		t.Errorf("it ended with %v, and not as its last run", err)
	}
}

// What still changes is waited for: an editor writes in several steps.
func TestWatchWaitsForRest(t *testing.T) {
	for _, c := range []struct {
		states []string // at each tick
		ticks  int      // until it is at rest, 0 for never
	}{{[]string{"x", "x", "x"}, 0}, {[]string{"x", "y", "y"}, 3}, {[]string{"y", "z", "zz", "zz"}, 4}, {[]string{"y", "x", "y"}, 0}} {
		seen, at := stamps("x"), 0
		var last map[string]stamp
		for i, state := range c.states {
			now := map[string]stamp{}
			for name, s := range stamps(state) {
				if seen[name] != s {
					now[name] = s
				}
			}
			if atRest(now, last) && at == 0 {
				at = i + 1
			}
			last = now
		}
		if at != c.ticks {
			t.Errorf("%q: at rest at %d, want %d", c.states, at, c.ticks)
		}
	}
}

func stamps(text string) map[string]stamp {
	return map[string]stamp{"a": {modified: time.Unix(0, int64(text[0])), size: int64(len(text))}}
}

func TestWatchEnds(t *testing.T) {
	w := startWatch(t)
	w.fail <- errors.New("nothing to watch")
	w.ran("one")
	if err := <-w.end; err == nil || err.Error() != "nothing to watch" {
		t.Errorf("%v", err)
	}
}

// An interrupt ends the program, as a user does it.
func TestWatchInterrupted(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"kyverno-test.yaml": "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\npolicies: []\nresources: []\nresults: []\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "test", dir, "--watch")
	cmd.Env = append(os.Environ(), "LINTEL_TEST_COMMAND=1")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said, err := bufio.NewReader(stderr).ReadString('\n')
	if err != nil || !strings.Contains(said, "press Ctrl-C to stop") {
		t.Fatalf("%q, %v", said, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Skip("there are no interrupts here")
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}
