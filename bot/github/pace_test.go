package github

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
)

// documented counts requests as GitHub documents its limits: those that arrived within the last minute and hour.
type documented struct {
	at     []time.Time
	points []int
	create []bool
}

func (d *documented) arrive(at time.Time, points int, create bool) {
	d.at, d.points, d.create = append(d.at, at), append(d.points, points), append(d.create, create)
}

// worst returns the highest sums of any minute and any hour.
func (d *documented) worst() (points, minute, hour int) {
	lastMinute, lastHour := 0, 0
	var p, m, h int
	for i, at := range d.at {
		p += d.points[i]
		if d.create[i] {
			m, h = m+1, h+1
		}
		for ; at.Sub(d.at[lastMinute]) >= time.Minute; lastMinute++ {
			if p -= d.points[lastMinute]; d.create[lastMinute] {
				m--
			}
		}
		for ; at.Sub(d.at[lastHour]) >= time.Hour; lastHour++ {
			if d.create[lastHour] {
				h--
			}
		}
		points, minute, hour = max(points, p), max(minute, m), max(hour, h)
	}
	return points, minute, hour
}

// alone is the number of processes where there is one.
func alone() int { return 1 }

// Requests stay below the limits, whatever jobs begin and however late requests arrive. Every admitted job can finish.
func TestPaceStaysBelowTheLimits(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 0))
		now := clock0
		p := newPace(func() time.Time { return now }, alone)
		var github documented
		type job struct {
			left int // requests before the creation
			done func()
		}
		var jobs []job
		travelled := now
		send := func(u urgency, points, created int) bool {
			done, full := p.take(u, points, created)
			if full != nil {
				if full.After <= 0 {
					t.Fatalf("seed %d: %v", seed, full)
				}
				return false
			}
			done()
			if at := now.Add(time.Duration(random.IntN(1900)) * time.Millisecond); at.After(travelled) {
				travelled = at // keep the order in which requests are counted here
			}
			github.arrive(travelled, points, created > 0)
			return true
		}
		checks := 0
		for now.Sub(clock0) < 3*time.Hour {
			now = now.Add(time.Duration(random.IntN(400)) * time.Millisecond)
			if done, full := p.admit(ordinary, 1); full == nil {
				jobs = append(jobs, job{left: 5 + random.IntN(3), done: done})
			}
			if random.IntN(3) == 0 {
				send(inBackground, readPoints, 0)
			}
			for i := 0; i < len(jobs); i++ {
				j := &jobs[i]
				if j.left--; j.left >= 0 {
					if !send(begun, readPoints, 0) {
						t.Fatalf("seed %d: no room for a request of a job that was let in", seed)
					}
					continue
				}
				if !send(begun, writePoints, 1) {
					t.Fatalf("seed %d: no room for a result", seed)
				}
				j.done()
				checks++
				jobs = append(jobs[:i], jobs[i+1:]...)
				i--
			}
		}
		points, minute, hour := github.worst()
		if points > pointsPerMinute || minute > createdPerMinute || hour > createdPerHour {
			t.Errorf("seed %d: %d points and %d check runs in a minute, %d check runs in an hour", seed, points, minute, hour)
		}
		if least := 3 * 400; checks < least {
			t.Errorf("seed %d: %d checks in three hours, want %d at least", seed, checks, least)
		}
	}
}

var clock0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Less urgent requests leave room for more urgent ones.
func TestLessUrgentRequestsLeaveRoom(t *testing.T) {
	now := clock0
	p := newPace(func() time.Time { return now }, alone)
	fill := func(u urgency) (n int) {
		for {
			done, full := p.take(u, readPoints, 0)
			if full != nil {
				return n
			}
			done()
			n++
		}
	}
	if got := [...]int{fill(inBackground), fill(ordinary), fill(begun)}; got != [...]int{450, 315, 90} {
		t.Errorf("requests by urgency: %v", got)
	}
	if _, full := p.admit(ordinary, 1); full == nil || full.After != paceMinute {
		t.Errorf("a job in a full minute: %v", full)
	}
	now = now.Add(paceMinute)
	if _, full := p.admit(inBackground, 1); full != nil {
		t.Errorf("a job in an empty minute: %v", full)
	}
	// What takes a result away needs no room for a new check run, nor the room that others leave.
	for full := (*forge.RetryLater)(nil); full == nil; {
		_, full = p.take(ordinary, writePoints, 1)
	}
	if _, full := p.admit(ordinary, 1); full == nil {
		t.Error("a push in a full minute was admitted")
	}
	if done, full := p.admit(begun, 0); full != nil {
		t.Errorf("a refusal in a full minute: %v", full)
	} else {
		done()
	}
	now = now.Add(paceMinute)
	// Admitted jobs reserve room for all their requests.
	let := 1
	for ; let < 1000; let++ {
		if _, full := p.admit(ordinary, 1); full != nil {
			break
		}
	}
	if want := ordinary.of(pointsPerMinute) / checkPoints; let != want {
		t.Errorf("%d jobs at a time, want %d", let, want)
	}
}

// Each of several processes uses only its share of the limits. Even with many processes, one check can run.
func TestPaceIsShared(t *testing.T) {
	for peers, want := range map[int]int{1: 855, 3: 285, 1000: 2 * checkPoints} {
		now := clock0
		p := newPace(func() time.Time { return now }, func() int { return peers })
		n := 0
		for {
			done, full := p.take(begun, readPoints, 0)
			if full != nil {
				break
			}
			done()
			n++
		}
		if n != want {
			t.Errorf("%d peers: %d requests in a minute, want %d", peers, n, want)
		}
		now = now.Add(paceMinute)
		done, full := p.admit(ordinary, 1)
		if full != nil {
			t.Fatalf("%d peers: %v", peers, full)
		}
		done()
		if done, full = p.take(begun, writePoints, 1); full != nil {
			t.Errorf("%d peers: %v", peers, full)
		} else {
			done()
		}
	}
}

// A new push does not wait for an hour after many check runs were created.
func TestHourlyLimitDoesNotBlockForAnHour(t *testing.T) {
	now := clock0
	p := newPace(func() time.Time { return now }, alone)
	longest, last := time.Duration(0), now
	for ; now.Sub(clock0) < 4*time.Hour; now = now.Add(time.Second) { // admit as many jobs as possible
		done, full := p.admit(ordinary, 1)
		if full != nil {
			continue
		}
		taken, full := p.take(begun, writePoints, 1)
		if full != nil {
			t.Fatal(full)
		}
		taken()
		done()
		longest, last = max(longest, now.Sub(last)), now
	}
	if longest > 5*time.Minute {
		t.Errorf("nothing for %s", longest)
	}
}

type counting func(*http.Request) (*http.Response, error)

func (c counting) RoundTrip(req *http.Request) (*http.Response, error) { return c(req) }

// A request waits for a short time, and is then refused before it is sent.
func TestPacedRequests(t *testing.T) {
	h := newHub(t)
	now := clock0
	var waits []time.Duration
	requests := 0
	a := h.app(func(c *Config) {
		c.HTTP = counting(func(req *http.Request) (*http.Response, error) {
			requests++
			return http.DefaultTransport.RoundTrip(req)
		})
		c.Now = func() time.Time { return now }
		c.After = func(d time.Duration) <-chan time.Time {
			waits = append(waits, d)
			now = now.Add(d)
			ready := make(chan time.Time, 1)
			ready <- now
			return ready
		}
	})
	p := a.installed(testRepo.Installation).conn.pace
	p.points.add(now.Add(time.Second-paceMinute), pointsPerMinute)
	if _, err := a.CheckRuns(t.Context(), testRepo, head); err != nil || len(waits) != 1 || waits[0] != time.Second {
		t.Errorf("for a moment: %v, %v", err, waits)
	}
	p.none = false // as if GitHub sent no headers about limits
	p.points.add(now, pointsPerMinute)
	before := requests
	var later *forge.RetryLater
	for what, ctx := range map[string]context.Context{"ordinary": t.Context(), "background": Background(t.Context())} {
		if _, err := a.CheckRuns(ctx, testRepo, head); !errors.As(err, &later) || later.After < 59*time.Second {
			t.Errorf("%s, for a minute: %v", what, err)
		}
	}
	if _, _, err := a.Admit(t.Context(), testRepo.Installation, false); !errors.As(err, &later) {
		t.Errorf("a job: %v", err)
	}
	if requests != before {
		t.Error("a request without room was sent")
	}
	other := testRepo.Installation + 1
	ctx, done, err := a.Admit(t.Context(), other, false)
	if err != nil || urgencyOf(ctx) != begun {
		t.Fatalf("a job of another installation: %v", err)
	}
	done()
	done()
	if jobs := a.installed(other).conn.pace.jobs; jobs != 0 {
		t.Errorf("%d jobs in work", jobs)
	}
}

// A GitHub without rate limits is not paced.
func TestPaceWithoutLimits(t *testing.T) {
	p := newPace(time.Now, alone)
	answer := &http.Response{StatusCode: 200, Header: http.Header{}}
	p.observe(answer)
	for range 2 * pointsPerMinute {
		if _, full := p.admit(inBackground, 1); full != nil {
			t.Fatal(full)
		}
	}
	for range 10 {
		if _, full := p.take(ordinary, writePoints, 1); full != nil || len(p.points.used)+len(p.hour.used) > 0 {
			t.Fatalf("%v; %d requests are remembered for nothing", full, len(p.points.used))
		}
	}
	answer.Header.Set("X-RateLimit-Limit", "5000")
	if p.observe(answer); !func() bool { _, full := p.admit(inBackground, 1); return full != nil }() {
		t.Error("with limits, jobs are let in without end")
	}
	answer.Header.Del("X-RateLimit-Limit")
	if p.observe(answer); p.none {
		t.Error("one answer without words about limits ends them")
	}
}
