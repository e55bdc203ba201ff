package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"revtail/gateway/watchcache"
)

// Cache has the figures of the watch cache of one resource.
type Cache struct {
	Resource  string // qualified: "pods", "deployments.apps"
	Ready     bool
	Revision  int64
	Objects   int
	Invalid   int
	Watchers  int
	Historic  int // watchers that read etcd's history
	Events    int
	Bytes     int
	Snapshots int // states that clients read or page through
	Counts
}

// Counts are the counters of a cache.
type Counts struct {
	Resyncs         int // fills but for the first
	Inconsistencies int // differences from etcd that were found
	WatchLosses     int // of the watch of etcd
	HistoryReads    int // watches that began in etcd's history
	SnapshotLoads   int // lists that were read from etcd's history
	Dropped         int // states that were dropped before their clients had read them
}

// Plus returns the sum of both.
func (c Counts) Plus(d Counts) Counts {
	return Counts{c.Resyncs + d.Resyncs, c.Inconsistencies + d.Inconsistencies, c.WatchLosses + d.WatchLosses, c.HistoryReads + d.HistoryReads, c.SnapshotLoads + d.SnapshotLoads, c.Dropped + d.Dropped}
}

// CacheOf returns the figures of a watch cache under a name.
func CacheOf(name string, s watchcache.Stats) Cache {
	return Cache{
		Resource: name, Ready: s.Ready, Revision: int64(s.Revision), Objects: s.Objects, Invalid: s.Invalid, Bytes: s.Bytes, Events: s.Events,
		Watchers: s.Watchers, Historic: s.HistoryReaders, Snapshots: s.Snapshots,
		Counts: Counts{Resyncs: max(0, s.Fills-1), Inconsistencies: s.Inconsistencies, WatchLosses: s.WatchLosses, HistoryReads: s.HistoryReads, SnapshotLoads: s.SnapshotLoads, Dropped: s.Dropped},
	}
}

var byResource = []string{"resource"}

// cacheMetric is a metric of a cache.
type cacheMetric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(c *Cache) int
}

func cacheGauge(name, help string, value func(c *Cache) int) cacheMetric {
	return cacheMetric{prometheus.NewDesc(name, help, byResource, nil), prometheus.GaugeValue, value}
}

func cacheCounter(name, help string, value func(c *Cache) int) cacheMetric {
	return cacheMetric{prometheus.NewDesc(name, help, byResource, nil), prometheus.CounterValue, value}
}

var cacheMetrics = []cacheMetric{
	cacheGauge("revtail_cache_ready", "1 when the watch cache of the resource is filled.", func(c *Cache) int {
		if c.Ready {
			return 1
		}
		return 0
	}),
	cacheGauge("revtail_cache_revision", "The etcd revision up to which the watch cache is complete.", func(c *Cache) int { return int(c.Revision) }),
	cacheGauge("revtail_cache_objects", "Objects in the watch cache: keys of etcd with a decodable value.", func(c *Cache) int { return c.Objects }),
	cacheGauge("revtail_undecodable_values", "Values in etcd that cannot be decoded as objects of the resource.", func(c *Cache) int { return c.Invalid }),
	cacheGauge("revtail_cache_bytes", "Bytes of the documents in the watch cache.", func(c *Cache) int { return c.Bytes }),
	cacheGauge("revtail_cache_log_events", "Events in the log of the watch cache, for watches that resume.", func(c *Cache) int { return c.Events }),
	cacheGauge("revtail_cache_snapshots", "States in memory for clients that read them, and for two minutes after the last page for clients that page through them.", func(c *Cache) int { return c.Snapshots }),
	cacheGauge("revtail_watchers", "Open watches.", func(c *Cache) int { return c.Watchers }),
	cacheGauge("revtail_history_watchers", "Open watches that read etcd's history.", func(c *Cache) int { return c.Historic }),

	cacheCounter("revtail_cache_resyncs_total", "Refills of the watch cache from etcd, without the first fill.", func(c *Cache) int { return c.Resyncs }),
	cacheCounter("revtail_cache_untrue_total", "Consistency checks that found a difference between the watch cache and etcd. Each refills the cache.", func(c *Cache) int { return c.Inconsistencies }),
	cacheCounter("revtail_cache_watch_losses_total", "Lost watches of etcd for the watch cache. Each is opened again.", func(c *Cache) int { return c.WatchLosses }),
	cacheCounter("revtail_history_watches_total", "Watches that read etcd's history, because their revision was older than the events in memory.", func(c *Cache) int { return c.HistoryReads }),
	cacheCounter("revtail_cache_snapshots_dropped_total", "States that were dropped before clients had read them, because they took too much memory. Their clients list again.", func(c *Cache) int { return c.Dropped }),
	cacheCounter("revtail_history_lists_total", "Lists of an older revision that were read from etcd.", func(c *Cache) int { return c.SnapshotLoads }),
}
