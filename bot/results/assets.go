package results

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/lintel-bot/lintel/checks/output"
)

// asset is a file that pages refer to.
type asset struct {
	body packed
	kind string
}

// packedAssets are the files of the pages by their names, which change with their content.
func packedAssets() map[string]asset {
	all := map[string]asset{}
	for _, a := range output.Assets() {
		all[a.Name] = asset{newPacked(a.Data), a.Type}
	}
	return all
}

// asset answers with a file, for everybody and for good: another content has another name.
func (h *Handler) asset(w http.ResponseWriter, r *http.Request, name []string) {
	a, ok := h.assets[strings.Join(name, "/")]
	if !ok {
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

func newPacked(plain []byte) packed { return packed{compress(plain), len(plain)} }

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
