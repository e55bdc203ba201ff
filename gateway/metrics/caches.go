package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"revtail/gateway/watchcache"
)

// Cache are the figures of one resource's cache.
type Cache struct {
	Resource string // qualified: "pods", "deployments.apps"
	Ready    bool
	Revision int64
	Objects  int
	Invalid  int
	Watchers int
	Historic int // of them: are served from etcd's history now
	Events   int
	Bytes    int
	Happened
}

// Happened is how often something has happened to a cache.
type Happened struct {
	Resyncs int // filled anew
	Untrue  int // because it differed from etcd
	Losses  int // etcd's watch lost
	Pasts   int // a watch was opened that etcd's history had to serve
	Loads   int // a list was read from etcd's history
}

// Plus is the sum of both.
func (h Happened) Plus(g Happened) Happened {
	return Happened{h.Resyncs + g.Resyncs, h.Untrue + g.Untrue, h.Losses + g.Losses, h.Pasts + g.Pasts, h.Loads + g.Loads}
}

var (
	byResource = []string{"resource"}

	ready    = prometheus.NewDesc("revtail_cache_ready", "1 when the watch cache of the resource is filled.", byResource, nil)
	revision = prometheus.NewDesc("revtail_cache_revision", "The etcd revision up to which the watch cache is complete.", byResource, nil)
	objects  = prometheus.NewDesc("revtail_cache_objects", "Objects in the watch cache: keys of etcd with a decodable value.", byResource, nil)
	invalid  = prometheus.NewDesc("revtail_undecodable_values", "Values in etcd that cannot be decoded as objects of the resource.", byResource, nil)
	bytes    = prometheus.NewDesc("revtail_cache_bytes", "Bytes of the documents in the watch cache.", byResource, nil)
	events   = prometheus.NewDesc("revtail_cache_log_events", "Events in the log of the watch cache, for watches that resume.", byResource, nil)
	watchers = prometheus.NewDesc("revtail_watchers", "Open watches.", byResource, nil)
	historic = prometheus.NewDesc("revtail_history_watchers", "Open watches that read etcd's history.", byResource, nil)

	resyncs = prometheus.NewDesc("revtail_cache_resyncs_total", "Refills of the watch cache from etcd, without the first fill.", byResource, nil)
	untrue  = prometheus.NewDesc("revtail_cache_untrue_total", "Consistency checks that found a difference between the watch cache and etcd. Each refills the cache.", byResource, nil)
	losses  = prometheus.NewDesc("revtail_cache_watch_losses_total", "Lost watches of etcd for the watch cache. Each is opened again.", byResource, nil)
	pasts   = prometheus.NewDesc("revtail_history_watches_total", "Watches that read etcd's history, because their revision was older than the events in memory.", byResource, nil)
	loads   = prometheus.NewDesc("revtail_history_lists_total", "Lists of an older revision that were read from etcd.", byResource, nil)
)

func describeCaches(descriptions chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{ready, revision, objects, invalid, bytes, events, watchers, historic, resyncs, untrue, losses, pasts, loads} {
		descriptions <- d
	}
}

func (c Cache) collect(metrics chan<- prometheus.Metric) {
	one := func(d *prometheus.Desc, kind prometheus.ValueType, value int) {
		metrics <- prometheus.MustNewConstMetric(d, kind, float64(value), c.Resource)
	}
	filled := 0
	if c.Ready {
		filled = 1
	}
	one(ready, prometheus.GaugeValue, filled)
	one(revision, prometheus.GaugeValue, int(c.Revision))
	one(objects, prometheus.GaugeValue, c.Objects)
	one(invalid, prometheus.GaugeValue, c.Invalid)
	one(bytes, prometheus.GaugeValue, c.Bytes)
	one(events, prometheus.GaugeValue, c.Events)
	one(watchers, prometheus.GaugeValue, c.Watchers)
	one(historic, prometheus.GaugeValue, c.Historic)
	one(resyncs, prometheus.CounterValue, c.Resyncs)
	one(untrue, prometheus.CounterValue, c.Untrue)
	one(losses, prometheus.CounterValue, c.Losses)
	one(pasts, prometheus.CounterValue, c.Pasts)
	one(loads, prometheus.CounterValue, c.Loads)
}

// CacheOf returns the figures of a watch cache under a name.
func CacheOf(name string, s watchcache.Stats) Cache {
	return Cache{
		Resource: name, Ready: s.Ready, Revision: int64(s.Revision), Objects: s.Objects, Invalid: s.Invalid, Bytes: s.Bytes, Events: s.Events,
		Watchers: s.Watchers, Historic: s.HistoryReaders,
		Happened: Happened{Resyncs: max(0, s.Fills-1), Untrue: s.Inconsistencies, Losses: s.WatchLosses, Pasts: s.HistoryReads, Loads: s.SnapshotLoads},
	}
}
