package worker

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/github"
	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
)

// BenchmarkPagesBesideWebhooks asks for pages a thousand times a second, for two seconds each round, and delivers
// webhooks meanwhile: how long these take is what counts, and that pages/s is what was asked for. The readers are in
// the same process and take their part of the machine.
func BenchmarkPagesBesideWebhooks(b *testing.B) {
	for _, c := range []struct {
		name    string
		private bool
		slow    int // readers who never read
		address func(s *stage, n int) string
	}{
		{"public", false, 0, func(s *stage, _ int) string { return s.paths[0] }},
		{"private", true, 0, func(s *stage, _ int) string { return s.paths[0] }},
		{"different", false, 0, func(s *stage, n int) string { // and one in four the same, which is there
			if n%4 == 0 {
				return s.paths[0]
			}
			return s.paths[n%len(s.paths)]
		}},
		{"none", false, 0, func(_ *stage, n int) string { return fmt.Sprintf("/r/o/none-%d/%s", n, headA) }},
		{"no commits", false, 0, func(_ *stage, n int) string { return fmt.Sprintf("/r/o/r/%040x", n) }},
		{"account", true, 0, func(*stage, int) string { return "/o/o" }},
		{"slow readers", false, 600, func(s *stage, _ int) string { return s.paths[0] }},
		{"nothing", false, 0, nil}, // what webhooks take by themselves, on this machine and now
	} {
		b.Run(c.name, func(b *testing.B) {
			s := newStage(b, c.private)
			for range c.slow {
				s.lag(s.paths[0])
			}
			var load load
			for b.Loop() {
				s.round(&load, c.address)
			}
			load.deliver(b)
		})
	}
}

// stage is a server with results, and a reader.
type stage struct {
	b      *testing.B
	url    string
	paths  []string // of results
	client *http.Client
}

func newStage(b *testing.B, private bool) *stage {
	q, err := store.Open(b.Context(), store.Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(q.Close)
	limits := results.Limits{Bytes: 1 << 30, Age: time.Hour}
	store := results.NewStore(q.Bucket("RESULTS", limits.IndexBytes(), limits.Age),
		q.Bucket("REPORTS", limits.DataBytes(), limits.Age), limits, time.Now)
	s := &stage{b: b}
	server := httptest.NewUnstartedServer(nil)
	s.url = "http://" + server.Listener.Addr().String()
	sessions, used, err := q.Sessions(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	readers, err := results.NewAccess(results.AccessConfig{Hub: quietHub{private: private}, PublicURL: s.url, SignIn: quietSignIn{s.url}, Sessions: sessions, Used: used})
	if err != nil {
		b.Fatal(err)
	}
	shown := results.New(results.Config{Store: store, Renderer: results.HTML{SignIn: true}, Guard: readers})
	intake, err := github.NewWebhook(github.WebhookConfig{Secret: []byte("s"), Queue: q})
	if err != nil {
		b.Fatal(err)
	}
	server.Config.Handler = (&Server{Queue: q, Metrics: NewMetrics(q.Depth, nil), Pages: shown, Webhook: intake,
		Routes: readers.Routes}).Handler()
	server.Start()
	b.Cleanup(server.Close)
	for n := range 100 {
		r := &results.Stored{Meta: results.Meta{ID: results.ID(fmt.Sprint(n)), Head: headA, Title: "title", Completed: time.Now(),
			Repository: forge.Repository{Repo: forge.Repo{ID: int64(11 + n/10), Installation: 7, Owner: "o", Name: strings.TrimSuffix(fmt.Sprint("r", n/10), "0")}, Private: private}, Branch: "main", GitHub: "https://github.example"}, Report: largeReport()}
		if err := store.Put(b.Context(), r); err != nil {
			b.Fatal(err)
		}
		s.paths = append(s.paths, r.Path())
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		b.Fatal(err)
	}
	s.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200, DisableCompression: true}}
	b.Cleanup(s.client.CloseIdleConnections)
	if private {
		s.client.Jar = jar
		if _, code := s.do(http.MethodGet, "/auth/login?return="+s.paths[0]); code != http.StatusOK {
			b.Fatalf("the sign-in ended with %d", code)
		}
	}
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // to sign in
	if size, code := s.do(http.MethodGet, s.paths[0]); code != http.StatusOK || size < 900_000 {
		b.Fatalf("%d, a page of %d bytes", code, size)
	}
	return s
}

// largeReport is one whose page has about a megabyte.
func largeReport() *report.Report {
	rep := &report.Report{Conclusion: report.Failure, Title: "1,000 violations", Excerpts: map[string]map[int]string{}}
	for i := range 1000 {
		path := fmt.Sprintf("apps/team-%d/service-%d/deployment.yaml", i%17, i)
		rep.Excerpts[path] = map[int]string{11: "      containers:", 12: "      - name: main", 13: fmt.Sprint("        image: registry/x:", i)}
		rep.Findings = append(rep.Findings, report.Finding{Policy: fmt.Sprint("policy-", i%20), Rule: "rule", Severity: "high",
			Resource: report.Resource{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: fmt.Sprint("service-", i)},
			Result:   report.Fail, Action: report.Enforce, Field: "/spec/template/spec/containers/0/image", Blocks: true, New: true,
			Message: fmt.Sprintf("The image of service %d has to be pinned by digest, from one of the registries that are allowed.", i),
			Origin:  &report.Origin{Path: path, StartLine: 13, EndLine: 13, StartColumn: 9, EndColumn: 30, How: "identity"}})
	}
	return rep
}

// lag begins to read a page, and does not go on.
func (s *stage) lag(path string) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.b.Fatal(err)
	}
	s.b.Cleanup(func() { _ = conn.Close() })
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path); err != nil {
		s.b.Fatal(err)
	}
}

func (s *stage) do(method, path string) (size int64, code int) {
	req, _ := http.NewRequest(method, s.url+path, nil)
	return s.send(req)
}

func (s *stage) send(req *http.Request) (size int64, code int) {
	res, err := s.client.Do(req)
	if err != nil {
		s.b.Error(err)
		return 0, 0
	}
	defer func() { _ = res.Body.Close() }()
	size, _ = io.Copy(io.Discard, res.Body)
	return size, res.StatusCode
}

// load is what was measured.
type load struct {
	mu           sync.Mutex
	waits, reads []time.Duration
	codes        map[int]int
	took         time.Duration
}

func (s *stage) round(l *load, address func(s *stage, n int) string) {
	var all sync.WaitGroup
	page, hook := time.NewTicker(time.Millisecond), time.NewTicker(10*time.Millisecond)
	defer page.Stop()
	defer hook.Stop()
	begun := time.Now()
	end := time.After(2 * time.Second)
	asked := 0
	for n, over := 0, false; !over; n++ {
		select {
		case <-page.C:
			for ; address != nil && asked < int(time.Since(begun)/time.Millisecond); asked++ { // a late tick brings those that it missed
				path := address(s, asked)
				all.Go(func() {
					req, _ := http.NewRequest(http.MethodGet, s.url+path, nil)
					req.Header.Set("Accept-Encoding", "gzip")
					begun := time.Now()
					_, code := s.send(req)
					l.read(time.Since(begun), code)
				})
			}
		case <-hook.C:
			all.Go(func() {
				begun := time.Now()
				if _, code := s.send(delivery(s.url, n)); code != http.StatusAccepted {
					s.b.Errorf("a webhook: %d", code)
				}
				l.mu.Lock()
				defer l.mu.Unlock()
				l.waits = append(l.waits, time.Since(begun))
			})
		case <-end:
			over = true
		}
	}
	all.Wait()
	l.took += time.Since(begun)
}

func (l *load) read(took time.Duration, code int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.codes == nil {
		l.codes = map[int]int{}
	}
	l.reads = append(l.reads, took)
	l.codes[code]++
}

func (l *load) deliver(b *testing.B) {
	slices.Sort(l.waits)
	slices.Sort(l.reads)
	ms := func(list []time.Duration, percent int) float64 {
		if len(list) == 0 {
			return 0
		}
		return list[len(list)*percent/100].Seconds() * 1000
	}
	b.ReportMetric(float64(len(l.reads))/l.took.Seconds(), "pages/s")
	b.ReportMetric(ms(l.reads, 50), "page-p50-ms")
	b.ReportMetric(ms(l.reads, 99), "page-p99-ms")
	b.ReportMetric(ms(l.waits, 99), "webhook-p99-ms")
	for code, n := range l.codes {
		b.ReportMetric(float64(n)/float64(len(l.reads))*100, fmt.Sprint("%-", code))
	}
}

func delivery(url string, n int) *http.Request {
	body := fmt.Sprintf(`{"action":"opened","installation":{"id":7},"repository":{"id":11,"name":"r","full_name":"o/r",`+
		`"owner":{"login":"o"}},"sender":{"login":"a"},"pull_request":{"number":%d,"head":{"sha":"%s"}}}`, n+1, headA)
	mac := hmac.New(sha256.New, []byte("s"))
	mac.Write([]byte(body))
	req, _ := http.NewRequest(http.MethodPost, url+"/webhook", strings.NewReader(body))
	req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	req.Header.Set("X-GitHub-Event", "pull_request")
	req.Header.Set("X-GitHub-Delivery", fmt.Sprint("d-", n))
	req.Header.Set("Content-Type", "application/json")
	return req
}

// quietHub is a GitHub that knows every repository, and lets everybody read who is signed in.
type quietHub struct {
	forge.Client
	private bool
}

func (h quietHub) Present(_ context.Context, repo forge.Repo) (*forge.Repository, error) {
	return &forge.Repository{Repo: repo, Private: h.private}, nil
}

func (quietHub) MayRead(context.Context, forge.Repo, forge.Account) (bool, error) { return true, nil }
func (quietHub) Budget(int64) (b forge.Budget, known bool)                        { return b, false }

// quietSignIn sends whoever signs in straight back.
type quietSignIn struct{ url string }

func (s quietSignIn) AuthorizeURL(redirect, state, _ string, _ bool) string {
	return redirect + "?code=c&state=" + state
}

func (quietSignIn) Exchange(context.Context, string, string, string) (forge.Account, error) {
	return forge.Account{ID: 5, Login: "alice"}, nil
}

func (quietSignIn) Key(purpose string) [32]byte { return sha256.Sum256([]byte(purpose)) }
