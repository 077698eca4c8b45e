package github

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/lintel-bot/lintel/bot/forge"
)

// The secondary limits that GitHub documents for the requests of one installation
// (https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits). GitHub
// does not say which requests create content. Its API description does not mark those for check runs, but does not
// exclude them either. Here, creating a check run counts, and updating one does not.
const (
	pointsPerMinute  = 900
	createdPerMinute = 80
	createdPerHour   = 500
	maxConcurrent    = 100

	readPoints  = 1
	writePoints = 5

	// A request counts here when it is sent, and at GitHub when it arrives. The windows are longer by the time that a
	// request may travel.
	paceMinute = time.Minute + 2*time.Second
	paceHour   = time.Hour + 2*time.Second
)

const (
	// checkPoints is the expected cost of a check. A check with a short result costs 12 points; a long one, or one with
	// many annotations, costs more.
	checkPoints = 20
	// After half of an hour's check runs is used, at most this fraction of what is left may be used in a minute. A new
	// push then does not wait until the hour is over.
	hourPart = 12
)

// urgency orders requests: each level may use a part of the limits, which leaves room for more urgent requests.
type urgency int

const (
	inBackground urgency = iota // nobody waits for the result
	ordinary
	begun // of an admitted job, which must be able to finish
)

// of returns how much of a limit requests of this urgency may use.
func (u urgency) of(limit int) int {
	return limit * [...]int{inBackground: 50, ordinary: 85, begun: 95}[u] / 100
}

// patience returns how long a request waits for room before it fails, so that its job is tried again later.
func (u urgency) patience() time.Duration {
	return [...]time.Duration{inBackground: time.Second, ordinary: 2 * time.Second, begun: 10 * time.Second}[u]
}

type urgencyKey struct{}

// Background marks the requests of a context as ones that nobody waits for. They leave half of the limits to others.
func Background(ctx context.Context) context.Context {
	return context.WithValue(ctx, urgencyKey{}, inBackground)
}

// Urgent lets a job in that may take a good result away. It can do that by an update, so it does not wait for room to create
// a check run, and others leave room for its requests.
func Urgent(ctx context.Context) context.Context {
	return context.WithValue(ctx, urgencyKey{}, begun)
}

func urgencyOf(ctx context.Context) urgency {
	if u, ok := ctx.Value(urgencyKey{}).(urgency); ok {
		return u
	}
	return ordinary
}

// window counts the uses within a period.
type window struct {
	length time.Duration
	used   []use // oldest first
	sum    int
}

type use struct {
	at time.Time
	n  int
}

func (w *window) add(now time.Time, n int) {
	if n == 0 {
		return
	}
	w.used = append(w.used, use{now, n})
	w.sum += n
}

// prune removes uses that are older than the window.
func (w *window) prune(now time.Time) {
	for len(w.used) > 0 && now.Sub(w.used[0].at) >= w.length {
		w.sum -= w.used[0].n
		w.used = w.used[1:]
	}
}

// full returns how long there is no room for want more uses below a limit; zero if there is room. held are further uses
// that are reserved for an unknown time.
func (w *window) full(now time.Time, want, held, limit int) time.Duration {
	over := w.sum + held + want - max(limit, want)
	if over <= 0 {
		return 0
	}
	for _, u := range w.used {
		if over -= u.n; over <= 0 {
			return max(u.at.Add(w.length).Sub(now), time.Millisecond)
		}
	}
	return fullPause
}

// pace keeps the requests of one installation below GitHub's secondary limits. A request is sent if there is room for
// it. A job is admitted if there is room for all its expected requests, and those of the admitted jobs.
//
// It counts what this process sent, and assumes the same of each other process. It does not know what was sent before a
// restart, so GitHub may still refuse a request; then all requests pause.
type pace struct {
	now      func() time.Time
	replicas func() int // processes that share the limits, this one included

	mu     sync.Mutex
	points window // of the last minute
	minute window // creations in the last minute
	hour   window // creations in the last hour
	flying int    // requests without an answer yet
	jobs   int    // admitted and not done
	none   bool   // GitHub has no limits, the default of an Enterprise Server
	some   bool   // an answer had headers about limits
}

func newPace(now func() time.Time, replicas func() int) *pace {
	return &pace{now: now, replicas: replicas, points: window{length: paceMinute}, minute: window{length: paceMinute},
		hour: window{length: paceHour}}
}

const (
	fullPause   = time.Second
	crowdPause  = 100 * time.Millisecond
	fullMinute  = "the requests that GitHub allows in a minute are used up"
	fullCreated = "the check runs that GitHub allows in a minute are used up"
	fullHour    = "the check runs that GitHub allows in an hour are used up"
	crowded     = "as many requests as GitHub allows are under way"
)

// full returns nil if there is room for requests of so many points and, unless created is zero, for so many new check
// runs. Otherwise it returns what there is no room for, and for how long. held is the number of admitted jobs, whose
// expected requests are counted, too.
func (p *pace) full(u urgency, points, created, held int) *forge.RetryLater {
	if p.none {
		return nil
	}
	now := p.now()
	for _, w := range []*window{&p.points, &p.minute, &p.hour} {
		w.prune(now)
	}
	limit := func(all int) int { return p.share(u.of(all)) }
	if p.flying >= max(limit(maxConcurrent), 1) {
		return &forge.RetryLater{After: crowdPause, Reason: crowded}
	}
	// Even with many processes, each has room for one check.
	if wait := p.points.full(now, points, held*checkPoints, max(limit(pointsPerMinute), 2*checkPoints)); wait > 0 {
		return &forge.RetryLater{After: wait, Reason: fullMinute}
	}
	if created == 0 {
		return nil
	}
	hourly, minutely := limit(createdPerHour), limit(createdPerMinute)
	if wait := p.hour.full(now, created, held, hourly); wait > 0 {
		return &forge.RetryLater{After: wait, Reason: fullHour}
	}
	why := fullCreated
	if left := hourly - p.hour.sum; u < begun && left < hourly/2 && left/hourPart < minutely {
		minutely, why = max(left/hourPart, 1), fullHour
	}
	if wait := p.minute.full(now, created, held, minutely); wait > 0 {
		return &forge.RetryLater{After: wait, Reason: why}
	}
	return nil
}

// share returns the part of a limit that this process may use.
func (p *pace) share(limit int) int {
	return limit / max(p.replicas(), 1)
}

// take counts a request that is sent now, until done is called. If there is no room, it returns the reason.
func (p *pace) take(u urgency, points, created int) (done func(), _ *forge.RetryLater) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if full := p.full(u, points, created, 0); full != nil {
		return nil, full
	}
	p.flying++
	if now := p.now(); !p.none {
		p.points.add(now, points)
		p.minute.add(now, created)
		p.hour.add(now, created)
	}
	return p.once(&p.flying), nil
}

// admit admits a job that may create so many check runs until done is called. If there is no room, it returns the reason.
func (p *pace) admit(u urgency, created int) (done func(), _ *forge.RetryLater) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if full := p.full(u, checkPoints, created, p.jobs); full != nil {
		return nil, full
	}
	p.jobs++
	return p.once(&p.jobs), nil
}

// once returns a function that decrements a counter at its first call only.
func (p *pace) once(count *int) func() {
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		*count--
	})
}

// observe learns from a successful answer whether GitHub has limits: without rate limits, answers have no headers about
// them
// (https://docs.github.com/en/enterprise-server/admin/configuring-settings/configuring-user-applications-for-your-enterprise/configuring-rate-limits).
func (p *pace) observe(resp *http.Response) {
	if resp.StatusCode/100 != 2 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.some = p.some || resp.Header.Get("X-Ratelimit-Limit") != ""
	p.none = !p.some
}

// await waits up to the request's patience for room, and then takes it. Otherwise it returns the reason.
func (p *pace) await(req *http.Request, after func(time.Duration) <-chan time.Time) (done func(), err error) {
	points, created := readPoints, 0
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
	default:
		points = writePoints
		if req.Method == http.MethodPost &&
			(strings.HasSuffix(req.URL.Path, "/check-runs") || strings.HasSuffix(req.URL.Path, "/reviews")) {
			created = 1
		}
	}
	u := urgencyOf(req.Context())
	for waited := time.Duration(0); ; {
		done, full := p.take(u, points, created)
		if full == nil {
			return done, nil
		}
		if waited += full.After; waited > u.patience() {
			return nil, full
		}
		select {
		case <-after(full.After):
		case <-req.Context().Done():
			return nil, context.Cause(req.Context())
		}
	}
}

// left returns how many check runs may still be created within the hour, and how long the next check has to wait.
func (p *pace) left() (created int, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if full := p.full(ordinary, checkPoints, 1, p.jobs); full != nil && full.After > fullPause {
		wait = full.After
	}
	p.hour.prune(p.now())
	return max(p.share(ordinary.of(createdPerHour))-p.hour.sum, 0), wait
}

// ShareWith makes this process use only its share of GitHub's limits. count returns how many processes serve the App,
// including this one. Call it before the first request.
func (a *Client) ShareWith(count func() int) { a.replicas = count }

func (a *Client) count() int { return a.replicas() }

// Admit admits a job of an installation that may create a check run. The job's requests must use the returned context,
// and done must be called at its end. If GitHub's limits have no room for the whole job, the error is a *RetryLater, so
// that the job is not stopped before its result is posted. Background jobs leave half of the limits to others.
func (a *Client) Admit(ctx context.Context, installation int64, background bool) (_ context.Context, done func(), err error) {
	in := a.installed(installation)
	if err := in.conn.gate.check(); err != nil {
		return nil, nil, err
	}
	u, created := urgencyOf(ctx), 1
	if u == begun {
		created = 0
	} else if background {
		u = inBackground
	}
	done, full := in.conn.pace.admit(u, created)
	if full != nil {
		return nil, nil, full
	}
	return context.WithValue(ctx, urgencyKey{}, begun), done, nil
}
