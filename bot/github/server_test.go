package github

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v4"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/checks/report"
)

const (
	testApp  = 77
	testInst = 5
	head     = "1111111111111111111111111111111111111111"
)

var testRepo = forge.Repo{Installation: testInst, ID: 42, Owner: "octo", Name: "svc"}

// hub imitates the part of GitHub's API that the tests need: tokens and check runs with their state, and
// other answers as each test sets them.
type hub struct {
	t    *testing.T
	http *httptest.Server
	key  *rsa.PrivateKey
	pem  []byte

	mu       sync.Mutex
	ahead    time.Duration // of the server's clock
	tokens   int
	valid    string // the only valid installation token
	asked    []string
	bodies   []string                    // of token requests
	runs     map[int64]*hubRun           // by id
	answers  map[string]http.HandlerFunc // "GET /repos/..." -> answer
	fault    func(n int, w http.ResponseWriter, r *http.Request, next http.HandlerFunc)
	requests int
}

type hubRun struct {
	ID          int64           `json:"id"`
	Name        string          `json:"name"`
	HeadSHA     string          `json:"head_sha"`
	ExternalID  string          `json:"external_id"`
	Status      string          `json:"status"`
	Conclusion  string          `json:"conclusion,omitempty"`
	Title       string          `json:"-"`
	Summary     string          `json:"-"`
	Annotations []hubAnnotation `json:"-"`
	// completedWith is how many annotations the run had when it was first seen completed.
	completedWith int
}

type hubAnnotation struct {
	Message string `json:"message"`
}

// testKey is one key for all tests: making it takes most of their time.
var testKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

func newHub(t *testing.T) *hub {
	t.Helper()
	key, err := testKey()
	if err != nil {
		t.Fatal(err)
	}
	h := &hub{t: t, key: key, runs: map[int64]*hubRun{}, answers: map[string]http.HandlerFunc{},
		pem: pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})}
	h.http = httptest.NewServer(http.HandlerFunc(h.serve))
	t.Cleanup(h.http.Close)
	return h
}

func (h *hub) app(change ...func(*Config)) *Client {
	h.t.Helper()
	c := Config{URL: h.http.URL, AppID: testApp, PrivateKey: h.pem,
		After: func(time.Duration) <-chan time.Time { return time.After(0) }}
	for _, f := range change {
		f(&c)
	}
	a, err := NewClient(c)
	if err != nil {
		h.t.Fatal(err)
	}
	return a
}

func (h *hub) set(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
}

func (h *hub) answer(route string, status int, body any) {
	h.set(func() { h.answers[route] = func(w http.ResponseWriter, _ *http.Request) { reply(w, status, body) } })
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body) //nolint:errcheck // the client judges
}

func (h *hub) serve(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.requests++
	n, fault := h.requests, h.fault
	h.asked = append(h.asked, r.Method+" "+strings.TrimPrefix(r.URL.Path, "/api/v3"))
	w.Header().Set("Date", time.Now().Add(h.ahead).UTC().Format(http.TimeFormat))
	h.mu.Unlock()
	if fault != nil {
		fault(n, w, r, h.route)
		return
	}
	h.route(w, r)
}

func (h *hub) route(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	path := strings.TrimPrefix(r.URL.Path, "/api/v3")
	if strings.HasPrefix(path, "/app/") {
		if !h.signed(r) {
			reply(w, 401, map[string]string{"message": "A JSON web token could not be decoded"})
			return
		}
		if strings.HasSuffix(path, "/access_tokens") {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			if a := h.answers["POST token"]; a != nil {
				a(w, r)
				return
			}
			h.tokens++
			h.bodies = append(h.bodies, string(body))
			h.valid = "ghs_" + strconv.Itoa(h.tokens)
			reply(w, 201, map[string]any{"token": h.valid, "expires_at": time.Now().Add(h.ahead + time.Hour).UTC().Format(
				time.RFC3339)})
			return
		}
	} else if r.Header.Get("Authorization") != "token "+h.valid {
		reply(w, 401, map[string]string{"message": "Bad credentials"})
		return
	}
	if a := h.answers[r.Method+" "+path]; a != nil {
		a(w, r)
		return
	}
	h.checkRuns(w, r, path)
}

// signed checks a JWT by the server's clock, as GitHub does.
func (h *hub) signed(r *http.Request) bool {
	claims := &jwt.RegisteredClaims{}
	parser := jwt.NewParser(jwt.WithoutClaimsValidation())
	_, err := parser.ParseWithClaims(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), claims,
		func(*jwt.Token) (any, error) { return &h.key.PublicKey, nil })
	now := time.Now().Add(h.ahead)
	return err == nil && claims.Issuer == strconv.Itoa(testApp) && !claims.IssuedAt.After(now) &&
		claims.ExpiresAt.After(now) && claims.ExpiresAt.Before(now.Add(10*time.Minute))
}

func (h *hub) checkRuns(w http.ResponseWriter, r *http.Request, path string) {
	base := "/repos/octo/svc"
	switch {
	case r.Method == "GET" && path == base+"/commits/"+head+"/check-runs":
		var list []any
		for _, run := range h.runs {
			list = append(list, run.json())
		}
		reply(w, 200, map[string]any{"total_count": len(list), "check_runs": list})
	case r.Method == "POST" && path == base+"/check-runs":
		run := &hubRun{ID: int64(1000 + len(h.runs)), Status: "queued"}
		if h.apply(w, r, run) {
			h.runs[run.ID] = run
			reply(w, 201, run.json())
		}
	case strings.HasPrefix(path, base+"/check-runs/"):
		id, err := strconv.ParseInt(strings.TrimPrefix(path, base+"/check-runs/"), 10, 64)
		run := h.runs[id]
		if err != nil || run == nil {
			reply(w, 404, map[string]string{"message": "Not Found"})
			return
		}
		if r.Method == "PATCH" && !h.apply(w, r, run) {
			return
		}
		reply(w, 200, run.json())
	default:
		reply(w, 404, map[string]string{"message": "Not Found"})
	}
}

func (run *hubRun) json() map[string]any {
	return map[string]any{"id": run.ID, "name": run.Name, "head_sha": run.HeadSHA, "external_id": run.ExternalID,
		"status": run.Status, "conclusion": run.Conclusion,
		"app": map[string]any{"id": testApp}, "output": map[string]any{"title": run.Title, "summary": run.Summary,
			"annotations_count": len(run.Annotations)}}
}

func (h *hub) apply(w http.ResponseWriter, r *http.Request, run *hubRun) bool {
	var body struct {
		hubRun
		Output *struct {
			Title       string          `json:"title"`
			Summary     string          `json:"summary"`
			Annotations []hubAnnotation `json:"annotations"`
		} `json:"output"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		reply(w, 400, map[string]string{"message": err.Error()})
		return false
	}
	if body.HeadSHA != "" && body.HeadSHA != head {
		reply(w, 422, map[string]string{"message": "No commit found for SHA: " + body.HeadSHA})
		return false
	}
	if o := body.Output; o != nil {
		bad := len(o.Annotations) > 50 || strings.Contains(o.Summary, "REFUSE")
		for _, a := range o.Annotations {
			bad = bad || strings.Contains(a.Message, "REFUSE")
		}
		if bad {
			reply(w, 422, map[string]any{"message": "Invalid request.",
				"errors": []map[string]string{{"field": "output", "code": "invalid"}}})
			return false
		}
		run.Title, run.Summary = o.Title, o.Summary
		run.Annotations = append(run.Annotations, o.Annotations...)
	}
	run.Name = body.Name
	if body.HeadSHA != "" {
		run.HeadSHA = body.HeadSHA
	}
	if body.ExternalID != "" {
		run.ExternalID = body.ExternalID
	}
	if body.Status != "" {
		run.Status, run.Conclusion = body.Status, body.Conclusion
	}
	if run.Status == "completed" && run.completedWith == 0 {
		run.completedWith = len(run.Annotations)
	}
	return true
}

func manyAnnotations(n int) []report.Annotation {
	out := make([]report.Annotation, n)
	for i := range out {
		out[i] = report.Annotation{Path: "a.yaml", StartLine: i + 1, EndLine: i + 1, Level: "failure",
			Message: fmt.Sprintf("finding %d", i)}
	}
	return out
}
