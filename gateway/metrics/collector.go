package metrics

import "github.com/prometheus/client_golang/prometheus"

// collector turns figures into metrics when somebody asks.
type collector struct {
	version string
	source  Source
}

func newCollector(version string, source Source) *collector {
	return &collector{version: version, source: source}
}

var (
	byResource = []string{"resource"}

	buildInfo = prometheus.NewDesc("revtail_build_info", "Constant 1; the label says which version runs.", []string{"version"}, nil)
	ready     = prometheus.NewDesc("revtail_cache_ready", "1 when the watch cache of the resource is filled.", byResource, nil)
	revision  = prometheus.NewDesc("revtail_cache_revision", "The etcd revision up to which the watch cache is complete.", byResource, nil)
	objects   = prometheus.NewDesc("revtail_cache_objects", "Objects in the watch cache.", byResource, nil)
	invalid   = prometheus.NewDesc("revtail_undecodable_values", "Values in etcd that cannot be shown as objects of the resource.", byResource, nil)
	watchers  = prometheus.NewDesc("revtail_watchers", "Open watches.", byResource, nil)
	untrue    = prometheus.NewDesc("revtail_cache_untrue_total", "How often the watch cache was found not to be what etcd has, and was filled anew.", byResource, nil)
	bytes     = prometheus.NewDesc("revtail_cache_bytes", "Bytes of the documents in the watch cache.", byResource, nil)
	fills     = prometheus.NewDesc("revtail_cache_fills_total", "How often the watch cache was filled from etcd: more than once is a resynchronization.", byResource, nil)
	historic  = prometheus.NewDesc("revtail_history_watchers", "Open watches that are served from etcd's history.", byResource, nil)
	events    = prometheus.NewDesc("revtail_cache_log_events", "Events held in memory for watches that resume.", byResource, nil)
)

// Describe implements prometheus.Collector.
func (c *collector) Describe(descriptions chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{buildInfo, ready, revision, objects, invalid, watchers, events, untrue, bytes, fills, historic, sentEvents, sentBytes, ended, late, slowest} {
		descriptions <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	metrics <- prometheus.MustNewConstMetric(buildInfo, prometheus.GaugeValue, 1, c.version)
	c.collectWatches(metrics)
	for _, cache := range c.source.Caches() {
		gauge := func(d *prometheus.Desc, value float64) {
			metrics <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, cache.Resource)
		}
		var filled float64
		if cache.Ready {
			filled = 1
		}
		gauge(ready, filled)
		gauge(revision, float64(cache.Revision))
		gauge(objects, float64(cache.Objects))
		gauge(invalid, float64(cache.Invalid))
		gauge(watchers, float64(cache.Watchers))
		gauge(bytes, float64(cache.Bytes))
		gauge(historic, float64(cache.Historic))
		metrics <- prometheus.MustNewConstMetric(fills, prometheus.CounterValue, float64(cache.Fills), cache.Resource)
		gauge(events, float64(cache.Events))
		metrics <- prometheus.MustNewConstMetric(untrue, prometheus.CounterValue, float64(cache.Untrue), cache.Resource)
	}
}
