package mirror

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const mainRef, pullRef = "refs/heads/main", "refs/pull/7/head"

func wantOf(base, head string) Want {
	return Want{Number: 7, BaseRef: "main", BaseSHA: base, HeadSHA: head}
}

func TestFetch(t *testing.T) {
	s := newServer(t)
	fork := s.commit("main", mainRef, "a", "1")
	head := s.commit("feat", pullRef, "b", "2")
	tip := s.commit("main", mainRef, "c", "3")
	m := s.mirrors()

	got, err := m.Fetch(t.Context(), testRepo, wantOf(fork, head))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(State{GitDir: m.GitDir(testRepo), MergeBase: fork, BaseTip: tip}, got); diff != "" {
		t.Errorf("the base moved since (-want +got):\n%s", diff)
	}
	before := s.count()
	got, err = m.Fetch(t.Context(), testRepo, wantOf(tip, head))
	if err != nil || got.BaseTip != tip || got.MergeBase != fork {
		t.Errorf("again: %+v, %v", got, err)
	}
	if s.count() != before {
		t.Error("a fetch of what is there used the network")
	}
	if content, id, err := m.Blob(t.Context(), got.GitDir, head, "b"); err != nil || string(content) != "2" ||
		len(id) != 40 {
		t.Errorf("Blob: %q, %q, %v", content, id, err)
	}
	if _, err := os.Stat(filepath.Join(got.GitDir, "index")); err == nil {
		t.Error("something was checked out")
	}

	t.Run("pushed over", func(t *testing.T) {
		s.git(s.work, "checkout", "-q", "feat")
		s.git(s.work, "reset", "-q", "--hard", fork)
		next := s.commit("feat", pullRef, "b", "other")
		got, err := m.Fetch(t.Context(), testRepo, wantOf(tip, next))
		if err != nil || got.MergeBase != fork {
			t.Errorf("%+v, %v", got, err)
		}
		// A younger mirror gets the old head by its id.
		if err := s.mirrors().Ensure(t.Context(), testRepo, head); err != nil {
			t.Errorf("the old head: %v", err)
		}
	})
	t.Run("no base commit given", func(t *testing.T) {
		got, err := s.mirrors().Fetch(t.Context(), testRepo, wantOf("", head))
		if err != nil || got.BaseTip != tip {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("merge group", func(t *testing.T) {
		got, err := s.mirrors().Fetch(t.Context(), testRepo, Want{BaseSHA: fork, HeadSHA: head})
		if err != nil || got.BaseTip != fork || got.MergeBase != fork {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("pull request ref missing", func(t *testing.T) {
		w := wantOf(tip, head)
		w.Number = 99
		if got, err := s.mirrors().Fetch(t.Context(), testRepo, w); err != nil || got.BaseTip != tip {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("base branch deleted", func(t *testing.T) {
		w := wantOf(tip, head)
		w.BaseRef = "release"
		if got, err := s.mirrors().Fetch(t.Context(), testRepo, w); err != nil || got.BaseTip != tip {
			t.Errorf("%+v, %v", got, err)
		}
		w.BaseSHA = ""
		if _, err := s.mirrors().Fetch(t.Context(), testRepo, w); err == nil || err.Error() != "branch release does not exist" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("branch in the way of another", func(t *testing.T) {
		s.git(s.dir, "update-ref", "refs/heads/a", tip)
		m := s.mirrors()
		w := wantOf(tip, head)
		if w.BaseRef = "a"; func() error { _, err := m.Fetch(t.Context(), testRepo, w); return err }() != nil {
			t.Fatal("branch a")
		}
		s.git(s.dir, "update-ref", "-d", "refs/heads/a")
		s.git(s.dir, "update-ref", "refs/heads/a/b", tip)
		if _, err := m.Fetch(t.Context(), testRepo, Want{BaseRef: "a/b", HeadSHA: head}); err != nil {
			t.Errorf("branch a/b after a: %v", err)
		}
	})
}

func TestFetchTypedErrors(t *testing.T) {
	s := newServer(t)
	base := s.commit("main", mainRef, "a", "1")
	head := s.commit("feat", pullRef, "b", "2")
	nowhere := strings.Repeat("ab", 20)

	t.Run("vanished", func(t *testing.T) {
		var e *Vanished
		if _, err := s.mirrors().Fetch(t.Context(), testRepo, wantOf(base, nowhere)); !errors.As(err, &e) ||
			e.SHA != nowhere {
			t.Errorf("want *Vanished, got %v", err)
		}
		// The base that GitHub named was pushed over: the present tip counts.
		if got, err := s.mirrors().Fetch(t.Context(), testRepo, wantOf(nowhere, head)); err != nil || got.BaseTip != base {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("no merge base", func(t *testing.T) {
		s.git(s.work, "checkout", "-q", "--orphan", "alien")
		alien := s.commit("alien", "refs/pull/8/head", "z", "9")
		var e *NoMergeBase
		if _, err := s.mirrors().Fetch(t.Context(), testRepo, wantOf(base, alien)); !errors.As(err, &e) {
			t.Errorf("want *NoMergeBase, got %v", err)
		}
	})
	t.Run("too large", func(t *testing.T) {
		var e *TooLarge
		m := s.mirrors(func(c *Config) { c.MaxBytes = 100 })
		if _, err := m.Fetch(t.Context(), testRepo, wantOf(base, head)); !errors.As(err, &e) {
			t.Errorf("want *TooLarge, got %v", err)
		}
	})
	t.Run("renamed", func(t *testing.T) {
		s.set(func() { s.name = "/octo/renamed.git" })
		defer s.set(func() { s.name = "/octo/svc.git" })
		if _, err := s.mirrors().Fetch(t.Context(), testRepo, wantOf(base, head)); err != nil {
			t.Errorf("a renamed repository: %v", err)
		}
	})
	t.Run("gone", func(t *testing.T) {
		s.set(func() { s.name = "/gone.git" })
		defer s.set(func() { s.name = "/octo/svc.git" })
		var e *Denied
		if _, err := s.mirrors().Fetch(t.Context(), testRepo, wantOf(base, head)); !errors.As(err, &e) || e.Status != 404 {
			t.Errorf("want *Denied 404, got %v", err)
		}
	})
	t.Run("redirect to another server", func(t *testing.T) {
		var leaked []string
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			leaked = append(leaked, r.Header.Get("Authorization"))
		}))
		defer other.Close()
		s.set(func() {
			s.fault = func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
				http.Redirect(w, r, other.URL+r.URL.RequestURI(), http.StatusMovedPermanently)
			}
		})
		defer s.set(func() { s.fault = nil })
		if _, err := s.mirrors().Fetch(t.Context(), testRepo, wantOf(base, head)); err == nil {
			t.Error("it was followed")
		}
		if len(leaked) > 0 {
			t.Errorf("the other server was asked: %q", leaked)
		}
	})
	for name, w := range map[string]Want{
		"option as a branch": {BaseRef: "--upload-pack=x", HeadSHA: head},
		"refspec":            {BaseRef: "main:refs/heads/x", HeadSHA: head},
		"short head":         {BaseRef: "main", HeadSHA: "abc"},
		"nothing":            {HeadSHA: head},
	} {
		t.Run(name, func(t *testing.T) {
			before := s.count()
			if _, err := s.mirrors().Fetch(t.Context(), testRepo, w); err == nil || s.count() != before {
				t.Errorf("error %v, %d requests", err, s.count()-before)
			}
		})
	}
}

// once runs a fault for the first request that matches.
func once(match func(*http.Request) bool, do http.HandlerFunc) func(http.ResponseWriter, *http.Request, http.Handler) {
	var mu sync.Mutex
	done := false
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		mu.Lock()
		hit := !done && match(r)
		done = done || hit
		mu.Unlock()
		if hit {
			do(w, r)
			return
		}
		next.ServeHTTP(w, r)
	}
}

func isPost(r *http.Request) bool { return r.Method == http.MethodPost }

func TestFetchFaults(t *testing.T) {
	s := newServer(t)
	base := s.commit("main", mainRef, "a", "1")
	head := s.commit("feat", pullRef, "b", "2")
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
		w.Header().Set("Content-Length", "1000")
		w.Write([]byte("000dpackfile\n")) //nolint:errcheck // the connection is cut next
		panic(http.ErrAbortHandler)
	}
	for name, fault := range map[string]func(http.ResponseWriter, *http.Request, http.Handler){
		"502": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			http.Error(w, "Server Error "+secret, http.StatusBadGateway)
		},
		"cut":      once(isPost, cut),
		"cut late": func(w http.ResponseWriter, r *http.Request, next http.Handler) { cutAfter(w, r, next) },
	} {
		t.Run(name, func(t *testing.T) {
			s.set(func() { s.fault = fault })
			m := s.mirrors()
			_, err := m.Fetch(t.Context(), testRepo, wantOf(base, head))
			var vanished *Vanished
			if err != nil && errors.As(err, &vanished) {
				t.Errorf("trouble of the server taken for a missing commit: %v", err)
			}
			if err != nil {
				noSecret(t, m, err)
			} else if name == "502" {
				t.Error("no error")
			}
			s.set(func() { s.fault = nil })
			if _, err := m.Fetch(t.Context(), testRepo, wantOf(base, head)); err != nil {
				t.Errorf("after the trouble: %v", err)
			}
		})
	}
}

// cutAfter lets the listing of refs through and cuts every transfer of objects.
func cutAfter(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if !isPost(r) {
		next.ServeHTTP(w, r)
		return
	}
	rec := httptest.NewRecorder()
	next.ServeHTTP(rec, r)
	body := rec.Body.Bytes()
	if !strings.Contains(string(body), "PACK") {
		for k, v := range rec.Header() {
			w.Header()[k] = v
		}
		w.WriteHeader(rec.Code)
		w.Write(body) //nolint:errcheck // the client judges
		return
	}
	w.Header().Set("Content-Type", rec.Header().Get("Content-Type"))
	w.Header().Set("Content-Length", "99999")
	w.Write(body[:len(body)/2]) //nolint:errcheck // the connection is cut next
	panic(http.ErrAbortHandler)
}

func noSecret(t *testing.T, m *Mirrors, err error) {
	t.Helper()
	for _, s := range []string{secret, basic(secret), m.config.Dir, "127.0.0.1", "x-access-token"} {
		if strings.Contains(err.Error(), s) {
			t.Errorf("the error contains %q: %v", s, err)
		}
	}
}

// TestTokenStaysInEnvironment puts a script in the place of git that records how it was called.
func TestTokenStaysInEnvironment(t *testing.T) {
	s := newServer(t)
	base := s.commit("main", mainRef, "a", "1")
	head := s.commit("feat", pullRef, "b", "2")
	log := filepath.Join(t.TempDir(), "log")
	wrapper := filepath.Join(t.TempDir(), "git")
	script := "#!/bin/sh\nPATH=/usr/local/bin:/usr/bin:/bin\nprintf '%s\\n' \"$*\" >>" + log + ".argv\nenv >>" + log +
		".env\nexec git \"$@\"\n"
	if err := os.WriteFile(wrapper, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LINTEL_GITHUB_WEBHOOK_SECRET", "hush")
	m := s.mirrors(func(c *Config) { c.Git = wrapper })
	if _, err := m.Fetch(t.Context(), testRepo, wantOf(base, head)); err != nil {
		t.Fatal(err)
	}
	argv, err := os.ReadFile(log + ".argv")
	if err != nil {
		t.Fatal(err)
	}
	env, err := os.ReadFile(log + ".env")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(argv), " fetch ") || !strings.Contains(string(env), basic(secret)) {
		t.Fatalf("the test does not see the calls:\n%s", argv)
	}
	if strings.Contains(string(argv), secret) || strings.Contains(string(argv), basic(secret)) {
		t.Errorf("the token is in an argument:\n%s", argv)
	}
	if strings.Contains(string(env), "hush") {
		t.Error("git inherits the environment of the server")
	}
	err = filepath.WalkDir(m.config.Dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), secret) || strings.Contains(string(data), basic(secret)) {
			t.Errorf("the token is on disk: %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	s.set(func() { s.token = "another" })
	defer s.set(func() { s.token = secret })
	_, err = s.mirrors().Fetch(t.Context(), testRepo, wantOf(base, head))
	var denied *Denied
	if !errors.As(err, &denied) || denied.Status != 401 {
		t.Errorf("a refused token: %v", err)
	}
	noSecret(t, m, err)
}

func TestCorruptedMirror(t *testing.T) {
	s := newServer(t)
	base := s.commit("main", mainRef, "a", "1")
	head := s.commit("feat", pullRef, "b", "2")
	for name, damage := range map[string]func(dir string) error{
		"packs lost": func(dir string) error { return os.RemoveAll(filepath.Join(dir, "objects", "pack")) },
		"pack cut": func(dir string) error {
			found, err := filepath.Glob(filepath.Join(dir, "objects", "pack", "*"))
			for _, path := range found {
				err = errors.Join(err, os.Chmod(path, 0o644), os.Truncate(path, 20))
			}
			return err
		},
		"HEAD broken": func(dir string) error { return os.WriteFile(filepath.Join(dir, "HEAD"), []byte("junk"), 0o644) },
		"HEAD lost":   func(dir string) error { return os.Remove(filepath.Join(dir, "HEAD")) },
		"stale locks": func(dir string) error {
			return errors.Join(os.WriteFile(filepath.Join(dir, "packed-refs.lock"), nil, 0o644),
				os.WriteFile(filepath.Join(dir, "refs", "lintel", "pull", "7.lock"), nil, 0o644))
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := s.mirrors()
			got, err := m.Fetch(t.Context(), testRepo, wantOf(base, head))
			if err != nil {
				t.Fatal(err)
			}
			if err := damage(got.GitDir); err != nil {
				t.Fatal(err)
			}
			if got, err = m.Fetch(t.Context(), testRepo, wantOf(base, head)); err != nil || got.MergeBase != base {
				t.Errorf("%+v, %v", got, err)
			}
			if _, _, err := m.Blob(t.Context(), got.GitDir, head, "b"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCancelKillsGit(t *testing.T) {
	s := newServer(t)
	base := s.commit("main", mainRef, "a", "1")
	reached, released := make(chan struct{}), make(chan struct{})
	var first sync.Once
	s.set(func() {
		s.fault = func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
			first.Do(func() { close(reached) })
			<-released
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-reached; cancel() }()
	start := time.Now()
	_, err := s.mirrors().Fetch(ctx, testRepo, wantOf(base, base))
	close(released)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("want the context's error, got %v", err)
	}
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("git (or a child that holds its output) lived on for %s", took)
	}
}

func TestFetchConcurrently(t *testing.T) {
	s := newServer(t)
	base := s.commit("main", mainRef, "a", "1")
	head := s.commit("feat", pullRef, "b", "2")
	dir := filepath.Join(t.TempDir(), "shared")
	// Two of them stand for two processes: the lock file is all they share.
	one, two := s.mirrors(func(c *Config) { c.Dir = dir }), s.mirrors(func(c *Config) { c.Dir = dir })
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			m := one
			if i%2 == 1 {
				m = two
			}
			if got, err := m.Fetch(t.Context(), testRepo, wantOf(base, head)); err != nil || got.MergeBase != base {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	wg.Wait()
	if s.tokens != 1 {
		t.Errorf("%d fetches, want one that the others profit from", s.tokens)
	}
}

func TestBlobID(t *testing.T) {
	s := newServer(t)
	if err := os.Symlink("a", filepath.Join(s.work, "link")); err != nil {
		t.Fatal(err)
	}
	s.commit("main", mainRef, "a", "1")
	head := s.commit("main", mainRef, "dir/with space*.yaml", "x")
	m := s.mirrors()
	got, err := m.Fetch(t.Context(), testRepo, Want{BaseRef: "main", HeadSHA: head})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"a": true, "dir/with space*.yaml": true, "dir/with*": false, "dir": false,
		"dir/": false, "link": true, "": false, "../a": false, ":(top)a": false, "no": false} {
		id, err := m.BlobID(t.Context(), got.GitDir, head, path)
		var none *NoFile
		if want != (err == nil && len(id) == 40) || !want && path != "../a" && !errors.As(err, &none) {
			t.Errorf("%q: %q, %v", path, id, err)
		}
	}
	var none *NoFile
	if content, _, err := m.Blob(t.Context(), got.GitDir, head, "link"); !errors.As(err, &none) {
		t.Errorf("a link was read as a file: %q, %v", content, err)
	}
	var vanished *Vanished
	if _, err := m.BlobID(t.Context(), got.GitDir, strings.Repeat("0", 40), "a"); !errors.As(err, &vanished) {
		t.Errorf("want *Vanished, got %v", err)
	}
}

func TestMaintain(t *testing.T) {
	s := newServer(t)
	base := s.commit("main", mainRef, "a", "1")
	m := s.mirrors()
	got, err := m.Fetch(t.Context(), testRepo, wantOf(base, base))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Maintain(t.Context(), time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(got.GitDir); err != nil {
		t.Error("a mirror that was just used is gone")
	}
	unlock, err := m.lock(t.Context(), testRepo.ID)
	if err != nil {
		t.Fatal(err)
	}
	future := time.Now().Add(time.Hour)
	if err := m.Maintain(t.Context(), future); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(got.GitDir); err != nil {
		t.Error("a mirror in use is gone")
	}
	unlock()
	if err := m.Maintain(t.Context(), future); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(got.GitDir); err == nil {
		t.Error("an unused mirror is still there")
	}
}

// A mirror from before installations had folders of their own is adopted, and one that nobody adopts is removed.
func TestFormerFolder(t *testing.T) {
	s := newServer(t)
	base := s.commit("main", mainRef, "a", "1")
	m := s.mirrors()
	got, err := m.Fetch(t.Context(), testRepo, wantOf(base, base))
	if err != nil {
		t.Fatal(err)
	}
	former := filepath.Join(m.config.Dir, "42.git")
	if err := os.Rename(got.GitDir, former); err != nil {
		t.Fatal(err)
	}
	before := s.count()
	again, err := m.Fetch(t.Context(), testRepo, wantOf(base, base))
	if err != nil || again != got || s.count() != before {
		t.Errorf("%+v, %v, %d requests", again, err, s.count()-before)
	}
	if filepath.Dir(again.GitDir) != filepath.Dir(m.GitDir(testRepo)) {
		t.Errorf("it is at %s", again.GitDir)
	}
	if err := os.Rename(got.GitDir, former); err != nil {
		t.Fatal(err)
	}
	if err := m.Maintain(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(former); err == nil {
		t.Error("an unused mirror is still there")
	}
}
