package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	gh "github.com/google/go-github/v62/github"

	"github.com/lintel-bot/lintel/bot/forge"
)

// refused is an error answer other than a wait or a redirect.
type refused struct {
	what    string
	status  int
	message string
}

func (e *refused) Error() string {
	if e.message == "" {
		return fmt.Sprintf("%s: GitHub answered %d %s", e.what, e.status, http.StatusText(e.status))
	}
	return fmt.Sprintf("%s: GitHub answered %d: %s", e.what, e.status, e.message)
}

// unprocessable reports whether GitHub rejected the content of a request (422).
func unprocessable(err error) bool {
	r, ok := errors.AsType[*refused](err)
	return ok && r.status == http.StatusUnprocessableEntity
}

// notFound reports whether a *Gone is of an answer of 404 to the request itself.
func notFound(err error) bool {
	response, ok := errors.AsType[*gh.ErrorResponse](err)
	return ok && forge.IsGone(err) && response.Response != nil &&
		response.Response.StatusCode == http.StatusNotFound && !ofToken(response.Response)
}

// classify converts an error of the client libraries to one of this package. what names the requested thing, in words
// that anybody may see.
func (a *Client) classify(what string, err error) error {
	if err == nil {
		return nil
	}
	if later, ok := errors.AsType[*forge.RetryLater](err); ok {
		return later
	}
	now := a.now()
	// go-github has its own errors for some answers that ask to wait, also where it sent no request.
	if primary, ok := errors.AsType[*gh.RateLimitError](err); ok {
		after, _, told := WaitOf(primary.Response, now)
		if !told {
			after = until(primary.Rate.Reset.Time, now)
		}
		return &forge.RetryLater{After: after, Reason: "the hourly rate limit is used up", Err: err}
	}
	if secondary, ok := errors.AsType[*gh.AbuseRateLimitError](err); ok {
		after, _, told := WaitOf(secondary.Response, now)
		if !told && secondary.RetryAfter != nil {
			after = until(now.Add(*secondary.RetryAfter), now)
		}
		return &forge.RetryLater{After: after, Reason: "a secondary rate limit was hit", Err: err}
	}
	if response, ok := errors.AsType[*gh.ErrorResponse](err); ok && response.Response != nil {
		if wait, reason, ok := WaitOf(response.Response, now); ok { // the library knows 403 only
			return &forge.RetryLater{After: wait, Reason: reason, Err: err}
		}
		status := response.Response.StatusCode
		switch {
		case ofToken(response.Response) && status == http.StatusUnprocessableEntity:
			// The repository is not (or no longer) among those of the installation.
			return &forge.Gone{What: what, Err: err}
		case ofToken(response.Response):
			what += " (installation token)"
		}
		return byStatus(what, status, messageOf(response), err)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s: request to GitHub: %w", what, err)
}

func byStatus(what string, status int, message string, err error) error {
	switch status {
	case http.StatusNotFound, http.StatusGone, http.StatusUnavailableForLegalReasons, http.StatusForbidden:
		return &forge.Gone{What: what, Err: err}
	}
	return &refused{what: what, status: status, message: message}
}

const (
	// attempts is how often a request with a temporary error is made before the job has to be delivered again.
	attempts   = 3
	retryPause = 200 * time.Millisecond // doubled from one to the next
)

// pause waits before another attempt; the error is the context's.
func pause(ctx context.Context, after func(time.Duration) <-chan time.Time, attempt int) error {
	select {
	case <-after(retryPause << (attempt - 1)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// transient reports whether an error is a temporary one of GitHub or of the network, of a request or of that for its
// token.
func transient(err error) bool {
	if err == nil || forge.IsGone(err) || forge.Is[*forge.RetryLater](err) || forge.Is[*forge.TooMany](err) ||
		forge.Is[*gh.RateLimitError](err) || forge.Is[*gh.AbuseRateLimitError](err) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	if answer, ok := errors.AsType[*gh.ErrorResponse](err); ok && answer.Response != nil {
		return momentary(answer.Response.StatusCode)
	}
	status, ok := errors.AsType[*refused](err)
	return !ok || momentary(status.status)
}

// momentary reports whether a status is temporary: a failure of GitHub, or a timeout of a slow connection.
func momentary(status int) bool {
	return status >= http.StatusInternalServerError || status == http.StatusRequestTimeout
}

// messageOf is GitHub's own reason, on one line.
func messageOf(r *gh.ErrorResponse) string {
	parts := []string{r.Message}
	for _, e := range r.Errors {
		if e.Message != "" {
			parts = append(parts, e.Message)
		} else if e.Code != "" {
			parts = append(parts, strings.TrimSpace(e.Field+" "+e.Code))
		}
	}
	text := strings.Join(strings.Fields(strings.Join(parts, "; ")), " ")
	return cutRunes(strings.Trim(text, "; "), 500)
}

// unknownWait is the wait if GitHub does not say how long
// (https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit).
const unknownWait = time.Minute

// maxWait limits the wait that an answer can ask for. GitHub's longest window is an hour, and a wrong clock or a faulty
// proxy must not stop an installation forever.
const maxWait = 24 * time.Hour

// until returns the wait until a time of GitHub's clock, plus a second, since that clock has no fractions.
func until(at, now time.Time) time.Duration { return min(max(at.Sub(now), 0), maxWait) + time.Second }

// WaitOf reports whether an answer asks to wait, how long from now, and why.
func WaitOf(resp *http.Response, now time.Time) (time.Duration, string, bool) {
	if resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusTooManyRequests &&
		resp.StatusCode != http.StatusServiceUnavailable {
		return 0, "", false
	}
	if after := resp.Header.Get("Retry-After"); after != "" {
		reason := "a secondary rate limit was hit"
		if resp.StatusCode == http.StatusServiceUnavailable {
			reason = "the service is unavailable"
		}
		if seconds, err := strconv.Atoi(after); err == nil && seconds >= 0 {
			return min(time.Duration(min(seconds, 1e9))*time.Second, maxWait) + time.Second, reason, true
		}
		if at, err := http.ParseTime(after); err == nil {
			return until(at, now), reason, true
		}
	}
	if resp.StatusCode == http.StatusServiceUnavailable {
		return 0, "", false
	}
	if resp.Header.Get("X-Ratelimit-Remaining") == "0" {
		if at, err := strconv.ParseInt(resp.Header.Get("X-Ratelimit-Reset"), 10, 64); err == nil {
			return until(time.Unix(at, 0), now), "the hourly rate limit is used up", true
		}
		return unknownWait, "the rate limit is used up", true
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		return unknownWait, "too many requests", true
	}
	return 0, "", false
}
