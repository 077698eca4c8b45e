package github

import (
	"bytes"
	"io"
	"maps"
	"net/http"

	"github.com/lintel-bot/lintel/bot/store"
)

const (
	// cachedAnswers is more than a sweep asks of an installation with five hundred repositories: with fewer, each
	// round would push out what the next one asks for, and none would be free of charge.
	cachedAnswers = 4096
	cachedBytes   = 32 << 20 // of all bodies of one installation
	cachedBody    = 256 << 10
)

// cache makes requests conditional: an answer of 304 costs nothing of the rate limit
// (https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api#use-conditional-requests-if-appropriate).
// It belongs to one installation, so nobody sees what another may see.
type cache struct{ answers *store.Cache[string, *cached] }

type cached struct {
	etag   string
	header http.Header
	body   []byte
}

// weight has small answers weigh as much as so many of them may.
func (c *cached) weight() int64 { return max(int64(len(c.body)), cachedBytes/cachedAnswers) }

func newCache() *cache {
	return &cache{store.NewCache[string](store.CacheConfig[*cached]{Limit: cachedBytes, Weight: (*cached).weight})}
}

func (c *cache) roundTrip(t http.RoundTripper, req *http.Request) (*http.Response, error) {
	key := req.URL.String() + "\n" + req.Header.Get("Accept")
	known, ok := c.answers.Get(key)
	if ok {
		req.Header.Set("If-None-Match", known.etag)
	}
	resp, err := t.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusNotModified && ok {
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
	head, err := io.ReadAll(io.LimitReader(resp.Body, cachedBody+1))
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	if len(head) > cachedBody {
		resp.Body = &joined{Reader: io.MultiReader(bytes.NewReader(head), resp.Body), Closer: resp.Body}
		return resp, nil
	}
	resp.Body.Close()
	c.answers.Put(key, &cached{etag: etag, header: resp.Header.Clone(), body: head}, store.Span{})
	resp.Body = io.NopCloser(bytes.NewReader(head))
	return resp, nil
}

type joined struct {
	io.Reader
	io.Closer
}
