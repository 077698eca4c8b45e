package githubtest

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"
)

// Fault is a fault for requests to the API or of git. The first fault that matches a request applies.
type Fault struct {
	Method string  // "" matches every method
	Path   string  // part of the path without the API's prefix, such as "/check-runs"; "" matches every path
	Git    bool    // matches git requests instead of API requests
	Skip   int     // number of matching requests that are served normally first
	Times  int     // number of requests with the fault; 0 means one, -1 all
	Share  float64 // share of the matching requests with the fault, at random; 0 means all

	Status   int // answer with this status and Body
	Header   http.Header
	Body     string
	Commit   bool          // do the operation, although the answer is lost or replaced
	Hang     bool          // give no answer until the client disconnects, Release is closed or the server is closed
	Release  chan struct{} // ends Hang: the request is then served normally
	Truncate bool          // cut the connection after half of the right answer
	Reset    bool          // cut the connection without an answer
}

// PrimaryLimit returns a fault with GitHub's answer when the hourly rate limit is used up; reset is when it is renewed
// (https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api).
func PrimaryLimit(reset time.Time) Fault {
	return Fault{Status: http.StatusForbidden, Body: `{"message":"API rate limit exceeded for installation ID 1."}`,
		Header: http.Header{"X-Ratelimit-Limit": {"5000"}, "X-Ratelimit-Remaining": {"0"},
			"X-Ratelimit-Reset": {strconv.FormatInt(reset.Unix(), 10)}}}
}

// SecondaryLimit returns a fault with GitHub's answer to requests that come too fast. after is the value of the header
// Retry-After, in whole seconds.
func SecondaryLimit(after time.Duration) Fault {
	return Fault{Status: http.StatusForbidden, Body: `{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again.","documentation_url":"https://docs.github.com/en/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`,
		Header: http.Header{"Retry-After": {strconv.Itoa(int(after.Seconds()))}, "X-Ratelimit-Remaining": {"4000"}}}
}

// Inject adds a fault after the present ones.
func (s *Server) Inject(f Fault) {
	f.Times = cmp.Or(f.Times, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// Pending returns how many faults have not yet happened Times times. Faults that always happen do not count.
func (s *Server) Pending() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		if f.Times > 0 {
			n++
		}
	}
	return n
}

// ClearFaults removes all faults, also those of webhooks.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.tampers = nil, nil
}

// fault returns the fault that applies to a request, and counts it; nil for none.
func (s *Server) fault(r *http.Request, path string, git bool) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		if f.Times == 0 || f.Git != git || f.Method != "" && f.Method != r.Method || !strings.Contains(path, f.Path) {
			continue
		}
		if f.Share > 0 && rand.Float64() >= f.Share {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		if f.Times > 0 {
			f.Times--
		}
		return f
	}
	return nil
}

// disturbed serves a request with a fault.
func (s *Server) disturbed(f *Fault, w http.ResponseWriter, r *http.Request, serve http.Handler) {
	if f.Commit && !f.Truncate {
		serve.ServeHTTP(httptest.NewRecorder(), r)
	}
	switch {
	case f.Hang:
		select {
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		case <-s.closed:
			panic(http.ErrAbortHandler)
		case <-f.Release:
			serve.ServeHTTP(w, r)
		}
	case f.Truncate:
		rec := httptest.NewRecorder()
		serve.ServeHTTP(rec, r)
		maps.Copy(w.Header(), rec.Header())
		body := rec.Body.Bytes()
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(rec.Code)
		_, _ = w.Write(body[:len(body)/2])
		panic(http.ErrAbortHandler) // the server cuts the connection
	case f.Reset || f.Status == 0:
		panic(http.ErrAbortHandler)
	default:
		maps.Copy(w.Header(), f.Header)
		body := f.Body
		if body == "" {
			body = fmt.Sprintf(`{"message":%q}`, http.StatusText(f.Status))
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(f.Status)
		_, _ = bytes.NewBufferString(body).WriteTo(w)
	}
}
