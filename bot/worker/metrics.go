package worker

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/lintel-bot/lintel/bot/forge"
	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
)

// scrapeTimeout bounds what a scrape may wait for the queue's server.
const scrapeTimeout = 3 * time.Second

// Metrics counts what the server does.
type Metrics struct {
	registry *prometheus.Registry
	webhooks *prometheus.CounterVec
	answers  *prometheus.HistogramVec
	unserved prometheus.Counter
	jobs     *prometheus.CounterVec
	delays   *prometheus.CounterVec
	checks   *prometheus.CounterVec
	duration prometheus.Histogram
	stages   *prometheus.HistogramVec
	rendered *prometheus.CounterVec
	sources  *prometheus.CounterVec
	results  *prometheus.CounterVec
	pages    *prometheus.CounterVec
	paged    *prometheus.HistogramVec
}

// NewMetrics makes a registry of its own. Depth is asked at each scrape; restarts, if not nil, counts how
// often a sandbox was started in place of an earlier one.
func NewMetrics(depth func(context.Context) (store.Depth, error), restarts func() float64) *Metrics {
	registry := prometheus.NewRegistry()
	in := promauto.With(registry)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return in.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return in.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	fast := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, 1, 5, 10}
	slow := []float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}
	m := &Metrics{
		registry: registry,
		webhooks: counter("lintel_webhook_answers_total", "Answers to webhook deliveries by status code.", "code"),
		answers:  histogram("lintel_webhook_duration_seconds", "Time until a webhook delivery was answered.", fast),
		unserved: in.NewCounter(prometheus.CounterOpts{Name: "lintel_webhooks_unserved_total",
			Help: "Webhook deliveries of accounts that LINTEL_ACCOUNTS does not name: answered and ignored."}),
		jobs: counter("lintel_jobs_total", "Deliveries of jobs to workers by outcome: done, postponed, failed (to be tried "+
			"again), handed_back.", "outcome"),
		delays: counter("lintel_github_delays_total", "Deliveries of jobs that had to wait for GitHub's rate limits, "+
			"by kind: people's changes, or background work.", "of"),
		checks: counter("lintel_checks_total", "Completed check runs by conclusion.", "conclusion"),
		duration: in.NewHistogram(prometheus.HistogramOpts{Name: "lintel_check_duration_seconds",
			Help: "Time from the event to the completed check run.", Buckets: slow}),
		rendered: counter("lintel_renderings_total", "Kustomizations that checks needed: built, or cached (taken from an earlier "+
			"check).", "source"),
		sources: counter("lintel_sources_total", "Remote sources that checks needed, by kind (git, chart, file) and "+
			"outcome: had (fetched or cached), failed.", "kind", "outcome"),
		results: counter("lintel_results_total", "Results by outcome: stored, reduced (too large, parts were left "+
			"out), unwanted (nobody could open their page), failed.", "outcome"),
		pages: counter("lintel_page_answers_total", "Answers to requests for pages by status code.", "code"),
		paged: histogram("lintel_page_duration_seconds", "Time until a request for a page was answered.", fast),
		stages: histogram("lintel_stage_duration_seconds", "Time of one stage of a check: fetch, inspect, review, check, "+
			"sources, report.", slow, "stage"),
	}
	m.answers.WithLabelValues() // there from the start
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.watchDepth(depth)
	if restarts != nil {
		in.NewCounterFunc(prometheus.CounterOpts{Name: "lintel_sandbox_restarts_total",
			Help: "Child processes started in place of one that failed."}, restarts)
	}
	return m
}

// SetBuild adds what the program was built from: a gauge of 1 with a label for each, as Prometheus' own programs have.
// It may be called once.
func (m *Metrics) SetBuild(b report.Build) {
	promauto.With(m.registry).NewGaugeVec(prometheus.GaugeOpts{Name: "lintel_build_info",
		Help: "1, by the version of the program, its commit, and the version of Go that built it."},
		[]string{"version", "commit", "goversion"}).WithLabelValues(b.Number, b.Commit, b.Go).Set(1)
}

// Handler answers scrapes.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// counted returns a handler whose answers, and the time until them, are counted.
func counted(h http.Handler, answers *prometheus.CounterVec, duration *prometheus.HistogramVec) http.Handler {
	return promhttp.InstrumentHandlerDuration(duration, promhttp.InstrumentHandlerCounter(answers, h))
}

// Unserved counts a delivery of an account that the server does not work for.
func (m *Metrics) Unserved() { m.unserved.Inc() }

// delay counts a job that had to wait for room below GitHub's limits.
func (m *Metrics) delay(background bool) {
	m.delays.WithLabelValues(map[bool]string{false: "people", true: "background"}[background]).Inc()
}

func (m *Metrics) check(conclusion string, took time.Duration) {
	m.checks.WithLabelValues(conclusion).Inc()
	if took > 0 {
		m.duration.Observe(took.Seconds())
	}
}

func (m *Metrics) stage(name string, took time.Duration) {
	m.stages.WithLabelValues(name).Observe(took.Seconds())
}

func (m *Metrics) work(w *report.Work) {
	if w == nil {
		return
	}
	m.rendered.WithLabelValues("built").Add(float64(w.Rendered))
	m.rendered.WithLabelValues("cached").Add(float64(w.Recalled))
}

// figures takes one figure of a scrape; labels are names and values in turns.
type figures func(name, help string, value float64, labels ...string)

// collector gives figures at each scrape. It describes none before: which there are is known then.
type collector func(figures)

// Describe implements prometheus.Collector.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	c(func(name, help string, value float64, labels ...string) {
		var names, values []string
		for pair := range slices.Chunk(labels, 2) {
			names, values = append(names, pair[0]), append(values, pair[1])
		}
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, names, nil), prometheus.GaugeValue, value, values...)
	})
}

// watchDepth has the queue asked at each scrape; where it does not answer, the figures are left out.
func (m *Metrics) watchDepth(depth func(context.Context) (store.Depth, error)) {
	m.registry.MustRegister(collector(func(figure figures) {
		ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
		defer cancel()
		depth, err := depth(ctx)
		if err != nil {
			return
		}
		const name, help = "lintel_queue_depth", "Jobs in the queue: waiting (postponed ones included), or taken (in work)."
		figure(name, help, float64(depth.Waiting), "state", "waiting")
		figure(name, help, float64(depth.InWork), "state", "taken")
		age := 0.0
		if !depth.Oldest.IsZero() {
			age = max(time.Since(depth.Oldest).Seconds(), 0)
		}
		figure("lintel_queue_age_seconds", "Age of the oldest job in the queue, in work or not; 0 when it is empty.", age)
	}))
}

// maxBudgets bounds the series of the rate limits: an App can have any number of installations.
const maxBudgets = 20

// WatchBudgets adds what is left of GitHub's limits, by installation, for those that wait longest or have the least left.
func (m *Metrics) WatchBudgets(budgets func() map[int64]forge.Budget) {
	m.registry.MustRegister(collector(func(figure figures) {
		all := budgets()
		ids := slices.SortedFunc(maps.Keys(all), func(a, b int64) int {
			return cmp.Or(cmp.Compare(all[b].Wait, all[a].Wait), cmp.Compare(all[a].Remaining, all[b].Remaining), cmp.Compare(a, b))
		})
		for _, id := range ids[:min(len(ids), maxBudgets)] {
			b, label := all[id], strconv.FormatInt(id, 10)
			of := func(name, help string, value float64) { figure(name, help, value, "installation", label) }
			of("lintel_github_requests_remaining", "Requests left of GitHub's hourly limit, of the installations with the least left.",
				float64(b.Remaining))
			of("lintel_github_requests_limit", "GitHub's hourly limit of the same installations.", float64(b.Limit))
			of("lintel_github_check_runs_remaining", "Check runs that this server may still create within the hour, of the same "+
				"installations.", float64(b.CheckRuns))
			of("lintel_github_wait_seconds", "How long the next check of the same installations has to wait for "+
				"GitHub's rate limits.", b.Wait.Seconds())
		}
	}))
}

// WatchDisk adds how many bytes of the data folder each kind of what is kept there takes. It is asked at each scrape, and
// should know the answer. It may be called once.
func (m *Metrics) WatchDisk(sizes func() map[string]int64) {
	m.registry.MustRegister(collector(func(figure figures) {
		for kind, bytes := range sizes() {
			figure("lintel_disk_bytes", "Bytes in the data folder by use: mirrors, sources, cache.", float64(bytes),
				"kind", kind)
		}
	}))
}
