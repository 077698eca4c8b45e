package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/lintel-bot/lintel/bot/queue"
)

const (
	secret = "s3cret-of-the-app"
	sha    = "0123456789abcdef0123456789abcdef01234567"
	where  = `"installation":{"id":7},"repository":{"id":11,"name":"fleet","owner":{"login":"octo-org"}}`
)

func TestEventsToKeys(t *testing.T) {
	one := []queue.Key{{Installation: 7, Repository: 11, Number: 3}}
	commit := []queue.Key{{Installation: 7, Repository: 11, Commit: sha}}
	pull := `"number":3,"pull_request":{"number":3}`
	listed := `"head_sha":"` + sha + `","pull_requests":[{"number":3,"base":{"repo":{"id":11}}},{"number":3,"base":{"repo":{"id":11}}},{"number":8,"base":{"repo":{"id":99}}}]`
	unlisted := `"head_sha":"` + sha + `","pull_requests":[]`
	for _, c := range []struct {
		event, action, rest string
		keys                []queue.Key
		fresh               bool
	}{
		{"pull_request", "opened", pull, one, false},
		{"pull_request", "synchronize", pull, one, false},
		{"pull_request", "reopened", pull, one, false},
		{"pull_request", "ready_for_review", pull, one, false},
		{"pull_request", "edited", pull + `,"changes":{"base":{"ref":{"from":"main"}}}`, one, true},
		{"pull_request", "edited", pull + `,"changes":{"title":{"from":"x"}}`, nil, false},
		{"pull_request", "closed", pull, nil, false},
		{"pull_request", "labeled", pull, nil, false},
		{"pull_request_review", "submitted", pull, one, false},
		{"pull_request_review", "dismissed", pull, one, false},
		{"check_run", "rerequested", `"check_run":{` + listed + `}`, one, true},
		{"check_run", "rerequested", `"check_run":{` + unlisted + `}`, commit, true},
		{"check_run", "requested_action", `"requested_action":{"identifier":"rerun"},"check_run":{` + listed + `}`, one, true},
		{"check_run", "requested_action", `"requested_action":{"identifier":"other"},"check_run":{` + listed + `}`, nil, false},
		{"check_run", "created", `"check_run":{` + listed + `}`, nil, false},
		{"check_suite", "rerequested", `"check_suite":{` + listed + `}`, one, true},
		{"check_suite", "rerequested", `"check_suite":{` + unlisted + `}`, commit, true},
		{"check_suite", "requested", `"check_suite":{` + listed + `}`, nil, false},
		{"push", "", `"ref":"refs/heads/main"`, nil, false},
		{"ping", "", `"zen":"x"`, nil, false},
	} {
		t.Run(c.event+"."+c.action, func(t *testing.T) {
			w, err := Jobs(c.event, []byte(`{"action":"`+c.action+`",`+where+`,`+c.rest+`}`))
			if err != nil || !slices.Equal(w.Keys, c.keys) {
				t.Fatalf("keys %v, %v; want %v", w.Keys, err, c.keys)
			}
			want := queue.Message{}
			if len(c.keys) > 0 {
				want = queue.Message{Event: c.event + "." + c.action, Owner: "octo-org", Name: "fleet", Fresh: c.fresh}
			}
			if w.Message != want {
				t.Errorf("message %+v, want %+v", w.Message, want)
			}
		})
	}
}

func TestBadPayloads(t *testing.T) {
	for name, data := range map[string]string{
		"empty":           ``,
		"no object":       `[]`,
		"wrong type":      `{"action":"opened","number":"3"}`,
		"no installation": `{"action":"opened","repository":{"id":1},"pull_request":{"number":3}}`,
		"no repository":   `{"action":"opened","installation":{"id":1},"pull_request":{"number":3}}`,
		"no pull request": `{"action":"opened",` + where + `}`,
		"zero number":     `{"action":"opened",` + where + `,"pull_request":{"number":0}}`,
	} {
		if w, err := Jobs("pull_request", []byte(data)); err == nil {
			t.Errorf("%s: %+v", name, w)
		}
	}
	for name, data := range map[string]string{
		"no suite": `{"action":"rerequested",` + where + `}`,
		"bad sha":  `{"action":"rerequested",` + where + `,"check_suite":{"head_sha":"a.b > *"}}`,
	} {
		if w, err := Jobs("check_suite", []byte(data)); err == nil {
			t.Errorf("%s: %+v", name, w)
		}
	}
}

type published struct {
	key queue.Key
	m   queue.Message
	id  string
}

// fixture is a handler with a queue double and its log.
type fixture struct {
	*Handler
	jobs []published
	err  error
	log  bytes.Buffer
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{}
	h, err := New(Config{
		Secret: []byte(secret),
		Log:    slog.New(slog.NewJSONHandler(&f.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Publish: func(_ context.Context, key queue.Key, m queue.Message, id string) error {
			if f.err == nil {
				f.jobs = append(f.jobs, published{key, m, id})
			}
			return f.err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	f.Handler = h
	return f
}

func sign(body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func request(body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/webhook", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-GitHub-Event", "pull_request")
	r.Header.Set("X-GitHub-Delivery", "d-1")
	r.Header.Set("X-Hub-Signature-256", sign(body))
	return r
}

const opened = `{"action":"opened",` + where + `,"pull_request":{"number":3,"title":"confidential"}}`

func TestAnswers(t *testing.T) {
	form := "payload=" + url.QueryEscape(opened)
	for name, c := range map[string]struct {
		body   string
		change func(*http.Request)
		fail   error
		code   int
		jobs   int
	}{
		"json":               {body: opened, code: 202, jobs: 1},
		"json with charset":  {body: opened, change: func(r *http.Request) { r.Header.Set("Content-Type", "application/json; charset=utf-8") }, code: 202, jobs: 1},
		"form":               {body: form, change: func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }, code: 202, jobs: 1},
		"ping":               {body: `{"zen":"x"}`, change: func(r *http.Request) { r.Header.Set("X-GitHub-Event", "ping") }, code: 204},
		"GET":                {body: opened, change: func(r *http.Request) { r.Method = http.MethodGet }, code: 405},
		"no signature":       {body: opened, change: func(r *http.Request) { r.Header.Del("X-Hub-Signature-256") }, code: 401},
		"old signature only": {body: opened, change: func(r *http.Request) { r.Header.Set("X-Hub-Signature-256", "sha1=00") }, code: 401},
		"short signature":    {body: opened, change: func(r *http.Request) { r.Header.Set("X-Hub-Signature-256", "sha256=00") }, code: 401},
		"wrong signature":    {body: opened, change: func(r *http.Request) { r.Header.Set("X-Hub-Signature-256", sign(opened+" ")) }, code: 401},
		"other body":         {body: opened, change: func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(opened + " ")) }, code: 401},
		"malformed":          {body: `{"action":`, code: 400},
		"unknown type":       {body: opened, change: func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, code: 400},
		"form without":       {body: "x=1", change: func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }, code: 400},
		"no event":           {body: opened, change: func(r *http.Request) { r.Header.Del("X-GitHub-Event") }, code: 400},
		"bad delivery id":    {body: opened, change: func(r *http.Request) { r.Header.Set("X-GitHub-Delivery", "a\nb") }, code: 400},
		"cut short": {body: opened, change: func(r *http.Request) {
			r.Body = io.NopCloser(io.MultiReader(strings.NewReader("{"), brokenReader{}))
		}, code: 400},
		"queue down": {body: opened, fail: errors.New("no answer"), code: 503},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.err = c.fail
			r := request(c.body)
			if c.change != nil {
				c.change(r)
			}
			w := httptest.NewRecorder()
			f.ServeHTTP(w, r)
			if w.Code != c.code || len(f.jobs) != c.jobs {
				t.Errorf("code %d with %d jobs, want %d with %d: %s", w.Code, len(f.jobs), c.code, c.jobs, w.Body)
			}
			for _, job := range f.jobs {
				if job.id != "d-1" || job.m.Delivery != "d-1" || job.m.At.IsZero() {
					t.Errorf("published %+v; the delivery id is what makes it unique", job)
				}
			}
			for _, hidden := range []string{secret, "confidential", sign(c.body)} {
				if strings.Contains(f.log.String()+w.Body.String(), hidden) {
					t.Errorf("%q is in the log or the answer", hidden)
				}
			}
		})
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// endless is a body that counts what was read of it.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) { e.read += len(p); return len(p), nil }

func TestOversize(t *testing.T) {
	f := newFixture(t)
	declared := request(opened)
	body := &endless{}
	declared.Body, declared.ContentLength = io.NopCloser(body), maxBody+1
	w := httptest.NewRecorder()
	f.ServeHTTP(w, declared)
	if w.Code != http.StatusRequestEntityTooLarge || body.read != 0 {
		t.Errorf("declared: code %d after %d bytes, want 413 without reading", w.Code, body.read)
	}
	chunked := request(opened)
	chunked.Body, chunked.ContentLength = io.NopCloser(body), -1
	w = httptest.NewRecorder()
	f.ServeHTTP(w, chunked)
	if w.Code != http.StatusRequestEntityTooLarge || body.read > 2*maxBody {
		t.Errorf("chunked: code %d after %d bytes, want 413 soon after the limit", w.Code, body.read)
	}
	unsigned := request(opened)
	body.read = 0
	unsigned.Body = io.NopCloser(body)
	unsigned.Header.Del("X-Hub-Signature-256")
	f.ServeHTTP(httptest.NewRecorder(), unsigned)
	if body.read != 0 {
		t.Errorf("%d bytes of an unsigned body were read", body.read)
	}
}

func TestEmptySecretIsRefused(t *testing.T) {
	if _, err := New(Config{}); !errors.Is(err, ErrNoSecret) {
		t.Errorf("New without a secret: %v", err)
	}
}

// FuzzJobs: whatever is sent, nothing panics and every key can be published.
func FuzzJobs(f *testing.F) {
	f.Add("pull_request", opened)
	f.Add("check_suite", `{"action":"rerequested",`+where+`,"check_suite":{"head_sha":"`+sha+`"}}`)
	f.Add("check_run", `{"action":"requested_action",`+where+`,"requested_action":{"identifier":"rerun"},"check_run":{"pull_requests":[{"number":1}]}}`)
	f.Add("pull_request", `{"action":"opened","installation":null,"repository":{"id":1e99}}`)
	f.Fuzz(func(t *testing.T, event, body string) {
		w, err := Jobs(event, []byte(body))
		if err != nil {
			return
		}
		for _, key := range w.Keys {
			if err := key.Validate(); err != nil {
				t.Errorf("%s %q: %v", event, body, err)
			}
		}
	})
}

// FuzzHandler: an unsigned request never becomes a job.
func FuzzHandler(f *testing.F) {
	f.Add("application/json", "sha256=00", opened)
	f.Add("application/x-www-form-urlencoded", "", "payload=%7B")
	f.Fuzz(func(t *testing.T, contentType, signature, body string) {
		if signature == sign(body) {
			t.Skip()
		}
		fx := newFixture(t)
		r := request(body)
		r.Header.Set("Content-Type", contentType)
		r.Header.Set("X-Hub-Signature-256", signature)
		w := httptest.NewRecorder()
		fx.ServeHTTP(w, r)
		if w.Code != http.StatusUnauthorized || len(fx.jobs) != 0 {
			t.Errorf("code %d, jobs %v", w.Code, fx.jobs)
		}
	})
}
