package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// charts serves the charts in the folders below one, NAME-VERSION each, as https://charts.example.com: charts DIR. What
// LINTEL_SOURCES says leads there.
func charts(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: charts DIR")
	}
	dir := ts.MkAbs(args[0])
	folders, err := os.ReadDir(dir)
	ts.Check(err)
	versions, packed := map[string]string{}, map[string][]byte{}
	for _, f := range folders {
		i := strings.LastIndex(f.Name(), "-")
		name, version := f.Name()[:i], f.Name()[i+1:]
		packed["/"+f.Name()+".tgz"] = pack(ts, filepath.Join(dir, f.Name()), name)
		versions[name] += fmt.Sprintf("  - {apiVersion: v2, name: %s, version: %s, urls: [%s.tgz]}\n", name, version,
			f.Name())
	}
	index := "apiVersion: v1\nentries:\n"
	for name, list := range versions {
		index += "  " + name + ":\n" + list
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data := packed[r.URL.Path]
		if r.URL.Path == "/index.yaml" {
			data = []byte(index)
		}
		if data == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write(data)
	}))
	ts.Defer(server.Close)
	file := filepath.Join(ts.Getenv("WORK"), ".git", "sources.yaml")
	ts.Check(os.WriteFile(file, []byte("mirrors: [{from: 'https://charts.example.com/', to: '"+server.URL+
		"/'}]\nplainHTTP: ['"+server.URL+"/']\nprivate: [127.0.0.0/8]\n"), 0o600))
	ts.Setenv("LINTEL_SOURCES", file)
	ts.Setenv("XDG_CACHE_HOME", filepath.Join(ts.Getenv("WORK"), ".git", "cache"))
}

// pack packs the chart in a folder.
func pack(ts *testscript.TestScript, dir, name string) []byte {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	ts.Check(filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		in, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		header := &tar.Header{Name: name + "/" + filepath.ToSlash(in), Mode: 0o644, Size: int64(len(data))}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err = archive.Write(data)
		return err
	}))
	ts.Check(archive.Close())
	ts.Check(zip.Close())
	return out.Bytes()
}
