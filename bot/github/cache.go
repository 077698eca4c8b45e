package github

import (
	"bytes"
	"container/list"
	"io"
	"maps"
	"net/http"
	"sync"
)

const (
	// cacheEntries is more than a sweep asks of an installation with five hundred repositories: with fewer, each
	// round would push out what the next one asks for, and none would be free of charge.
	cacheEntries  = 4096
	cacheBodySize = 256 << 10
	cacheBytes    = 32 << 20 // of all bodies of one installation
)

// cache makes requests conditional: an answer of 304 costs nothing of the rate limit
// (https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api#use-conditional-requests-if-appropriate).
// It belongs to one installation, so nobody sees what another may see. Least recently used entries go first.
type cache struct {
	mu      sync.Mutex
	entries map[string]*list.Element
	order   *list.List // of *cached, most recently used in front
	size    int        // of the bodies
}

type cached struct {
	key    string
	etag   string
	header http.Header
	body   []byte
}

func newCache() *cache {
	return &cache{entries: map[string]*list.Element{}, order: list.New()}
}

func (c *cache) roundTrip(t http.RoundTripper, req *http.Request) (*http.Response, error) {
	key := req.URL.String() + "\n" + req.Header.Get("Accept")
	known := c.get(key)
	if known != nil {
		req.Header.Set("If-None-Match", known.etag)
	}
	resp, err := t.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusNotModified && known != nil {
		resp.Body.Close()
		// Rate and date headers are those of the new answer, the page links those of the stored one.
		header := known.header.Clone()
		maps.Copy(header, resp.Header)
		if links := known.header.Values("Link"); len(links) > 0 {
			header["Link"] = links
		}
		resp.StatusCode, resp.Status, resp.Header = http.StatusOK, "200 OK", header
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(known.body)), int64(len(known.body))
		return resp, nil
	}
	etag := resp.Header.Get("Etag")
	if resp.StatusCode != http.StatusOK || etag == "" {
		return resp, nil
	}
	head, err := io.ReadAll(io.LimitReader(resp.Body, cacheBodySize+1))
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	if len(head) > cacheBodySize {
		resp.Body = &joined{Reader: io.MultiReader(bytes.NewReader(head), resp.Body), Closer: resp.Body}
		return resp, nil
	}
	resp.Body.Close()
	c.put(&cached{key: key, etag: etag, header: resp.Header.Clone(), body: head})
	resp.Body = io.NopCloser(bytes.NewReader(head))
	return resp, nil
}

type joined struct {
	io.Reader
	io.Closer
}

func (c *cache) get(key string) *cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached)
}

func (c *cache) put(entry *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[entry.key]; ok {
		c.size += len(entry.body) - len(e.Value.(*cached).body)
		e.Value = entry
		c.order.MoveToFront(e)
	} else {
		c.size += len(entry.body)
		c.entries[entry.key] = c.order.PushFront(entry)
	}
	for c.order.Len() > 1 && (c.order.Len() > cacheEntries || c.size > cacheBytes) {
		oldest := c.order.Back()
		c.order.Remove(oldest)
		c.size -= len(oldest.Value.(*cached).body)
		delete(c.entries, oldest.Value.(*cached).key)
	}
}
