package main

import (
	"fmt"
	"slices"
)

// rows are the rows of the table, in order.
func rows(s size) []row {
	return slices.Concat(fanOutRows(), idleRows(s), unmatchedRows(s), listRows(s), stateRows(s), writeRows(s))
}

func fanOutRows() []row {
	return []row{
		fanOutRow("fanout-plain", plain, []design{sharded, chunkWrites, flushPerBatch, flushPerEvent, etcdGRPC, etcdHTTP}, saturated, []figure{
			{"fan-out saturated, HTTP/1.1: CPU a delivery", "cpu", "µs", goal{most: 1.4, ratioMost: 1.5}, string(sharded)},
			{"  deliveries", "rate", "/s", goal{least: 700_000}, string(sharded)},
			beside(chunkWrites), beside(flushPerBatch), beside(flushPerEvent), beside(etcdGRPC), beside(etcdHTTP),
		}).often(),
		fanOutRow("fanout-tls", tls11, []design{flushPerBatch, flushPerEvent}, saturatedTLS, []figure{
			{"fan-out saturated, TLS HTTP/1.1: CPU a delivery", "cpu", "µs", goal{ratioMost: 1.15}, string(flushPerBatch)},
			{"  deliveries", "rate", "/s", goal{}, string(flushPerBatch)},
			beside(flushPerEvent),
		}),
		fanOutRow("fanout-http2", http2, []design{flushPerBatch, flushPerEvent}, saturatedTLS, []figure{
			{"fan-out saturated, HTTP/2: CPU a delivery", "cpu", "µs", goal{ratioMost: 1.15}, string(flushPerBatch)},
			{"  deliveries", "rate", "/s", goal{}, string(flushPerBatch)},
			beside(flushPerEvent),
		}),
		formRow("fanout-sse", plain, eventStream, []design{sharded}, saturated, formFigures("event streams")),
		formRow("fanout-keys", plain, keyLines, []design{sharded}, saturated, formFigures("/v1/keys as JSON lines")),
		formRow("fanout-protobuf", plain, messages, []design{sharded}, saturated, formFigures("in protobuf")),
		pacedRow("paced-plain", plain, sharded), pacedRow("paced-tls", tls11, flushPerBatch), pacedRow("paced-http2", http2, flushPerBatch),
		steadyRow("steady-plain", plain, sharded), steadyRow("steady-tls", tls11, flushPerBatch), steadyRow("steady-http2", http2, flushPerBatch),
	}
}

func idleRows(s size) []row {
	return []row{
		idleRow("idle-plain", plain, sharded, []figure{
			{"one idle watcher, HTTP/1.1", "memory", "KB", goal{most: 2.5}, string(sharded)},
			{fmt.Sprintf("  %s of them connect in", thousands(float64(s.idle[plain]))), "connect", "s", goal{most: 2}, string(sharded)},
		}),
		idleRow("idle-tls", tls11, flushPerBatch, []figure{{"one idle watcher, TLS HTTP/1.1", "memory", "KB", goal{most: 40}, string(flushPerBatch)}}),
		idleRow("idle-http2", http2, flushPerBatch, []figure{{"one idle watcher, HTTP/2", "memory", "KB", goal{most: 16}, string(flushPerBatch)}}),
	}
}

func unmatchedRows(s size) []row {
	what := thousands(float64(s.selectors)) + " watchers, each for its own "
	return []row{
		unmatchedRow("label", unmatchedFigures(what+"label: CPU an event")),
		unmatchedRow("field", unmatchedFigures(what+"field value: CPU an event")),
		unmatchedRow("name", unmatchedFigures(what+"name: CPU an event")),
	}
}

func listRows(s size) []row {
	small, large := "list "+thousands(float64(s.objects[0]))+" objects, ", "list "+thousands(float64(s.objects[1]))+" objects, "
	return []row{
		listRow("list-small-1", plain, smaller, 1, listFigures(small+"1 client", 0)),
		listRow("list-small-8", plain, smaller, 8, listFigures(small+"8 clients", 8)),
		listRow("list-large-1", plain, larger, 1, append(listFigures(large+"1 client", 0), besideList(etcdGRPC), besideList(etcdHTTP))),
		listRow("list-large-8", plain, larger, 8, listFigures(large+"8 clients", 8)),
		listRow("list-large-tls", tls11, larger, 8, listFigures(large+"8 clients, TLS", 8)[:1]),
		messageListRow("list-protobuf-1", smaller, 1, messageListFigures(small+"in protobuf, 1 client")),
		messageListRow("list-protobuf-8", smaller, 8, messageListFigures(small+"in protobuf, 8 clients")),
		firstByteRow([]figure{{large + "first byte", "first", "ms", goal{ratioMost: 1.5}, fewerObjects}}),
	}
}

func stateRows(s size) []row {
	return []row{
		cacheRow([]figure{
			{fmt.Sprintf("cache of %s objects: memory after load", thousands(float64(s.cached))), "loaded", "× stored", goal{most: 1.8}, ""},
			{"  after each was updated once", "updated", "× stored", goal{most: 1.8}, ""},
		}),
		initialRow([]figure{
			{fmt.Sprintf("initial events, %d watchers × %s objects", s.initial[0], thousands(float64(s.initial[1]))), "rate", "MB/s", goal{ratioLeast: 0.6}, prepared},
			{"  events", "events", "/s", goal{}, prepared},
			{"  memory beside the cache", "extra", "MiB", goal{most: 64}, prepared},
		}),
	}
}

func writeRows(s size) []row {
	return []row{
		writeRow(creates, append(writeFigures(creates, ""), boundFigures...)), writeRow(updates, append(writeFigures(updates, ""), boundFigures...)),
		embeddedRow(creates, writeFigures(creates, ", embedded")).often(),
		embeddedRow(updates, writeFigures(updates, ", embedded")).often(),
		journalRow(creates, journalFigures(creates)).often(), journalRow(updates, journalFigures(updates)).often(),
		typesRow([]figure{
			{fmt.Sprintf("%d resource types idle: start-up", s.resourceTypes), "start", "s", goal{most: 3}, oneType},
			{"  memory", "memory", "MiB", goal{overMost: 40}, oneType},
		}),
	}
}

// beside is a line for information: the cost of other designs.
func beside(d design) figure {
	return figure{"  CPU a delivery", "cpu", "µs", goal{}, string(d)}
}

// saturated is a load for saturated watchers; over TLS everything takes three times as long.
func saturated(s size) load    { return load{events: s.events} }
func saturatedTLS(s size) load { return load{events: s.events / 3} }

// formFigures are for information, because the bytes differ from those of the peer.
func formFigures(what string) []figure {
	return []figure{
		{"fan-out saturated, HTTP/1.1, " + what + ": CPU a delivery", "cpu", "µs", goal{}, string(sharded)},
		{"  deliveries", "rate", "/s", goal{}, string(sharded)},
	}
}

func pacedRow(name string, t transport, d design) row {
	const rate = 10
	return fanOutRow(name, t, []design{d}, func(s size) load { return load{events: s.paced * rate, rate: rate} }, []figure{
		{"paced 10/s, " + string(t) + ": CPU a delivery", "cpu", "µs", goal{ratioMost: 1.2}, string(d)},
		{"  p99 from acknowledgement to the last watcher", "p99", "ms", goal{ratioMost: 1.3}, string(d)},
	})
}

func steadyRow(name string, t transport, d design) row {
	const rate = 200
	return fanOutRow(name, t, []design{d}, func(s size) load { return load{events: s.steady * rate, rate: rate} }, []figure{
		{"keeping up with 200/s, " + string(t) + ": p99 to the last watcher", "p99", "ms", goal{most: 50}, string(d)},
		{"  CPU a delivery", "cpu", "µs", goal{}, string(d)},
	})
}

func unmatchedFigures(what string) []figure {
	return []figure{{what, "cpu", "µs", goal{ratioMost: 1.3}, oneWatcher}}
}

func smaller(s size) int { return s.objects[0] }
func larger(s size) int  { return s.objects[1] }

// listFigures has a line for the memory of concurrent lists if there are some.
func listFigures(what string, clients float64) []figure {
	const each = 256 // KiB
	figures := []figure{
		{what, "rate", "MB/s", goal{ratioLeast: 0.8}, prepared},
		{"  CPU a GB", "cpu", "s", goal{most: 0.5}, prepared},
	}
	if clients > 0 {
		figures = append(figures, figure{"  memory beside the cache", "extra", "KiB", goal{most: clients * each}, prepared})
	}
	return figures
}

// messageListFigures are for information, because nothing sends the same without encoding it.
func messageListFigures(what string) []figure {
	return []figure{
		{what, "rate", "MB/s", goal{}, ""}, {"  CPU a GB", "cpu", "s", goal{}, ""}, {"  first byte", "first", "ms", goal{}, ""},
		{"  memory beside the cache", "extra", "KiB", goal{}, ""},
	}
}

func besideList(d design) figure {
	return figure{"  rate", "rate", "MB/s", goal{}, string(d)}
}

// boundFigures say what of a write etcd's transaction, net/http and the event of etcd's watch are.
var boundFigures = []figure{
	{"  CPU a write, gateway and etcd, beside HTTP and a transaction", "cpu", "µs", goal{ratioMost: 1.25}, bare},
	{"  beside HTTP, a transaction and its watch", "cpu", "µs", goal{}, bareWatching},
}

func writeFigures(kind writeKind, how string) []figure {
	return []figure{
		{string(kind) + how + ", 64 writers", "rate", "/s", goal{ratioLeast: 0.6}, direct},
		{"  CPU a write, gateway and etcd", "cpu", "µs", goal{}, direct},
		{"  p50 of one writer alone", "p50", "ms", goal{ratioMost: 1.5}, direct},
	}
}
