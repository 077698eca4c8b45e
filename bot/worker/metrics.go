package worker

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/lintel-bot/lintel/bot/store"
	"github.com/lintel-bot/lintel/checks/report"
)

// scrapeTimeout bounds what a scrape may wait for the queue's server.
const scrapeTimeout = 3 * time.Second

// Metrics counts what the server does. A nil *Metrics counts nothing.
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
	slow := []float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		webhooks: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "lintel_webhook_answers_total",
			Help: "Answers to webhook deliveries by status code."}, []string{"code"}),
		answers: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "lintel_webhook_duration_seconds",
			Help:    "Time until a webhook delivery was answered.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, 1, 5, 10}}, nil),
		unserved: prometheus.NewCounter(prometheus.CounterOpts{Name: "lintel_webhooks_unserved_total",
			Help: "Webhook deliveries of accounts that LINTEL_ACCOUNTS does not name: answered, and dropped."}),
		jobs: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "lintel_jobs_total", Help: "Deliveries of jobs to " +
			"workers by outcome: done, postponed, failed (to be tried again), handed_back."}, []string{"outcome"}),
		delays: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "lintel_github_delays_total", Help: "Deliveries of " +
			"jobs that had to wait for room below GitHub's limits: of people's changes, or in the background."},
			[]string{"of"}),
		checks: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "lintel_checks_total",
			Help: "Completed check runs by conclusion."}, []string{"conclusion"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "lintel_check_duration_seconds",
			Help: "Time from the event to the completed check run.", Buckets: slow}),
		rendered: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "lintel_renderings_total", Help: "Kustomizations " +
			"that checks needed: built, or cached (taken from an earlier check)."}, []string{"source"}),
		sources: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "lintel_sources_total", Help: "Things from outside " +
			"that checks wanted, by kind (git, chart, file) and outcome: had, failed."}, []string{"kind", "outcome"}),
		results: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "lintel_results_total", Help: "Results by what " +
			"became of them: stored, reduced (too large, parts were left out), unwanted (nobody could open their page), failed."},
			[]string{"outcome"}),
		pages: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "lintel_page_answers_total",
			Help: "Answers to requests for pages by status code."}, []string{"code"}),
		paged: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "lintel_page_duration_seconds",
			Help:    "Time until a request for a page was answered.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, 1, 5, 10}}, nil),
		stages: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "lintel_stage_duration_seconds",
			Help:    "Time of one stage of a check: fetch, inspect, review, check, sources, report.",
			Buckets: slow}, []string{"stage"}),
	}
	m.answers.WithLabelValues() // there from the start
	m.registry.MustRegister(m.webhooks, m.answers, m.unserved, m.jobs, m.delays, m.checks, m.duration, m.stages, m.rendered,
		m.sources, m.results, m.pages, m.paged, depthCollector{depth},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if restarts != nil {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "lintel_sandbox_restarts_total",
			Help: "Child processes started in place of one that failed."}, restarts))
	}
	return m
}

// SetBuild adds what the program was built from: a gauge of 1 with a label for each, as Prometheus' own programs have.
// It may be called once.
func (m *Metrics) SetBuild(b report.Build) {
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "lintel_build_info",
		Help: "1, by the version of the program, its commit, and the version of Go that built it."},
		[]string{"version", "commit", "goversion"})
	build.WithLabelValues(b.Number, b.Commit, b.Go).Set(1)
	m.registry.MustRegister(build)
}

// Handler answers scrapes.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// countAnswers counts what a handler answers.
func (m *Metrics) countAnswers(h http.Handler) http.Handler {
	return promhttp.InstrumentHandlerDuration(m.answers, promhttp.InstrumentHandlerCounter(m.webhooks, h))
}

// countPages counts what a handler of pages answers.
func (m *Metrics) countPages(h http.Handler) http.Handler {
	return promhttp.InstrumentHandlerDuration(m.paged, promhttp.InstrumentHandlerCounter(m.pages, h))
}

// Unserved counts a delivery of an account that the server does not work for.
func (m *Metrics) Unserved() { m.unserved.Inc() }

func (m *Metrics) result(outcome string) {
	if m != nil {
		m.results.WithLabelValues(outcome).Inc()
	}
}

func (m *Metrics) job(outcome string) {
	if m != nil {
		m.jobs.WithLabelValues(outcome).Inc()
	}
}

// delay counts a job that had to wait for room below GitHub's limits.
func (m *Metrics) delay(background bool) {
	if m != nil {
		m.delays.WithLabelValues(map[bool]string{false: "people", true: "background"}[background]).Inc()
	}
}

func (m *Metrics) check(conclusion string, took time.Duration) {
	if m == nil {
		return
	}
	m.checks.WithLabelValues(conclusion).Inc()
	if took > 0 {
		m.duration.Observe(took.Seconds())
	}
}

func (m *Metrics) stage(name string, took time.Duration) {
	if m != nil {
		m.stages.WithLabelValues(name).Observe(took.Seconds())
	}
}

func (m *Metrics) source(kind, outcome string) {
	if m != nil {
		m.sources.WithLabelValues(kind, outcome).Inc()
	}
}

func (m *Metrics) work(w *report.Work) {
	if m == nil || w == nil {
		return
	}
	m.rendered.WithLabelValues("built").Add(float64(w.Rendered))
	m.rendered.WithLabelValues("cached").Add(float64(w.Recalled))
}

// depthCollector asks the queue at each scrape and leaves the figures out when it does not answer.
type depthCollector struct {
	depth func(context.Context) (store.Depth, error)
}

func depthDesc() *prometheus.Desc {
	return prometheus.NewDesc("lintel_queue_depth", "Jobs in the queue: waiting (postponed ones included), or taken "+
		"(in work).", []string{"state"}, nil)
}

func ageDesc() *prometheus.Desc {
	return prometheus.NewDesc("lintel_queue_age_seconds",
		"Age of the oldest job in the queue, in work or not; 0 when it is empty.", nil, nil)
}

// Describe implements prometheus.Collector.
func (c depthCollector) Describe(ch chan<- *prometheus.Desc) { ch <- depthDesc(); ch <- ageDesc() }

// Collect implements prometheus.Collector.
func (c depthCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	depth, err := c.depth(ctx)
	if err != nil {
		return
	}
	ch <- prometheus.MustNewConstMetric(depthDesc(), prometheus.GaugeValue, float64(depth.Waiting), "waiting")
	ch <- prometheus.MustNewConstMetric(depthDesc(), prometheus.GaugeValue, float64(depth.Taken), "taken")
	age := 0.0
	if !depth.Oldest.IsZero() {
		age = max(time.Since(depth.Oldest).Seconds(), 0)
	}
	ch <- prometheus.MustNewConstMetric(ageDesc(), prometheus.GaugeValue, age)
}
