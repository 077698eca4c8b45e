package worker

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lintel-bot/lintel/bot/forge"
)

// maxBudgets bounds the series of the rate limits: an App can have any number of installations.
const maxBudgets = 20

// WatchBudgets adds what is left of GitHub's limits, by installation, for those that wait longest or have the least left.
func (m *Metrics) WatchBudgets(budgets func() map[int64]forge.Budget) {
	m.registry.MustRegister(budgetCollector{budgets})
}

// budgetCollector asks at each scrape.
type budgetCollector struct {
	budgets func() map[int64]forge.Budget
}

func remainingDesc() *prometheus.Desc {
	return prometheus.NewDesc("lintel_github_requests_remaining",
		"Requests left of GitHub's hourly limit, of the installations with the least left.", []string{"installation"}, nil)
}

func limitDesc() *prometheus.Desc {
	return prometheus.NewDesc("lintel_github_requests_limit", "GitHub's hourly limit of the same installations.",
		[]string{"installation"}, nil)
}

func checkRunsDesc() *prometheus.Desc {
	return prometheus.NewDesc("lintel_github_check_runs_remaining",
		"Check runs that this server may still create within the hour, of the same installations.", []string{"installation"},
		nil)
}

func waitDesc() *prometheus.Desc {
	return prometheus.NewDesc("lintel_github_wait_seconds",
		"How long the next check of the same installations has to wait for room below GitHub's limits.",
		[]string{"installation"}, nil)
}

// Describe implements prometheus.Collector.
func (c budgetCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- remainingDesc()
	ch <- limitDesc()
	ch <- checkRunsDesc()
	ch <- waitDesc()
}

// Collect implements prometheus.Collector.
func (c budgetCollector) Collect(ch chan<- prometheus.Metric) {
	type entry struct {
		id int64
		forge.Budget
	}
	var all []entry
	for id, b := range c.budgets() {
		all = append(all, entry{id, b})
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.Wait, a.Wait), cmp.Compare(a.Remaining, b.Remaining), cmp.Compare(a.id, b.id))
	})
	for _, e := range all[:min(len(all), maxBudgets)] {
		id := strconv.FormatInt(e.id, 10)
		ch <- prometheus.MustNewConstMetric(remainingDesc(), prometheus.GaugeValue, float64(e.Remaining), id)
		ch <- prometheus.MustNewConstMetric(limitDesc(), prometheus.GaugeValue, float64(e.Limit), id)
		ch <- prometheus.MustNewConstMetric(checkRunsDesc(), prometheus.GaugeValue, float64(e.CheckRuns), id)
		ch <- prometheus.MustNewConstMetric(waitDesc(), prometheus.GaugeValue, e.Wait.Seconds(), id)
	}
}
