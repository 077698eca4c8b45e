package fetch

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/lintel-bot/lintel/render/remote"
)

// However many goroutines and processes ask at once, each thing is fetched once.
func TestOneAtATime(t *testing.T) {
	n, g := newInternet(t), newForge(t)
	g.create("o/base.git")
	commit := g.commit("o/base.git", "refs/heads/main", "a.yaml", "one")
	r := newRepository()
	r.add(t, "app", "1.2.3", "one", "app-1.2.3.tgz")
	n.serve("charts.example.com", r)
	n.serve("git.example.com", g)
	dir := t.TempDir()
	wants := []remote.Want{gitWant("main"), gitWant(commit), gitWant(""), chartWant("1.2.3"), chartWant("1.x"),
		chartWant("")}
	var all sync.WaitGroup
	for range 6 {
		s := n.open(dir) // as another process opens it
		f := n.fetcher("", func(o *Options) { o.Store = s })
		all.Go(func() {
			lock, err := f.Fetch(t.Context(), append(wants, wants...))
			if err != nil || len(lock) != len(wants) {
				t.Errorf("%d entries, %v", len(lock), err)
			}
			for _, e := range lock {
				if e.Failure != nil {
					t.Errorf("%s: %s", e.Want, e.Failure.Message)
				}
			}
		})
	}
	all.Wait()
	count := map[string]int{}
	for _, r := range n.asked() {
		count[r]++
	}
	for request, times := range count {
		// The references are listed once for main, once for the default branch, and once for the commit, which is
		// fetched once: three requests for references.
		limit := 1
		if strings.Contains(request, "git.example.com") {
			limit = 3
		}
		if times > limit {
			t.Errorf("%s: %d times", request, times)
		}
	}
}

const childStore, childServer = "LINTEL_TEST_STORE", "LINTEL_TEST_SERVER"

// TestChild is no test: it is the process that TestKilled kills.
func TestChild(t *testing.T) {
	dir := os.Getenv(childStore)
	if dir == "" {
		t.Skip("only for TestKilled")
	}
	lock, err := realFetcher(t, dir, os.Getenv(childServer)).Fetch(t.Context(), killedWants(os.Getenv(childServer)))
	t.Fatalf("was not killed: %v, %v", lock, err)
}

func killedWants(server string) []remote.Want {
	return []remote.Want{{Kind: remote.Chart, URL: server + "/charts", Name: "app", Ref: "1.2.3"},
		{Kind: remote.Git, URL: server + "/o/base.git", Ref: "main"}}
}

func realFetcher(t *testing.T, dir, server string) *Fetcher {
	t.Helper()
	p, err := ParsePolicy("sources.yaml", []byte("private: [127.0.0.0/8]\nplainHTTP: ['"+server+"/']\n"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := remote.OpenStore(t.Context(), remote.StoreOptions{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	f, err := New(Options{Store: s, Policy: p})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// A process that is killed at any moment leaves a store that works, and no lock.
func TestKilled(t *testing.T) {
	if os.Getenv(childStore) != "" {
		t.Skip("this is the child")
	}
	g := newForge(t)
	g.create("o/base.git")
	g.commit("o/base.git", "refs/heads/main", "a.yaml", random(100<<10))
	r := newRepository()
	r.add(t, "app", "1.2.3", "one", "app-1.2.3.tgz")
	for _, at := range []string{"/charts/index.yaml", "/charts/app-1.2.3.tgz", "/o/base.git/info/refs",
		"/o/base.git/git-upload-pack"} {
		dir := filepath.Join(t.TempDir(), "store")
		reached := make(chan struct{}, 10)
		armed := true
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if armed && q.URL.Path == at {
				w.WriteHeader(http.StatusOK)
				_, _ = w.Write([]byte("half of"))
				_ = http.NewResponseController(w).Flush()
				reached <- struct{}{}
				<-q.Context().Done()
				return
			}
			if strings.HasPrefix(q.URL.Path, "/charts/") {
				r.ServeHTTP(w, q)
				return
			}
			g.ServeHTTP(w, q)
		}))
		cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
		cmd.Env = append(os.Environ(), childStore+"="+dir, childServer+"="+server.URL)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		<-reached
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		armed = false
		lock, err := realFetcher(t, dir, server.URL).Fetch(t.Context(), killedWants(server.URL))
		if err != nil || len(lock) != 2 {
			t.Fatalf("%s: %v, %v", at, lock, err)
		}
		for _, e := range lock {
			if e.Failure != nil {
				t.Errorf("%s: %s: %s", at, e.Want, e.Failure.Message)
			}
		}
		server.Close()
	}
}

// A store that lost its objects fetches them again, whatever its notes say.
func TestObjectsLost(t *testing.T) {
	n, g := newInternet(t), newForge(t)
	g.create("o/base.git")
	commit := g.commit("o/base.git", "refs/heads/main", "a.yaml", "one")
	r := newRepository()
	r.add(t, "app", "1.2.3", "one", "app-1.2.3.tgz")
	n.serve("charts.example.com", r)
	n.serve("git.example.com", g)
	dir := t.TempDir()
	for range 2 {
		s := n.open(dir)
		f := n.fetcher("", func(o *Options) { o.Store = s })
		for _, w := range []remote.Want{gitWant(commit), chartWant("1.2.3"), chartWant("1.x"),
			{Kind: remote.File, URL: "https://charts.example.com/charts/index.yaml"}} {
			path := map[remote.Kind]string{remote.Git: "a.yaml", remote.Chart: "Chart.yaml", remote.File: remote.FileName}
			contentOf(t, f, had(t, f, w), path[w.Kind])
		}
		if err := os.RemoveAll(s.GitDir()); err != nil {
			t.Fatal(err)
		}
	}
}
