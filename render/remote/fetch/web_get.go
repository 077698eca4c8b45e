package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"
)

const (
	tries     = 3
	firstWait = time.Second
)

// webAnswer is the answer to a GET.
type webAnswer struct {
	Body       []byte
	ETag       string
	NotChanged bool // the ETag that was sent is still that of the content; there is no Body
}

// retryable is a failure that another try may resolve.
type retryable struct{ error }

// Unwrap returns the failure.
func (e retryable) Unwrap() error { return e.error }

// Get fetches an address, at most max bytes. It tries again if there is no answer or the status is 429 or 5xx.
func (t *trip) Get(ctx context.Context, u *url.URL, etag string, max int64) (*webAnswer, error) {
	var answer *webAnswer
	err := t.client.Retry(ctx, func() (err error) {
		answer, err = t.get(ctx, u, etag, max)
		return err
	})
	return answer, err
}

// Retry calls do until it succeeds, fails for good, or has failed three times.
func (c *webClient) Retry(ctx context.Context, do func() error) error {
	pause := firstWait
	for n := 1; ; n++ {
		err := do()
		again, ok := errors.AsType[retryable](err)
		if !ok {
			return err
		}
		if n == tries {
			return again.error
		}
		if err := c.Sleep(ctx, pause); err != nil {
			return err
		}
		pause *= 2
	}
}

func (t *trip) get(ctx context.Context, u *url.URL, etag string, max int64) (*webAnswer, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, undecided("the address is not one that can be fetched")
	}
	if etag != "" {
		r.Header.Set("If-None-Match", etag)
	}
	resp, err := t.HTTP().Do(r)
	if err != nil {
		return nil, retry(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotModified && etag != "" {
		return &webAnswer{ETag: etag, NotChanged: true}, nil
	}
	if err := statusFailure(resp.StatusCode); err != nil {
		return nil, err
	}
	body, err := readBounded(resp.Body, resp.ContentLength, max)
	if err == nil && ctx.Err() != nil {
		err = ctx.Err() // when the connection ends, a server may end its answer as if it were complete
	}
	if err != nil {
		return nil, retry(ctx, err)
	}
	return &webAnswer{Body: body, ETag: resp.Header.Get("ETag")}, nil
}

// retry marks a network failure as one to try again. What was refused here is not tried again.
func retry(ctx context.Context, err error) error {
	var certificate *tls.CertificateVerificationError
	if failureOf(err) != nil || ctx.Err() != nil || errors.As(err, &certificate) {
		return webFailure(ctx, err)
	}
	return retryable{webFailure(ctx, err)}
}

// readBounded reads a body of at most max bytes. length is the announced length, -1 if there was none.
func readBounded(r io.Reader, length, max int64) ([]byte, error) {
	tooLarge := undecided("it is larger than %d MiB", max>>20)
	if length > max {
		return nil, tooLarge
	}
	var b bytes.Buffer
	if length > 0 {
		b.Grow(int(min(length, 1<<20)))
	}
	n, err := io.Copy(&b, io.LimitReader(r, max+1))
	switch {
	case err != nil:
		return nil, err
	case n > max:
		return nil, tooLarge
	}
	return b.Bytes(), nil
}

// statusFailure returns the failure for an HTTP status, nil for success.
func statusFailure(code int) error {
	switch {
	case code == http.StatusOK:
		return nil
	case code == http.StatusNotFound || code == http.StatusGone:
		return broken("it does not exist (HTTP %d)", code)
	case code == http.StatusUnauthorized || code == http.StatusForbidden || code == http.StatusProxyAuthRequired:
		return undecided("it needs credentials that are not configured, or rejects them (HTTP %d)", code)
	case code == http.StatusTooManyRequests || code >= 500:
		return retryable{transient("its host reports an error of its own (HTTP %d)", code)}
	}
	return undecided("its host gave an unexpected answer (HTTP %d)", code)
}
