package results

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// asset is a file that pages refer to.
type asset struct {
	body packed
	kind string
}

// readAssets reads the files of a renderer, which are part of the program.
func readAssets(files fs.FS) (map[string]*asset, error) {
	all := map[string]*asset{}
	if files == nil {
		return all, nil
	}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		a := &asset{kind: kindOf(name)}
		plain, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if a.body, err = newPacked(plain); err != nil {
			return err
		}
		all[name] = a
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the files of the pages: %w", err)
	}
	return all, nil
}

// kindOf does not ask the machine's own table, except for what no page of ours has.
func kindOf(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	if kind := mime.TypeByExtension(path.Ext(name)); kind != "" {
		return kind
	}
	return "application/octet-stream"
}

// asset answers with a file, for everybody and for good: another content has another name.
func (h *Handler) asset(w http.ResponseWriter, r *http.Request, name []string) {
	a := h.assets[strings.Join(name, "/")]
	if a == nil {
		h.send(w, r, h.missing, "no-store")
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Header().Set("Content-Type", a.kind)
	w.Header().Set("Vary", "Accept-Encoding")
	a.body.send(w, r, http.StatusOK)
}

// packed is a body, kept compressed: nearly all readers take it like that, and for the others it is decompressed anew.
type packed struct {
	data []byte
	size int // not compressed
}

func newPacked(plain []byte) (packed, error) {
	data, err := compress(plain)
	return packed{data, len(plain)}, err
}

// send answers with the body as the reader likes it.
func (p packed) send(w http.ResponseWriter, r *http.Request, status int) {
	size, gzipped := p.size, takesGzip(r)
	if gzipped {
		w.Header().Set("Content-Encoding", "gzip")
		size = len(p.data)
	}
	w.Header().Set("Content-Length", strconv.Itoa(size))
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return
	}
	if gzipped {
		_, _ = w.Write(p.data) // who left does not want it
		return
	}
	if plain, err := gzip.NewReader(bytes.NewReader(p.data)); err == nil { // as it always is: we compressed it
		_, _ = io.Copy(w, plain)
	}
}

// takesGzip reads Accept-Encoding (RFC 9110, section 12.5.3); a weight of zero is a no.
func takesGzip(r *http.Request) bool {
	for _, entry := range strings.Split(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(entry), ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		q, weighted := strings.CutPrefix(strings.TrimSpace(weight), "q=")
		value, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
		return !weighted || err == nil && value > 0
	}
	return false
}

// matches reads If-None-Match (RFC 9110, section 13.1.2).
func matches(header, tag string) bool {
	for _, entry := range strings.Split(header, ",") {
		entry = strings.Trim(strings.TrimPrefix(strings.TrimSpace(entry), "W/"), `"`)
		if entry == "*" || strings.TrimSuffix(entry, "-gzip") == tag {
			return true
		}
	}
	return false
}
