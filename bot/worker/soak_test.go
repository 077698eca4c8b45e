package worker_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/githubtest"
)

var soak = flag.Bool("soak", false, "run what takes minutes: TestSoak at its full size (200 pull requests, 2,000 "+
	"webhooks), TestReplicas, TestClusterOfQueuesDiesHard, TestStandinScenes, TestStandinDays, TestStandinPace, "+
	"TestStandinIsolation")

// relay stands between GitHub and the servers and delivers webhooks as badly as a network can: in random order,
// some twice, some never.
type relay struct {
	lost, doubled float64

	mu      sync.Mutex
	targets []string // of servers that run
	held    []*http.Request
	bodies  [][]byte
	took    []time.Duration
	count   map[string]int
}

// window is how many webhooks are held back to be shuffled.
const window = 16

// ServeHTTP takes a webhook from GitHub. GitHub is told of those that get lost, as it would find out.
func (r *relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count["sent"]++
	if rand.Float64() < r.lost {
		r.count["lost"]++
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	copies := 1
	if rand.Float64() < r.doubled {
		copies = 2
		r.count["doubled"]++
	}
	for range copies {
		r.held, r.bodies = append(r.held, req.Clone(context.Background())), append(r.bodies, body)
	}
	w.WriteHeader(http.StatusAccepted)
}

// run delivers held webhooks, those above the window or, when none comes any more, all.
func (r *relay) run(ctx context.Context) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	quiet, sent := 0, 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		r.mu.Lock()
		if quiet++; r.count["sent"] != sent {
			quiet, sent = 0, r.count["sent"]
		}
		var req *http.Request
		var body []byte
		if len(r.held) > window || len(r.held) > 0 && quiet > 100 {
			i := rand.IntN(len(r.held))
			req, body = r.held[i], r.bodies[i]
			r.held, r.bodies = slices.Delete(r.held, i, i+1), slices.Delete(r.bodies, i, i+1)
		}
		r.mu.Unlock()
		if req != nil {
			r.deliver(ctx, req, body)
		}
	}
}

// deliver tries the servers until one takes the webhook.
func (r *relay) deliver(ctx context.Context, from *http.Request, body []byte) {
	for ctx.Err() == nil {
		r.mu.Lock()
		targets := slices.Clone(r.targets)
		r.mu.Unlock()
		if len(targets) == 0 {
			<-time.After(20 * time.Millisecond)
			continue
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, targets[rand.IntN(len(targets))]+"/webhook",
			bytes.NewReader(body))
		if err != nil {
			return
		}
		req.Header = from.Header.Clone()
		begun := time.Now()
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			continue
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		r.mu.Lock()
		r.took = append(r.took, time.Since(begun))
		r.count[strconv.Itoa(res.StatusCode)]++
		r.mu.Unlock()
		if res.StatusCode < 300 {
			return
		}
	}
}

func (r *relay) set(targets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.targets = targets
}

// TestSoak: many pull requests, webhooks in random order, some twice and some lost, faults of the API, servers
// of the queue and of Lintel that die. Every head ends with exactly one completed check run, the right one.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("long: make test-all")
	}
	binary := buildLintel(t)
	pulls, rounds := 20, 4
	if *soak {
		pulls, rounds = 200, 5
	}
	begun := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Minute)
	defer cancel()
	hub := newHub(t)
	if _, err := hub.AddRepo(ctx, "octo-org/fleet", sampleRepo); err != nil {
		t.Fatal(err)
	}
	nats := newNATSCluster(t)
	env := []string{"LINTEL_NATS_URL=" + nats.url(), "LINTEL_WORKERS=2", "LINTEL_SWEEP_INTERVAL=5s"}
	data := []string{t.TempDir(), t.TempDir()}
	servers := make([]*process, 2)
	r := &relay{lost: .1, doubled: .1, count: map[string]int{}}
	for i := range servers {
		servers[i] = serve(t, binary, hostingOf(hub), data[i], env...)
	}
	r.set(servers[0].url, servers[1].url)
	front := httptest.NewServer(r)
	defer front.Close()
	go r.run(ctx)
	hub.SetHook(front.URL + "/webhook")
	hub.Inject(githubtest.Fault{Share: .04, Times: -1, Status: http.StatusBadGateway})
	hub.Inject(githubtest.Fault{Share: .01, Times: -1, Status: http.StatusBadGateway, Method: http.MethodPost,
		Commit: true})

	// The load: each round pushes to every branch, and is shuffled with reviews.
	heads, broken := map[int]string{}, map[int]bool{}
	peak := 0
	for round := range rounds {
		for _, n := range rand.Perm(pulls) {
			branch := fmt.Sprintf("change-%d", n)
			files := map[string]string{fmt.Sprintf("platform/notes-%d.txt", n): strconv.Itoa(round)}
			if broken[n] = rand.IntN(2) == 0; broken[n] {
				files[patchPath] = read(t, sampleChange, patchPath) + fmt.Sprintf("# %d %d\n", n, round)
			} else {
				files[patchPath] = read(t, sampleRepo, patchPath) + fmt.Sprintf("# %d %d\n", n, round)
			}
			sha, err := hub.Push(ctx, "octo-org/fleet", githubtest.Commit{Branch: branch, Files: files})
			if err != nil {
				t.Fatal(err)
			}
			if heads[n] = sha; round == 0 {
				number, err := hub.OpenPull(ctx, "octo-org/fleet", githubtest.Pull{Head: branch})
				if err != nil || number == 0 {
					t.Fatal(err)
				}
			}
		}
		// Something dies in each round: a server of Lintel, the hard way, and a server of the queue.
		victim := round % 2
		r.set(servers[1-victim].url)
		peak = max(peak, memory(servers[victim].cmd.Process.Pid))
		servers[victim].kill()
		nats.stop(round % 3)
		for n := range pulls / 4 {
			if _, err := hub.Review("octo-org/fleet", n+1, "bob", "COMMENTED"); err != nil {
				t.Fatal(err)
			}
		}
		nats.start(round % 3)
		servers[victim] = serve(t, binary, hostingOf(hub), data[victim], env...)
		r.set(servers[0].url, servers[1].url)
	}
	hub.ClearFaults()
	for n := range pulls {
		run, err := hub.WaitRun(ctx, "octo-org/fleet", heads[n], nil)
		want := map[bool]string{true: "failure", false: "success"}[broken[n]]
		if err != nil || run.Conclusion != want || strings.Contains(run.ExternalID, "gave-up") {
			t.Errorf("change-%d: %v, want %s:\n%s", n, err, want, show(run))
		}
	}
	took := time.Since(begun)
	for _, p := range servers {
		peak = max(peak, memory(p.cmd.Process.Pid))
	}
	counts := map[string]int{}
	for _, run := range hub.Runs("octo-org/fleet") {
		if run.Conclusion != "cancelled" {
			counts[run.HeadSHA]++
		}
	}
	for n := range pulls {
		if counts[heads[n]] != 1 {
			t.Errorf("change-%d has %d check runs for its head, want one", n, counts[heads[n]])
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.took)
	p99 := r.took[len(r.took)*99/100]
	t.Logf("%d pull requests, webhooks %v, %d kills each of Lintel and of the queue's servers: all heads concluded "+
		"after %s; answers p50 %s, p99 %s; peak memory of a server %d MB",
		pulls, r.count, rounds, took.Round(time.Second), r.took[len(r.took)/2].Round(time.Microsecond),
		p99.Round(time.Microsecond), peak>>10)
}

// memory is the peak resident size of a process, in KB, where the kernel tells.
func memory(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kb, _ := strconv.Atoi(fields[0]) // a number, or nothing to report
	return kb
}
