package worker

import "github.com/prometheus/client_golang/prometheus"

// WatchDisk adds how many bytes of the data folder each kind of what is kept there takes. It is asked at each scrape, and
// should know the answer. It may be called once.
func (m *Metrics) WatchDisk(sizes func() map[string]int64) {
	m.registry.MustRegister(diskCollector{sizes})
}

// diskCollector asks at each scrape.
type diskCollector struct{ sizes func() map[string]int64 }

func diskDesc() *prometheus.Desc {
	return prometheus.NewDesc("lintel_disk_bytes", "Bytes in the data folder by what they are: mirrors, sources, cache.",
		[]string{"kind"}, nil)
}

// Describe implements prometheus.Collector.
func (c diskCollector) Describe(ch chan<- *prometheus.Desc) { ch <- diskDesc() }

// Collect implements prometheus.Collector.
func (c diskCollector) Collect(ch chan<- prometheus.Metric) {
	for kind, bytes := range c.sizes() {
		ch <- prometheus.MustNewConstMetric(diskDesc(), prometheus.GaugeValue, float64(bytes), kind)
	}
}
