package bot

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/queue"
	"github.com/lintel-bot/lintel/bot/results"
	"github.com/lintel-bot/lintel/bot/webhook"
	"github.com/lintel-bot/lintel/checks/report"
)

// twoMegabytes is a Renderer of pages of that size.
type twoMegabytes struct{}

func (twoMegabytes) Result(w io.Writer, r *results.Stored, _ results.View) error {
	for i := range 20_000 {
		fmt.Fprintf(w, "<li id=f%d>%s: one of a great many rows that a page can have, with a place: apps/%d.yaml</li>\n", i,
			r.Title, i)
	}
	return nil
}

func (twoMegabytes) Part(io.Writer, *results.Stored, string, results.View) error {
	return results.ErrNone
}

func (twoMegabytes) Repository(io.Writer, *results.Overview, results.View) error { return nil }

func (twoMegabytes) Organisation(io.Writer, string, []*results.Summary, results.View) error {
	return nil
}

func (twoMegabytes) Message(io.Writer, results.Message, results.View) error { return nil }

func (twoMegabytes) Assets() fs.FS { return nil }

// BenchmarkPagesBesideWebhooks asks for a page of 2 MB a thousand times a second, for two seconds each round, and
// delivers webhooks meanwhile: how long these take is what counts.
func BenchmarkPagesBesideWebhooks(b *testing.B) {
	q, err := queue.Open(b.Context(), queue.Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer q.Close()
	limits := results.Limits{Bytes: 64 << 20, Age: time.Hour}
	store := results.NewStore(q.Bucket("RESULTS", limits.IndexBytes(), limits.Age),
		q.Bucket("REPORTS", limits.DataBytes(), limits.Age), limits, nil)
	r := &results.Stored{Meta: results.Meta{ID: results.ID("x"), Head: headA, Title: "title", Completed: time.Now(),
		Repository: results.Repository{ID: 11, Installation: 7, Owner: "o", Name: "r"}}, Report: &report.Report{}}
	if err := store.Put(b.Context(), r); err != nil {
		b.Fatal(err)
	}
	pages, err := results.New(results.Config{Store: store, Renderer: twoMegabytes{},
		Guard: everybody{}})
	if err != nil {
		b.Fatal(err)
	}
	intake, err := webhook.New(webhook.Config{Secret: []byte("s"), Publish: q.Publish})
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer((&Server{Queue: q, Metrics: NewMetrics(q.Depth, nil), Pages: pages,
		Webhook: intake}).Handler())
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200, DisableCompression: true}}
	do := func(req *http.Request) int {
		res, err := client.Do(req)
		if err != nil {
			b.Error(err)
			return 0
		}
		defer func() { _ = res.Body.Close() }()
		_, _ = io.Copy(io.Discard, res.Body)
		return res.StatusCode
	}
	var mu sync.Mutex
	var waits, reads []time.Duration
	refused := 0
	for b.Loop() {
		var all sync.WaitGroup
		page, hook := time.NewTicker(time.Millisecond), time.NewTicker(20*time.Millisecond)
		end := time.After(2 * time.Second)
		for n, over := 0, false; !over; n++ {
			select {
			case <-page.C:
				all.Go(func() {
					req, _ := http.NewRequest(http.MethodGet, server.URL+r.Path(), nil)
					req.Header.Set("Accept-Encoding", "gzip")
					begun := time.Now()
					code := do(req)
					mu.Lock()
					defer mu.Unlock()
					if reads = append(reads, time.Since(begun)); code != http.StatusOK {
						refused++
					}
				})
			case <-hook.C:
				all.Go(func() {
					begun := time.Now()
					if code := do(delivery(server.URL, n)); code != http.StatusAccepted {
						b.Errorf("a webhook: %d", code)
					}
					mu.Lock()
					defer mu.Unlock()
					waits = append(waits, time.Since(begun))
				})
			case <-end:
				over = true
			}
		}
		all.Wait()
	}
	slices.Sort(waits)
	slices.Sort(reads)
	b.ReportMetric(float64(len(reads))/b.Elapsed().Seconds(), "pages/s")
	b.ReportMetric(float64(refused), "refused")
	b.ReportMetric(reads[len(reads)*99/100].Seconds()*1000, "page-p99-ms")
	b.ReportMetric(waits[len(waits)*99/100].Seconds()*1000, "webhook-p99-ms")
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

// everybody may see everything.
type everybody struct{}

func (everybody) Access(*http.Request, results.Repository) (results.Access, error) {
	return results.Public, nil
}
func (everybody) SignedIn(*http.Request) bool                  { return false }
func (everybody) Turn(http.ResponseWriter, *http.Request) bool { return false }
