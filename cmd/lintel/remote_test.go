package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// remoteAddress are the servers of scripts, by their work folders.
var remoteAddress sync.Map

// startRemote starts what a repository takes things from, and says so in LINTEL_SOURCES: the folders of
// .outside/charts as a chart repository at https://charts.example.com/, those of .outside/git as repositories with a tag v1 at
// https://git.example.com/NAME (a plus sign in their names stands for a slash). "outside stop" ends it.
func startRemote(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 || len(args) == 1 && args[0] != "stop" {
		ts.Fatalf("usage: outside [stop]")
	}
	work := ts.MkAbs(".")
	if len(args) == 1 {
		server, ok := remoteAddress.LoadAndDelete(work)
		if !ok {
			ts.Fatalf("outside was not started")
		}
		server.(*httptest.Server).Close()
		return
	}
	top := ts.MkAbs(".outside")
	index, files := packCharts(ts, filepath.Join(top, "charts"))
	git, err := exec.LookPath("git")
	ts.Check(err)
	repositories := ts.MkAbs(".outside/served")
	serveGit(ts, filepath.Join(top, "git"), repositories)
	mux := http.NewServeMux()
	mux.Handle("/git/", &cgi.Handler{Path: git, Args: []string{"http-backend"}, Root: "/git", Env: []string{
		"GIT_PROJECT_ROOT=" + repositories, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=" + os.DevNull}})
	mux.HandleFunc("/charts/", func(w http.ResponseWriter, r *http.Request) {
		switch name := strings.TrimPrefix(r.URL.Path, "/charts/"); {
		case name == "index.yaml":
			_, _ = w.Write(index)
		case files[name] != nil:
			_, _ = w.Write(files[name])
		default:
			http.NotFound(w, r)
		}
	})
	server := httptest.NewServer(mux)
	remoteAddress.Store(work, server)
	ts.Defer(func() {
		if server, ok := remoteAddress.LoadAndDelete(work); ok {
			server.(*httptest.Server).Close()
		}
	})
	rules := filepath.Join(top, "sources.yaml")
	ts.Check(os.WriteFile(rules, fmt.Appendf(nil, "private: [127.0.0.0/8]\nplainHTTP: [%[1]s/]\nmirrors:\n"+
		"- {from: https://charts.example.com/, to: %[1]s/charts/}\n- {from: https://git.example.com/, to: %[1]s/git/}\n",
		server.URL), 0o600))
	ts.Setenv("LINTEL_SOURCES", rules)
	ts.Setenv("LINTEL_STORE", ts.MkAbs(".store"))
}

// serveGit makes a repository with a tag of each folder.
func serveGit(ts *testscript.TestScript, from, to string) {
	entries, _ := os.ReadDir(from) // none is fine
	for _, e := range entries {
		dir := filepath.Join(to, strings.ReplaceAll(e.Name(), "+", "/"))
		ts.Check(os.MkdirAll(filepath.Dir(dir), 0o755))
		ts.Check(os.CopyFS(dir, os.DirFS(filepath.Join(from, e.Name()))))
		for _, args := range [][]string{{"init", "--quiet", "--initial-branch=main"}, {"add", "--all"},
			{"commit", "--quiet", "--message", "one"}, {"tag", "v1"}} {
			ts.Check(ts.Exec("git", append([]string{"-C", dir}, args...)...))
		}
	}
}

// packCharts packs folders named NAME-VERSION as a chart repository has them.
func packCharts(ts *testscript.TestScript, from string) (index []byte, files map[string][]byte) {
	files = map[string][]byte{}
	versions := map[string]string{}
	entries, _ := os.ReadDir(from) // none is fine
	for _, e := range entries {
		name, version, _ := strings.Cut(e.Name(), "-")
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		w := tar.NewWriter(z)
		root := os.DirFS(filepath.Join(from, e.Name()))
		ts.Check(fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := fs.ReadFile(root, path)
			if err != nil {
				return err
			}
			err = w.WriteHeader(&tar.Header{Name: name + "/" + path, Mode: 0o644, Size: int64(len(data))})
			if err == nil {
				_, err = w.Write(data)
			}
			return err
		}))
		ts.Check(w.Close())
		ts.Check(z.Close())
		file := e.Name() + ".tgz"
		files[file] = packed.Bytes()
		versions[name] += fmt.Sprintf("  - {apiVersion: v2, name: %s, version: %s, digest: %x, urls: [%s]}\n", name, version,
			sha256.Sum256(packed.Bytes()), file)
	}
	list := "apiVersion: v1\nentries:\n"
	for name, entries := range versions {
		list += "  " + name + ":\n" + entries
	}
	return []byte(list), files
}
