package remotes

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/checks/report"
	"github.com/lintel-bot/lintel/render/remote"
	"github.com/lintel-bot/lintel/render/remote/fetch"
)

// host is the double of GitHub: octo/base is private and installed, octo/open public, octo/other another's.
type host struct {
	forge.Client // nil: what is not implemented below is not asked for

	url     string
	mu      sync.Mutex
	calls   []string
	readers map[string]string
	trouble error
}

func (h *host) call(name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, name)
	return h.trouble
}

func (h *host) CloneURL(r forge.Repo) string { return h.url + "/" + r.Owner + "/" + r.Name + ".git" }

func (h *host) Repository(_ context.Context, r forge.Repo) (*forge.Settings, error) {
	if err := h.call("repository " + r.String()); err != nil {
		return nil, err
	}
	switch strings.ToLower(r.String()) {
	case "octo/base":
		return &forge.Settings{ID: 1, Private: true}, nil
	case "octo/open":
		return &forge.Settings{ID: 2}, nil
	}
	return nil, &forge.Gone{What: r.String(), Err: errors.New("404")}
}

func (h *host) Repositories(context.Context, int64) ([]forge.Repo, error) { return nil, nil }

func (h *host) GitToken(_ context.Context, r forge.Repo) (string, error) {
	return "ghs_" + r.Name, h.call("token " + r.String())
}

func (h *host) Permission(_ context.Context, r forge.Repo, login string) (string, error) {
	if level := h.readers[login]; level != "" {
		return level, h.call("permission " + login)
	}
	return "none", h.call("permission " + login)
}

// newAsker returns who asks for a change by some authors; nil for a branch.
func newAsker(t *testing.T, h *host, authors []string) *asker {
	t.Helper()
	if h.url == "" {
		h.url = "https://github.com"
	}
	s, err := NewCache(CacheConfig{Dir: t.TempDir(), Client: h})
	if err != nil {
		t.Fatal(err)
	}
	a := &asker{Cache: s, repos: map[string]*hosted{}, readers: map[forge.Repo]bool{},
		change: Change{Repo: forge.Repo{Installation: 7}}}
	if authors != nil {
		a.change.Authors = func(context.Context) ([]string, error) { return authors, nil }
	}
	return a
}

func TestToken(t *testing.T) {
	for address, want := range map[string]string{
		"https://github.com/octo/base":           "ghs_base",
		"https://github.com/octo/base.git/":      "ghs_base",
		"https://GitHub.com:443/Octo/Base":       "ghs_Base",
		"https://github.com/octo/open":           "", // everybody may
		"https://github.com/octo/other":          "",
		"https://github.com/octo":                "",
		"https://github.com/octo/base/extra":     "",
		"https://github.com.evil.example/o/base": "",
		"https://evil.example/octo/base":         "",
		"http://github.com/octo/base":            "", // nothing is shown without encryption
		"https://github.com:8443/octo/base":      "",
	} {
		got, err := newAsker(t, &host{}, nil).token(t.Context(), address)
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", address, got, err, want)
		}
	}
	// A host of one's own may show nothing to strangers.
	h := &host{url: "https://ghes.example.com"}
	if got, err := newAsker(t, h, nil).token(t.Context(), "https://ghes.example.com/octo/open"); got != "ghs_open" ||
		err != nil {
		t.Errorf("%q, %v", got, err)
	}
	h = &host{trouble: &forge.RetryLater{After: time.Minute}}
	var later *forge.RetryLater
	if _, err := newAsker(t, h, nil).token(t.Context(), "https://github.com/octo/base"); !errors.As(err, &later) {
		t.Errorf("%v", err)
	}
}

// What is not known to be public is private, and what has no id nobody may see.
func TestPrivate(t *testing.T) {
	for address, want := range map[string]string{
		"https://github.com/octo/base":     "1",
		"git@github.com:octo/base.git":     "1",
		"ssh://git@GitHub.com/octo/base":   "1",
		"https://github.com/octo/open":     "",
		"https://github.com/octo/other":    "0",
		"https://github.com/octo":          "0",
		"https://github.com/octo/base/x":   "0",
		"https://github.com:8443/octo/any": "0",
		"https://open.example/octo/base":   "",
		"(hidden)":                         "0",
		"":                                 "0",
	} {
		a := newAsker(t, &host{}, nil)
		a.log = slog.New(slog.DiscardHandler)
		repo, private := a.private(t.Context(), address)
		if got := strconv.FormatInt(repo.ID, 10); private != (want != "") || private && got != want {
			t.Errorf("%s: %t %s", address, private, got)
		}
	}
	plain := newAsker(t, &host{url: "http://ghes.example.com:8080"}, nil)
	plain.log = slog.New(slog.DiscardHandler)
	if repo, private := plain.private(t.Context(), "http://ghes.example.com:8080/octo/base"); !private || repo.ID != 1 {
		t.Errorf("a host without encryption: %t %d", private, repo.ID)
	}
	a := newAsker(t, &host{trouble: errors.New("away")}, nil)
	a.log = slog.New(slog.DiscardHandler)
	if repo, private := a.private(t.Context(), "https://github.com/octo/open"); !private || repo.ID != 0 {
		t.Errorf("while GitHub is away: %t %d", private, repo.ID)
	}
}

func TestMayRead(t *testing.T) {
	readers := map[string]string{"alice": "read", "olga": "admin"}
	for _, c := range []struct {
		name, address string
		authors       []string
		want          bool
	}{
		{"a reader", "https://github.com/octo/base", []string{"alice"}, true},
		{"readers", "https://github.com/octo/base", []string{"alice", "olga", "alice"}, true},
		{"a stranger", "https://github.com/octo/base", []string{"mallory"}, false},
		{"a stranger among readers", "https://github.com/octo/base", []string{"alice", "mallory"}, false},
		{"an account that is gone", "https://github.com/octo/base", []string{""}, false},
		{"nobody known", "https://github.com/octo/base", []string{}, false},
		{"public", "https://github.com/octo/open", []string{"mallory"}, true},
		{"of another", "https://github.com/octo/other", []string{"olga"}, false},
		{"of another host", "https://evil.example/octo/base", []string{"olga"}, false},
	} {
		h := &host{readers: readers}
		a := newAsker(t, h, c.authors)
		for range 2 {
			if got, err := a.mayRead(t.Context(), c.address); err != nil || got != c.want {
				t.Errorf("%s: %t, %v", c.name, got, err)
			}
		}
	}
	h := &host{readers: readers}
	a := newAsker(t, h, []string{"alice"})
	for range 3 { // each want of it, and each time
		if may, err := a.mayRead(t.Context(), "https://github.com/octo/base"); !may || err != nil {
			t.Errorf("%t, %v", may, err)
		}
	}
	if n := strings.Count(strings.Join(h.calls, "\n"), "permission alice"); n != 1 {
		t.Errorf("GitHub was asked %d times", n)
	}
	a = newAsker(t, &host{readers: readers}, []string{"alice"})
	if _, err := a.find(t.Context(), "https://github.com/octo/base"); err != nil {
		t.Fatal(err)
	}
	a.c.Client.(*host).trouble = &forge.RetryLater{After: time.Minute}
	var later *forge.RetryLater
	if may, err := a.mayRead(t.Context(), "https://github.com/octo/base"); may || !errors.As(err, &later) {
		t.Errorf("%t, %v", may, err)
	}
}

// web is a server of files that counts what it is asked.
type web struct {
	*httptest.Server
	asked atomic.Int64
}

func newWeb(t *testing.T, serve http.HandlerFunc) (*web, *fetch.Policy) {
	t.Helper()
	w := &web{}
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.asked.Add(1)
		serve(rw, r)
	}))
	t.Cleanup(w.Close)
	p, err := fetch.ParsePolicy("sources.yaml", []byte("private: [127.0.0.0/8]\nplainHTTP: ['"+w.URL+"/']\n"))
	if err != nil {
		t.Fatal(err)
	}
	return w, p
}

func newSourceServer(t *testing.T, dir string, p *fetch.Policy, budget time.Duration) *Cache {
	t.Helper()
	s, err := NewCache(CacheConfig{Dir: dir, Client: &host{url: "https://github.com"}, Policy: p, Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// want has a store fetch files, one after the other, and returns what they came to.
func want(t *testing.T, s *Cache, installation int64, addresses ...string) remote.Lock {
	t.Helper()
	kept, err := s.For(t.Context(), Change{Repo: forge.Repo{Installation: installation}})
	if err != nil {
		t.Fatal(err)
	}
	err = kept.Until(t.Context(), func(*report.Sources) (json.RawMessage, error) {
		if len(addresses) == 0 {
			return nil, nil
		}
		w := remote.Want{Kind: remote.File, URL: addresses[0]}
		addresses = addresses[1:]
		return json.Marshal(remote.Request{Wants: []remote.Asked{{Want: w}}})
	})
	if err != nil {
		t.Error(err)
	}
	return kept.Lock()
}

// A source that never answers, and what comes after it, ends as something that could not be had, within the time.
func TestSlowSource(t *testing.T) {
	ended := make(chan struct{})
	w, p := newWeb(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-ended:
		}
	})
	t.Cleanup(func() { close(ended) })
	s := newSourceServer(t, t.TempDir(), p, time.Second)
	begun := time.Now()
	lock := want(t, s, 7, w.URL+"/a", w.URL+"/b", w.URL+"/c", w.URL+"/d", w.URL+"/e")
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	if len(lock) != 5 {
		t.Fatalf("%+v", lock)
	}
	for _, e := range lock {
		if e.Failure == nil || e.Failure.Broken || !strings.Contains(e.Failure.Message, "took longer than 500ms") &&
			!strings.Contains(e.Failure.Message, "was reached") {
			t.Errorf("%s: %+v", e.Want, e.Failure)
		}
	}
}

// What only a preview wants is waited for no longer than its own time, however much there is for a check.
func TestSlowSourceOfPreview(t *testing.T) {
	ended := make(chan struct{})
	w, p := newWeb(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-ended:
		}
	})
	t.Cleanup(func() { close(ended) })
	kept, err := newSourceServer(t, t.TempDir(), p, time.Hour).For(t.Context(), Change{Repo: forge.Repo{Installation: 7}})
	if err != nil {
		t.Fatal(err)
	}
	kept.preview = previewTime - 300*time.Millisecond
	begun, rounds := time.Now(), 0
	err = kept.Until(t.Context(), func(have *report.Sources) (json.RawMessage, error) {
		rounds++
		list := []remote.Asked{{Want: remote.Want{Kind: remote.File, URL: w.URL + "/" + strconv.Itoa(rounds)}, Preview: true}}
		return json.Marshal(remote.Request{Wants: list})
	})
	if took := time.Since(begun); err != nil || took > 5*time.Second || rounds != 3 {
		t.Errorf("%d rounds took %s, %v", rounds, took, err)
	}
	if lock := kept.Lock(); len(lock) != 1 || lock[0].Failure == nil || lock[0].Failure.Passing || lock[0].Failure.Broken {
		t.Errorf("%+v", lock)
	}
}

// Workers that want the same at the same time have it fetched once.
func TestTwoWorkers(t *testing.T) {
	w, p := newWeb(t, func(rw http.ResponseWriter, _ *http.Request) {
		time.Sleep(200 * time.Millisecond)
		_, _ = rw.Write([]byte("a: b\n"))
	})
	dir := t.TempDir()
	one, other := newSourceServer(t, dir, p, time.Minute), newSourceServer(t, dir, p, time.Minute) // as two replicas on one folder
	var group sync.WaitGroup
	for _, s := range []*Cache{one, one, other} {
		group.Go(func() {
			if lock := want(t, s, 7, w.URL+"/a"); len(lock) != 1 || lock[0].Tree == "" {
				t.Errorf("%+v", lock)
			}
		})
	}
	group.Wait()
	if got := w.asked.Load(); got != 1 {
		t.Errorf("the source was asked %d times", got)
	}
	// Another installation has a store of its own.
	if lock := want(t, one, 8, w.URL+"/a"); len(lock) != 1 || lock[0].Tree == "" || w.asked.Load() != 2 {
		t.Errorf("%+v, asked %d times", lock, w.asked.Load())
	}
}

// What was fetched before a server went down is there when the job comes back, and a store that somebody removed is made
// anew.
func TestRestart(t *testing.T) {
	w, p := newWeb(t, func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("a: b\n")) })
	dir := t.TempDir()
	first := want(t, newSourceServer(t, dir, p, time.Minute), 7, w.URL+"/a")
	s := newSourceServer(t, dir, p, time.Minute)
	again := want(t, s, 7, w.URL+"/a")
	if len(first) != 1 || len(again) != 1 || first[0] != again[0] || w.asked.Load() != 1 {
		t.Errorf("%+v, then %+v, asked %d times", first, again, w.asked.Load())
	}
	if size, err := s.Maintain(t.Context()); err != nil || size == 0 {
		t.Errorf("%d bytes, %v", size, err)
	}
	if err := os.RemoveAll(s.dir(7)); err != nil {
		t.Fatal(err)
	}
	if lock := want(t, s, 7, w.URL+"/a"); len(lock) != 1 || lock[0].Tree != first[0].Tree {
		t.Errorf("%+v", lock)
	}
	if size, err := newSourceServer(t, dir+"/none", p, time.Minute).Maintain(t.Context()); err != nil || size != 0 {
		t.Errorf("%d bytes, %v", size, err)
	}
	if _, err := s.For(t.Context(), Change{}); err == nil {
		t.Error("something is fetched for nobody")
	}
}

// threeStores are of different ages, with the same amount in each.
func threeStores(t *testing.T) (s *Cache, ages map[int64]time.Duration) {
	t.Helper()
	large := make([]byte, 200<<10)
	for i := range large {
		large[i] = "0123456789abcdef"[rand.IntN(16)]
	}
	w, p := newWeb(t, func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write(large) })
	s = newSourceServer(t, t.TempDir(), p, time.Minute)
	ages = map[int64]time.Duration{7: 3 * time.Hour, 8: 5 * time.Hour, 9: time.Hour}
	for installation, age := range ages {
		want(t, s, installation, w.URL+"/a")
		used := time.Now().Add(-age)
		err := filepath.WalkDir(s.dir(installation), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			return os.Chtimes(path, used, used)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return s, ages
}

// What was packed anew a moment ago stays on the disk for a while when it is let go. That is no reason to let go of more.
func TestMakeRoomOnce(t *testing.T) {
	s, ages := threeStores(t)
	size := remote.Size(s.dir(7))
	packs := func(installation int64, age time.Duration) {
		t.Helper()
		for _, pattern := range []string{"objects.git/objects/pack/*", "objects.git/objects/??/*"} {
			files, err := filepath.Glob(filepath.Join(s.dir(installation), pattern))
			for _, file := range files {
				err = errors.Join(err, os.Chtimes(file, time.Now().Add(-age), time.Now().Add(-age)))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for installation := range ages {
		packs(installation, 0)
	}
	held := func() (list []int64) {
		for installation := range ages {
			kept, err := s.store(t.Context(), installation)
			if err != nil {
				t.Fatal(err)
			}
			err = kept.Notes(func(_ string, n remote.Note, _ time.Time) {
				if n.Tree != "" {
					list = append(list, installation)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(list)
		return list
	}
	s.c.MaxBytes, s.c.InUse = 1, 6*time.Hour // as a check may take
	clear(s.stores)
	if _, err := s.Maintain(t.Context()); err != nil || len(held()) != 3 {
		t.Errorf("what a check may read is let go: %v, %v", held(), err)
	}
	s.c.InUse = 0
	clear(s.stores)
	s.c.MaxBytes = 2*size + size/2
	for range 2 {
		if sum, err := s.Maintain(t.Context()); err != nil || !slices.Equal(held(), []int64{7, 9}) || sum/size < 3 {
			t.Errorf("%d bytes of %d each, %v are left, %v", sum, size, held(), err)
		}
	}
	packs(8, 3*time.Hour)
	if sum, err := s.Maintain(t.Context()); err != nil || !slices.Equal(held(), []int64{7, 9}) || sum/size != 2 {
		t.Errorf("after a while: %d bytes of %d each, %v are left, %v", sum, size, held(), err)
	}
}

// Where all stores take too much, the one that was used longest ago is emptied first, of what no check can read.
func TestMakeRoom(t *testing.T) {
	s, ages := threeStores(t)
	size := remote.Size(s.dir(7))
	for _, c := range []struct {
		room int64 // for how many
		left []int64
	}{{3, []int64{7, 8, 9}}, {2, []int64{7, 9}}, {0, []int64{9}}} {
		s.c.MaxBytes = c.room*size + size/2
		sum, err := s.Maintain(t.Context())
		if err != nil || (sum+size/2)/size != int64(len(c.left)) {
			t.Errorf("%d bytes of %d each, %v", sum, size, err)
		}
		for installation := range ages {
			if is := remote.Size(s.dir(installation)) > size/2; is != slices.Contains(c.left, installation) {
				t.Errorf("with room for %d, what %d has is there: %v", c.room, installation, is)
			}
		}
	}
}
